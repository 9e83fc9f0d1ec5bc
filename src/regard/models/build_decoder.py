"""Settings become decoders: recurrent, Transformer, and those that copy; and the parts readers share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from torch import nn

from regard.attention import (
    NOTICING,
    Attention,
    Heads,
    ScaledDot,
    Softmax,
    make_normaliser,
    make_score,
)
from regard.attention.attention import INPUTS, TARGET, Site
from regard.errors import UsageError
from regard.layers import Embedding, SeveralHeads, Stack, make_cell
from regard.models.build_transformer import decoder_block, final_norm, input_position, reach
from regard.models.copying import Copying
from regard.models.decoder import output_layer
from regard.models.marginal import Marginal
from regard.models.rnn_decoder import RnnDecoder
from regard.models.sentinel import PointerSentinel
from regard.models.transformer_decoder import TransformerDecoder
from regard.models.window_decoder import WindowDecoder
from regard.question import SOURCE
from regard.settings.architecture import (
    ClassifySettings,
    EncoderSettings,
    PointSettings,
    RnnReaderSettings,
    StackSettings,
    TransformerReaderSettings,
    WindowReaderSettings,
)


@final
@dataclass(frozen=True)
class SourceSize:
    """What the data decides about one source: its symbols, or the numbers in a frame and their rows."""

    symbols: int = 0
    features: int = 0
    rows: int = 1  # a frame of a picture is one column: rows x channels numbers
    unknown: int | None = None


@final
@dataclass(frozen=True)
class Sizes:
    """What the data decides: how many symbols, labels, or numbers in a frame; and the begin and end ids.

    `source`, `features` and `rows` are those of the only source; of several, `sources` has each by its name.
    `unknown` is what a symbol behind the vocabulary is read as: a word that can only be copied.
    """

    source: int = 0
    target: int = 0
    labels: int = 0
    features: int = 0
    begin: int = 1
    end: int = 2
    shared: bool = False
    rows: int = 1
    sources: Mapping[str, SourceSize] = field(default_factory=dict)
    unknown: int | None = None
    hidden: int = 3  # what a masked piece is read as: the unknown sign

    @property
    def only(self) -> SourceSize:
        """The only source."""
        return SourceSize(self.source, self.features, self.rows, self.unknown)


def one_head(
    settings: ClassifySettings | PointSettings | RnnReaderSettings | WindowReaderSettings,
    site: Site,
    query_width: int,
    key_width: int,
) -> Attention:
    """One head of attention by the score and the normaliser of these settings."""
    score = make_score(
        settings.score,
        query_width=query_width,
        key_width=key_width,
        max_length=settings.max_length + 1,  # a pointer's stop sign takes a place
    )
    if isinstance(settings, PointSettings):
        return Attention(score, Softmax(), site=site)
    if isinstance(settings, (ClassifySettings, WindowReaderSettings)):
        return Attention(score, make_normaliser(settings.normalise), site=site)
    # What is summed over all choices is weighed by their chances, the softmax of the scores.
    name = "softmax" if settings.normalise == "marginal" else settings.normalise
    normaliser = make_normaliser(name, soft_share=settings.soft_share)
    return Attention(score, normaliser, site=site)


def rnn_decoder_of_several(
    settings: RnnReaderSettings,
    sizes: Sizes,
    widths: Mapping[str, int],
    shared: nn.Embedding | None,
) -> RnnDecoder:
    """The bridge starts from the last states of all sources; a context has the decoder's width."""
    if settings.normalise == "marginal":
        raise UsageError(
            f"the exact sum is over the positions of one source, and there are {len(widths)}",
            where="model.reader.normalise",
            remedy="choose sampled, or another normaliser",
        )
    if settings.score in NOTICING:
        raise UsageError(
            f"the {settings.score} score follows the reading of one source, and there are {len(widths)}",
            where="model.reader.score",
            remedy="choose additive, or another score that sees query and key alone",
        )
    several = {
        name: Heads(
            settings.width,
            1,
            one_head(settings, Site("cross", TARGET, name), settings.width, settings.width),
            source_width=width,
        )
        for name, width in widths.items()
    }
    attention = SeveralHeads(several, settings.width, settings.combine)
    return rnn_decoder(settings, sizes, sum(widths.values()), shared, attention)


def rnn_decoder(
    settings: RnnReaderSettings,
    sizes: Sizes,
    source_width: int | None,
    shared: nn.Embedding | None,
    several: SeveralHeads | None = None,
) -> RnnDecoder:
    """A recurrent decoder (L11-L13)."""
    attends = settings.score != "none" and source_width is not None
    table = table_of(sizes.target, settings, shared, sizes.unknown)
    attention: Attention | SeveralHeads | None = several if attends else None
    if attends and several is None:
        site = Site("cross", TARGET, SOURCE)
        attention = one_head(settings, site, settings.width, source_width or 1)
    fed = settings.input_feeding and source_width is not None
    extra = settings.width if attends else source_width or 0
    context_width = settings.width if several is not None else source_width or 0
    if attends and settings.looks == "before":
        fed, extra = True, context_width
    widths = [settings.width + (extra if fed else 0)] + [settings.width] * (settings.layers - 1)
    return RnnDecoder(
        table,
        Stack(
            make_cell(settings.cell, width, settings.width, Site("self", INPUTS, INPUTS, number))
            for number, width in enumerate(widths)
        ),
        output_layer(settings.width, sizes.target, table.table if settings.tied else None, True),
        attention=attention,
        source_width=source_width or 1,
        looks=settings.looks,
        input_feeding=fed,
        dropout=settings.dropout,
        begin=sizes.begin,
        end=sizes.end,
    )


def marginal(settings: RnnReaderSettings, decoder: RnnDecoder) -> Marginal:
    """The decoder in a mixture over all choices of its attention."""
    if not isinstance(decoder.attention, Attention) or decoder.is_stepwise or settings.copies:
        raise UsageError(
            "the sum over choices is exact only where a choice changes nothing but its own word",
            where="model.reader.normalise",
            remedy='set looks = "after", input_feeding = false, copies = false and, say, score = "general"',
        )
    return Marginal(decoder)


def transformer_decoder(
    settings: TransformerReaderSettings,
    sizes: Sizes,
    source_width: int | Mapping[str, int] | None,
    shared: nn.Embedding | None,
) -> TransformerDecoder:
    """A Transformer decoder (L66)."""
    table = table_of(sizes.target, settings, shared, sizes.unknown)
    tied = table.table if settings.tied else None
    return TransformerDecoder(
        table,
        Stack(decoder_block(settings, source_width, n) for n in range(settings.layers)),
        final_norm(settings),
        output_layer(settings.width, sizes.target, tied, settings.output_bias),
        mask=reach(settings),
        begin=sizes.begin,
        end=sizes.end,
    )


def window_decoder(
    settings: WindowReaderSettings, sizes: Sizes, source_width: int | None
) -> WindowDecoder:
    """A feed-forward language model over its last words, with attention to the source if there is one."""
    need(sizes.target, "a vocabulary has at least one symbol")
    size, dropout, unknown = settings.embedding, settings.dropout, sizes.unknown
    attention = asking = None
    if source_width is not None:
        site = Site("cross", TARGET, SOURCE)
        attention = one_head(settings, site, settings.window * size, source_width)
        # Not scaled: a product of two long vectors of unit variance would begin with one weight of 1.
        asking = Embedding(sizes.target, size, scale=False, dropout=dropout, unknown=unknown)
    return WindowDecoder(
        Embedding(sizes.target, size, dropout=dropout, unknown=unknown),
        output_layer(settings.width + (source_width or 0), sizes.target, None, True),
        asking=asking,
        attention=attention,
        width=settings.width,
        window=settings.window,
        smooth=settings.smooth,
        dropout=settings.dropout,
        begin=sizes.begin,
        end=sizes.end,
    )


def pointing_back(
    settings: RnnReaderSettings, decoder: RnnDecoder, source_width: int | None
) -> PointerSentinel:
    """A language model that points at what it has said, with a sentinel."""
    if source_width is not None or settings.copies:
        raise UsageError(
            "a language model points at its own earlier words, and this model has a source",
            where="model.reader.points_back",
            remedy="leave it at 0; to copy from a source, set model.reader.copies = true",
        )
    return PointerSentinel(decoder, window=settings.points_back)


def copying(
    settings: RnnReaderSettings | TransformerReaderSettings,
    sizes: Sizes,
    decoder: RnnDecoder | TransformerDecoder,
    source_width: int | None,
) -> RnnDecoder | TransformerDecoder | Copying:
    """The decoder itself or, where it copies, the same in a pointer-generator."""
    if not settings.copies:
        return decoder
    if settings.normalise == "sampled":
        raise UsageError(
            "a decoder whose attention is sampled does not copy by it",
            where="model.reader.copies",
            remedy="set model.reader.copies = false, or choose model.reader.normalise = softmax",
        )
    if source_width is None or not sizes.shared or settings.score == "none":
        raise UsageError(
            "only words that both sides number alike, and that attention reads, can be copied",
            where="model.reader.copies",
            remedy="copy with an encoder, with text.shared = true, and with a score other than none",
        )
    if isinstance(decoder, RnnDecoder):
        assert isinstance(decoder.attention, Attention)
        if not decoder.attention.normaliser.sums_to_one:
            raise UsageError(
                f"weights by {settings.normalise} are no shares, and nothing can be copied by them",
                where="model.reader.normalise",
                remedy="choose softmax, sparsemax or another normaliser whose weights sum to 1",
            )
        return Copying(decoder, source_width=source_width)
    assert isinstance(settings, TransformerReaderSettings)
    site = Site("cross", TARGET, SOURCE, layer=settings.layers)
    own = Attention(ScaledDot(), Softmax(), site=site)
    return Copying(decoder, source_width=source_width, copying=own)


def table_of(
    vocabulary: int,
    settings: EncoderSettings | RnnReaderSettings | StackSettings,
    shared: nn.Embedding | None = None,
    unknown: int | None = None,
) -> Embedding:
    """A learned vector for each symbol, with positions where the settings say so."""
    need(vocabulary, "a vocabulary has at least one symbol")
    if isinstance(settings, StackSettings):
        embedding = Embedding(
            vocabulary,
            settings.width,
            position=input_position(settings),
            scale=settings.scale_embedding,
            norm_eps=settings.norm_eps if settings.embedding_norm else None,
            dropout=settings.dropout,
            unknown=unknown,
        )
    else:
        embedding = Embedding(vocabulary, settings.width, dropout=settings.dropout, unknown=unknown)
    if shared is not None and shared.weight.shape == embedding.table.weight.shape:
        embedding.table = shared
    return embedding


def need(count: int, what: str) -> None:
    """Refuse sizes that make no model."""
    if count < 1:
        raise UsageError(
            f"{what}, not {count}",
            where="sizes",
            remedy="give the sizes of the vocabulary: Sizes(source=8000, target=8000)",
        )
