"""What a model is made of, as values: the tree of settings is the tree of modules.

Vocabulary sizes are not here; data decides them (`Sizes` in models/build.py).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    Discriminator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Tag,
)

from regard.config import Settings

# The closed sets by name: every one-word choice that a setting may make.
# Each set is resolved to modules in one place: scores and normalisers in `attention.choose`, cells in
# `layers.recurrent`, activations in `layers.sublayer`, positions in `models.build_transformer`.

ScoreName = Literal["dot", "scaled-dot", "general", "additive", "cosine", "location", "feature-map"]
NoticingName = Literal[
    "coverage", "location-aware"
]  # scores that see what the decoder's earlier steps read
NormaliserName = Literal[
    "softmax", "sparsemax", "entmax-1.5", "relu", "sigmoid", "hard", "gumbel", "proportional"
]
ChoosingName = Literal["sampled"]  # normalisers that choose by chance, and learn by REINFORCE
PositionName = Literal["none", "sinusoidal", "sinusoidal-halves", "learned", "rotary", "alibi"]
Reach = Literal["full", "causal", "window", "strided", "global-window"]
CellName = Literal["elman", "gru", "lstm"]
TapeCellName = Literal["lstmn"]  # cells that keep every state and attend to them
Activation = Literal["relu", "gelu", "gelu-tanh", "swish", "swiglu"]
NormForm = Literal["standard", "plain"]
NormOrder = Literal["pre", "post", "none"]
Mixing = Literal["attention", "window", "whole"]
Pooling = Literal["mean", "first", "attention"]
Looks = Literal["after", "before"]
Combination = Literal["flat", "parallel", "serial", "hierarchical"]
Visits = Literal["some", "all"]
Credit = Literal["later", "sentence"]
Penalty = Literal["none", "average", "gnmt"]


Dropout = Annotated[float, Field(ge=0, lt=1)]
HeadCounts = Annotated[  # by what was written, so that a fault is told about that alone
    Annotated[PositiveInt, Tag("(number)")]
    | Annotated[tuple[PositiveInt, ...], Field(min_length=1), Tag("(list)")],
    Discriminator(lambda given: "(list)" if isinstance(given, (list, tuple)) else "(number)"),
]


class PlainFrontSettings(Settings):
    """A learned vector for each symbol; for a source of numbers, one linear map of each frame."""

    kind: Literal["plain"] = "plain"
    """The front-end is a table of vectors for symbols, or one linear map of each frame of numbers."""


class PatchFrontSettings(Settings):
    """Squares of a picture, each one linear map of its pixels (Dosovitskiy 2021)."""

    kind: Literal["patches"] = "patches"
    """The front-end cuts a picture into squares."""
    size: PositiveInt = 8
    """The side of a square in pixels: 4 to 32. It divides the height of the picture."""


class ConvolutionFrontSettings(Settings):
    """A small convolutional network that turns a picture into a grid of states (as in Xu 2015)."""

    kind: Literal["convolution"] = "convolution"
    """The front-end is a convolutional network."""
    channels: Annotated[tuple[PositiveInt, ...], Field(min_length=1, max_length=8)] = (32, 64, 128)
    """How many feature maps each stage has: 16 to 512. Every stage halves the height and the width."""
    blocks: NonNegativeInt = 0
    """How many residual blocks each stage has: 0 to 4. Each lets a state see further around its own
    region."""
    warp: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """How far training pictures are distorted at random, as a share of their size: 0 to 0.3."""
    elastic: Annotated[float, Field(ge=0, le=0.2)] = 0.0
    """How far parts of a training picture as large as a symbol are moved at random, as a share of its
    height: 0 to 0.05 (Simard 2003)."""
    mirror: bool = False
    """Whether half of the training pictures are mirrored: for photographs, never for writing."""


class SubsamplingFrontSettings(Settings):
    """Convolutions over the frames of a sound that leave one state for several frames (Dong 2018)."""

    kind: Literal["subsampling"] = "subsampling"
    """The front-end is a convolution over time and frequency."""
    channels: Annotated[tuple[PositiveInt, ...], Field(min_length=1, max_length=4)] = (32, 32)
    """How many feature maps each stage has: 8 to 256. Every stage halves the frames and the bands."""
    mask_bands: NonNegativeInt = 0
    """At most so many neighbouring bands are hidden at random in training (Park 2019): 0 to 15."""
    mask_frames: NonNegativeInt = 0
    """At most so many neighbouring frames are hidden at random in training (Park 2019): 0 to 40."""


FrontSettings = Annotated[
    PlainFrontSettings | PatchFrontSettings | ConvolutionFrontSettings | SubsamplingFrontSettings,
    Field(discriminator="kind"),
]


class RnnEncoderSettings(Settings):
    """A recurrent encoder (L11)."""

    kind: Literal["rnn"] = "rnn"
    """The encoder is a recurrent network."""
    cell: CellName | TapeCellName = "gru"
    """The recurrent cell. An lstmn keeps all of its states and attends to them (Cheng 2016), and reads in
    one direction."""
    width: PositiveInt = 256
    """The number of neurons of a state, both directions together: 64 to 1,024."""
    layers: PositiveInt = 1
    """The number of layers: 1 to 4."""
    bidirectional: bool = True
    """Whether the source is read from both ends."""
    pyramid: Annotated[int, Field(ge=0, le=6)] = 0
    """So many of the upper layers read two states at a time and halve their number (Chan 2016): 0 for text,
    1 to 3 for sounds."""
    front: FrontSettings = PlainFrontSettings()
    """How the raw source becomes states."""
    dropout: Dropout = 0.1
    """The share of neurons that are dropped in training: 0 to 0.5."""


class FrontEncoderSettings(Settings):
    """No layers at all: the reader attends to what the front-end gives (Xu 2015: annotation vectors)."""

    kind: Literal["front"] = "front"
    """The encoder is its front-end alone."""
    width: PositiveInt = 256
    """The number of neurons of a state: 64 to 1,024."""
    front: FrontSettings = PlainFrontSettings()
    """How the raw source becomes states."""
    dropout: Dropout = 0.1
    """The share of neurons that are dropped in training: 0 to 0.5."""


class StackSettings(Settings):
    """What a stack of Transformer blocks is made of, on either side."""

    kind: Literal["transformer"] = "transformer"
    """This side is a stack of Transformer blocks."""
    width: PositiveInt = 256
    """The number of neurons of a position (d_model): 64 to 1,024."""
    layers: PositiveInt = 4
    """The number of blocks: 1 to 12."""
    heads: HeadCounts = 4
    """The number of attention heads in each block: 1 to 16. A list has one number for each layer."""
    gates: Literal["open", "learned"] = "open"
    """Whether the gate that multiplies each head is learned, so that objective.l0 can close it, or stays
    open."""
    key_width: HeadCounts | None = None
    """The number of neurons of a query or key in each head (d_k): 16 to 128. A list has one number for each
    layer. The default is width / heads."""
    value_width: HeadCounts | None = None
    """The number of neurons of a value in each head (d_v): 16 to 128. A list has one number for each layer.
    The default is key_width."""
    feedforward: NonNegativeInt = 1024
    """The number of neurons inside the feed-forward network: 128 to 4,096, or 0 for none (L103)."""
    activation: Activation = "relu"
    """The activation of the feed-forward network."""
    residual: bool = True
    """Whether the input of each sub-layer is added to its output (L60). Without it the output goes on alone
    (L103)."""
    norm: NormOrder = "pre"
    """Where layer normalisation stands: before each sub-layer, after its sum, or nowhere (L103)."""
    norm_form: NormForm = "standard"
    """Whether layer normalisation learns a gain and a shift, or is plain as on the slides (L61)."""
    norm_eps: NonNegativeFloat = 1e-5
    """What is added to the variance (in the plain form to the deviation) before dividing: 1e-12 to 1e-5."""
    score: ScoreName = "scaled-dot"
    """The score function of query and key."""
    normalise: NormaliserName = "softmax"
    """The function that turns scores into attention weights."""
    position: PositionName = "sinusoidal"
    """The position encoding."""
    position_at: Literal["input", "heads"] = "input"
    """Whether positions are added to the input or, head by head, to queries, keys and values."""
    position_base: PositiveFloat = 10000.0
    """The longest wavelength of sinusoidal and rotary positions, divided by 2 pi: 1,000 to 1,000,000. Vaswani
    2017 has 10,000."""
    reach: Reach = "full"
    """Which positions may be attended to. A decoder is always causal as well."""
    reach_size: PositiveInt = 32
    """The size of the window or the stride of reach, in positions: 8 to 256."""
    max_length: PositiveInt = 512
    """The largest number of positions, where each has weights of its own (learned positions, the location
    score): 64 to 4,096."""
    scale_embedding: bool = True
    """Whether embeddings are multiplied by the square root of the width, as in Vaswani 2017."""
    embedding_norm: bool = False
    """Whether layer normalisation follows the embedding, as in BERT."""
    dropout: Dropout = 0.1
    """The share of neurons that are dropped in training: 0 to 0.5."""
    attention_dropout: Dropout = 0.0
    """The share of attention weights that are dropped in training: 0 to 0.3."""
    activation_dropout: Dropout = 0.0
    """The share of neurons that are dropped inside the feed-forward network in training: 0 to 0.3."""


class TransformerSettings(StackSettings):
    """A Transformer encoder (L66)."""

    mixing: Mixing = "attention"
    """How positions read each other: by self-attention, or in its place by a fully connected layer over a
    window of reach_size to each side, or over the whole sequence of max_length positions (L41)."""
    front: FrontSettings = PlainFrontSettings()
    """How the raw source becomes states."""


class RnnReaderSettings(Settings):
    """A recurrent decoder, with `score = "none"` for none at all (L11-L13)."""

    kind: Literal["rnn"] = "rnn"
    """The reader is a recurrent decoder."""
    cell: CellName | TapeCellName = "gru"
    """The recurrent cell. An lstmn keeps all of its states and attends to them (Cheng 2016)."""
    width: PositiveInt = 256
    """The number of neurons of a state: 64 to 1,024."""
    layers: PositiveInt = 1
    """The number of layers: 1 to 4."""
    score: ScoreName | NoticingName | Literal["none"] = "additive"
    """The score function of state and source position. coverage is additive and sees how much attention
    each position has had so far, location-aware is additive and sees what the last step gave each position
    and its neighbours, and none is no attention at all."""
    normalise: NormaliserName | ChoosingName | Literal["marginal"] = "softmax"
    """The function that turns scores into attention weights. sampled draws one position a step in training
    (Xu 2015), and marginal sums the probabilities that a word has after each choice (Wu 2018)."""
    soft_share: Dropout = 0.0
    """The share of training steps of sampled attention that read by softmax all the same: 0 to 0.9. Xu 2015
    has 0.5, since choices alone learn too slowly."""
    looks: Looks = "after"
    """Whether a step attends with its new state (Luong 2015) or with the one before it (Bahdanau 2015)."""
    input_feeding: bool = False
    """Whether the context of a step is an input of the next one (Luong 2015)."""
    max_length: PositiveInt = 512
    """The largest number of source positions, where the location score has weights for each: 64 to
    4,096."""
    tied: bool = True
    """Whether the output layer has the weights of the embedding (Press 2017)."""
    combine: Combination = "parallel"
    """How several sources are read: in one softmax (flat), each for itself (parallel), one after the other
    (serial), or weighed (hierarchical)."""
    copies: bool = False
    """Whether a step may also copy a word of the source by its attention (See 2017). It needs one shared
    vocabulary."""
    points_back: NonNegativeInt = 0
    """A step of a language model may also point at one of so many earlier words, or at a sentinel (Merity
    2016): 50 to 200, or 0 for none."""
    dropout: Dropout = 0.1
    """The share of neurons that are dropped in training: 0 to 0.5."""


class WindowReaderSettings(Settings):
    """A feed-forward language model over its last words that attends to the source (Rush 2015; L84)."""

    kind: Literal["window"] = "window"
    """The reader is a feed-forward language model that sees its last words alone."""
    window: Annotated[int, Field(ge=1, le=100)] = 5
    """How many of its last words a step sees (C in Rush 2015): 3 to 10."""
    width: PositiveInt = 256
    """The number of neurons of the hidden layer over those words: 100 to 1,000."""
    embedding: PositiveInt = 128
    """The number of neurons of each of those words, in two tables, one for the language model and one for
    attention: 50 to 500."""
    smooth: Annotated[int, Field(ge=0, le=20)] = 2
    """What is read at a source position is the mean over so many neighbours to each side: 0 to 5."""
    score: ScoreName = "general"
    """The score function of the last words and a source position."""
    normalise: NormaliserName = "softmax"
    """The function that turns scores into attention weights."""
    max_length: PositiveInt = 512
    """The largest number of source positions, where the location score has weights for each: 64 to
    4,096."""
    dropout: Dropout = 0.1
    """The share of neurons that are dropped in training: 0 to 0.5."""


class TransformerReaderSettings(StackSettings):
    """A Transformer decoder (L66)."""

    cross_heads: HeadCounts | None = None
    """The number of heads of attention to the source in each block: 1 to 16. The default is heads."""
    cross_key_width: HeadCounts | None = None
    """The key_width of attention to the source: 16 to 128. The default is key_width, or else width /
    cross_heads."""
    cross_value_width: HeadCounts | None = None
    """The value_width of attention to the source: 16 to 128. The default is value_width, or else its key
    width."""
    tied: bool = True
    """Whether the output layer has the weights of the embedding (Press 2017)."""
    combine: Combination = "parallel"
    """How several sources are read: in one softmax (flat), each for itself (parallel), one after the other
    (serial), or weighed (hierarchical)."""
    output_bias: bool = False
    """Whether the output layer has a bias."""
    copies: bool = False
    """Whether a step may also copy a word of the source, by one more attention (See 2017). It needs one
    shared vocabulary."""


class TagSettings(Settings):
    """One label a word (L78)."""

    kind: Literal["tag"] = "tag"
    """The reader gives each word a label."""
    transform: Literal["relu", "gelu", "gelu-tanh", "swish"] | None = None
    """The activation of one more layer, with layer normalisation, before the output (Devlin 2019). By
    default there is none."""
    norm_eps: NonNegativeFloat = 1e-5
    """What is added to the variance in that layer's normalisation before dividing: 1e-12 to 1e-5."""
    dropout: Dropout = 0.1
    """The share of neurons that are dropped in training: 0 to 0.5."""


class ClassifySettings(Settings):
    """One label a sequence (L79)."""

    kind: Literal["classify"] = "classify"
    """The reader gives each text a label."""
    pooling: Pooling = "attention"
    """How the states of all positions become one: their mean, the first of them, or their sum weighted by
    attention."""
    score: ScoreName = "additive"
    """The score function of pooling by attention."""
    normalise: NormaliserName = "softmax"
    """The function that turns scores into attention weights."""
    max_length: PositiveInt = 512
    """The largest number of positions, where the location score has weights for each: 64 to 4,096."""
    dropout: Dropout = 0.1
    """The share of neurons that are dropped in training: 0 to 0.5."""


class PointSettings(Settings):
    """Attention weights as the output (L81)."""

    kind: Literal["point"] = "point"
    """The reader points at positions of the source, one after another."""
    cell: CellName = "lstm"
    """The recurrent cell."""
    width: PositiveInt = 128
    """The number of neurons of a state: 64 to 512."""
    score: ScoreName = "additive"
    """The score function of state and source position."""
    visits: Visits = "some"
    """Whether an answer may leave items out (some), or stops only when it has pointed at each (all)."""
    max_length: PositiveInt = 512
    """The largest number of positions, where the location score has weights for each: 64 to 4,096."""


EncoderSettings = Annotated[
    RnnEncoderSettings | TransformerSettings | FrontEncoderSettings, Field(discriminator="kind")
]
ReaderSettings = Annotated[
    RnnReaderSettings
    | TransformerReaderSettings
    | WindowReaderSettings
    | TagSettings
    | ClassifySettings
    | PointSettings,
    Field(discriminator="kind"),
]


class NoiseSettings(Settings):
    """How a text is corrupted before it is read, while learning: a decoder then learns to mend it (L97)."""

    drop: Dropout = 0.0
    """The share of the source's pieces that are left out in training: 0 to 0.3."""
    mask: Dropout = 0.0
    """The share of the source's pieces that are replaced by the unknown symbol in training: 0 to 0.3."""
    shuffle: Annotated[int, Field(ge=0, le=1000)] = 0
    """How many positions a piece of the source may be moved in training: 0 to 5."""

    @property
    def is_any(self) -> bool:
        """Whether anything is corrupted at all."""
        return bool(self.drop or self.mask or self.shuffle)


class ModelSettings(Settings):
    """An encoder and a reader; a language model has no encoder, and several sources have one each."""

    encoder: EncoderSettings | None = None
    """What reads the source. A language model has no encoder."""
    encoders: dict[str, EncoderSettings] = Field(default_factory=dict)
    """One encoder for each source by its name, where a task has several sources."""
    share_encoders: bool = False
    """Whether sources of one vocabulary are read by encoders with the same weights."""
    source_dropout: Dropout = 0.0
    """How often each of several sources is left out in training, so that one may be missing: 0 to 0.3."""
    noise: NoiseSettings = NoiseSettings()
    """How the source of a decoder is corrupted in training (denoising)."""
    bottleneck: Annotated[int, Field(ge=1, le=65536)] | None = None
    """The number of neurons of a narrower state between an encoder and a decoder without attention: 2 to
    512. By default there is none."""
    reader: ReaderSettings
    """What writes, tags, classifies or points."""
    share_embedding: bool = True
    """Whether source and target have one table of embeddings, where they have one vocabulary."""


def encoder_of(model: ModelSettings) -> EncoderSettings | None:
    """What another model may take over to read with: the encoder of this one.

    A language model of Transformer blocks has none, and its decoder is one all the same: an encoder in which
    each position sees nothing behind it (Radford 2018).
    """
    reader = model.reader
    if model.encoder is not None or not isinstance(reader, TransformerReaderSettings):
        return model.encoder
    shared = reader.model_dump(include=set(StackSettings.model_fields))
    if reader.reach != "full":
        return None
    return TransformerSettings.model_validate({**shared, "reach": "causal"})
