"""The closed sets by name: every one-word choice that a setting may make.

Each set is resolved to modules in one place: scores and normalisers in `attention.choose`, cells in
`layers.recurrent`, activations in `layers.feedforward`, positions in `models.build_transformer`.
"""

from __future__ import annotations

from typing import Literal

ScoreName = Literal["dot", "scaled-dot", "general", "additive", "cosine", "location", "feature-map"]
NormaliserName = Literal[
    "softmax", "sparsemax", "entmax-1.5", "relu", "sigmoid", "hard", "gumbel", "proportional"
]
PositionName = Literal["none", "sinusoidal", "sinusoidal-halves", "learned", "rotary", "alibi"]
Reach = Literal["full", "window", "strided", "global-window"]
CellName = Literal["elman", "gru", "lstm"]
Activation = Literal["relu", "gelu", "gelu-tanh", "swish", "swiglu"]
NormForm = Literal["standard", "plain"]
NormOrder = Literal["pre", "post"]
Pooling = Literal["mean", "first", "attention"]
Looks = Literal["after", "before"]
Combination = Literal["flat", "parallel", "serial", "hierarchical"]
Penalty = Literal["none", "average", "gnmt"]
