"""Steps made of kernels: `Wide` multiplies through cuBLAS, `Narrow` through one fused kernel a product.

A handful of hypotheses cannot fill a GPU, so what counts there is the number of launches: `Narrow`
takes eight a layer, each with its norm before and its sum behind.
"""

from __future__ import annotations

from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.accelerate.cuda_graph.operations import Found, Operations, Stream
from regard.accelerate.cuda_graph.search_state import State, Weights
from regard.accelerate.plain import Linear, Norm
from regard.accelerate.triton import decode_kernels, rank_kernels
from regard.accelerate.triton.decode_kernels import block_of, warps
from regard.layers.sublayer import activate
from regard.settings.architecture import Activation

REACH = 64  # positions that an attention loads at a time
DOT = 16  # the least rows of a matrix product on tensor cores


class Kernels(Operations):
    """What both widths have in common: all but the products."""

    def embed(self, weights: Weights, state: State) -> Stream:
        """One program a hypothesis."""
        rows, slots = state.tokens.shape
        width = weights.table.shape[1]
        base = torch.empty(rows * slots, width, dtype=torch.float32, device=state.tokens.device)
        decode_kernels.embed_kernel[(rows * slots,)](
            state.tokens,
            state.position,
            weights.table,
            state.places,
            base,
            weights.embedding_scale,
            slots,
            width=width,
            block=block_of(width),
            num_warps=warps(width),
        )
        return Stream(base)

    def recall(self, weights: Weights, state: State, layer: int, found: Found) -> Found:
        """One program a head and hypothesis."""
        rows, slots, positions = state.ancestors.shape
        within, (keys, values) = weights.blocks[layer].within, state.caches[layer]
        context = found.new_empty(rows * slots, within.heads * within.width)
        decode_kernels.recall_kernel[(rows * slots, within.heads)](
            found,
            keys,
            values,
            state.ancestors,
            state.position,
            state.is_open,
            context,
            within.scale,
            slots=slots,
            positions=positions,
            heads=within.heads,
            width=within.width,
            block=block_of(within.width),
            reach=REACH,
            num_warps=4,
        )
        return context

    def consult(self, weights: Weights, state: State, layer: int, query: Found) -> Found:
        """One program a head and row."""
        (rows, slots), cross = state.tokens.shape, weights.blocks[layer].cross
        assert cross is not None
        context = torch.empty_like(query)
        memory = state.memory_of(weights, layer)
        sizes = {
            "row_stride": memory.stride(0),
            "source_stride": memory.stride(1),
            "heads": cross.heads,
            "width": cross.width,
            "block": block_of(cross.width),
            "reach": REACH,
        }
        grid = (rows, cross.heads)
        tensors = (query, memory, state.lengths, context, cross.scale)
        if slots == 1:
            decode_kernels.consult_one_kernel[grid](*tensors, **sizes, num_warps=4)
        else:
            decode_kernels.consult_kernel[grid](
                *tensors, slots=slots, places=block_of(slots, DOT), **sizes, num_warps=4
            )
        return context

    def choose(self, weights: Weights, state: State, logits: Found) -> None:
        """Scan, then choose."""
        rows, slots = state.tokens.shape
        vocabulary, chunk, group = logits.shape[1], rank_kernels.CHUNK, 4
        chunks = -(-vocabulary // chunk)
        tops, sums, bests = torch.empty(
            3, rows * slots, chunks, dtype=torch.float32, device=logits.device
        ).unbind()
        rank_kernels.scan_kernel[(rows * slots, -(-chunks // group))](
            logits,
            tops,
            sums,
            bests,
            state.position,
            state.rules,
            slots,
            weights.end,
            vocabulary=vocabulary,
            chunks=chunks,
            chunk=chunk,
            group=group,
            num_warps=4,
        )
        rank_kernels.choose_kernel[(rows,)](
            logits,
            tops,
            sums,
            bests,
            state.tokens,
            state.position,
            state.is_open,
            state.totals,
            state.finished,
            state.ancestors,
            state.rules,
            state.divisors,
            state.parents,
            state.chosen,
            state.reached,
            state.added,
            state.fate,
            rows,
            state.ancestors.shape[2],
            weights.end,
            slots=slots,
            places=block_of(slots, 2),
            vocabulary=vocabulary,
            chunks=chunks,
            chunk=chunk,
            columns=block_of(chunks, 2),
            reach=REACH,
            num_warps=1 if slots == 1 else 2,
        )


@final
class Wide(Kernels):
    """Many hypotheses: products by cuBLAS, and one kernel that adds the last change and normalises."""

    def read(
        self,
        weights: Weights,
        stream: Stream,
        norm: Norm | None,
        linear: Linear,
        activation: Activation | None = None,
    ) -> Found:
        """Sum and norm in one kernel; a relu rides on the product."""
        count, width = stream.base.shape
        seen = torch.empty(count, width, dtype=weights.dtype, device=stream.base.device)
        decode_kernels.norm_kernel[(count,)](
            stream.base,
            stream.base if stream.change is None else stream.change,
            stream.base if norm is None else norm.weight,
            stream.base if norm is None else norm.bias,
            seen,
            0.0 if norm is None else norm.eps,
            width=width,
            block=block_of(width),
            has_change=stream.change is not None,
            has_norm=norm is not None,
            is_post=weights.is_post,
            num_warps=warps(width),
        )
        stream.change = None
        if activation == "relu" and linear.bias is not None:
            return torch._addmm_activation(linear.bias, seen, linear.weight.t())
        output = F.linear(seen, linear.weight, linear.bias)
        return output if activation is None else activate(output, activation)

    def write(self, stream: Stream, found: Found, linear: Linear) -> None:
        """The change waits for the next norm."""
        stream.change = F.linear(found, linear.weight, linear.bias)


@final
class Narrow(Kernels):
    """A handful of hypotheses: one kernel a product."""

    most: ClassVar[int] = 8

    def read(
        self,
        weights: Weights,
        stream: Stream,
        norm: Norm | None,
        linear: Linear,
        activation: Activation | None = None,
    ) -> Found:
        """Norm, product and relu in one kernel."""
        kept = torch.empty_like(stream.base) if weights.is_post else None
        relu = activation == "relu"
        output = _product(stream.base, linear, norm=norm, kept=kept, relu=relu, dtype=weights.dtype)
        stream.base = stream.base if kept is None else kept
        return output if relu or activation is None else activate(output, activation)

    def write(self, stream: Stream, found: Found, linear: Linear) -> None:
        """Product and sum in one kernel."""
        stream.base = _product(found, linear, residual=stream.base, dtype=torch.float32)


def _product(
    states: Found,
    linear: Linear,
    *,
    dtype: torch.dtype,
    norm: Norm | None = None,
    kept: Tensor | None = None,
    residual: Tensor | None = None,
    relu: bool = False,
) -> Found:
    rows, width = states.shape
    outs = len(linear.weight)
    block = block_of(width)
    lines = min(16, max(2, block_of(outs // 128 + 1, 2) // 2, 512 // block))
    out = torch.empty(rows, outs, dtype=dtype, device=states.device)
    decode_kernels.narrow_kernel[(-(-outs // lines),)](
        states,
        linear.weight,
        out if linear.bias is None else linear.bias,
        out if norm is None else norm.weight,
        out if norm is None else norm.bias,
        out if residual is None else residual,
        out if kept is None else kept,
        out,
        0.0 if norm is None else norm.eps,
        outs,
        rows=rows,
        width=width,
        block=block,
        lines=lines,
        has_bias=linear.bias is not None,
        has_norm=norm is not None,
        keeps=kept is not None,
        has_residual=residual is not None,
        has_relu=relu,
        num_warps=4,
    )
    return out
