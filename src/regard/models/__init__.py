"""Encoders and readers, and the one place that builds them from settings."""

from regard.models.build import Sizes, SourceSize, build
from regard.models.decoder import Decoder, TokenDecoder, select
from regard.models.encoder import Encoded, Encoder, Padded, RnnEncoder, TransformerEncoder
from regard.models.model import Model, count_parameters
from regard.models.pointer import Pointer
from regard.models.prune import heads_by_site, prune_heads, with_open_gates
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
    PointSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    StackSettings,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
)

__all__ = [
    "SOURCE",
    "AttentionPool",
    "Classifier",
    "ClassifySettings",
    "Decoder",
    "Encoded",
    "Encoder",
    "FirstPool",
    "MeanPool",
    "Model",
    "ModelSettings",
    "Padded",
    "PointSettings",
    "Pointer",
    "Pool",
    "Reader",
    "RnnDecoder",
    "RnnEncoder",
    "RnnEncoderSettings",
    "RnnReaderSettings",
    "Sizes",
    "SourceSize",
    "StackSettings",
    "TagSettings",
    "Tagger",
    "TokenDecoder",
    "TransformerDecoder",
    "TransformerEncoder",
    "TransformerReaderSettings",
    "TransformerSettings",
    "build",
    "count_parameters",
    "heads_by_site",
    "prune_heads",
    "select",
    "with_open_gates",
]
