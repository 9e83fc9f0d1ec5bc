"""Attention seen where it is worked out: in torch's own functions, no matter who calls them.

`scaled_dot_product_attention` and `multi_head_attention_forward` say queries, keys and values. Of a softmax
the weights are known: one over the last of four axes is an attention; one of fewer axes is, when its result
is multiplied with values. Nothing is changed: the same kernel runs.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, final, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.attention import Aligned
from regard.errors import UsageError
from regard.interop.aligned import aligned, known, padded, softmax

SOFTMAX: tuple[Callable[..., Any], ...] = (F.softmax, torch.softmax, Tensor.softmax)
_HEADS = inspect.signature(F.multi_head_attention_forward)


@runtime_checkable
class Hears(Protocol):
    """Whom an attention is told to; weights come back where others shall be used."""

    def ready(self) -> bool:
        """Whether what happens now is to be seen."""

    def hear(self, found: Aligned, crosses: bool = False) -> Tensor | None:
        """One attention of the module at work."""


@final
class Functions(TorchFunctionMode):
    """While it is on, every attention that torch's functions work out is told to somebody."""

    def __init__(self, hearer: Hears) -> None:
        super().__init__()
        self.hearer = hearer
        self.shares = Shares()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        given: tuple[Any, ...] = (),
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        """The function's own answer, and what attention it was, if it was one."""
        del types
        if self.hearer.ready():
            if func is F.scaled_dot_product_attention:
                return self._dot_product(func, given, dict(named or {}))
            if func is F.multi_head_attention_forward:
                return self._several(func, given, dict(named or {}))
            if func in SOFTMAX:
                return self._softmax(func, given, dict(named or {}))
            if func in PRODUCTS:
                return self._product(func, given, dict(named or {}))
            if func in FOLLOWED:
                return self.shares.followed(given, func(*given, **(named or {})))
        return func(*given, **(named or {}))

    def _dot_product(
        self, func: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale")
        meant = {**dict(zip(names, given, strict=False)), **named}
        query, key, value = (meant[name] for name in names[:3])
        mask, causal = meant.get("attn_mask"), meant.get("is_causal", False)
        if query.is_nested:
            found = _nested(query, key, value, causal, meant.get("scale"))
        else:
            query, key, value = (_four(states) for states in (query, key, value))
            mask = mask[:, None] if mask is not None and mask.dim() == 3 else mask
            mask = mask.flatten(0, -4) if mask is not None and mask.dim() > 4 else mask
            found = aligned(query, key, value, mask, causal=causal, scale=meant.get("scale"))
        edited = self.hearer.hear(found)
        if edited is None:
            return func(*given, **named)
        if query.is_nested:
            raise _unedited("nested tensors")
        context = (edited @ found.memory.value).to(value.dtype)
        return context.reshape(*given[0].shape[:-1], -1) if given else context

    def _several(
        self, func: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        bound = _HEADS.bind(*given, **named)
        bound.apply_defaults()
        meant = bound.arguments
        found = projected(meant)
        edited = self.hearer.hear(found, crosses=meant["query"] is not meant["key"])
        output, weights = func(*given, **named)
        if edited is None:
            return output, weights
        merged = (edited @ found.memory.value).transpose(1, 2).flatten(2)
        states = F.linear(merged.to(output.dtype), meant["out_proj_weight"], meant["out_proj_bias"])
        return states.transpose(0, 1).reshape(output.shape), weights

    def _softmax(
        self, func: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        own = func(*given, **named)
        scores = given[0] if given else named.get("input")
        dim = named.get("dim", given[1] if len(given) > 1 else None)
        if not isinstance(scores, Tensor) or not isinstance(dim, int):
            return own
        if scores.dim() < 4:
            self.shares.may_be(own, scores, dim)
            return own
        if dim not in (-1, scores.dim() - 1):
            return own
        edited = self.hearer.hear(softmax(_four(scores)))
        return own if edited is None else edited.reshape(own.shape).to(own.dtype)

    def _product(
        self, func: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        read = self.shares.read_by(func, given)
        if read is None:
            return func(*given, **named)
        edited = self.hearer.hear(known(read.weights, read.scores))
        if edited is None:
            return func(*given, **named)
        if edited.numel() != read.weights.numel() or not read.plain:
            raise _unedited("weights that are turned before they are used")
        others = list(given)
        others[read.place] = edited.reshape(others[read.place].shape).to(others[read.place].dtype)
        return func(*others, **named)


def _unedited(what: str) -> UsageError:
    return UsageError(
        f"{what} cannot be edited", where="watch(model, edit)", remedy="look without `edit`"
    )


def _four(states: Tensor) -> Tensor:
    """States with axes for batch and heads, whatever axes they have in front."""
    match states.dim():
        case 2:
            return states[None, None]
        case 3:
            return states[:, None]
        case 4:
            return states
        case _:
            return states.flatten(0, -4)


def _nested(query: Tensor, key: Tensor, value: Tensor, causal: bool, scale: Any) -> Aligned:
    """The alignment of rows of different lengths: padded, and the padding hidden."""
    padding = padded(key, 1)[1]
    query, key, value = (padded(one, 1)[0] for one in (query, key, value))
    return aligned(query, key, value, ~padding[:, None, None], causal=causal, scale=scale)


def projected(given: Mapping[str, Any]) -> Aligned:
    """The alignment of `multi_head_attention_forward`, its projections made once more."""
    states = [given[name] for name in ("query", "key", "value")]
    if states[0].dim() == 2:
        states = [one[:, None] for one in states]
    if given["use_separate_proj_weight"]:
        weights = [given[f"{name}_proj_weight"] for name in "qkv"]
    else:
        weights = list(given["in_proj_weight"].chunk(3))
    biases = given["in_proj_bias"].chunk(3) if given["in_proj_bias"] is not None else (None,) * 3
    query, key, value = (
        F.linear(one, weight, bias)
        for one, weight, bias in zip(states, weights, biases, strict=True)
    )
    batch, heads = query.shape[1], given["num_heads"]
    extra = 0
    if given["bias_k"] is not None:
        key = torch.cat([key, given["bias_k"].repeat(1, batch, 1)])
        value = torch.cat([value, given["bias_v"].repeat(1, batch, 1)])
        extra += 1
    query, key, value = (
        one.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3) for one in (query, key, value)
    )  # (batch, heads, length, width)
    if given["add_zero_attn"]:
        key, value = (F.pad(one, (0, 0, 0, 1)) for one in (key, value))
        extra += 1
    mask = _masks(given, (batch, heads), extra)
    return aligned(query, key, value, mask)


def _masks(given: Mapping[str, Any], sizes: tuple[int, int], extra: int) -> Tensor | None:
    """Both masks of `nn.MultiheadAttention` as one to add; its True means `may not look`."""
    batch, heads = sizes
    found = []
    pattern, padding = given["attn_mask"], given["key_padding_mask"]
    if pattern is not None:
        pattern = pattern.view(batch, heads, *pattern.shape[-2:]) if pattern.dim() == 3 else pattern
        found.append(_added(pattern if pattern.dim() == 4 else pattern[None, None]))
    if padding is not None:
        padding = padding[None] if padding.dim() == 1 else padding
        found.append(_added(padding[:, None, None]))
    if not found:
        return None
    total = found[0] if len(found) == 1 else found[0] + found[1]
    return F.pad(total, (0, extra))


def _added(mask: Tensor) -> Tensor:
    if mask.dtype != torch.bool:
        return mask.float()
    return torch.zeros(mask.shape, device=mask.device).masked_fill(mask, -torch.inf)


# Shares of one, as a softmax gives them, that become attention when they are multiplied with values.

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
