"""Encoders and readers, and the one place that builds them from settings."""

from regard.models.build import Sizes, build
from regard.models.decoder import Decoder, TokenDecoder, select
from regard.models.encoder import Encoded, Encoder, RnnEncoder, TransformerEncoder
from regard.models.model import Model, Reader, count_parameters
from regard.models.pointer import Pointer
from regard.models.readers import AttentionPool, Classifier, FirstPool, MeanPool, Pool, Tagger
from regard.models.rnn_decoder import RnnDecoder
from regard.models.transformer_decoder import TransformerDecoder
from regard.settings.model import (
    ClassifySettings,
    ModelSettings,
    PointSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
)

__all__ = [
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
    "PointSettings",
    "Pointer",
    "Pool",
    "Reader",
    "RnnDecoder",
    "RnnEncoder",
    "RnnEncoderSettings",
    "RnnReaderSettings",
    "Sizes",
    "TagSettings",
    "Tagger",
    "TokenDecoder",
    "TransformerDecoder",
    "TransformerEncoder",
    "TransformerReaderSettings",
    "TransformerSettings",
    "build",
    "count_parameters",
    "select",
]
