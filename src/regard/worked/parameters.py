"""How many numbers a multi-head layer learns (L54, L55, L58)."""

from __future__ import annotations

import torch

from regard.attention import Attention, Heads, ScaledDot, Softmax
from regard.models import count_parameters
from regard.worked.example import Step, Worked
from regard.worked.given import positive


def parameter_count(
    width: int = 512, num_heads: int = 8, key_width: int = 64, value_width: int = 64
) -> Worked:
    """Three projections a head and one behind them all, counted in the library's own layer."""
    positive(width=width, num_heads=num_heads, key_width=key_width, value_width=value_width)
    bare, biased = (
        _heads(width, num_heads, key_width, value_width, bias) for bias in (False, True)
    )
    joined = num_heads * value_width
    return Worked(
        formula="h (2 d d_k + d d_v) + h d_v d",
        given=(
            Step("width", "d", width),
            Step("heads", "h", num_heads),
            Step("key width", "d_k", key_width),
            Step("value width", "d_v", value_width),
        ),
        steps=(
            Step(
                "one head",
                f"{width} x ({key_width} + {key_width} + {value_width})",
                (count_parameters(bare) - count_parameters(bare.output)) // num_heads,
            ),
            Step(
                "all heads",
                f"{num_heads} times that",
                count_parameters(bare) - count_parameters(bare.output),
            ),
            Step("output projection", f"{joined} x {width}", count_parameters(bare.output)),
            Step("with biases", "one more a column", count_parameters(biased)),
        ),
        result=Step("parameters", "all heads + output projection", count_parameters(bare)),
    )


def _heads(width: int, num_heads: int, key_width: int, value_width: int, bias: bool) -> Heads:
    with torch.device("meta"):  # shapes alone: nothing is stored, however large
        return Heads(
            width,
            num_heads,
            Attention(ScaledDot(), Softmax()),
            key_width=key_width,
            value_width=value_width,
            bias=bias,
        )
