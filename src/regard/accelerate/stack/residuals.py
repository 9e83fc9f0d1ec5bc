"""Blocks whose residual sums and norms are one pass over memory, for training on a GPU.

Where one sub-layer's change is added, the next one's norm reads the sum: x' = x + dropout(f(y)), y' =
norm(x'). So here a sub-layer does not close its own residual. It leaves its change to the next one, and
with it the bias of its last linear map, whose gradient, a sum over all places, comes from the same pass.
Packed self-attention takes queries, keys and values from one product, and the ReLU is that product's
epilogue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.accelerate.attend.packed_rows import PackedKernel, part_of
from regard.accelerate.plain import has_hooks, is_whole
from regard.accelerate.triton import feedforward_op, norm_op
from regard.attention import Heads, Mask, Memory
from regard.layers import DecoderBlock, EncoderBlock, FeedForward, LayerNorm, Memories, Residual
from regard.layers.block import Sources, StackForm, is_sharded
from regard.layers.sublayer import activate
from regard.models import TransformerDecoder, TransformerEncoder

States = Float[Tensor, "batch length width"]
Vector = Float[Tensor, " width"]


@final
class Open(NamedTuple):
    """States between two sub-layers, and a change that is still to be added, by way of `residual`.

    `late` is a bias that is in the change already, but does not have its gradient yet.
    """

    states: States
    change: States | None = None
    residual: Residual | None = None
    late: Vector | None = None


@final
class SubLayer(NamedTuple):
    """What a residual goes around; `last` is the linear map at its end, if it ends with one."""

    residual: Residual
    work: Callable[
        [States, bool], States
    ]  # of the opened states, and whether the last bias is late
    last: nn.Linear | None


@final
@dataclass(frozen=True)
class FusedResiduals(StackForm):
    """From `large` numbers on a pass over memory costs more than calling a kernel of our own."""

    large: int = 1 << 22
    devices: tuple[str, ...] = ("cuda",)
    installed: bool = norm_op.HAS_TRITON
    packed: PackedKernel = field(default_factory=PackedKernel)

    def takes(
        self,
        side: nn.Module,
        states: States,
        mask: Mask | None,
        sources: Sources,  # noqa: ARG002
    ) -> bool:
        """Whether there are large sums, or packed rows, in blocks that are all here and lack no part."""
        if not self.installed or not isinstance(side, (TransformerEncoder, TransformerDecoder)):
            return False
        blocks: list[EncoderBlock | DecoderBlock] = list(side.blocks)
        if any(is_sharded(block) or not is_whole(block) for block in blocks):
            return False
        if not self._pays(states) and part_of(mask) is None:
            return False
        return torch.compiler.is_compiling() or not has_hooks(side)

    def run(self, side: nn.Module, states: States, mask: Mask | None, sources: Sources) -> States:
        """Sub-layer after sub-layer, and the norm at the top."""
        assert isinstance(side, (TransformerEncoder, TransformerDecoder))
        flow = Open(states)
        blocks: list[EncoderBlock | DecoderBlock] = list(side.blocks)
        for number, block in enumerate(blocks):
            for layer in self._sublayers(block, mask, sources[number] if sources else None):
                states, opened = self._opened(flow, layer.residual)
                late = self._late(layer, states)
                change = layer.work(opened, late is not None)
                flow = Open(states, change, layer.residual, late)
        return self._finished(flow, side.norm)

    def _sublayers(
        self,
        block: EncoderBlock | DecoderBlock,
        mask: Mask | None,
        source: Memory | Memories | None,
    ) -> list[SubLayer]:
        """The sub-layers of a block, in their order."""
        heads, network, cross = block.attention, block.feedforward, None
        assert isinstance(heads, Heads)
        assert network is not None
        assert block.feedforward_residual is not None
        attention = SubLayer(
            block.attention_residual,
            lambda opened, late: _merged(heads, self._within(heads, opened, mask), late),
            heads.output,
        )
        feedforward = SubLayer(
            block.feedforward_residual,
            lambda opened, late: self._fed(network, opened, late),
            network.narrow,
        )
        if isinstance(block, DecoderBlock) and source is not None:
            cross = self._cross(block, source)
        return [attention, feedforward] if cross is None else [attention, cross, feedforward]

    def _cross(self, block: DecoderBlock, source: Memory | Memories) -> SubLayer | None:
        if block.cross_residual is None:
            return None
        if isinstance(source, Memories):
            several = block.several
            assert several is not None
            return SubLayer(block.cross_residual, lambda opened, _: several(opened, source), None)
        heads = block.cross
        if heads is None:
            return None
        return SubLayer(
            block.cross_residual,
            lambda opened, late: _merged(heads, heads.context(opened, source), late),
            heads.output,
        )

    def _within(self, heads: Heads, opened: States, mask: Mask | None) -> Tensor:
        if mask is not None and self.packed.takes_within(heads, opened, mask):
            return self.packed.attend_within(heads, opened, mask)
        return heads.context_within(opened, mask)

    def _fed(self, network: FeedForward, opened: States, late: bool) -> States:
        whole = network.activation == "relu" and not (network.training and network.dropout.p)
        if whole and self._pays(opened) and feedforward_op.fits(opened, network.widen):
            return feedforward_op.feedforward(opened, network.widen, network.narrow, late=late)
        inner = activate(network.widen(opened), network.activation)
        return _mapped(network.narrow, network.dropout(inner), late)

    def _opened(self, flow: Open, following: Residual) -> tuple[States, States]:
        """The states with all added, and what the next sub-layer sees."""
        if flow.change is None or flow.residual is None:
            states = flow.states
            if following.norm is None or following.order != "pre":
                return states, states
            return states, self._normed(states, following.norm)
        if following.norm is not None and following.order == "pre":
            return self._added_and_normed(flow, following.norm)
        states = self._added(flow)
        return states, states

    def _finished(self, flow: Open, norm: LayerNorm | None) -> States:
        """The states with all added, behind a norm if there is one."""
        if flow.change is None or flow.residual is None:
            return flow.states if norm is None else self._normed(flow.states, norm)
        if norm is None:
            return self._added(flow)
        return self._added_and_normed(flow, norm)[1]

    def _added_and_normed(self, flow: Open, norm: LayerNorm) -> tuple[States, States]:
        """The sum and what a norm makes of it, in one pass over memory where that pays."""
        states, change, residual, late = flow
        assert change is not None
        assert residual is not None
        share = residual.dropout.p if residual.training else 0.0
        bare = residual.order == "pre" and share < 1 and self._pays(states, change)
        if bare and norm.form == "standard":
            assert norm.weight is not None
            assert norm.bias is not None
            return norm_op.add_norm(states, change, norm.weight, norm.bias, norm.eps, share, late)
        states = self._added(flow)
        return states, self._normed(states, norm)

    def _added(self, flow: Open) -> States:
        """What `Residual.close` gives."""
        change, residual = flow.change, flow.residual
        assert change is not None
        assert residual is not None
        if flow.late is not None:
            change = change + (flow.late - flow.late.detach()).to(change.dtype)  # a gradient alone
        states = flow.states + residual.dropout(change)
        after = residual.norm if residual.order == "post" else None
        return states if after is None else self._normed(states, after)

    def _normed(self, states: States, norm: LayerNorm) -> States:
        if norm.weight is not None and norm.bias is not None and self._pays(states):
            return norm_op.norm(states, norm.weight, norm.bias, norm.eps)
        return norm(states)

    def _late(self, layer: SubLayer, states: States) -> Vector | None:
        """The bias of a sub-layer's last map, if its gradient is better found with the next sum."""
        if layer.last is None or layer.residual.order != "pre" or not self._pays(states):
            return None
        return layer.last.bias

    def _pays(self, states: States, *others: States) -> bool:
        """Whether there are many numbers, with a gradient to come, that the kernels know."""
        large = states.numel() >= self.large and torch.is_grad_enabled()
        return large and norm_op.fits(states, *others)


def _merged(heads: Heads, context: Tensor, late: bool) -> Tensor:
    """What `Heads.merge` gives: the gates are in W^O, which is smaller than the contexts."""
    bias: Tensor | None = heads.output.bias
    if late and bias is not None:
        bias = bias.detach()
    return F.linear(context.transpose(1, 2).flatten(2), heads.gated_output(), bias)


def _mapped(layer: nn.Linear, states: Tensor, late: bool) -> Tensor:
    """The layer's result; if `late`, its bias gets its gradient later, where the result is added."""
    if not late or layer.bias is None:
        return layer(states)
    return F.linear(states, layer.weight, layer.bias.detach())
