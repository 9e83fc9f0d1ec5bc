"""One small model of every kind, so that a law can be tried on all of them.

Sizes are distinct primes where a choice allows it; every weight, biases and gains too, is shaken away from
its first value, so that none of them can be forgotten unnoticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import get_args

import torch
from torch import Tensor

from regard.attention import CHOOSING, NORMALISERS, NOTICING, SCORES
from regard.layers import CellName
from regard.models import (
    ClassifySettings,
    Decoder,
    FrontEncoderSettings,
    Model,
    ModelSettings,
    Pointer,
    PointSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    Sizes,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
    WindowReaderSettings,
    build,
)
from regard.settings.architecture import (
    Pooling,
    PositionName,
    Reach,
    SubsamplingFrontSettings,
    TapeCellName,
)

CELLS = get_args(CellName)
TAPES = get_args(TapeCellName)  # which read in one direction
POSITIONS = get_args(PositionName)
REACHES = [reach for reach in get_args(Reach) if reach != "full"]
POOLINGS = get_args(Pooling)

SOURCE, TARGET = 7, 5
WORDS = Sizes(source=11, target=13, labels=5)
COPIED = Sizes(source=13, target=13, shared=True, unknown=3)
POINTS = Sizes(features=2, target=13, labels=5)
SOUNDS = Sizes(features=5, target=13, labels=5)
HEARS = SubsamplingFrontSettings(channels=(3,))

BLOCKS = {
    "width": 12,
    "layers": 1,
    "heads": 3,
    "feedforward": 17,
    "max_length": 19,
    "reach_size": 2,
}


def rnn(**choices) -> RnnEncoderSettings:
    return RnnEncoderSettings(**{"width": 6, **choices})


def transformer(**choices) -> TransformerSettings:
    return TransformerSettings(**{**BLOCKS, **choices})


def rnn_reader(**choices) -> RnnReaderSettings:
    return RnnReaderSettings(**{"width": 6, "max_length": 19, **choices})


def transformer_reader(**choices) -> TransformerReaderSettings:
    return TransformerReaderSettings(**{**BLOCKS, **choices})


def window_reader(**choices) -> WindowReaderSettings:
    sizes = {"width": 7, "embedding": 5, "window": 3, "smooth": 1, "max_length": 19}
    return WindowReaderSettings(**{**sizes, **choices})


def pointer(**choices) -> PointSettings:
    return PointSettings(**{"width": 6, "max_length": 19, **choices})


BLOCK_CHOICES: dict[str, dict[str, object]] = {
    **{
        f"{norm}-{position}": {"norm": norm, "position": position, "layers": 2}
        for norm, position in product(("pre", "post"), POSITIONS)
    },
    **{f"reach-{reach}": {"reach": reach} for reach in REACHES},
    **{
        f"{position}-at-heads": {"position": position, "position_at": "heads"}
        for position in ("sinusoidal", "sinusoidal-halves", "learned")
    },
    **{f"score-{score}": {"score": score} for score in SCORES if score != "scaled-dot"},
    **{f"normalise-{name}": {"normalise": name} for name in NORMALISERS if name != "softmax"},
    "linear": {"layers": 2, "score": "feature-map", "normalise": "proportional"},
    "no-residual": {"residual": False, "layers": 2},
    "no-residual-post": {"residual": False, "norm": "post"},
    "no-norm": {"norm": "none", "layers": 2},
    "no-feedforward": {"feedforward": 0, "layers": 2},
    "nothing-but-attention": {"residual": False, "norm": "none", "feedforward": 0},
    "plain-norm": {"norm_form": "plain", "norm": "post"},
    "wide-heads": {"key_width": 5, "value_width": 7, "activation": "swiglu"},
    "embedding-norm": {"embedding_norm": True, "scale_embedding": False, "activation": "gelu"},
}

ENCODERS: dict[str, RnnEncoderSettings | TransformerSettings] = {
    **{
        f"rnn-{cell}-{'bi' if both else 'uni'}-{layers}": rnn(
            cell=cell, bidirectional=both, layers=layers
        )
        for cell, both, layers in [
            *product(CELLS, (False, True), (1, 2)),
            *product(TAPES, (False,), (1, 2)),
        ]
    },
    **{
        f"transformer-{name}": transformer(**choice)
        for name, choice in BLOCK_CHOICES.items()
        if not name.startswith("normalise-")  # the decoders below try those
    },
    "transformer-mixing-window": transformer(mixing="window", layers=2),
    "transformer-mixing-whole": transformer(mixing="whole", max_length=SOURCE),
}

READERS: dict[str, ModelSettings] = {
    **{
        f"classify-{pooling}": ModelSettings(
            encoder=rnn(), reader=ClassifySettings(pooling=pooling)
        )
        for pooling in POOLINGS
    },
    **{
        f"classify-{score}": ModelSettings(
            encoder=transformer(), reader=ClassifySettings(score=score)
        )
        for score in SCORES
    },
}

DECODERS: dict[str, ModelSettings] = {
    **{
        f"rnn-{score}-{looks}{'-fed' if fed else ''}": ModelSettings(
            encoder=rnn(), reader=rnn_reader(score=score, looks=looks, input_feeding=fed)
        )
        for score, (looks, fed) in [
            *product(SCORES, (("after", False), ("before", False))),
            *product(("additive", "dot"), (("after", True),)),
            *product(NOTICING, (("after", True), ("before", False))),
        ]
    },
    **{
        f"rnn-none{'-fed' if fed else ''}": ModelSettings(
            encoder=rnn(), reader=rnn_reader(score="none", input_feeding=fed, tied=not fed)
        )
        for fed in (False, True)
    },
    **{
        f"rnn-{cell}-{looks}-2": ModelSettings(
            encoder=rnn(cell=cell, layers=2, width=10, bidirectional=cell not in TAPES),
            reader=rnn_reader(cell=cell, layers=2, looks=looks, tied=False),
        )
        for cell, looks in product((*CELLS, *TAPES), ("after", "before"))
    },
    **{
        f"rnn-{name}": ModelSettings(encoder=transformer(), reader=rnn_reader(normalise=name))
        for name in (*NORMALISERS, *CHOOSING, "marginal")
        if name != "softmax"
    },
    "rnn-sampled-before": ModelSettings(
        encoder=rnn(), reader=rnn_reader(cell="lstm", looks="before", normalise="sampled")
    ),
    **{
        f"transformer-{name}": ModelSettings(
            encoder=rnn(), reader=transformer_reader(**choice, tied=number % 2 == 0)
        )
        for number, (name, choice) in enumerate(BLOCK_CHOICES.items())
        if not name.startswith("post-") or name == "post-sinusoidal-halves"
    },
    "transformer-shared": ModelSettings(
        encoder=transformer(), reader=transformer_reader(output_bias=True)
    ),
    **{
        f"point-{cell}": ModelSettings(
            encoder=rnn(cell=cell), reader=pointer(cell=cell, score="additive")
        )
        for cell in CELLS
    },
    **{
        f"point-{score}": ModelSettings(
            encoder=transformer(), reader=pointer(score=score, width=12)
        )
        for score in SCORES
    },
    "point-visits-all": ModelSettings(encoder=rnn(), reader=pointer(visits="all")),
    **{
        f"bottleneck-{kind}": ModelSettings(
            encoder=encoder,
            reader=rnn_reader(score="none", input_feeding=fed),
            bottleneck=3,
            noise={"drop": 0.3, "shuffle": 2},  # while learning alone
        )
        for kind, encoder, fed in (("rnn", rnn(layers=2), False), ("blocks", transformer(), True))
    },
    "copies-rnn-coverage": ModelSettings(
        encoder=rnn(), reader=rnn_reader(score="coverage", copies=True, input_feeding=True)
    ),
    "copies-rnn-before": ModelSettings(
        encoder=transformer(), reader=rnn_reader(looks="before", copies=True)
    ),
    "copies-transformer": ModelSettings(encoder=rnn(), reader=transformer_reader(copies=True)),
    "window-front": ModelSettings(encoder=FrontEncoderSettings(width=6), reader=window_reader()),
    **{
        f"window-{score}": ModelSettings(
            encoder=rnn(width=10), reader=window_reader(score=score, window=2, smooth=smooth)
        )
        for score, smooth in (("general", 2), ("additive", 0), ("location", 0))
    },
    "lm-window": ModelSettings(reader=window_reader()),
    "sound-pyramid": ModelSettings(
        encoder=rnn(cell="lstm", layers=3, pyramid=2),
        reader=rnn_reader(score="location-aware", input_feeding=True),
    ),
    "sound-pyramid-one-way": ModelSettings(
        encoder=rnn(layers=2, pyramid=1, bidirectional=False, front=HEARS), reader=rnn_reader()
    ),
    "sound-transformer": ModelSettings(
        encoder=transformer(front=HEARS), reader=transformer_reader()
    ),
    **{
        f"lm-{name}": ModelSettings(reader=transformer_reader(**choice))
        for name, choice in BLOCK_CHOICES.items()
        if name in ("pre-sinusoidal", "pre-rotary", "post-learned", "reach-window", "linear")
    },
    **{
        f"lm-rnn-{cell}": ModelSettings(reader=rnn_reader(cell=cell, layers=2, score="none"))
        for cell in (*CELLS, *TAPES)
    },
    **{
        f"lm-sentinel-{cell}": ModelSettings(
            reader=rnn_reader(cell=cell, layers=2, score="none", points_back=3)
        )
        for cell in ("gru", "lstmn")
    },
}

MODELS: dict[str, ModelSettings] = {
    **{
        f"{name}-tag": ModelSettings(encoder=e, reader=TagSettings())
        for name, e in ENCODERS.items()
    },
    **READERS,
    **DECODERS,
}


@dataclass(frozen=True)
class Example:
    """A padded batch for one model: a source, its lengths and, for a decoder, symbols to be forced along."""

    source: Tensor
    lengths: Tensor
    inputs: Tensor | None

    def logits(self, model: Model) -> Tensor:
        return model(self.source, self.lengths, self.inputs)

    def row(self, number: int) -> Example:
        """One row alone, without its padding."""
        one = slice(number, number + 1)
        inputs = None if self.inputs is None else self.inputs[one]
        return Example(self.source[one, : int(self.lengths[number])], self.lengths[one], inputs)


def sizes_of(name: str) -> Sizes:
    """Pointers look at points, all others at words; what is copied has one number on both sides."""
    if name.startswith("copies-"):
        return COPIED
    if name.startswith("sound-"):
        return SOUNDS
    return POINTS if isinstance(MODELS[name].reader, PointSettings) else WORDS


def fresh(name: str, seed: int = 0) -> Model:
    """A model of this kind that a test may change."""
    torch.manual_seed(seed)
    model = build(MODELS[name], sizes_of(name))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model.eval()


@cache
def model_of(name: str) -> Model:
    """The model of this kind, shared by tests that only look at it."""
    return fresh(name).requires_grad_(False)


def example_of(name: str, lengths: tuple[int, ...] = (SOURCE, 3, 0, 1), seed: int = 0) -> Example:
    """A batch for the model of this kind, with rows of these lengths, one of them empty."""
    chance = torch.Generator().manual_seed(seed)
    rows, longest, model = len(lengths), max(lengths), model_of(name)
    if sizes_of(name).features:
        source = torch.randn(rows, longest, sizes_of(name).features, generator=chance)
    else:
        source = torch.randint(WORDS.source, (rows, longest), generator=chance)
    inputs = None
    if isinstance(model.reader, Decoder):
        symbols = longest + 1 if isinstance(model.reader, Pointer) else WORDS.target
        inputs = torch.randint(symbols, (rows, TARGET), generator=chance)
        inputs[:, 0] = model.decoder.begin
    if isinstance(model.reader, Pointer):
        inputs = inputs % (torch.tensor(lengths).unsqueeze(1) + 1)
    return Example(source, torch.tensor(lengths), inputs)
