"""The one place where settings become a model; the parts of a Transformer are next door."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from torch import nn

from regard.attention import Added
from regard.attention.attention import LABEL, PLACES, TARGET, Site
from regard.errors import UsageError, kind_of, nearest
from regard.layers import (
    Convolution,
    Embedding,
    Frames,
    FrontEnd,
    Patches,
    Recurrent,
    Stack,
    Subsampling,
    make_cell,
)
from regard.models.autoencoder import Bottleneck, corrupted
from regard.models.build_decoder import (
    Sizes,
    SourceSize,
    copying,
    marginal,
    need,
    one_head,
    pointing_back,
    rnn_decoder,
    rnn_decoder_of_several,
    table_of,
    transformer_decoder,
    window_decoder,
)
from regard.models.build_transformer import (
    encoder_block,
    final_norm,
    input_position,
    reach,
)
from regard.models.decoder import Pointer
from regard.models.encoder import Encoder, FrontEncoder, RnnEncoder, TransformerEncoder
from regard.models.model import Model, Noise
from regard.models.readers import (
    AttentionPool,
    Classifier,
    FirstPool,
    MeanPool,
    Pool,
    Reader,
    Tagger,
    Transform,
)
from regard.question import SOURCE
from regard.settings.architecture import (
    ClassifySettings,
    ConvolutionFrontSettings,
    EncoderSettings,
    FrontEncoderSettings,
    ModelSettings,
    PatchFrontSettings,
    PlainFrontSettings,
    PointSettings,
    ReaderSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    SubsamplingFrontSettings,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
    WindowReaderSettings,
)


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
    shares = settings.share_embedding and sizes.shared
    several = encoder.values() if isinstance(encoder, dict) else (encoder,)
    shared = _one_table(one for one in several if one is not None) if shares else None
    if settings.encoder is not None:
        _refuse_fewer_states(settings.encoder, settings.reader)
    reader = _reader(settings, sizes, encoder, shared)
    return Model(
        encoder,
        reader,
        source_dropout=settings.source_dropout,
        noise=_noise(settings, sizes, encoder),
        bottleneck=_bottleneck(settings, encoder),
    )


def _noise(
    settings: ModelSettings, sizes: Sizes, encoder: Encoder | dict[str, Encoder] | None
) -> Noise | None:
    """How the only source is corrupted while learning; labels belong to words, and need them all."""
    if not settings.noise.is_any:
        return None
    written = (RnnReaderSettings, TransformerReaderSettings, WindowReaderSettings)
    writes = isinstance(settings.reader, written)
    if (
        not writes
        or not isinstance(encoder, Encoder)
        or not isinstance(encoder.embedding, Embedding)
    ):
        raise UsageError(
            "noise is for one text that a decoder reads",
            where="model.noise",
            remedy="leave model.noise out, or learn to write: the task reconstruct, for one",
        )
    return partial(corrupted, noise=settings.noise, hidden=sizes.hidden)


def _bottleneck(
    settings: ModelSettings, encoder: Encoder | dict[str, Encoder] | None
) -> Bottleneck | None:
    """A narrow state helps only where nothing leads around it."""
    if settings.bottleneck is None:
        return None
    reader = settings.reader
    if not (isinstance(reader, RnnReaderSettings) and reader.score == "none") or not isinstance(
        encoder, Encoder
    ):
        raise UsageError(
            "attention would lead around a bottleneck, and what reads no single state has none",
            where="model.bottleneck",
            remedy='take an rnn reader with score = "none", or leave the bottleneck out',
        )
    return Bottleneck(encoder.width, settings.bottleneck)


def _one_table(encoders: Iterable[Encoder]) -> nn.Embedding | None:
    """Texts of one vocabulary have one table of vectors, where their widths are the same."""
    fronts = [one.embedding for one in encoders if isinstance(one.embedding, Embedding)]
    for front in fronts[1:]:
        if front.table.weight.shape == fronts[0].table.weight.shape:
            front.table = fronts[0].table
    return fronts[0].table if fronts else None


def _tie(encoder: Encoder, other: Encoder) -> None:
    """Give an encoder the weights of another one, which has the same parts; each keeps its own sites."""
    for path, module in encoder.named_modules():
        for name, _ in list(module.named_parameters(recurse=False)):
            setattr(module, name, getattr(other.get_submodule(path), name))


def _encoders(settings: ModelSettings, sizes: Sizes) -> Encoder | dict[str, Encoder] | None:
    """One encoder, or one a source: what has no settings of its own has those of the one encoder."""
    if not sizes.sources:
        for name in settings.encoders:
            raise UsageError(
                f"there is no source '{name}': this task has one source at the most",
                where=f"model.encoders.{name}",
                remedy="put its settings under [model.encoder], or leave them out",
            )
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
        alike = [
            first
            for first in encoders
            if first != name
            and sizes.sources[first] == size
            and settings.encoders.get(first, settings.encoder) == own
        ]
        if settings.share_encoders and sizes.shared and alike:
            _tie(encoders[name], encoders[alike[0]])
    return encoders


def _encoder(settings: EncoderSettings, size: SourceSize, name: str) -> Encoder:
    embedding = _front(settings, size)
    match settings:
        case FrontEncoderSettings():
            return FrontEncoder(embedding, settings.width)
        case RnnEncoderSettings():
            recurrent = Recurrent(
                settings.cell,
                settings.width,
                settings.width,
                settings.layers,
                bidirectional=settings.bidirectional,
                pyramid=settings.pyramid,
                dropout=settings.dropout,
                axis=name,
            )
            return RnnEncoder(embedding, recurrent, settings.width)
        case TransformerSettings():
            blocks = Stack(encoder_block(settings, n, name) for n in range(settings.layers))
            return TransformerEncoder(
                embedding, blocks, final_norm(settings), settings.width, reach(settings)
            )


def _front(settings: EncoderSettings, size: SourceSize) -> FrontEnd:
    """How the raw source becomes states."""
    match settings.front:
        case PatchFrontSettings(size=side):
            need(size.features, "squares are cut from a picture, whose columns have numbers")
            return Patches(
                size.rows, size.features, settings.width, size=side, dropout=settings.dropout
            )
        case ConvolutionFrontSettings() as own:
            need(size.features, "a convolution reads a picture, whose columns have numbers")
            return Convolution(
                size.rows,
                size.features,
                settings.width,
                channels=own.channels,
                blocks=own.blocks,
                dropout=settings.dropout,
                warp=own.warp,
                elastic=own.elastic,
                mirror=own.mirror,
            )
        case SubsamplingFrontSettings() as own:
            need(size.features, "a sound is sub-sampled, whose frames have numbers")
            return Subsampling(
                size.features,
                settings.width,
                channels=own.channels,
                position=_position(settings),
                dropout=settings.dropout,
                mask_bands=own.mask_bands,
                mask_frames=own.mask_frames,
            )
        case PlainFrontSettings() if size.features:
            position = _position(settings)
            return Frames(
                size.features, settings.width, position=position, dropout=settings.dropout
            )
        case PlainFrontSettings():
            return table_of(size.symbols, settings, unknown=size.unknown)


def _position(settings: EncoderSettings) -> Added | None:
    """What tells a Transformer where a frame stands; a recurrent network counts by itself."""
    return input_position(settings) if isinstance(settings, TransformerSettings) else None


def _reader(
    settings: ModelSettings,
    sizes: Sizes,
    encoder: Encoder | dict[str, Encoder] | None,
    shared: nn.Embedding | None,
) -> Reader:
    reader = settings.reader
    if isinstance(encoder, dict):
        widths = {name: one.width for name, one in encoder.items()}
        return _reader_of_several(reader, sizes, widths, shared)
    if encoder is None and isinstance(reader, (TagSettings, ClassifySettings, PointSettings)):
        raise UsageError(
            f"a '{reader.kind}' reader needs an encoder to read from",
            where="model.encoder",
            remedy="add [model.encoder] with kind = 'rnn' or 'transformer'",
        )
    if isinstance(reader, (TagSettings, ClassifySettings)):
        need(sizes.labels, "there is at least one label")
    width = 1 if encoder is None else encoder.width
    match reader:
        case TagSettings():
            inner = None
            if reader.transform is not None:
                inner = Transform(width, reader.transform, reader.norm_eps)
            return Tagger(width, sizes.labels, reader.dropout, inner)
        case ClassifySettings():
            return Classifier(_pool(reader, width), width, sizes.labels, reader.dropout)
        case PointSettings():
            attention = one_head(reader, Site("pointer", TARGET, PLACES), reader.width, width)
            cell = make_cell(reader.cell, width, reader.width)
            return Pointer(cell, attention, width, visits=reader.visits)
        case RnnReaderSettings():
            own = rnn_decoder(reader, sizes, width if encoder else None, shared)
            if reader.normalise == "marginal":
                return marginal(reader, own)
            if reader.points_back:
                return pointing_back(reader, own, width if encoder else None)
            return copying(reader, sizes, own, width if encoder else None)
        case TransformerReaderSettings():
            made = transformer_decoder(reader, sizes, width if encoder else None, shared)
            return copying(reader, sizes, made, width if encoder else None)
        case WindowReaderSettings():
            return window_decoder(reader, sizes, width if encoder else None)


def _refuse_fewer_states(encoder: EncoderSettings, reader: ReaderSettings) -> None:
    """What tags, points at or copies single symbols needs a state for each of them."""
    copies = getattr(reader, "copies", False)
    if not (copies or isinstance(reader, (TagSettings, PointSettings))):
        return
    name = "pyramid" if getattr(encoder, "pyramid", 0) else "front"
    if name == "pyramid" or not isinstance(encoder.front, PlainFrontSettings):
        raise UsageError(
            f"a '{reader.kind}' reader that {'copies' if copies else 'answers symbol by symbol'} needs a "
            "state for each symbol, and this encoder makes fewer",
            where=f"model.encoder.{name}",
            remedy=f"leave model.encoder.{name} out",
        )


def _reader_of_several(
    reader: ReaderSettings,
    sizes: Sizes,
    widths: Mapping[str, int],
    shared: nn.Embedding | None,
) -> Reader:
    """A decoder that reads every source; labels and pointers are about one source."""
    match reader:
        case TransformerReaderSettings(copies=False):
            return transformer_decoder(reader, sizes, widths, shared)
        case RnnReaderSettings(copies=False, points_back=0):
            return rnn_decoder_of_several(reader, sizes, widths, shared)
        case _:
            raise UsageError(
                f"a '{reader.kind}' reader reads one source, and there are {len(widths)}",
                where="model.reader.kind",
                remedy="choose an rnn or a transformer reader that neither copies nor points back",
            )


def _pool(settings: ClassifySettings, width: int) -> Pool:
    match settings.pooling:
        case "mean":
            return MeanPool()
        case "first":
            return FirstPool()
        case "attention":
            site = Site("pool", LABEL, SOURCE)
            return AttentionPool(width, one_head(settings, site, width, width))
