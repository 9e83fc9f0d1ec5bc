"""What a model is made of, as values: the tree of settings is the tree of modules.

Vocabulary sizes are not here; data decides them (`Sizes` in build.py).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from regard.attention.choose import NormaliserName, ScoreName
from regard.config import Settings
from regard.layers.feedforward import Activation
from regard.layers.norm import NormForm, NormOrder
from regard.layers.recurrent import CellName
from regard.models.readers import Pooling
from regard.models.rnn_decoder import Looks

Dropout = Annotated[float, Field(ge=0, lt=1)]
PositionName = Literal["none", "sinusoidal", "sinusoidal-halves", "learned", "rotary", "alibi"]
Reach = Literal["full", "window", "strided", "global-window"]


class RnnEncoderSettings(Settings):
    """A recurrent encoder (L11)."""

    kind: Literal["rnn"] = "rnn"
    cell: CellName = "gru"
    width: PositiveInt = 256
    layers: PositiveInt = 1
    bidirectional: bool = True
    dropout: Dropout = 0.1


class TransformerSettings(Settings):
    """What a stack of Transformer blocks is made of, on either side."""

    kind: Literal["transformer"] = "transformer"
    width: PositiveInt = 256
    layers: PositiveInt = 4
    heads: PositiveInt = 4
    key_width: PositiveInt | None = None
    value_width: PositiveInt | None = None
    feedforward: PositiveInt = 1024
    activation: Activation = "relu"
    norm: NormOrder = "pre"
    norm_form: NormForm = "standard"
    norm_eps: float = 1e-5
    score: ScoreName = "scaled-dot"
    normalise: NormaliserName = "softmax"
    position: PositionName = "sinusoidal"
    position_at: Literal["input", "heads"] = "input"
    position_base: float = 10000.0
    reach: Reach = "full"
    reach_size: PositiveInt = 32
    max_length: PositiveInt = 512
    scale_embedding: bool = True
    embedding_norm: bool = False
    dropout: Dropout = 0.1
    attention_dropout: Dropout = 0.0
    activation_dropout: Dropout = 0.0  # inside the feed-forward network, where the paper has none


class RnnReaderSettings(Settings):
    """A recurrent decoder, with `score = "none"` for none at all (L11-L13)."""

    kind: Literal["rnn"] = "rnn"
    cell: CellName = "gru"
    width: PositiveInt = 256
    layers: PositiveInt = 1
    score: ScoreName | Literal["none"] = "additive"
    normalise: NormaliserName = "softmax"
    looks: Looks = "after"
    input_feeding: bool = False
    max_length: PositiveInt = 512
    tied: bool = True
    dropout: Dropout = 0.1


class TransformerReaderSettings(TransformerSettings):
    """A Transformer decoder (L66)."""

    tied: bool = True
    output_bias: bool = False


class TagSettings(Settings):
    """One label a word (L78)."""

    kind: Literal["tag"] = "tag"
    dropout: Dropout = 0.1


class ClassifySettings(Settings):
    """One label a sequence (L79)."""

    kind: Literal["classify"] = "classify"
    pooling: Pooling = "attention"
    score: ScoreName = "additive"
    normalise: NormaliserName = "softmax"
    max_length: PositiveInt = 512
    dropout: Dropout = 0.1


class PointSettings(Settings):
    """Attention weights as the output (L81)."""

    kind: Literal["point"] = "point"
    cell: CellName = "lstm"
    width: PositiveInt = 128
    score: ScoreName = "additive"
    max_length: PositiveInt = 512


EncoderSettings = Annotated[RnnEncoderSettings | TransformerSettings, Field(discriminator="kind")]
ReaderSettings = Annotated[
    RnnReaderSettings | TransformerReaderSettings | TagSettings | ClassifySettings | PointSettings,
    Field(discriminator="kind"),
]


class ModelSettings(Settings):
    """An encoder and a reader; a language model has no encoder."""

    encoder: EncoderSettings | None = None
    reader: ReaderSettings
    share_embedding: bool = True
