"""From settings to the parts of a Transformer: blocks, their heads, positions, how far they look."""

from __future__ import annotations

from collections.abc import Mapping

from regard.attention import (
    Added,
    Alibi,
    Attention,
    Causal,
    GlobalWindow,
    Heads,
    Learned,
    Mask,
    Rotary,
    Sinusoidal,
    Strided,
    Window,
    make_normaliser,
    make_score,
)
from regard.attention.attention import INPUTS, TARGET, Site
from regard.attention.heads import head_width
from regard.errors import UsageError
from regard.layers import (
    Connected,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    LayerNorm,
    Residual,
    SeveralHeads,
)
from regard.question import SOURCE
from regard.settings.architecture import (
    StackSettings,
    TransformerReaderSettings,
    TransformerSettings,
)


def encoder_block(
    settings: TransformerSettings, layer: int = 0, source: str = SOURCE
) -> EncoderBlock:
    """Self-attention, then feed-forward, each beside a residual (Vaswani 2017)."""
    return EncoderBlock(
        _mixing(settings, Site("self", source, source, layer)),
        _feedforward(settings),
        (_residual(settings), _residual(settings)),
    )


def decoder_block(
    settings: TransformerReaderSettings,
    source_width: int | Mapping[str, int] | None,
    layer: int = 0,
) -> DecoderBlock:
    """The same, with attention to the source, or to several, in between if there is one."""
    cross: Heads | SeveralHeads | None = None
    if isinstance(source_width, Mapping):
        several = {
            name: _heads(settings, Site("cross", TARGET, name, layer), width)
            for name, width in source_width.items()
        }
        cross = SeveralHeads(several, settings.width, settings.combine)
    elif source_width is not None:
        cross = _heads(settings, Site("cross", TARGET, SOURCE, layer), source_width)
    return DecoderBlock(
        _heads(settings, Site("self", INPUTS, INPUTS, layer)),
        cross,
        _feedforward(settings),
        (_residual(settings), _residual(settings), _residual(settings)),
    )


def _mixing(settings: TransformerSettings, site: Site) -> Heads | Connected:
    """How the positions of a source read each other: self-attention, or what it is measured against."""
    within = settings.position in ("rotary", "alibi") or settings.position_at == "heads"
    if settings.mixing != "attention" and (within or settings.reach != "full"):
        raise UsageError(
            "a fully connected layer has no heads that could be told positions or how far to look",
            where="model.encoder.mixing",
            remedy='give it positions at the input, such as sinusoidal, and reach = "full"',
        )
    match settings.mixing:
        case "attention":
            return _heads(settings, site)
        case "window":
            return Connected(settings.width, "window", settings.reach_size)
        case "whole":
            return Connected(settings.width, "whole", settings.max_length)


def _heads(settings: StackSettings, site: Site, source: int | None = None) -> Heads:
    """Self-attention (within one sequence) knows positions; cross-attention joins two orders."""
    within = site.role == "self"
    count = _of_layer(settings, "heads", site)
    assert count is not None
    key_width = _of_layer(settings, "key_width", site) or head_width(settings.width, count)
    value_width = _of_layer(settings, "value_width", site) or key_width
    score = make_score(
        settings.score,
        query_width=key_width,
        key_width=key_width,
        num_heads=count,
        max_length=settings.max_length,
    )
    attention = Attention(
        score,
        make_normaliser(settings.normalise),
        bias=Alibi(count) if within and settings.position == "alibi" else None,
        dropout=settings.attention_dropout,
        site=site,
    )
    return Heads(
        settings.width,
        count,
        attention,
        source_width=source,
        key_width=key_width,
        value_width=value_width,
        position=_head_position(settings, key_width, value_width) if within else None,
        learned_gates=settings.gates == "learned",
    )


def _of_layer(settings: StackSettings, name: str, site: Site) -> int | None:
    """How many heads attend here, or how wide they are: as the settings give this layer."""
    counts = getattr(settings, name)
    cross = getattr(settings, f"cross_{name}", None)
    if site.role == "cross" and cross is not None:
        name, counts = f"cross_{name}", cross
    if counts is None or isinstance(counts, int):
        return counts
    if len(counts) != settings.layers:
        raise UsageError(
            f"{name} names {len(counts)} layers, and there are {settings.layers}",
            where=name,
            remedy="give one number for all layers, or as many numbers as there are layers",
        )
    return counts[site.layer]


def input_position(settings: StackSettings) -> Added | None:
    """What is added to the embeddings; nothing, where the heads are told."""
    return _added(settings, settings.width) if settings.position_at == "input" else None


def _head_position(
    settings: StackSettings, key_width: int, value_width: int
) -> Rotary | Added | None:
    if settings.position == "rotary":
        return Rotary(key_width, settings.position_base)
    if settings.position_at == "input" or settings.position in ("none", "alibi"):
        return None
    if value_width != key_width:
        raise UsageError(
            f"positions are added to q, k and v alike: key width {key_width} and value width "
            f"{value_width} differ",
            where="position_at",
            remedy="make them equal, or add positions at the input",
        )
    return _added(settings, key_width)


def _added(settings: StackSettings, width: int) -> Added | None:
    match settings.position:
        case "sinusoidal":
            return Sinusoidal(width, settings.position_base)
        case "sinusoidal-halves":
            return Sinusoidal(width, settings.position_base, "halves")
        case "learned":
            return Learned(width, settings.max_length)
        case "none" | "rotary" | "alibi":
            return None


def reach(settings: StackSettings) -> Mask | None:
    """How far self-attention may look; None for everywhere."""
    match settings.reach:
        case "full":
            return None
        case "causal":  # which a decoder is by itself
            return Causal() if isinstance(settings, TransformerSettings) else None
        case "window":
            return Window(settings.reach_size, settings.reach_size)
        case "strided":
            return Strided(settings.reach_size)
        case "global-window":
            return GlobalWindow(settings.reach_size)


def _feedforward(settings: StackSettings) -> FeedForward | None:
    if not settings.feedforward:
        return None
    return FeedForward(
        settings.width, settings.feedforward, settings.activation, settings.activation_dropout
    )


def _residual(settings: StackSettings) -> Residual:
    return Residual(
        settings.width,
        order=settings.norm,
        form=settings.norm_form,
        eps=settings.norm_eps,
        dropout=settings.dropout,
        adds=settings.residual,
    )


def final_norm(settings: StackSettings) -> LayerNorm | None:
    """Pre-norm leaves the last sum bare; it is normalised once, at the top."""
    if settings.norm != "pre":
        return None
    return LayerNorm(settings.width, settings.norm_form, settings.norm_eps)
