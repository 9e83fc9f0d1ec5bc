"""Attention seen where it is worked out: in torch's own functions, whoever calls them.

`scaled_dot_product_attention` and `multi_head_attention_forward` say queries, keys and values; of a softmax
over the last of four axes, or over a square, the weights are known. Nothing is changed: the same kernel runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, final

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from regard.attention import Aligned
from regard.interop.aligned import aligned, softmax

SOFTMAX: tuple[Callable[..., Any], ...] = (F.softmax, torch.softmax, Tensor.softmax)
_HEADS = inspect.signature(F.multi_head_attention_forward)


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
        return func(*given, **(named or {}))

    def _dot_product(
        self, func: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale")
        meant = {**dict(zip(names, given, strict=False)), **named}
        query, key, value = (meant[name] for name in names[:3])
        one = query.dim() == 3  # a batch without heads
        if query.dim() not in (3, 4) or query.is_nested:
            return func(*given, **named)
        query, key, value = (states[:, None] if one else states for states in (query, key, value))
        mask = meant.get("attn_mask")
        mask = mask[:, None] if one and mask is not None and mask.dim() == 3 else mask
        causal, scale = meant.get("is_causal", False), meant.get("scale")
        found = aligned(query, key, value, mask, causal=causal, scale=scale)
        edited = self.hearer.hear(found)
        if edited is None:
            return func(*given, **named)
        context = (edited @ found.memory.value).to(value.dtype)
        return context[:, 0] if one else context

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
        scores, dim = given[0], named.get("dim", given[1] if len(given) > 1 else None)
        if not _is_attention(scores, dim):
            return func(*given, **named)
        rows = scores[:, None] if scores.dim() == 3 else scores
        edited = self.hearer.hear(softmax(rows))
        own = func(*given, **named)
        return own if edited is None else edited.reshape(own.shape).to(own.dtype)


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


def _is_attention(scores: Any, dim: Any) -> bool:
    """Whether a softmax shares attention among keys: the last of four axes, or of a square with a batch."""
    if not isinstance(scores, Tensor) or not isinstance(dim, int) or not scores.is_floating_point():
        return False
    if scores.dim() not in (3, 4) or dim not in (-1, scores.dim() - 1):
        return False
    return scores.dim() == 4 or (scores.shape[1] == scores.shape[2] and scores.shape[1] > 1)
