"""Heads that a model can do without, closed by their gates or removed for real (Michel 2019, Voita 2019).

A closed head (gate 0) is still worked out. `prune_heads` gives the smaller model that says the same.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from regard.attention import Heads
from regard.attention.site import Site
from regard.errors import UsageError
from regard.layers import DecoderBlock, EncoderBlock
from regard.models.encoder import TransformerEncoder
from regard.models.model import Model
from regard.models.transformer_decoder import TransformerDecoder
from regard.question import SOURCE
from regard.settings.model import (
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
    found: list[Heads] = []
    for side in sides:
        if isinstance(side, (TransformerEncoder, TransformerDecoder)):
            for block in side.blocks:
                found += _heads_of(block)
    return {heads.attention.site: heads for heads in found if heads.attention.site is not None}


def prune_heads(
    model: Model, settings: ModelSettings, remove: Mapping[Site, Collection[int]]
) -> tuple[Model, ModelSettings]:
    """A smaller model without these heads, and the settings that describe it.

    It says what the model says with the gates of these heads at 0; the model itself stays as it is. Its
    settings have one number of heads a layer, so that it is saved, loaded and trained on as any other. An
    attention keeps one head at least: where all are to be removed, its first stays with gate 0.
    """
    known = heads_by_site(model)
    for site, unwanted in remove.items():
        _refuse_unknown(site, unwanted, known)
    smaller = copy.deepcopy(model)
    parts = heads_by_site(smaller)
    for site, unwanted in remove.items():
        heads = parts[site]
        kept = [head for head in range(heads.num_heads) if head not in unwanted]
        heads.keep(kept or [0])
        if not kept:
            heads.gate = torch.zeros_like(heads.gate)
    return smaller, _described(smaller, settings)


def with_open_gates(model: Model, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a model, where those that were saved without gates get open ones."""
    paths = (path for path, part in model.named_modules() if isinstance(part, Heads))
    own = model.state_dict()
    gates = {f"{path}.gate": torch.ones_like(own[f"{path}.gate"]) for path in paths}
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
        return [block.attention]
    several = [] if block.several is None else block.several.each
    return [block.attention, *([] if block.cross is None else [block.cross]), *several]


def _described(model: Model, settings: ModelSettings) -> ModelSettings:
    """Settings that build a model of these shapes."""
    changes: dict[str, object] = {}
    encoders: dict[str, EncoderSettings] = {}
    for name, side in model.encoders.items():
        own = settings.encoders.get(name, settings.encoder)
        if isinstance(own, TransformerSettings) and isinstance(side, TransformerEncoder):
            encoders[name] = _counted(own, [block.attention for block in side.blocks])
    if SOURCE in encoders and model.encoder is not None:
        changes["encoder"] = encoders[SOURCE]
    elif encoders:
        changes["encoders"] = {**settings.encoders, **encoders}
    reader, decoder = settings.reader, model.reader
    if isinstance(reader, TransformerReaderSettings) and isinstance(decoder, TransformerDecoder):
        blocks = list(decoder.blocks)
        reader = _counted(reader, [block.attention for block in blocks])
        cross = [_cross_count(block) for block in blocks]
        if all(cross):
            reader = reader.model_copy(update={"cross_heads": _counts(cross)})
        changes["reader"] = reader
    return settings.model_copy(update=changes)


def _counted(settings: S, heads: Sequence[Heads]) -> S:
    """The same stack with as many heads in each layer; their widths no longer follow from the numbers."""
    update: dict[str, object] = {"heads": _counts([one.num_heads for one in heads])}
    update["key_width"] = heads[0].key_width
    update["value_width"] = heads[0].value_width
    return settings.model_copy(update=update)


def _cross_count(block: DecoderBlock) -> int:
    """How many heads a block reads each source with; 0 if it reads none."""
    counts = {heads.num_heads for heads in _heads_of(block)[1:]}
    if len(counts) > 1:
        raise UsageError(
            "sources would be read with different numbers of heads, and settings have one a layer",
            where="remove",
            remedy="remove as many heads for each source, or close them by their gates alone",
        )
    return counts.pop() if counts else 0


def _counts(counts: Sequence[int]) -> HeadCounts:
    """One number where all layers agree, else one a layer."""
    return counts[0] if len(set(counts)) == 1 else tuple(counts)
