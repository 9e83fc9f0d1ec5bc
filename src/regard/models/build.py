"""The one place where settings become a model; the parts of a Transformer are next door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from torch import nn

from regard.attention import Attention, Heads, Softmax, make_normaliser, make_score
from regard.attention.site import LABEL, PLACES, TARGET, Site
from regard.errors import UsageError, kind_of, nearest
from regard.layers import (
    Embedding,
    Frames,
    FrontEnd,
    Patches,
    Recurrent,
    SeveralHeads,
    Stack,
    make_cell,
)
from regard.models.build_transformer import (
    decoder_block,
    encoder_block,
    final_norm,
    input_position,
    reach,
)
from regard.models.decoder import output_layer
from regard.models.encoder import Encoder, RnnEncoder, TransformerEncoder
from regard.models.model import Model
from regard.models.pointer import Pointer
from regard.models.readers import (
    AttentionPool,
    Classifier,
    FirstPool,
    MeanPool,
    Pool,
    Reader,
    Tagger,
)
from regard.models.rnn_decoder import RnnDecoder
from regard.models.transformer_decoder import TransformerDecoder
from regard.question import SOURCE
from regard.settings.model import (
    ClassifySettings,
    ModelSettings,
    PatchFrontSettings,
    PlainFrontSettings,
    PointSettings,
    ReaderSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    StackSettings,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
)


@final
@dataclass(frozen=True)
class SourceSize:
    """What the data decides about one source: its symbols, or the numbers in a frame and their rows."""

    symbols: int = 0
    features: int = 0
    rows: int = 1  # a frame of a picture is one column: rows x channels numbers


@final
@dataclass(frozen=True)
class Sizes:
    """What the data decides: how many symbols, labels, or numbers in a frame; and the begin and end ids.

    `source`, `features` and `rows` are those of the only source; of several, `sources` has each by its name.
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

    @property
    def only(self) -> SourceSize:
        """The only source."""
        return SourceSize(self.source, self.features, self.rows)


def build(settings: ModelSettings, sizes: Sizes) -> Model:
    """The model that these settings describe."""
    for name, given, kind in (("settings", settings, ModelSettings), ("sizes", sizes, Sizes)):
        if not isinstance(given, kind):
            raise UsageError(
                f"{name} cannot be {kind_of(given)}",
                where=name,
                remedy=f"give a regard.{kind.__name__}; to train, regard.train(...) builds the model itself",
            )
    encoder = _encoders(settings, sizes)
    shared = None
    if settings.share_embedding and sizes.shared and isinstance(encoder, Encoder):
        shared = encoder.embedding.table if isinstance(encoder.embedding, Embedding) else None
    return Model(encoder, _reader(settings, sizes, encoder, shared))


def _encoders(settings: ModelSettings, sizes: Sizes) -> Encoder | dict[str, Encoder] | None:
    """One encoder, or one a source: what has no settings of its own has those of the one encoder."""
    if not sizes.sources:
        if settings.encoder is None:
            return None
        return _encoder(settings.encoder, sizes.only, SOURCE)
    unknown = settings.encoders.keys() - sizes.sources.keys()
    if unknown:
        raise UsageError(
            f"there is no source '{min(unknown)}'",
            where=f"model.encoders.{min(unknown)}",
            remedy=nearest(min(unknown), list(sizes.sources)),
        )
    encoders = {}
    for name, size in sizes.sources.items():
        own = settings.encoders.get(name, settings.encoder)
        if own is None:
            raise UsageError(
                f"source '{name}' has no encoder",
                where=f"model.encoders.{name}",
                remedy=f"add [model.encoders.{name}] with kind = 'rnn' or 'transformer'",
            )
        encoders[name] = _encoder(own, size, name)
    return encoders


def _encoder(
    settings: RnnEncoderSettings | TransformerSettings, size: SourceSize, name: str
) -> Encoder:
    embedding = _front(settings, size)
    match settings:
        case RnnEncoderSettings():
            recurrent = Recurrent(
                settings.cell,
                settings.width,
                settings.width,
                settings.layers,
                bidirectional=settings.bidirectional,
                dropout=settings.dropout,
            )
            return RnnEncoder(embedding, recurrent, settings.width)
        case TransformerSettings():
            blocks = Stack(encoder_block(settings, n, name) for n in range(settings.layers))
            return TransformerEncoder(
                embedding, blocks, final_norm(settings), settings.width, reach(settings)
            )


def _front(settings: RnnEncoderSettings | TransformerSettings, size: SourceSize) -> FrontEnd:
    """How the raw source becomes states."""
    match settings.front:
        case PatchFrontSettings(size=side):
            _need(size.features, "squares are cut from a picture, whose columns have numbers")
            return Patches(
                size.rows, size.features, settings.width, size=side, dropout=settings.dropout
            )
        case PlainFrontSettings() if size.features:
            position = None
            if isinstance(settings, TransformerSettings):
                position = input_position(settings)
            return Frames(
                size.features, settings.width, position=position, dropout=settings.dropout
            )
        case PlainFrontSettings():
            return _embedding(size.symbols, settings)


def _reader(
    settings: ModelSettings,
    sizes: Sizes,
    encoder: Encoder | dict[str, Encoder] | None,
    shared: nn.Embedding | None,
) -> Reader:
    reader = settings.reader
    if isinstance(encoder, dict):
        return _reader_of_several(reader, sizes, {n: e.width for n, e in encoder.items()})
    if encoder is None and isinstance(reader, (TagSettings, ClassifySettings, PointSettings)):
        raise UsageError(
            f"a '{reader.kind}' reader needs an encoder to read from",
            where="model.encoder",
            remedy="add [model.encoder] with kind = 'rnn' or 'transformer'",
        )
    if isinstance(reader, (TagSettings, ClassifySettings)):
        _need(sizes.labels, "there is at least one label")
    width = 1 if encoder is None else encoder.width
    match reader:
        case TagSettings():
            return Tagger(width, sizes.labels, reader.dropout)
        case ClassifySettings():
            return Classifier(_pool(reader, width), width, sizes.labels, reader.dropout)
        case PointSettings():
            attention = _one_head(reader, Site("pointer", TARGET, PLACES), reader.width, width)
            return Pointer(make_cell(reader.cell, width, reader.width), attention, width)
        case RnnReaderSettings():
            return _rnn_decoder(reader, sizes, width if encoder else None, shared)
        case TransformerReaderSettings():
            return _transformer_decoder(reader, sizes, width if encoder else None, shared)


def _reader_of_several(reader: ReaderSettings, sizes: Sizes, widths: Mapping[str, int]) -> Reader:
    """A decoder that reads every source; labels and pointers are about one source."""
    match reader:
        case TransformerReaderSettings():
            return _transformer_decoder(reader, sizes, widths, None)
        case RnnReaderSettings():
            return _rnn_decoder_of_several(reader, sizes, widths)
        case _:
            raise UsageError(
                f"a '{reader.kind}' reader reads one source, and there are {len(widths)}",
                where="model.reader.kind",
                remedy="choose an rnn or a transformer reader",
            )


def _pool(settings: ClassifySettings, width: int) -> Pool:
    match settings.pooling:
        case "mean":
            return MeanPool()
        case "first":
            return FirstPool()
        case "attention":
            site = Site("pool", LABEL, SOURCE)
            return AttentionPool(width, _one_head(settings, site, width, width))


def _one_head(
    settings: ClassifySettings | PointSettings | RnnReaderSettings,
    site: Site,
    query_width: int,
    key_width: int,
) -> Attention:
    score = make_score(
        settings.score,
        query_width=query_width,
        key_width=key_width,
        max_length=settings.max_length + 1,  # a pointer's stop sign takes a place
    )
    if isinstance(settings, PointSettings):
        return Attention(score, Softmax(), site=site)
    return Attention(score, make_normaliser(settings.normalise), site=site)


def _rnn_decoder_of_several(
    settings: RnnReaderSettings, sizes: Sizes, widths: Mapping[str, int]
) -> RnnDecoder:
    """The bridge starts from the last states of all sources; a context has the decoder's width."""
    several = {
        name: Heads(
            settings.width,
            1,
            _one_head(settings, Site("cross", TARGET, name), settings.width, settings.width),
            source_width=width,
        )
        for name, width in widths.items()
    }
    attention = SeveralHeads(several, settings.width, settings.combine)
    return _rnn_decoder(settings, sizes, sum(widths.values()), None, attention)


def _rnn_decoder(
    settings: RnnReaderSettings,
    sizes: Sizes,
    source_width: int | None,
    shared: nn.Embedding | None,
    several: SeveralHeads | None = None,
) -> RnnDecoder:
    attends = settings.score != "none" and source_width is not None
    embedding = _embedding(sizes.target, settings, shared)
    attention: Attention | SeveralHeads | None = several if attends else None
    if attends and several is None:
        site = Site("cross", TARGET, SOURCE)
        attention = _one_head(settings, site, settings.width, source_width or 1)
    fed = settings.input_feeding and source_width is not None
    extra = settings.width if attends else source_width or 0
    context_width = settings.width if several is not None else source_width or 0
    if attends and settings.looks == "before":
        fed, extra = True, context_width
    widths = [settings.width + (extra if fed else 0)] + [settings.width] * (settings.layers - 1)
    return RnnDecoder(
        embedding,
        Stack(make_cell(settings.cell, width, settings.width) for width in widths),
        output_layer(
            settings.width, sizes.target, embedding.table if settings.tied else None, True
        ),
        attention=attention,
        source_width=source_width or 1,
        looks=settings.looks,
        input_feeding=fed,
        dropout=settings.dropout,
        begin=sizes.begin,
        end=sizes.end,
    )


def _transformer_decoder(
    settings: TransformerReaderSettings,
    sizes: Sizes,
    source_width: int | Mapping[str, int] | None,
    shared: nn.Embedding | None,
) -> TransformerDecoder:
    embedding = _embedding(sizes.target, settings, shared)
    tied = embedding.table if settings.tied else None
    return TransformerDecoder(
        embedding,
        Stack(decoder_block(settings, source_width, n) for n in range(settings.layers)),
        final_norm(settings),
        output_layer(settings.width, sizes.target, tied, settings.output_bias),
        mask=reach(settings),
        begin=sizes.begin,
        end=sizes.end,
    )


def _embedding(
    vocabulary: int,
    settings: RnnEncoderSettings | RnnReaderSettings | StackSettings,
    shared: nn.Embedding | None = None,
) -> Embedding:
    _need(vocabulary, "a vocabulary has at least one symbol")
    if isinstance(settings, StackSettings):
        embedding = Embedding(
            vocabulary,
            settings.width,
            position=input_position(settings),
            scale=settings.scale_embedding,
            norm_eps=settings.norm_eps if settings.embedding_norm else None,
            dropout=settings.dropout,
        )
    else:
        embedding = Embedding(vocabulary, settings.width, dropout=settings.dropout)
    if shared is not None and shared.weight.shape == embedding.table.weight.shape:
        embedding.table = shared
    return embedding


def _need(count: int, what: str) -> None:
    if count < 1:
        raise UsageError(
            f"{what}, not {count}",
            where="sizes",
            remedy="give the sizes of the vocabulary: Sizes(source=8000, target=8000)",
        )
