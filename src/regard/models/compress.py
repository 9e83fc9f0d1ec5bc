"""A model made smaller: heads removed for real (Michel 2019, Voita 2019), weights in fewer bytes.

A closed head (gate 0) is still worked out. `prune_heads` gives the smaller model that says the same.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeVar

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from regard.attention import Heads
from regard.attention.attention import Site
from regard.attention.gate import OPEN
from regard.errors import ModelFileError, UsageError
from regard.layers import DecoderBlock, EncoderBlock
from regard.models.encoder import TransformerEncoder
from regard.models.model import Model
from regard.models.transformer_decoder import TransformerDecoder
from regard.question import SOURCE
from regard.settings.architecture import (
    EncoderSettings,
    HeadCounts,
    ModelSettings,
    StackSettings,
    TransformerReaderSettings,
    TransformerSettings,
)

S = TypeVar("S", bound=StackSettings)


def heads_by_site(model: Model) -> dict[Site, Heads]:
    """The heads of every Transformer block of a model, by what their attention says it is."""
    sides = [*model.encoders.values(), model.reader]
    several: list[Heads] = []
    for side in sides:
        if isinstance(side, (TransformerEncoder, TransformerDecoder)):
            for block in side.blocks:
                several += _heads_of(block)
    return {heads.attention.site: heads for heads in several if heads.attention.site is not None}


def prune_heads(
    model: Model, settings: ModelSettings, remove: Mapping[Site, Collection[int]]
) -> tuple[Model, ModelSettings]:
    """A smaller model without these heads, and the settings that describe it. Learned gates are settled.

    It says what the model says with the gates of these heads at 0; the model itself stays as it is. Its
    settings have one number of heads a layer, so that it is saved, loaded and trained on as any other. An
    attention keeps one head at least: where all are to be removed, its first stays with gate 0.
    """
    known = heads_by_site(model)
    for site, unwanted in remove.items():
        _refuse_unknown(site, unwanted, known)
    smaller = copy.deepcopy(model)
    parts = heads_by_site(smaller)
    for heads in parts.values():
        heads.settle()
        heads.openness = None
    for site, unwanted in remove.items():
        heads = parts[site]
        kept = [head for head in range(heads.num_heads) if head not in unwanted]
        heads.keep(kept or [0])
        if not kept:
            heads.gate = torch.zeros_like(heads.gate)
    return smaller, _described(smaller, settings)


def with_open_gates(model: Model, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a model, where those that were saved without gates get open ones."""
    gates: dict[str, Tensor] = {}
    for path, part in model.named_modules():
        if isinstance(part, Heads):
            gates[f"{path}.gate"] = torch.ones_like(part.gate)
            if part.openness is not None:
                gates[f"{path}.openness"] = torch.full_like(part.openness.detach(), OPEN)
    return {**{name: gate for name, gate in gates.items() if name not in state}, **state}


def _refuse_unknown(site: Site, heads: Collection[int], known: Mapping[Site, Heads]) -> None:
    if site not in known:
        raise UsageError(
            f"this model has no Transformer heads at {site}",
            where="remove",
            remedy="take the sites from regard.models.heads_by_site(model)",
        )
    count = known[site].num_heads
    unknown = [head for head in heads if not 0 <= head < count]
    if unknown:
        raise UsageError(
            f"there is no head {unknown[0]} at {site}",
            where="remove",
            remedy=f"heads are numbered from 0 to {count - 1}",
        )


def _heads_of(block: EncoderBlock | DecoderBlock) -> list[Heads]:
    """The self-attention of a block, and its attention to each source."""
    if isinstance(block, EncoderBlock):
        return [block.attention] if isinstance(block.attention, Heads) else []
    several = [] if block.several is None else block.several.each
    return [block.attention, *([] if block.cross is None else [block.cross]), *several]


def _described(model: Model, settings: ModelSettings) -> ModelSettings:
    """Settings that build a model of these shapes."""
    changes: dict[str, object] = {}
    encoders: dict[str, EncoderSettings] = {}
    for name, side in model.encoders.items():
        own = settings.encoders.get(name, settings.encoder)
        if isinstance(own, TransformerSettings) and isinstance(side, TransformerEncoder):
            counted = [heads for block in side.blocks for heads in _heads_of(block)]
            encoders[name] = _counted(own, counted) if counted else own
    if SOURCE in encoders and model.encoder is not None:
        changes["encoder"] = encoders[SOURCE]
    elif encoders:
        changes["encoders"] = {**settings.encoders, **encoders}
    reader, decoder = settings.reader, model.reader
    if isinstance(reader, TransformerReaderSettings) and isinstance(decoder, TransformerDecoder):
        blocks = list(decoder.blocks)
        reader = _counted(reader, [block.attention for block in blocks])
        cross = [one for one in map(_cross, blocks) if one is not None]
        changes["reader"] = _counted(reader, cross, "cross_") if cross else reader
    return settings.model_copy(update=changes)


def _counted(settings: S, heads: Sequence[Heads], prefix: str = "") -> S:
    """The same stack with as many heads in each layer; their widths no longer follow from the numbers."""
    update: dict[str, object] = {
        "gates": "open",
        f"{prefix}heads": _counts([one.num_heads for one in heads]),
        f"{prefix}key_width": _counts([one.key_width for one in heads]),
        f"{prefix}value_width": _counts([one.value_width for one in heads]),
    }
    return settings.model_copy(update=update)


def _cross(block: DecoderBlock) -> Heads | None:
    """The heads that a block reads a source with, as many for each source; None if it reads none."""
    heads = _heads_of(block)[1:]
    if len({one.num_heads for one in heads}) > 1:
        raise UsageError(
            "sources would be read with different numbers of heads, and settings have one a layer",
            where="remove",
            remedy="remove as many heads for each source, or close them by their gates alone",
        )
    return heads[0] if heads else None


def _counts(counts: Sequence[int]) -> HeadCounts:
    """One number where all layers agree, else one a layer."""
    return counts[0] if len(set(counts)) == 1 else tuple(counts)


# Weights in fewer bytes: half precision, or integers with one scale a row.
# A matrix `name` is kept as `name` (int8) and `name:scale` (one float a row): row r is about scale[r] times
# the integers of row r, none further off than half a scale. Vectors, which are few, keep their precision.
# Of a kernel of a convolution a row is all that makes one channel; of matrices side by side, a row of one.

Weights = Literal["float32", "float16", "int8"]

SCALE = ":scale"
LARGEST = 127  # -128 is left out, so that a number and its negative are equally far from 0


def to_rows(
    matrix: Float[Tensor, "rows columns"],
) -> tuple[Int8[Tensor, "rows columns"], Float[Tensor, " rows"]]:
    """Integers from -127 to 127, and what one of them is worth in each row."""
    largest = matrix.abs().amax(1) if matrix.shape[1] else matrix.new_zeros(len(matrix))
    scale = torch.where(largest > 0, largest, torch.ones_like(largest)).float() / LARGEST
    whole = (matrix / scale.unsqueeze(1)).round_().clamp_(-LARGEST, LARGEST)
    return whole.to(torch.int8), scale


def from_rows(whole: Int8[Tensor, ...], scale: Float[Tensor, ...]) -> Float[Tensor, ...]:
    """The numbers that the whole ones stand for; a scale counts for all that its first axes name."""
    return whole * scale.view(*scale.shape, *[1] * (whole.dim() - scale.dim()))


def _rows_of(tensor: Tensor) -> int:
    """How many of the first axes count rows: of (channel, ...) one, of (head, row, column) two."""
    return 2 if tensor.dim() == 3 else 1


def _to_rows(tensor: Tensor) -> tuple[Tensor, Tensor]:
    rows = _rows_of(tensor)
    flat = tensor.flatten(0, rows - 1).flatten(1)
    whole, scale = to_rows(flat)
    return whole.view(tensor.shape), scale.view(tensor.shape[:rows])


def narrowed(state: Mapping[str, Tensor], weights: Weights) -> dict[str, Tensor]:
    """A model's tensors in fewer bytes; what shared memory still does, so that it is stored once."""
    done: dict[tuple[int, torch.Size], tuple[Tensor, ...]] = {}
    stored: dict[str, Tensor] = {}
    for name, tensor in state.items():
        key = (tensor.data_ptr(), tensor.shape)
        if key not in done or not tensor.numel():
            done[key] = _narrow(tensor.detach(), weights)
        for ending, part in zip(("", SCALE), done[key], strict=False):
            stored[name + ending] = part
    return stored


def widened(state: Mapping[str, Tensor], where: str = "") -> dict[str, Tensor]:
    """The same tensors in float32 again, however each was narrowed; also where they have no memory."""
    done: dict[int, Tensor] = {}
    wide: dict[str, Tensor] = {}
    for name, tensor in state.items():
        if name.endswith(SCALE) and _is_whole(state.get(name.removesuffix(SCALE))):
            continue
        if id(tensor) not in done:
            done[id(tensor)] = _wide(name, tensor, state.get(name + SCALE), where)
        wide[name] = done[id(tensor)]
    return wide


def _narrow(tensor: Tensor, weights: Weights) -> tuple[Tensor, ...]:
    if not tensor.is_floating_point() or weights == "float32":
        return (tensor,)
    if weights == "float16":
        half = tensor.half()
        return (half if half.isfinite().all() else tensor,)
    return _to_rows(tensor) if tensor.dim() >= 2 and tensor.numel() else (tensor,)


def _wide(name: str, tensor: Tensor, scale: Tensor | None, where: str) -> Tensor:
    if _is_whole(tensor) and scale is not None:
        rows = tensor.shape[: _rows_of(tensor)]
        if scale.shape != rows or scale.dtype != torch.float32:
            raise ModelFileError(
                f"{ascii(name)[:80]} has {math.prod(rows):,} rows and needs as many scales in float32, not "
                f"{str(scale.dtype).removeprefix('torch.')} {list(scale.shape)}",
                where,
                "take the weights from another copy",
            )
    elif tensor.dtype not in (torch.float16, torch.bfloat16):
        return tensor
    if tensor.is_meta:  # to multiply without memory torch loads more than most models are
        return torch.empty(tensor.shape, dtype=torch.float32, device="meta")
    return from_rows(tensor, scale) if _is_whole(tensor) and scale is not None else tensor.float()


def _is_whole(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.dtype == torch.int8 and tensor.dim() >= 2
