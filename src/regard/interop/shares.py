"""Shares of one, as a softmax gives them, that become attention when they are multiplied with values."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Function = Callable[..., Any]

PRODUCTS: tuple[Function, ...] = (
    *(torch.matmul, torch.bmm, torch.einsum, torch.mul),
    *(Tensor.matmul, Tensor.bmm, Tensor.mul),
    *(Tensor.__matmul__, Tensor.__mul__, Tensor.__rmul__),
)
_BY_PLACE = (torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__)
FOLLOWED: tuple[Function, ...] = (
    *(F.dropout, torch.dropout, Tensor.to, Tensor.type_as, Tensor.float, Tensor.half),
    *(Tensor.bfloat16, Tensor.contiguous, Tensor.clone, Tensor.masked_fill),
)


@final
@dataclass(frozen=True, eq=False)
class Read:
    """Weights that were used, which argument of the product they are, and whether they lie as they were."""

    weights: Tensor
    scores: Tensor
    place: int
    plain: bool


@final
@dataclass(frozen=True, eq=False)
class _Candidate:
    """What a softmax gave, over which axis, and what it was given; `kept` holds the memory of it."""

    own: Tensor
    scores: Tensor
    dim: int
    kept: Tensor


@final
class Shares:
    """The last few results of a softmax with fewer than four axes: attention, or chances of a vocabulary."""

    def __init__(self) -> None:
        self._candidates: deque[_Candidate] = deque(maxlen=8)

    def may_be(self, own: Tensor, scores: Tensor, dim: int) -> None:
        """Remember what a softmax over an axis gave."""
        if own.dim() in (2, 3) and own.is_floating_point():
            self._candidates.append(_Candidate(own, scores, dim % own.dim(), own))

    def followed(self, given: tuple[Any, ...], result: Any) -> Any:
        """What dropout or another number format made of a candidate is one too."""
        found = self._of(given[0]) if given else None
        if found is not None and isinstance(result, Tensor) and self._of(result) is None:
            self._candidates.append(_Candidate(found.own, found.scores, found.dim, result))
        return result

    def read_by(self, func: Function, given: tuple[Any, ...]) -> Read | None:
        """The weights with which a product reads values, if it is one that reads."""
        values = list(given)
        if len(values) == 3 and func is torch.einsum:
            del values[0]
        if not self._candidates or len(values) != 2:
            return None
        for place, (shares, others) in enumerate((values, values[::-1])):
            found = self._of(shares)
            if found is None or not isinstance(others, Tensor) or isinstance(others, nn.Parameter):
                continue
            if func in _BY_PLACE and not (shares.dim() == 3 and shares.shape[2] == 1):
                continue  # weights of a sum over values have one axis of their own
            return self._read(found, shares, place + len(given) - len(values), func)
        return None

    def _read(self, found: _Candidate, shares: Tensor, place: int, func: Function) -> Read:
        rows = [one.movedim(found.dim, -1) for one in (found.own, found.scores)]
        if found.own.dim() == 3:
            rows = [one[:, None] for one in rows]
        else:  # one query of each row of a batch, or several of a text without a batch
            alone = shares.dim() == 2 and func is not torch.einsum
            rows = [one[None, None] if alone else one[:, None, None] for one in rows]
        plain = shares.is_contiguous() and found.dim == found.own.dim() - 1
        return Read(rows[0], rows[1], place, plain)

    def _of(self, tensor: Any) -> _Candidate | None:
        if not isinstance(tensor, Tensor) or tensor.is_nested or tensor.is_sparse:
            return None
        start = tensor.untyped_storage().data_ptr()
        same = (one for one in self._candidates if one.kept.untyped_storage().data_ptr() == start)
        return next(same, None)
