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
    """A table of vectors, or a linear map."""


class PatchFrontSettings(Settings):
    """Squares of a picture, each one linear map of its pixels (Dosovitskiy 2021)."""

    kind: Literal["patches"] = "patches"
    """Squares of a picture."""
    size: PositiveInt = 8
    """The side of a square, in pixels; it divides the height of the picture."""


class ConvolutionFrontSettings(Settings):
    """A small convolutional network that turns a picture into a grid of states (as in Xu 2015)."""

    kind: Literal["convolution"] = "convolution"
    """A convolutional network."""
    channels: Annotated[tuple[PositiveInt, ...], Field(min_length=1, max_length=8)] = (32, 64, 128)
    """Feature maps of each stage, 16 to 512; every stage halves the height and the width."""
    blocks: NonNegativeInt = 0
    """Residual blocks in each stage, 0 to 4; each lets a state see further around its own region."""
    warp: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """How far pictures are distorted at random while learning, as a share of their size: 0 to 0.3."""
    elastic: Annotated[float, Field(ge=0, le=0.2)] = 0.0
    """How far parts as large as a symbol are moved, each for itself, while learning, as a share of the
    height: 0 to 0.05 (Simard 2003)."""
    mirror: bool = False
    """While learning, half of the pictures are seen as in a mirror; for photographs, not for writing."""


class SubsamplingFrontSettings(Settings):
    """Convolutions over the frames of a sound that leave one state for several frames (Dong 2018)."""

    kind: Literal["subsampling"] = "subsampling"
    """Convolutions over time and frequency."""
    channels: Annotated[tuple[PositiveInt, ...], Field(min_length=1, max_length=4)] = (32, 32)
    """Feature maps of each stage, 8 to 256; every stage halves the frames and the bands."""
    mask_bands: NonNegativeInt = 0
    """The most neighbouring bands that are hidden at random while learning (Park 2019): 0 to 15."""
    mask_frames: NonNegativeInt = 0
    """The same for neighbouring frames: 0 to 40."""


FrontSettings = Annotated[
    PlainFrontSettings | PatchFrontSettings | ConvolutionFrontSettings | SubsamplingFrontSettings,
    Field(discriminator="kind"),
]


class RnnEncoderSettings(Settings):
    """A recurrent encoder (L11)."""

    kind: Literal["rnn"] = "rnn"
    """A recurrent network reads."""
    cell: CellName | TapeCellName = "gru"
    """What a step is made of; an lstmn remembers all of its states and attends to them (Cheng 2016); it reads
    in one direction."""
    width: PositiveInt = 256
    """Neurons of a state, both directions together."""
    layers: PositiveInt = 1
    """One above the other."""
    bidirectional: bool = True
    """Read from both ends."""
    pyramid: Annotated[int, Field(ge=0, le=6)] = 0
    """So many of the layers, the upper ones, read two states at a time and halve their number (Chan 2016): 0
    for text, 1 to 3 for sounds."""
    front: FrontSettings = PlainFrontSettings()
    """How the raw source becomes states."""
    dropout: Dropout = 0.1
    """Share of neurons left out while learning."""


class FrontEncoderSettings(Settings):
    """No layers at all: the reader attends to what the front-end gives (Xu 2015: annotation vectors)."""

    kind: Literal["front"] = "front"
    """The front-end alone reads."""
    width: PositiveInt = 256
    """Neurons of a state."""
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
    gates: Literal["open", "learned"] = "open"
    """Learned gates multiply each head, and objective.l0 can close them; open ones do nothing."""
    key_width: HeadCounts | None = None
    """Of each head, as one number or a list with one a layer; the default is width / heads."""
    value_width: HeadCounts | None = None
    """Of each head, in the same way; the default is the width of its keys."""
    feedforward: NonNegativeInt = 1024
    """Neurons inside the network of each position; 0 for no such network (L103)."""
    activation: Activation = "relu"
    """The activation between the two linear maps of that network."""
    residual: bool = True
    """Each part's input is added to what it gives (L60); without, what it gives goes on alone (L103)."""
    norm: NormOrder = "pre"
    """Before each part, after its sum, or none at all (L103)."""
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
    """Who may be attended to; causal is everything up to oneself, as always in a decoder."""
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

    mixing: Mixing = "attention"
    """How positions read each other: by self-attention, or in its place by a fully connected layer over a
    window of reach_size to each side, or over the whole sequence of max_length positions (L41)."""
    front: FrontSettings = PlainFrontSettings()
    """How the raw source becomes states."""


class RnnReaderSettings(Settings):
    """A recurrent decoder, with `score = "none"` for none at all (L11-L13)."""

    kind: Literal["rnn"] = "rnn"
    """A recurrent network writes."""
    cell: CellName | TapeCellName = "gru"
    """What a step is made of; an lstmn remembers all of its states and attends to them (Cheng 2016)."""
    width: PositiveInt = 256
    """Neurons of a state."""
    layers: PositiveInt = 1
    """One above the other."""
    score: ScoreName | NoticingName | Literal["none"] = "additive"
    """How well a state and a source position go together; coverage is additive and sees how much attention
    each position has had so far; location-aware is additive and sees what the last step gave each position
    and its neighbours; none is no attention at all."""
    normalise: NormaliserName | ChoosingName | Literal["marginal"] = "softmax"
    """How scores become weights; sampled draws one position a step while learning (Xu 2015), and marginal
    adds up the probabilities that a word has after each choice (Wu 2018)."""
    soft_share: Dropout = 0.0
    """Of sampled attention, the share of steps that read by softmax all the same while learning, from 0 to
    0.9; 0.5 in Xu 2015, where choices alone learn too slowly."""
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
    copies: bool = False
    """Each step may also copy a word of the source, by its attention (See 2017); one shared vocabulary."""
    points_back: NonNegativeInt = 0
    """Each step of a language model may also point at one of so many earlier words, or at a sentinel (Merity
    2016): 50 to 200, or 0 for none."""
    dropout: Dropout = 0.1
    """Share of neurons left out while learning."""


class WindowReaderSettings(Settings):
    """A feed-forward language model over its last words that attends to the source (Rush 2015; L84)."""

    kind: Literal["window"] = "window"
    """A feed-forward network writes, which sees its last words alone."""
    window: Annotated[int, Field(ge=1, le=100)] = 5
    """How many of its last words a step sees: 3 to 10; C in Rush 2015."""
    width: PositiveInt = 256
    """Neurons of the hidden layer over those words: 100 to 1,000."""
    embedding: PositiveInt = 128
    """Neurons of each of those words, in two tables: one for the language model, one to attend with."""
    smooth: Annotated[int, Field(ge=0, le=20)] = 2
    """What is read at a source position is the mean over so many neighbours to each side: 0 to 5."""
    score: ScoreName = "general"
    """How well the last words and a source position go together."""
    normalise: NormaliserName = "softmax"
    """How scores become weights."""
    max_length: PositiveInt = 512
    """The most source positions, where the score counts them."""
    dropout: Dropout = 0.1
    """Share of neurons left out while learning."""


class TransformerReaderSettings(StackSettings):
    """A Transformer decoder (L66)."""

    cross_heads: HeadCounts | None = None
    """The same for attention to the source; the default is `heads`."""
    cross_key_width: HeadCounts | None = None
    """The same for attention to the source; the default is `key_width`, or else width / cross_heads."""
    cross_value_width: HeadCounts | None = None
    """The same for attention to the source; the default is `value_width`, or else its key width."""
    tied: bool = True
    """The output has the embedding's weights."""
    combine: Combination = "parallel"
    """How several sources are read: in one softmax, each for itself, one after the other, or weighed."""
    output_bias: bool = False
    """The output has a bias."""
    copies: bool = False
    """Each step may also copy a source word, by one attention more (See 2017); one shared vocabulary."""


class TagSettings(Settings):
    """One label a word (L78)."""

    kind: Literal["tag"] = "tag"
    """A label for each word."""
    transform: Literal["relu", "gelu", "gelu-tanh", "swish"] | None = None
    """A layer with this activation and a norm before the output (Devlin 2019); the default is none."""
    norm_eps: NonNegativeFloat = 1e-5
    """Added to the variance in that norm."""
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
    visits: Visits = "some"
    """Whether an answer may leave items out (some), or stops only when it has pointed at each (all)."""
    max_length: PositiveInt = 512
    """The most positions, where the score counts them."""


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
    """Share of the pieces that are left out: 0 to 0.3."""
    mask: Dropout = 0.0
    """Share of the pieces that are read as the unknown sign: 0 to 0.3."""
    shuffle: Annotated[int, Field(ge=0, le=1000)] = 0
    """How many positions a piece may be moved: 0 to 5."""

    @property
    def is_any(self) -> bool:
        """Whether anything is corrupted at all."""
        return bool(self.drop or self.mask or self.shuffle)


class ModelSettings(Settings):
    """An encoder and a reader; a language model has no encoder, and several sources have one each."""

    encoder: EncoderSettings | None = None
    """Reads the source; a language model has none."""
    encoders: dict[str, EncoderSettings] = Field(default_factory=dict)
    """One encoder for each source by its name, where a task has several sources."""
    share_encoders: bool = False
    """Sources of one vocabulary are read by encoders with the same weights."""
    source_dropout: Dropout = 0.0
    """How often each of several sources is left out while learning, so that one may be missing: 0 to 0.3."""
    noise: NoiseSettings = NoiseSettings()
    """How the source of a decoder is corrupted while learning (denoising)."""
    bottleneck: Annotated[int, Field(ge=1, le=65536)] | None = None
    """Neurons of a narrower state between an encoder and a decoder without attention: 2 to 512."""
    reader: ReaderSettings
    """Writes, tags, classifies or points."""
    share_embedding: bool = True
    """Source and target have one table, where they have one vocabulary."""


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
