"""Encoders and readers, and the one place that builds them from settings."""

from regard.models.build import build
from regard.models.build_decoder import Sizes, SourceSize
from regard.models.compress import heads_by_site, prune_heads, with_open_gates
from regard.models.copying import Copying
from regard.models.decoder import Decoder, Pointer, TokenDecoder, select
from regard.models.encoder import (
    Encoded,
    Encoder,
    FrontEncoder,
    Padded,
    RnnEncoder,
    TransformerEncoder,
)
from regard.models.marginal import Marginal
from regard.models.model import Model, count_parameters
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
from regard.models.sentinel import PointerSentinel
from regard.models.transformer_decoder import TransformerDecoder
from regard.models.window_decoder import WindowDecoder
from regard.question import SOURCE
from regard.settings.architecture import (
    ClassifySettings,
    FrontEncoderSettings,
    ModelSettings,
    PointSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    StackSettings,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
    WindowReaderSettings,
)

__all__ = [
    "SOURCE",
    "AttentionPool",
    "Classifier",
    "ClassifySettings",
    "Copying",
    "Decoder",
    "Encoded",
    "Encoder",
    "FirstPool",
    "FrontEncoder",
    "FrontEncoderSettings",
    "Marginal",
    "MeanPool",
    "Model",
    "ModelSettings",
    "Padded",
    "PointSettings",
    "Pointer",
    "PointerSentinel",
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
    "WindowDecoder",
    "WindowReaderSettings",
    "build",
    "count_parameters",
    "heads_by_site",
    "prune_heads",
    "select",
    "with_open_gates",
]
