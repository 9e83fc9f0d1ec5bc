"""Attention seen where it is worked out: in torch's own functions, no matter who calls them.

`scaled_dot_product_attention` and `multi_head_attention_forward` say queries, keys and values. What a
softmax gives is an attention where it multiplies values (`shares`). The same kernels run as without.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, final, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from regard.attention import Aligned
from regard.interop.aligned import aligned, padded, softmax
from regard.interop.shares import Shares, unedited

SOFTMAX: tuple[Callable[..., Any], ...] = (
    *(F.softmax, torch.softmax, Tensor.softmax, torch.special.softmax),
)
_HEADS = inspect.signature(F.multi_head_attention_forward)


@runtime_checkable
class Hears(Protocol):
    """Whom an attention is told to; weights come back where others shall be used."""

    def ready(self) -> bool:
        """Whether what happens now is to be seen."""

    def settled(self) -> bool:
        """Whether a softmax over four axes is an attention here, as the model's own eager form says."""

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
            if self.shares:
                return self.shares.after(func, given, named or {}, self.hearer.hear)
        return func(*given, **(named or {}))

    def _dot_product(
        self, func: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale")
        meant = {**dict(zip(names, given, strict=False)), **named}
        query, key, value = (meant[name] for name in names[:3])
        mask, causal = meant.get("attn_mask"), meant.get("is_causal", False)
        if query.is_nested:
            alignment = _nested(query, key, value, causal, meant.get("scale"))
        else:
            states = _all_four((query, key, value), mask)
            alignment = aligned(*states, causal=causal, scale=meant.get("scale"))
        edited = self.hearer.hear(alignment)
        if edited is None:
            return func(*given, **named)
        if query.is_nested:
            raise unedited("nested tensors")
        context = (edited @ alignment.memory.value).to(value.dtype)
        if query.dim() == 4:
            return context
        lead = torch.broadcast_shapes(query.shape[:-3], key.shape[:-3])
        return context.reshape(*lead, *query.shape[-3 if query.dim() > 2 else -2 : -1], -1)

    def _several(
        self, func: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        bound = _HEADS.bind(*given, **named)
        bound.apply_defaults()
        meant = bound.arguments
        alignment = projected(meant)
        edited = self.hearer.hear(alignment, crosses=meant["query"] is not meant["key"])
        output, weights = func(*given, **named)
        if edited is None:
            return output, weights
        merged = (edited @ alignment.memory.value).transpose(1, 2).flatten(2)
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
        if scores.dim() < 4 or not self.hearer.settled():
            self.shares.may_be(own, scores, dim)
            return own
        if dim not in (-1, scores.dim() - 1):
            return own
        edited = self.hearer.hear(softmax(_four(scores)))
        return own if edited is None else edited.reshape(own.shape).to(own.dtype)


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


def _all_four(
    states: tuple[Tensor, Tensor, Tensor], mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Queries, keys, values and their mask with four axes; a mask lines up with the last axes of scores."""
    axes = states[0].dim()
    if axes > 4:  # what is shared along an axis in front is written out
        lead = torch.broadcast_shapes(*(one.shape[:-3] for one in states))
        query, key, value = (one.expand(*lead, *one.shape[-3:]) for one in states)
        states = query, key, value
        if mask is not None:
            mask = mask[(None,) * max(0, axes - mask.dim())]
            mask = mask.expand(*lead, *mask.shape[-3:])
    elif mask is not None:
        mask = mask[(None,) * max(0, axes - mask.dim())]
    query, key, value = (_four(one) for one in states)
    return query, key, value, None if mask is None else _four(mask)


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
    if given["is_causal"] and given["key_padding_mask"] is None and not given["need_weights"]:
        return aligned(query, key, value, causal=True)  # torch takes the hint for the mask
    mask = _masks(given, (batch, heads), extra)
    return aligned(query, key, value, mask)


def _masks(given: Mapping[str, Any], sizes: tuple[int, int], extra: int) -> Tensor | None:
    """Both masks of `nn.MultiheadAttention` as one to add; its True means `may not look`."""
    batch, heads = sizes
    masks = []
    pattern, padding = given["attn_mask"], given["key_padding_mask"]
    if pattern is not None:
        pattern = pattern.view(batch, heads, *pattern.shape[-2:]) if pattern.dim() == 3 else pattern
        masks.append(_added(pattern if pattern.dim() == 4 else pattern[None, None]))
    if padding is not None:
        padding = padding[None] if padding.dim() == 1 else padding
        masks.append(_added(padding[:, None, None]))
    if not masks:
        return None
    total = masks[0] if len(masks) == 1 else masks[0] + masks[1]
    return F.pad(total, (0, extra))


def _added(mask: Tensor) -> Tensor:
    if mask.dtype != torch.bool:
        return mask.float()
    return torch.zeros(mask.shape, device=mask.device).masked_fill(mask, -torch.inf)
