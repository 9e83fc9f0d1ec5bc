"""Without positions self-attention cannot see word order (L51)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import Attention, Heads, ScaledDot, Sinusoidal, Softmax
from regard.errors import UsageError
from regard.worked.example import Step, Worked
from regard.worked.given import plain, positive, seeded


def word_order(
    words: Sequence[str] = ("the", "cat", "chased", "the", "mouse"),
    order: Sequence[int] = (3, 4, 2, 0, 1),
    width: int = 4,
    seed: int = 1,
) -> Worked:
    """One sentence in two orders: the outputs move with the words, unless positions are added.

    Weights and word vectors are drawn, not learned: this holds whatever they are.
    """
    positive(words=len(words), width=width)
    if sorted(order) != list(range(len(words))):
        raise UsageError(
            f"order must name each of the {len(words)} words once, from 0; it is {list(order)}",
            where="order",
            remedy=f"for the order as it stands: {list(range(len(words)))}",
        )
    with seeded(seed):
        heads = Heads(width, 1, Attention(ScaledDot(), Softmax()), bias=False).double()
        drawn = {word: torch.randn(width, dtype=torch.float64) for word in dict.fromkeys(words)}
    position = Sinusoidal(width).double()
    chosen, moved = torch.tensor(order), tuple(words[n] for n in order)
    states = torch.stack([drawn[word] for word in words])
    read, placed = _read(heads, states), _read(heads, position(states))
    read_moved = _read(heads, states[chosen])
    placed_moved = _read(heads, position(states[chosen]))
    return Worked(
        formula="f(P X) = P f(X) for every permutation P, where f is self-attention",
        given=(
            Step("words", "X", plain(states), rows=tuple(words)),
            Step("order", "P X: the same words in another order", moved),
        ),
        steps=(
            Step("as written", "f(X)", plain(read), rows=tuple(words)),
            Step("reordered", "f(P X)", plain(read_moved), rows=moved),
            Step("difference", "max |f(P X) - P f(X)|", _gap(read_moved, read[chosen])),
            Step("with positions, as written", "f(X + p)", plain(placed), rows=tuple(words)),
            Step("with positions, reordered", "f(P X + p)", plain(placed_moved), rows=moved),
        ),
        result=Step(
            "difference with positions",
            "max |f(P X + p) - P f(X + p)|",
            _gap(placed_moved, placed[chosen]),
            note="Only with positions does it matter who chased whom.",
        ),
    )


@torch.no_grad()
def _read(heads: Heads, states: Float[Tensor, "words width"]) -> Float[Tensor, "words width"]:
    return heads(states[None], heads.remember(states[None]))[0]


def _gap(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())
