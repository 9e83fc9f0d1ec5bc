"""Two networks that remember, by hand: a tape that is read by attention (L31), and a sentinel (L83)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from regard.attention import Attention, Dot, Softmax, watch
from regard.errors import UsageError
from regard.layers import Lstmn
from regard.worked.likeness import Words
from regard.worked.worked_example import (
    Number,
    Numbers,
    Step,
    Table,
    Worked,
    matrix,
    numbered,
    plain,
    seeded,
    vector,
)

CHASE: Words = {
    "The": (0.1, 0.2),
    "FBI": (1.0, -0.5),
    "is": (-0.2, 0.1),
    "chasing": (0.8, 0.9),
    "a": (0.0, 0.3),
}


def tape_reading(words: Words = CHASE, seed: int = 31) -> Worked:
    """An LSTMN reads words one by one: before each it looks back at all of its states (Cheng 2016).

    The cell is the library's own, as wide as the words, with weights drawn and not trained; so where it looks
    means nothing yet, and every number on the way is real.
    """
    vectors = matrix("words", list(words.values()))
    count, width = vectors.shape
    if count < 2:
        raise UsageError("one word has nothing to look back at", "words", "give two or more")
    with seeded(seed):
        cell = Lstmn(width, width).double()
    with torch.no_grad(), watch(cell) as seen:
        states = [cell.zeros(vectors[:1])]
        for word in vectors:
            states.append(cell.step(word[None], states[-1]))
    last = states[-1]
    hidden, cells = (torch.cat([state[n] for state in states[1:]]) for n in (0, 1))
    weights = seen.weights("attention")[0, 0]
    looked = seen["attention"][-1]
    labels = tuple(words)
    earlier = labels[:-1]
    read = looked.context[0, 0, 0].chunk(2)
    return Worked(
        formula="s = softmax(v . tanh(W_h h_i + W_x x_t + W_r r_{t-1}));  r, m = sum_i s_i [h_i, c_i];  "
        "LSTM(x, r, m)",
        given=(Step("words", "x_i", plain(vectors), rows=labels),),
        steps=(
            Step("hidden tape", "h_i, kept for good", plain(hidden), rows=labels),
            Step("memory tape", "c_i, kept for good", plain(cells), rows=labels),
            Step(
                "weights",
                "s: each word, read, looks back at those before it",
                plain(weights),
                rows=labels,
                columns=earlier,
                note="The first word has nothing to look back at, and takes an LSTM's own step.",
            ),
            Step("scores", f"a_i when '{labels[-1]}' is read", plain(looked.scores[0, 0, 0]),
                 columns=earlier),
            Step("last weights", "softmax(a)", plain(looked.weights[0, 0, 0]), columns=earlier),
            Step("what was read", "r_t = sum_i s_i h_i", plain(read[0])),
            Step("memory that was read", "m_t = sum_i s_i c_i", plain(read[1])),
            Step("new memory", "c_t = f m_t + i tanh(..)", plain(last[1][0])),
            Step("new hidden state", "h_t = o tanh(c_t)", plain(last[0][0])),
        ),
        result=Step(
            "looked at most", f"by '{labels[-1]}'", earlier[int(looked.weights[0, 0, 0].argmax())]
        ),
    )  # fmt: skip


SAID = ("Fed", "Chair", "Janet", "Yellen", "raised", "rates", ".", "Ms.")
STATES = (
    *((0.2, 0.1), (0.1, 0.3), (0.6, 0.9), (1.0, 1.6)),
    *((-0.4, 0.2), (0.1, -0.3), (0.0, -0.8), (0.3, 0.4)),
)
GUESSES: Mapping[str, Number] = {"Clinton": 0.5, "Smith": 0.35, "Yellen": 0.05, "rates": 0.1}


def sentinel_mixture(
    words: Sequence[str] = SAID,
    states: Table = STATES,
    query: Numbers = (1.0, 1.5),
    sentinel: Numbers = (0.5, 0.7),
    vocabulary: Mapping[str, Number] = GUESSES,
) -> Worked:
    """The next word after `Ms.`: from the vocabulary, or from a page that named her before (Merity 2016).

    The sentinel stands in the same softmax as the words that were read: its share is left to the vocabulary.
    """
    hidden = matrix("states", states, height=len(words))
    state = vector("query", query, hidden.shape[1])
    first = vector("sentinel", sentinel, hidden.shape[1])
    guesses = vector("vocabulary", list(vocabulary.values()))
    if (guesses < 0).any() or abs(float(guesses.sum()) - 1) > 1e-6:
        raise UsageError(
            "these are no probabilities", "vocabulary", "give numbers from 0 up that sum to 1"
        )
    keys = torch.cat([first[None], hidden])[None, None]
    attention = Attention(Dot(), Softmax())
    aligned = attention.align(state[None, None, None], attention.remember(keys, keys))
    weights = aligned.weights[0, 0, 0]
    gate, shares = weights[0], weights[1:]
    every = tuple(dict.fromkeys([*vocabulary, *words]))
    pointed = torch.zeros(len(every), dtype=shares.dtype).index_add(
        0, torch.tensor([every.index(word) for word in words]), shares
    )
    generated = torch.zeros_like(pointed)
    generated[: len(guesses)] = gate * guesses
    mixed = generated + pointed
    places = numbered("h_", len(words))
    return Worked(
        formula="a = softmax([q . s, q . h_1, .., q . h_t]);  "
        "p(w) = a_0 p_vocabulary(w) + sum of a_i where i holds w",
        given=(
            Step("states", "h_i, after each word", plain(hidden), rows=tuple(words)),
            Step("query", "q = tanh(W h_t + b)", plain(state)),
            Step("sentinel", "s, learned", plain(first)),
            Step("vocabulary", "p_vocabulary", plain(guesses), columns=tuple(vocabulary)),
        ),
        steps=(
            Step("scores", "q . s and q . h_i", plain(aligned.scores[0, 0, 0]),
                 columns=("s", *places)),
            Step("weights", "softmax", plain(weights), columns=("s", *words)),
            Step("gate", "g, the weight of the sentinel", float(gate)),
            Step("generated", "g p_vocabulary(w)", plain(generated), columns=every),
            Step("pointed", "weights of all positions of a word", plain(pointed), columns=every),
            Step("probabilities", "p(w)", plain(mixed), columns=every,
                 note=f"They sum to {float(mixed.sum()):.4g}."),
        ),
        result=Step("word", "the highest", every[int(mixed.argmax())]),
    )  # fmt: skip
