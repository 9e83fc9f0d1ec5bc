"""What a model is made of, as values: the tree of settings is the tree of modules.

Vocabulary sizes are not here; data decides them (`Sizes` in models/build.py).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, NonNegativeFloat, PositiveFloat, PositiveInt, Tag

from regard.config import Settings
from regard.settings.names import (
    Activation,
    CellName,
    Combination,
    Looks,
    NormaliserName,
    NormForm,
    NormOrder,
    Pooling,
    PositionName,
    Reach,
    ScoreName,
)

Dropout = Annotated[float, Field(ge=0, lt=1)]
HeadCounts = Annotated[  # by what was written, so that a fault is told about that alone
    Annotated[PositiveInt, Tag("(number)")]
    | Annotated[tuple[PositiveInt, ...], Field(min_length=1), Tag("(list)")],
    Discriminator(lambda given: "(list)" if isinstance(given, (list, tuple)) else "(number)"),
]


class PlainFrontSettings(Settings):
    """A learned vector for each symbol; for a source of numbers, one linear map of each frame."""

    kind: Literal["plain"] = "plain"
    """A table of vectors, or a linear map."""


class PatchFrontSettings(Settings):
    """Squares of a picture, each one linear map of its pixels (Dosovitskiy 2021)."""

    kind: Literal["patches"] = "patches"
    """Squares of a picture."""
    size: PositiveInt = 8
    """The side of a square, in pixels; it divides the height of the picture."""


FrontSettings = Annotated[PlainFrontSettings | PatchFrontSettings, Field(discriminator="kind")]


class RnnEncoderSettings(Settings):
    """A recurrent encoder (L11)."""

    kind: Literal["rnn"] = "rnn"
    """A recurrent network reads."""
    cell: CellName = "gru"
    """What a step is made of."""
    width: PositiveInt = 256
    """Neurons of a state, both directions together."""
    layers: PositiveInt = 1
    """One above the other."""
    bidirectional: bool = True
    """Read from both ends."""
    front: FrontSettings = PlainFrontSettings()
    """How the raw source becomes states."""
    dropout: Dropout = 0.1
    """Share of neurons left out while learning."""


class StackSettings(Settings):
    """What a stack of Transformer blocks is made of, on either side."""

    kind: Literal["transformer"] = "transformer"
    """Transformer blocks."""
    width: PositiveInt = 256
    """Neurons of a position."""
    layers: PositiveInt = 4
    """Blocks one above the other."""
    heads: HeadCounts = 4
    """Attentions side by side; one number for all layers, or a list with one number a layer."""
    key_width: PositiveInt | None = None
    """Of each head; the default is width / heads."""
    value_width: PositiveInt | None = None
    """Of each head; the default is the width of its keys."""
    feedforward: PositiveInt = 1024
    """Neurons inside the network of each position."""
    activation: Activation = "relu"
    """The activation between the two linear maps of that network."""
    norm: NormOrder = "pre"
    """Before each part, or after its sum."""
    norm_form: NormForm = "standard"
    """With gain and shift, or plain as on the slides."""
    norm_eps: NonNegativeFloat = 1e-5
    """Added to the variance, or in the plain form to the deviation."""
    score: ScoreName = "scaled-dot"
    """How well a query and a key go together."""
    normalise: NormaliserName = "softmax"
    """How scores become weights."""
    position: PositionName = "sinusoidal"
    """How order is told."""
    position_at: Literal["input", "heads"] = "input"
    """Added to the input, or within each head."""
    position_base: PositiveFloat = 10000.0
    """The longest wave of sinusoidal and rotary positions, over 2 pi."""
    reach: Reach = "full"
    """Who may be attended to."""
    reach_size: PositiveInt = 32
    """Of the window, or the stride."""
    max_length: PositiveInt = 512
    """The most positions, where each has weights of its own."""
    scale_embedding: bool = True
    """Embeddings times the root of the width."""
    embedding_norm: bool = False
    """A norm behind the embedding."""
    dropout: Dropout = 0.1
    """Share of neurons left out while learning."""
    attention_dropout: Dropout = 0.0
    """The same for weights of attention."""
    activation_dropout: Dropout = 0.0
    """The same inside the feed-forward network, where the paper has none."""


class TransformerSettings(StackSettings):
    """A Transformer encoder (L66)."""

    front: FrontSettings = PlainFrontSettings()
    """How the raw source becomes states."""


class RnnReaderSettings(Settings):
    """A recurrent decoder, with `score = "none"` for none at all (L11-L13)."""

    kind: Literal["rnn"] = "rnn"
    """A recurrent network writes."""
    cell: CellName = "gru"
    """What a step is made of."""
    width: PositiveInt = 256
    """Neurons of a state."""
    layers: PositiveInt = 1
    """One above the other."""
    score: ScoreName | Literal["none"] = "additive"
    """How well a state and a source position go together; none is no attention at all."""
    normalise: NormaliserName = "softmax"
    """How scores become weights."""
    looks: Looks = "after"
    """With the new state, or with the one before it."""
    input_feeding: bool = False
    """What was read goes into the next step, too."""
    max_length: PositiveInt = 512
    """The most source positions, where the score counts them."""
    tied: bool = True
    """The output has the embedding's weights."""
    combine: Combination = "parallel"
    """How several sources are read: in one softmax, each for itself, one after the other, or weighed."""
    dropout: Dropout = 0.1
    """Share of neurons left out while learning."""


class TransformerReaderSettings(StackSettings):
    """A Transformer decoder (L66)."""

    cross_heads: HeadCounts | None = None
    """The same for attention to the source; the default is `heads`."""
    tied: bool = True
    """The output has the embedding's weights."""
    combine: Combination = "parallel"
    """How several sources are read: in one softmax, each for itself, one after the other, or weighed."""
    output_bias: bool = False
    """The output has a bias."""


class TagSettings(Settings):
    """One label a word (L78)."""

    kind: Literal["tag"] = "tag"
    """A label for each word."""
    dropout: Dropout = 0.1
    """Share of neurons left out while learning."""


class ClassifySettings(Settings):
    """One label a sequence (L79)."""

    kind: Literal["classify"] = "classify"
    """A label for each text."""
    pooling: Pooling = "attention"
    """How all positions become one."""
    score: ScoreName = "additive"
    """Of pooling by attention."""
    normalise: NormaliserName = "softmax"
    """How scores become weights."""
    max_length: PositiveInt = 512
    """The most positions, where the score counts them."""
    dropout: Dropout = 0.1
    """Share of neurons left out while learning."""


class PointSettings(Settings):
    """Attention weights as the output (L81)."""

    kind: Literal["point"] = "point"
    """Positions of the input, one after another."""
    cell: CellName = "lstm"
    """What a step is made of."""
    width: PositiveInt = 128
    """Neurons of a state."""
    score: ScoreName = "additive"
    """How well a state and a position go together."""
    max_length: PositiveInt = 512
    """The most positions, where the score counts them."""


EncoderSettings = Annotated[RnnEncoderSettings | TransformerSettings, Field(discriminator="kind")]
ReaderSettings = Annotated[
    RnnReaderSettings | TransformerReaderSettings | TagSettings | ClassifySettings | PointSettings,
    Field(discriminator="kind"),
]


class ModelSettings(Settings):
    """An encoder and a reader; a language model has no encoder, and several sources have one each."""

    encoder: EncoderSettings | None = None
    """Reads the source; a language model has none."""
    encoders: dict[str, EncoderSettings] = Field(default_factory=dict)
    """One encoder for each source by its name, where a task has several sources."""
    reader: ReaderSettings
    """Writes, tags, classifies or points."""
    share_embedding: bool = True
    """Source and target have one table, where they have one vocabulary."""
