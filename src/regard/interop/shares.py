"""Shares of one, as a softmax gives them, that become attention where they multiply values.

What counts is what multiplies: masked, renormalised, mixed between heads or thinned behind the softmax, the
weights of a head are those that the product reads. Dropout in training alone is left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention import Aligned
from regard.errors import UsageError
from regard.interop.aligned import known, softmax
from regard.interop.read_axes import ReadAxes, by_einsum, by_matmul, by_sum, mixed_by_einsum

Function = Callable[..., Any]
Tell = Callable[[Aligned], Tensor | None]  # other weights come back where they shall be used

_TIMES: tuple[Function, ...] = (torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__)
_PRODUCTS: tuple[Function, ...] = (
    *(torch.matmul, torch.bmm, Tensor.matmul, Tensor.bmm, Tensor.__matmul__, Tensor.__rmatmul__),
    *(torch.baddbmm, Tensor.baddbmm, torch.einsum),
)
_SUMS: tuple[Function, ...] = (torch.sum, Tensor.sum)
_DROPS: tuple[Function, ...] = (F.dropout, torch.dropout)
# What lays numbers out anew without changing them.
_MOVES: tuple[Function, ...] = (
    *(torch.reshape, Tensor.reshape, torch.flatten, Tensor.flatten, Tensor.repeat),
    *(torch.repeat_interleave, Tensor.repeat_interleave, Tensor.__getitem__),
)
_NAMES = ("input", "self", "batch1", "other", "mat2", "batch2")  # of what is multiplied, if named


@final
@dataclass(eq=False)
class _Followed:
    """A softmax's result, or what was made of it: `dim` is the axis that the softmax ran over."""

    kept: Tensor
    dim: int
    scores: Tensor  # laid out as `kept`, like those below
    shown: Tensor | None = None  # what to look at, if not what lies there
    edited: Tensor | None = None  # what to use in its place
    read: set[tuple[int, int]] = field(default_factory=set)

    def axis(self, view: Tensor) -> int | None:
        """Which axis of a view of `kept` that one is."""
        if view.shape == self.kept.shape and view.stride() == self.kept.stride():
            return self.dim
        step, size = self.kept.stride(self.dim), self.kept.shape[self.dim]
        steps = zip(view.stride(), view.shape, strict=True)
        places = [n for n, (own, length) in enumerate(steps) if own == step and 1 < length <= size]
        return places[0] if len(places) == 1 else None

    def part(self, other: Tensor | None, view: Tensor) -> Tensor:
        """What a view of `kept` is of another tensor that lies alike."""
        if other is None:
            return view
        return other.as_strided(view.shape, view.stride(), view.storage_offset())


@final
@dataclass(frozen=True, eq=False)
class _Pending:
    """A product, place by place, that is attention once it is summed over the keys."""

    result: Tensor
    func: Function
    values: list[Any]
    place: int
    found: _Followed
    keys: int  # an axis of the result


@final
class Shares:
    """The last few results of a softmax, and what was made of them."""

    def __init__(self) -> None:
        self._followed: deque[_Followed] = deque(maxlen=8)
        self._pending: deque[_Pending] = deque(maxlen=2)

    def __bool__(self) -> bool:
        return bool(self._followed)

    def may_be(self, own: Any, scores: Tensor, dim: int) -> None:
        """Remember what a softmax over an axis gave."""
        if _is_whole(own) and own.dim() > 1:
            laid = torch.empty_like(own).copy_(scores.detach())
            self._followed.append(_Followed(own, dim % own.dim(), laid))

    def after(
        self, func: Function, given: tuple[Any, ...], named: Mapping[str, Any], tell: Tell
    ) -> Any:
        """The function's own answer; what it makes of shares is followed, and reading with them is told."""
        values, more = [*given, *(named[name] for name in _NAMES if name in named)], named
        if len(values) > len(given):
            more = {name: one for name, one in named.items() if name not in _NAMES}
        if func in _PRODUCTS:
            return self._product(func, values, more, tell)
        if func in _SUMS and (edited := self._summed(values, more, tell)) is not None:
            values[0] = edited
        if func is F.dropout and named.get("inplace") and (share := self._of(values[0])):
            share.shown = share.kept.detach().clone(memory_format=torch.preserve_format)
        result = func(*values, **more)
        return self._multiplied(func, values, more, result)

    def _multiplied(
        self, func: Function, values: list[Any], named: Mapping[str, Any], result: Any
    ) -> Any:
        """Follow what was made of shares: as large as they were, laid out anew, or a product to be summed."""
        if not isinstance(result, Tensor) or self._of(result) is not None:
            return result
        for place, one in enumerate(values):
            share = self._of(one)
            axis = None if share is None else share.axis(one)
            if share is None or axis is None:
                continue
            if func in _TIMES and result.shape != one.shape:
                keys = result.dim() - one.dim() + axis
                if len(values) == 2 and not _is_table(values[1 - place]):
                    self._pending.append(_Pending(result, func, values, place, share, keys))
            elif _is_whole(result):
                made = _made(func, share, axis, place, values, named, result)
                self._followed.extend([] if made is None else [made])
            break
        return result

    def _product(
        self, func: Function, values: list[Any], named: Mapping[str, Any], tell: Tell
    ) -> Any:
        if func is torch.einsum and len(values) == 2 and isinstance(values[1], list | tuple):
            values = [values[0], *values[1]]
        places = [n for n, one in enumerate(values) if isinstance(one, Tensor)]
        pair = places[1:] if func in (torch.baddbmm, Tensor.baddbmm) else places
        for place, other in (pair, pair[::-1]) if len(pair) == 2 else ():
            view, share = values[place], self._of(values[place])
            if share is None:
                continue
            left = (place < other) is not (func is Tensor.__rmatmul__)
            if func is torch.einsum:
                axes = by_einsum(values[0], view, values[other], first=left)
            else:
                axes = by_matmul(view, left=left)
            if axes is not None and share.axis(view) == axes.keys:
                if _is_table(values[other]):
                    continue
                _told(share, view, axes, tell)
                values[place] = share.part(share.edited, view)
                break
            result = func(*values, **named)
            if func is torch.einsum:
                kept = mixed_by_einsum(values[0], share.axis(view), first=left)
            else:
                kept = result.dim() - (2 if left else 1) if share.axis(view) is not None else None
            if kept is not None and _is_whole(result):  # heads are mixed, or queries
                self._followed.append(_Followed(result, kept, result.detach().log()))
            return result
        return func(*values, **named)

    def _summed(self, values: list[Any], named: Mapping[str, Any], tell: Tell) -> Tensor | None:
        """A sum over keys of weights times values; what to sum instead comes back if weights were edited."""
        dim = named.get("dim", values[1] if len(values) > 1 else None)
        dim = dim[0] if isinstance(dim, list | tuple) and len(dim) == 1 else dim
        for one in self._pending:
            if (
                values[0] is one.result
                and isinstance(dim, int)
                and dim % one.result.dim() == one.keys
            ):
                view, other = one.values[one.place], one.values[1 - one.place]
                keys = one.keys - one.result.dim() + view.dim()
                _told(one.found, view, by_sum(view, other, keys), tell)
                if one.found.edited is None:
                    return None
                again = list(one.values)
                again[one.place] = one.found.part(one.found.edited, view)
                return one.func(*again)
        return None

    def _of(self, tensor: Any) -> _Followed | None:
        start = _start(tensor)
        same = (one for one in self._followed if start and _start(one.kept) == start)
        return next(same, None)


def _start(tensor: Any) -> int:
    """Where its numbers lie; 0 of what has no place of its own."""
    if not isinstance(tensor, Tensor) or tensor.is_nested or tensor.is_sparse:
        return 0
    try:
        return tensor.untyped_storage().data_ptr()
    except RuntimeError:  # a tensor inside `vmap`, or one that holds no numbers
        return 0


def _is_whole(tensor: Any) -> bool:
    """Whether it fills its own memory, so that another can be laid out alike."""
    return (
        _start(tensor) != 0
        and tensor.is_floating_point()
        and tensor.storage_offset() == 0
        and torch.empty_like(tensor, device="meta").stride() == tensor.stride()
    )


def _is_table(values: Any) -> bool:
    """Whether what is read is learned and no state: rows of a vocabulary, experts."""
    base = values._base if isinstance(values, Tensor) else None
    return not isinstance(values, Tensor) or any(
        isinstance(v, nn.Parameter) for v in (values, base)
    )


def _made(
    func: Function,
    found: _Followed,
    axis: int,
    place: int,
    values: list[Any],
    named: Mapping[str, Any],
    result: Tensor,
) -> _Followed | None:
    """What a function made of shares: as large as they were, or laid out anew."""

    def also(other: Tensor) -> Tensor:
        """The same function of something else."""
        return func(*values[:place], other, *values[place + 1 :], **named)

    def laid(other: Tensor) -> Tensor:
        return torch.empty_like(result, dtype=other.dtype).copy_(other.detach())

    view = values[place]
    scores, shown = found.part(found.scores, view), None
    own = None if found.shown is None else found.part(found.shown, view)
    if func in _MOVES:
        sizes = [1] * view.dim()
        sizes[axis] = view.shape[axis]
        numbers = torch.arange(view.shape[axis], device=view.device)
        moved = also(numbers.view(sizes).expand(view.shape))
        dims = [n for n in range(moved.dim()) if bool(moved.diff(dim=n).any())]
        if len(dims) != 1:
            return None
        axis, scores, own = dims[0], also(scores), None if own is None else also(own)
        shown = None if own is None else laid(own)
    elif result.shape != view.shape:
        return None
    elif func in _DROPS:
        shown = laid(view if own is None else own)
    elif own is not None:
        shown = laid(also(own))
    return _Followed(result, axis, laid(scores), shown)


def _told(found: _Followed, view: Tensor, axes: ReadAxes, tell: Tell) -> None:
    """Weights that are read, once for each part of them; others are kept to be used."""
    region = int(view.storage_offset()), view.numel()
    if region in found.read:
        return
    found.read.add(region)
    whole = _is_one_of_heads(found, view)

    def rows(states: Tensor) -> Tensor:
        """(batch, heads, query, key), whatever axes there are."""
        if whole:
            states = states.reshape(found.kept.shape)
        else:
            states = _in_order(states, axes)
            states = states.unsqueeze(-2) if axes.query is None else states
        lead = states.dim() - 2
        return (
            (states[None, None], states[:, None], states)[lead]
            if lead < 3
            else states.flatten(0, -4)
        )

    own = found.part(found.shown, view)
    edited = tell(_aligned(rows(own).detach(), rows(found.part(found.scores, view))))
    if edited is None:
        return
    if edited.numel() != view.numel() or 0 in view.stride():
        raise unedited("weights that are laid out anew before they are used")
    base = found.edited
    if base is None:
        base = found.kept.clone(memory_format=torch.preserve_format)
    part = found.part(base, view)
    part = part if whole else _in_order(part, axes)
    part.copy_(edited.reshape(part.shape))
    found.edited = base


def _in_order(states: Tensor, axes: ReadAxes) -> Tensor:
    """Its axes as they are read; those that are left out have one place."""
    others = [n for n in range(states.dim()) if n not in axes.order]
    return states.permute(*others, *axes.order)[(0,) * len(others)]


def _is_one_of_heads(found: _Followed, view: Tensor) -> bool:
    """Whether axes of heads were only folded into the batch for the product."""
    return (
        found.kept.dim() > max(3, view.dim())
        and found.dim == found.kept.dim() - 1
        and view.shape[-1] == found.kept.shape[-1]
        and view.numel() == found.kept.numel()
        and view.is_contiguous()
        and found.kept.is_contiguous()
    )


def _aligned(weights: Tensor, scores: Tensor) -> Aligned:
    """With the scores where the weights are still their softmax, else with logarithms."""
    alignment = softmax(scores)
    seeing = (
        alignment.weights.sum(-1, keepdim=True) > 0
    )  # who may see nothing is everybody's own affair
    near = 1e-6 if weights.dtype in (torch.float32, torch.float64) else 1e-2
    if bool((((alignment.weights - weights) * seeing).abs() <= near).all()):
        return alignment
    weights = weights.nan_to_num()
    return known(weights, weights.clamp_min(0).log())


def unedited(what: str) -> UsageError:
    """What can be looked at alone."""
    return UsageError(
        f"{what} cannot be edited", where="watch(model, edit)", remedy="look without `edit`"
    )
