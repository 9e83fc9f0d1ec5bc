"""v . tanh(W q + U k) with softmax on a GPU, never forming (query, key, neuron): memory grows as the length.

The programs are in `accelerate/triton`, imported when first needed: Triton comes with PyTorch for NVIDIA, and
nobody else misses it. To a compiler the whole is one operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.formula import AttendForm
from regard.attention.mask import Both, Causal, Mask, Padding, Window
from regard.attention.memory import Memory
from regard.attention.normalise import Softmax
from regard.attention.score import Additive

if TYPE_CHECKING:
    from regard.attention.attention import Attention

ENDLESS = 1 << 30  # a window that reaches everything
KINDS = (torch.float32, torch.bfloat16, torch.float16)
HAS_TRITON = find_spec("triton") is not None  # asked once, here: a compiler does not follow it


@final
@dataclass(frozen=True, eq=False)
class Band:
    """Causal, padding and window masks, and their conjunctions: i - before <= j <= i + after, j < length."""

    before: int = ENDLESS
    after: int = ENDLESS
    lengths: Tensor | None = None

    @classmethod
    def of(cls, mask: Mask | None) -> Band | None:
        """This mask as a band, or None when it is something finer."""
        before, after, lengths = ENDLESS, ENDLESS, None
        for part in mask.parts if isinstance(mask, Both) else (mask,):
            match part:
                case None:
                    pass
                case Causal():
                    after = 0
                case Window():
                    before, after = min(before, part.before), min(after, part.after)
                case Padding() if lengths is None:
                    lengths = part.lengths
                case _:
                    return None
        return cls(before, after, lengths)


@final
@dataclass(frozen=True)
class AdditiveKernel(AttendForm):
    """From `least` (query, key, neuron) triples of a batch on, a program of our own pays.

    The backward pass may use `scratch` bytes for the gradients of scores, whatever the length.
    """

    least: int = 1 << 20
    scratch: int = 1 << 28
    installed: bool = HAS_TRITON
    devices: tuple[str, ...] = ("cuda",)

    def takes(self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None) -> bool:
        """Whether the GPU's programs know this attention, and had better have it."""
        known = isinstance(attention.score, Additive) and isinstance(attention.normaliser, Softmax)
        if not known or attention.bias is not None or attention.is_dropping:
            return False
        rows, (keys, neurons) = query.shape[:2].numel(), memory.key.shape[2:]
        return (
            self.installed
            and query.shape[2] > 1  # one query's scores are no larger than the keys
            and rows * query.shape[2] * keys * neurons >= self.least
            and rows < 1 << 16  # of which a launch holds no more
            and keys > 0
            and all(states.dtype in KINDS for states in (query, memory.key, memory.value))
            and memory.value.shape[-1] <= 256
            and Band.of(mask) is not None
        )

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "b h query value_width"]:
        """softmax(v . tanh(W q + U k)) v', a block of keys at a time."""
        score, band = attention.score, Band.of(mask)
        assert isinstance(score, Additive)
        assert band is not None
        context, _ = _operation(
            score.adapt(query),
            memory.key,
            memory.value,
            score.value_weight,
            band.lengths,
            [memory.first, band.before, band.after],
            self.scratch,
        )
        return context


def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    lengths: Tensor | None,
    band: list[int],
    scratch: int,  # noqa: ARG001 - of the backward pass
) -> tuple[Tensor, Tensor]:
    from regard.accelerate.triton import additive_launch

    return additive_launch.forward(query, key, value, weight, lengths, band)


def _backward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    lengths: Tensor | None,
    band: list[int],
    scratch: int,
    context: Tensor,
    normaliser: Tensor,
    gradient: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    from regard.accelerate.triton import additive_launch

    saved = query, key, value, weight, lengths
    return additive_launch.backward(*saved, band, scratch, context, normaliser, gradient)


def _forward_shapes(query: Tensor, _: Tensor, value: Tensor, *__: Any) -> tuple[Tensor, Tensor]:
    """For a compiler: how large the results are."""
    context = value.new_empty(*query.shape[:3], value.shape[-1])
    return context, query.new_empty(query.shape[:3], dtype=torch.float32)


def _backward_shapes(*tensors: Any) -> tuple[Tensor, ...]:
    return tuple(one.new_empty(one.shape) for one in tensors[:4])


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    """What the backward pass needs: nothing that grows faster than the length."""
    *tensors, ctx.band, ctx.scratch = inputs
    ctx.save_for_backward(*tensors, *output)


def _differentiate(ctx: Any, gradient: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
    query, key, value, weight, lengths, read, normaliser = ctx.saved_tensors
    saved = query, key, value, weight, lengths
    gradients = _backward_operation(*saved, ctx.band, ctx.scratch, read, normaliser, gradient)
    return *gradients, None, None, None


INPUTS = "Tensor query, Tensor key, Tensor value, Tensor weight, Tensor? lengths, int[] band, int scratch"
_operation = torch.library.custom_op(
    "regard::additive", _forward, mutates_args=(), schema=f"({INPUTS}) -> (Tensor, Tensor)"
)
_backward_operation = torch.library.custom_op(
    "regard::additive_backward",
    _backward,
    mutates_args=(),
    schema=f"({INPUTS}, Tensor context, Tensor normaliser, Tensor gradient)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
)
_operation.register_fake(_forward_shapes)
_operation.register_autograd(_differentiate, setup_context=_keep)
_backward_operation.register_fake(_backward_shapes)
