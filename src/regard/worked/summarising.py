"""One word of a summary, by hand: looked up by the last words (L84), and copied or generated (L82)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from regard.attention import Attention, Dot, Softmax
from regard.errors import UsageError
from regard.models.window_decoder import smoothed
from regard.worked.likeness import Words
from regard.worked.worked_example import (
    Number,
    Numbers,
    Step,
    Table,
    Worked,
    matrix,
    plain,
    vector,
)

# Two numbers a word: how much of a person there is in it, and how much of a deed.
REPORT: Words = {
    "the": (0.0, 0.1),
    "mayor": (3.0, 0.0),
    "opened": (0.2, 3.0),
    "a": (0.0, 0.0),
    "bridge": (0.5, 0.6),
}


def summary_word(
    source: Words = REPORT,
    last: Words = {"<s>": (1.0, 0.0), "mayor": (-0.5, 1.0)},  # noqa: B006
    compatibility: Table = ((0.5, 0.0, 1.0, -0.2), (0.0, 0.5, 0.5, 1.75)),
    smooth: int = 1,
) -> Worked:
    """What comes after `mayor`: the last words ask, each source word answers, neighbours are read along.

    There is no recurrent state: the question is the last words, side by side (Rush 2015).
    """
    states = matrix("source", list(source.values()))
    asked = matrix("last", list(last.values())).flatten()
    weight = matrix("compatibility", compatibility, width=len(asked), height=states.shape[1])
    if smooth < 0:
        raise UsageError("nobody has fewer than no neighbours", "smooth", "give 0, 1, 2 or more")
    attention = Attention(Dot(), Softmax())
    query = weight @ asked
    keys, values = states[None, None], smoothed(states[None], None, smooth)[None]
    aligned = attention.align(query[None, None, None], attention.remember(keys, values))
    weights, labels = aligned.weights[0, 0, 0], tuple(source)
    return Worked(
        formula="a = softmax_j(x_j . P [y_1; ..; y_C]);  enc = sum_j a_j mean(x_j-Q .. x_j+Q)",
        given=(
            Step("source", "x_j: person, deed", plain(states), rows=labels),
            Step("last words", "[y_1; ..; y_C]", plain(asked)),
            Step("compatibility", "P, learned", plain(weight)),
        ),
        steps=(
            Step("question", "P [y_1; ..; y_C]: what is asked for", plain(query)),
            Step("scores", "x_j . P y", plain(aligned.scores[0, 0, 0]), columns=labels),
            Step("weights", "softmax", plain(weights), columns=labels),
            Step("neighbourhoods", f"the mean over {smooth} to each side", plain(values[0, 0]), rows=labels,
                 note="At the ends, over those that are there."),
            Step("read", "enc = sum_j a_j mean_j", plain(aligned.context[0, 0, 0])),
        ),
        result=Step("looked at most", "beside h it decides the word", labels[int(weights.argmax())]),
    )  # fmt: skip


STORY = ("Zorbalk", "of", "Ghent", "sold", "71", "violins", "in", "Ghent")
GUESSES: Mapping[str, Number] = {"of": 0.4, "sells": 0.4, "violins": 0.1, "<unk>": 0.1}


def copy_or_generate(
    source: Sequence[str] = STORY,
    scores: Numbers = (2.5, 0.0, 1.0, 0.3, 0.5, 0.4, 0.0, 0.2),
    p_gen: Number = 0.3,
    vocabulary: Mapping[str, Number] = GUESSES,
    before: Numbers = (0.9, 0.0, 0.05, 0.0, 0.0, 0.05, 0.0, 0.0),
) -> Worked:
    """A name that no vocabulary holds is said all the same: it is pointed at where it stands (See 2017).

    `before` is the coverage: how much attention each position has had in the steps before.
    """
    if not 0 <= p_gen <= 1:
        raise UsageError("a share lies between 0 and 1", "p_gen", "give one, such as 0.3")
    guesses = vector("vocabulary", list(vocabulary.values()))
    if (guesses < 0).any() or abs(float(guesses.sum()) - 1) > 1e-6:
        raise UsageError(
            "these are no probabilities", "vocabulary", "give numbers from 0 up that sum to 1"
        )
    given = vector("scores", scores, len(source))
    covered = vector("before", before, len(source))
    weights = Softmax()(given[None, None, None])[0, 0, 0]
    every = tuple(dict.fromkeys([*vocabulary, *source]))
    places = torch.tensor([every.index(word) for word in source])
    copied = torch.zeros(len(every), dtype=weights.dtype).index_add(0, places, weights)
    generated = torch.zeros_like(copied)
    generated[: len(guesses)] = guesses
    mixed = p_gen * generated + (1 - p_gen) * copied
    return Worked(
        formula="p(w) = p_gen p_vocabulary(w) + (1 - p_gen) sum of a_i where w stands;  "
        "coverage loss = sum_i min(a_i, c_i)",
        given=(
            Step("scores", "of each position", plain(given), columns=tuple(source)),
            Step("p_gen", "the share that is generated", float(p_gen)),
            Step("vocabulary", "p_vocabulary", plain(guesses), columns=tuple(vocabulary)),
            Step("coverage", "c: attention so far", plain(covered), columns=tuple(source)),
        ),
        steps=(
            Step("weights", "a = softmax(scores)", plain(weights), columns=tuple(source)),
            Step("copied", "all positions of a word", plain(copied), columns=every),
            Step("probabilities", "p(w)", plain(mixed), columns=every,
                 note=f"They sum to {float(mixed.sum()):.4g}; words behind `<unk>` are in no vocabulary."),
            Step("coverage loss", "sum_i min(a_i, c_i)", float(torch.minimum(weights, covered).sum()),
                 note="High where attention goes back to what it has read: so things are said twice."),
            Step("new coverage", "c + a", plain(covered + weights), columns=tuple(source)),
        ),
        result=Step("word", "the highest", every[int(mixed.argmax())]),
    )  # fmt: skip
