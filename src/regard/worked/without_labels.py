"""Learning from text that nobody has labelled, by hand: a hidden word (L101), a narrow passage (L16, L97)."""

from __future__ import annotations

import torch

from regard.attention import Attention, ScaledDot, Softmax
from regard.errors import UsageError
from regard.worked.likeness import Words
from regard.worked.worked_example import Numbers, Step, Table, Worked, matrix, plain, tuples, vector

MASK = "<mask>"
VOCABULARY: Words = {
    "the": (0, 0),
    "cat": (2, 0),
    "mouse": (2, 0.5),
    "ate": (0, 2),
    "cheese": (1, 2),
}


def hidden_word(
    sentence: str = "the cat ate the cheese",
    hidden: str = "cheese",
    vocabulary: Words = VOCABULARY,
    mask: Numbers = (0, 0.5),
) -> Worked:
    """One word is hidden, its place looks at all others, and only its loss is counted (Devlin 2019).

    One head without weights of its own, a residual sum, and logits by the embeddings themselves. The label
    was in the text all along.
    """
    words = tuple(sentence.split())
    names = tuple(vocabulary)
    if words.count(hidden) != 1 or not set(words) <= set(names):
        raise UsageError(
            "the sentence has the hidden word once, and no word without a vector",
            where="sentence",
            remedy=f"its words may be: {', '.join(names)}",
        )
    table = matrix("vocabulary", list(vocabulary.values()), width=2)
    place = words.index(hidden)
    states = table[[names.index(word) for word in words]]
    states[place] = vector("mask", mask, 2)
    attention = Attention(ScaledDot(), Softmax())
    memory = attention.remember(states[None, None], states[None, None])
    query = states[place][None, None, None]
    weights = attention.align(query, memory).weights[0, 0, 0]
    context = attention(query, memory)[0, 0, 0]
    behind = states[place] + context
    logits = table @ behind
    shares = logits.softmax(0)
    read = tuple(MASK if number == place else word for number, word in enumerate(words))
    return Worked(
        formula="loss = -ln softmax(E (x_mask + sum_j w_j x_j))[hidden word]",
        given=(
            Step("vocabulary", "E: a vector for each word", plain(table), rows=names),
            Step("mask", "the vector of what hides a word", tuples(mask)),
        ),
        steps=(
            Step("read", "what the model sees", " ".join(read)),
            Step("weights", "softmax(x_mask . x_j / sqrt(2))", plain(weights), columns=read),
            Step("context", "sum_j w_j x_j", plain(context)),
            Step("state", "x_mask + context", plain(behind)),
            Step("logits", "E state", plain(logits), columns=names),
            Step("probabilities", "softmax", plain(shares), columns=names),
            Step("best", "the likeliest word", names[int(shares.argmax())]),
            Step("counted", "1 for what was hidden", tuple(int(n == place) for n in range(len(words))),
                 columns=read, note="Words that can be read are no task, and add nothing to the loss."),
        ),
        result=Step("loss", f"-ln p({hidden})", float(-shares[names.index(hidden)].log())),
    )  # fmt: skip


WORDS: Words = {"kitten": (1, 1.1), "cat": (2, 1.9), "tiger": (3, 3.1), "lion": (4, 3.9)}
NOISE = ((0.3, -0.3), (-0.2, 0.2), (0.25, -0.25), (-0.3, 0.3))


def narrow_passage(words: Words = WORDS, noise: Table = NOISE) -> Worked:
    """An autoencoder with one number between its sides, which is asked for what was read before the noise.

    The best straight passage is the first principal component of the words: what lies along it comes back,
    and noise across it is lost on the way.
    """
    names = tuple(words)
    clean = matrix("words", list(words.values()), width=2)
    moved = clean + matrix("noise", noise, height=len(names), width=2)
    if len(names) < 2:
        raise UsageError("there is no direction among fewer than two words", "words", "give two")
    mean = clean.mean(0)
    direction = torch.linalg.svd(clean - mean)[2][0]
    direction = direction * direction.sum().sign()
    codes = (moved - mean) @ direction
    rebuilt = mean + codes[:, None] * direction
    before, after = (((one - clean) ** 2).sum(1).mean() for one in (moved, rebuilt))
    nearest = torch.cdist(rebuilt, clean).argmin(1).tolist()
    return Worked(
        formula="z = d . (x + noise - m),  x' = m + z d,  loss = |x' - x|^2",
        given=(
            Step("words", "x: what should come out", plain(clean), rows=names),
            Step("noise", "what is added to each", tuples(noise), rows=names),
        ),
        steps=(
            Step("read", "x + noise: what goes in", plain(moved), rows=names),
            Step("passage", "d: the direction in which words differ most", plain(direction)),
            Step("codes", "z: one number for each word", plain(codes), columns=names),
            Step("rebuilt", "x' = m + z d", plain(rebuilt), rows=names),
            Step("nearest word", "to what came out", tuple(names[n] for n in nearest), columns=names),
            Step("error going in", "mean of |noise|^2", float(before)),
            Step("error coming out", "mean of |x' - x|^2", float(after)),
        ),
        result=Step("noise left", "error coming out / error going in", float(after / before)),
    )  # fmt: skip
