"""Attention over packed sequences: each keeps to itself, and nothing is worked out between two.

On a GPU a kernel of our own reads the packed row as it lies. Everywhere else, and for every mechanism that
the kernel does not know, sequences are laid side by side, attended by the usual kernels, and packed again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.accelerate.triton import segments
from regard.attention.formula import AttendForm, attend
from regard.attention.heads import joined
from regard.attention.mask import Both, Causal, Mask, Padding
from regard.attention.memory import Memory
from regard.attention.normalise import Softmax
from regard.attention.packed import Packed, Segments
from regard.attention.score import Dot, DotScore, ScaledDot

if TYPE_CHECKING:
    from regard.attention.attention import Attention
    from regard.attention.heads import Heads


@final
@dataclass(frozen=True)
class PackedKernel(AttendForm):
    """Softmax over dot products by the kernel of `accelerate/triton`, on a GPU, for heads of these widths."""

    shields = True
    devices: tuple[str, ...] = ("cuda",)
    widths: tuple[int, ...] = (16, 32, 64, 128)
    installed: bool = segments.HAS_TRITON

    def takes(self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None) -> bool:
        """Whether the kernel knows this attention and how the work on both sides was tiled."""
        packing = part_of(mask)
        if mask is None or packing is None or not packing.is_tiled_together:
            return False
        return _is_known(attention, mask) and self._fits(
            query, query.shape[-1], memory.key.shape[-1], memory.value.shape[-1]
        )

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "1 h query value_width"]:
        """The context of each query, read from its own sequence alone."""
        score, packing = attention.score, part_of(mask)
        assert isinstance(score, DotScore)
        assert mask is not None
        assert packing is not None
        return segments.attend(
            score.adapt(query),
            memory.key,
            memory.value,
            packing,
            _is_causal(mask),
            score.scale(query.shape[-1]),
        )

    def takes_within(self, heads: Heads, states: Tensor, mask: Mask | None) -> bool:
        """Whether the kernel knows the self-attention of these heads by one product of the states."""
        attention, packing = heads.attention, part_of(mask)
        if mask is None or packing is None or not packing.is_within:
            return False
        if heads.position is not None or attention.watcher is not None:
            return False
        if not (isinstance(attention.score, (Dot, ScaledDot)) and _is_known(attention, mask)):
            return False
        return self._fits(states, heads.key_width, heads.value_width)

    def attend_within(
        self, heads: Heads, states: Float[Tensor, "1 places width"], mask: Mask
    ) -> Float[Tensor, "1 h places width"]:
        """Self-attention whose queries, keys and values, and whose gradients, lie side by side."""
        score, packing = heads.attention.score, part_of(mask)
        assert isinstance(score, (Dot, ScaledDot))
        assert packing is not None
        weight, bias = joined((heads.query, heads.key, heads.value))
        scale = score.scale(heads.key_width)
        return segments.attend_within(
            states, weight, bias, heads.num_heads, packing, _is_causal(mask), scale
        )

    def _fits(self, like: Tensor, *widths: int) -> bool:
        alike = all(width == widths[0] for width in widths)
        here = self.installed and like.device.type in self.devices
        return here and alike and widths[0] in self.widths


@final
@dataclass(frozen=True)
class PackedRows(AttendForm):
    """Sequences laid side by side, attended as the rows of a padded batch, and packed again: anywhere."""

    shields = True

    def takes(
        self,
        attention: Attention,  # noqa: ARG002
        query: Tensor,  # noqa: ARG002
        memory: Memory,  # noqa: ARG002
        mask: Mask | None,
    ) -> bool:
        """Every mechanism, where sequences are packed."""
        return part_of(mask) is not None

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "1 h query value_width"]:
        """The context of each query, read from its own sequence alone."""
        packing = part_of(mask)
        assert mask is not None
        assert packing is not None
        queries, real = _rows(query, packing.queries)
        key, _ = _rows(memory.key, packing.keys)
        value, _ = _rows(memory.value, packing.keys)
        padding = Both.of(*_others(mask), Padding(packing.keys.lengths.long()))
        rows = attend(attention, queries, replace(memory, key=key, value=value, mask=padding))
        context = rows.new_zeros(*query.shape[:3], rows.shape[-1])
        context[0, :, _places(packing.queries, real)] = rows.transpose(1, 2)[real].transpose(0, 1)
        return context


def part_of(mask: Mask | None) -> Packed | None:
    """The packing among the parts of a mask, if there is one."""
    parts = mask.parts if isinstance(mask, Both) else (mask,)
    return next((part for part in parts if isinstance(part, Packed)), None)


def _is_known(attention: Attention, mask: Mask) -> bool:
    """Whether this is what the kernel works out: softmax over dot products, causal or not."""
    bare = len(_others(mask)) == 0  # a compiler can read this, and not `not ()`
    simple = (bare or _is_causal(mask)) and attention.bias is None and not attention.is_dropping
    known = isinstance(attention.score, DotScore) and isinstance(attention.normaliser, Softmax)
    return simple and known


def _is_causal(mask: Mask) -> bool:
    others = _others(mask)
    return len(others) == 1 and isinstance(others[0], Causal)


def _others(mask: Mask) -> tuple[Mask, ...]:
    parts = mask.parts if isinstance(mask, Both) else (mask,)
    return tuple(part for part in parts if not isinstance(part, Packed))


def _rows(packed: Tensor, layout: Segments) -> tuple[Tensor, Tensor]:
    """(1, heads, places, width) as (sequence, heads, place, width), zeros behind; and what is real."""
    lengths = layout.lengths.long()
    # Compiled code must not look at numbers: it takes the bound for the longest there is.
    longest = layout.longest if torch.compiler.is_compiling() else int(lengths.max())
    within = torch.arange(max(1, longest), device=packed.device)
    real = within < lengths[:, None]
    places = (layout.starts[:-1, None] + within).masked_fill(~real, 0)
    rows = packed[0][:, places].transpose(0, 1)
    return rows.masked_fill(~real[:, None, :, None], 0.0), real


def _places(layout: Segments, real: Tensor) -> Tensor:
    within = torch.arange(real.shape[1], device=real.device)
    return (layout.starts[:-1, None] + within)[real].long()
