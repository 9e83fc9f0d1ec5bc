"""What a fast path copies of a model: weights that are multiplied together, laid together.

They are copies, so whoever keeps them must see when the side itself is trained on, pruned, watched, hooked
or rebuilt; and soon, because a GPU waits meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, final
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Dot, Heads, ScaledDot, Softmax
from regard.layers import FeedForward, LayerNorm, Residual

Side = TypeVar("Side", bound=nn.Module)
Written = tuple[tuple[int, int, torch.Size], ...]


@final
@dataclass(frozen=True, eq=False)
class Linear:
    """W x + b."""

    weight: Float[Tensor, "out into"]
    bias: Float[Tensor, " out"] | None

    @classmethod
    def of(cls, dtype: torch.dtype, *parts: nn.Linear) -> Linear:
        """These maps of one input as one, results side by side."""
        weight = torch.cat([part.weight.detach().to(dtype) for part in parts])
        if all(part.bias is None for part in parts):
            return cls(weight, None)
        biases = [
            part.weight.new_zeros(len(part.weight)) if part.bias is None else part.bias.detach()
            for part in parts
        ]
        return cls(weight, torch.cat(biases).to(dtype))


@final
@dataclass(frozen=True, eq=False)
class Norm:
    """Gain, shift, and the least variance."""

    weight: Float[Tensor, " width"]
    bias: Float[Tensor, " width"]
    eps: float

    @classmethod
    def of(cls, dtype: torch.dtype, norm: LayerNorm) -> Norm:
        """The standard form of a norm."""
        assert norm.weight is not None
        assert norm.bias is not None
        weight, bias = (tensor.detach().to(dtype, copy=True) for tensor in (norm.weight, norm.bias))
        return cls(weight, bias, norm.eps)


def is_plain_block(
    heads: Sequence[Heads], feedforward: FeedForward, residuals: Sequence[Residual]
) -> bool:
    """Dot products and softmax over heads of one width, standard norms, nothing in a Linear's place."""
    linears = [feedforward.widen, feedforward.narrow]
    for one in heads:
        linears += [one.query, one.key, one.value, one.output]
    return (
        all(map(is_plain_heads, heads))
        and all(residual.norm.form == "standard" for residual in residuals)
        and all(type(linear) is nn.Linear for linear in linears)
    )


def is_plain_heads(heads: Heads) -> bool:
    """Dot products and softmax, keys as wide as values, and no positions of their own."""
    attention = heads.attention
    return (
        isinstance(attention.score, (Dot, ScaledDot))
        and isinstance(attention.normaliser, Softmax)
        and attention.bias is None
        and heads.position is None
        and heads.key_width == heads.value_width
    )


@final
@dataclass(frozen=True, eq=False)
class _Examined:
    """The modules of a side that was found plain, and those that may turn otherwise by themselves."""

    modules: list[nn.Module]
    heads: list[Heads]


_examined: WeakKeyDictionary[nn.Module, _Examined] = WeakKeyDictionary()


def is_plain(side: Side, examine: Callable[[Side], bool]) -> bool:
    """Whether a side evaluates, unwatched, ungated and without hooks, and is such as `examine` asks for.

    Examined once is enough, until one of its modules is another.
    """
    if side.training:
        return False
    modules = _modules(side)
    found = _examined.get(side)
    if found is None or found.modules != modules:
        if not examine(side):
            return False
        found = _Examined(modules, [one for one in modules if isinstance(one, Heads)])
        _examined[side] = found
    hooked = any(one._forward_hooks or one._forward_pre_hooks for one in modules)
    return not hooked and all(
        one.gate is None and one.attention.watcher is None for one in found.heads
    )


def written(side: nn.Module) -> Written:
    """Where each tensor of a side lies, how often it was written, and its shape."""
    tensors = [
        tensor
        for module in (side, *_modules(side))
        for tensor in module._parameters.values()
        if tensor is not None
    ]
    return tuple(
        (one.data_ptr(), 0 if one.is_inference() else one._version, one.shape) for one in tensors
    )


def _modules(side: nn.Module) -> list[nn.Module]:
    """All but the side itself, which would keep itself alive; several times sooner than `side.modules()`."""
    found = [part for part in side._modules.values() if part is not None]
    for module in found:
        found += [part for part in module._modules.values() if part is not None]
    return found
