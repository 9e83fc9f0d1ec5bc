"""The heart: how a query reads a memory.

context_i = sum_j normalise(score(q_i, k_j))_j v_j over the keys that a mask allows: a file a choice.
"""

from regard.attention.attention import Aligned, Attention
from regard.attention.choose import (
    CHOOSING,
    NORMALISERS,
    NOTICING,
    SCORES,
    make_normaliser,
    make_score,
)
from regard.attention.functional import align, attend
from regard.attention.heads import Heads, remember_all
from regard.attention.mask import Both, Causal, Given, GlobalWindow, Mask, Padding, Strided, Window
from regard.attention.memory import Memory
from regard.attention.normalise import (
    Choosing,
    Entmax15,
    Gumbel,
    Hard,
    Normaliser,
    Proportional,
    Relu,
    Sampled,
    Sigmoid,
    Softmax,
    Sparsemax,
)
from regard.attention.packed import Packed, Packing, Room, Segments
from regard.attention.position import Added, Alibi, Bias, Learned, Rotary, Sinusoidal, sinusoid
from regard.attention.score import (
    Additive,
    Cosine,
    Covered,
    Dot,
    FeatureMap,
    General,
    Location,
    LocationAware,
    ScaledDot,
    Score,
)
from regard.attention.watch import Gauge, Seen, watch
from regard.settings.architecture import NormaliserName, ScoreName

__all__ = [
    "CHOOSING",
    "NORMALISERS",
    "NOTICING",
    "SCORES",
    "Added",
    "Additive",
    "Alibi",
    "Aligned",
    "Attention",
    "Bias",
    "Both",
    "Causal",
    "Choosing",
    "Cosine",
    "Covered",
    "Dot",
    "Entmax15",
    "FeatureMap",
    "Gauge",
    "General",
    "Given",
    "GlobalWindow",
    "Gumbel",
    "Hard",
    "Heads",
    "Learned",
    "Location",
    "LocationAware",
    "Mask",
    "Memory",
    "Normaliser",
    "NormaliserName",
    "Packed",
    "Packing",
    "Padding",
    "Proportional",
    "Relu",
    "Room",
    "Rotary",
    "Sampled",
    "ScaledDot",
    "Score",
    "ScoreName",
    "Seen",
    "Segments",
    "Sigmoid",
    "Sinusoidal",
    "Softmax",
    "Sparsemax",
    "Strided",
    "Window",
    "align",
    "attend",
    "make_normaliser",
    "make_score",
    "remember_all",
    "sinusoid",
    "watch",
]
