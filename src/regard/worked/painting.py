"""Masks painted: which word may look at which (L35-L38)."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regard.attention import Causal, Given, Mask, Padding, Window, align
from regard.errors import UsageError
from regard.worked.example import Step, Worked
from regard.worked.given import Table, matrix, plain, positive

WORDS = ("I", "am", "a", "student", "<pad>", "<pad>")
# Every word looks at itself and at the first one.
PAINTED = tuple(tuple(int(j in (0, i)) for j in range(len(WORDS))) for i in range(len(WORDS)))


def painted_masks(
    words: Sequence[str] = WORDS,
    length: int = 4,
    window: int = 1,
    painted: Table = PAINTED,
) -> Worked:
    """Each mask as a picture, and the weights it leaves when every score is the same.

    The first `length` words are real; a window reaches `window` words to each side. `painted` is yours: 1
    where the word of the row may look at the word of the column.
    """
    positive(words=len(words))
    if not 0 <= length <= len(words):
        raise UsageError(
            f"length must be in 0..{len(words)}; it is {length}",
            where="length",
            remedy=f"take {len(words)} for no padding at all",
        )
    count, labels = len(words), tuple(words)
    yours = matrix("painted", painted, count, count) != 0
    masks: dict[str, tuple[str, Mask]] = {
        "painted": ("M_ij = 0 where you painted, -inf elsewhere", Given(yours[None, None])),
        "causal": ("j <= i: no looking ahead (L36)", Causal()),
        "padding": ("j < length: only real words (L37)", Padding(torch.tensor([length]))),
        "window": ("|i - j| <= range: the neighbours alone (L38)", Window(window, window)),
        "causal and padding": ("both must allow it", Causal() & Padding(torch.tensor([length]))),
    }
    equal = torch.zeros(count, 1, dtype=torch.float64)
    steps = []
    for name, (formula, mask) in masks.items():
        found = align(equal, equal, mask=mask)
        allowed = mask.to_bool(count, count)[0, 0]
        steps += [
            Step(name, formula, plain(allowed), labels, labels),
            Step(f"{name}, weights", "softmax(0 + M)", plain(found.weights[0, 0]), labels, labels),
        ]
    causal = align(equal, equal, mask=Causal())
    return Worked(
        formula="softmax(Q K^T / sqrt(d_k) + M) V,  M_ij = -inf where i may not look at j",
        given=(
            Step("words", "a row looks, a column is looked at", labels),
            Step("length", "real words", length),
            Step("window", "range to each side", window),
        ),
        steps=tuple(steps),
        result=Step(
            "M", "the causal mask as it is added", plain(causal.scores[0, 0]), labels, labels
        ),
    )
