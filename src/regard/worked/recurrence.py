"""One step of a recurrent network, with the first lecture's numbers (L6, L7, L8)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from regard.layers import Elman
from regard.worked.example import Slip, Step, Worked
from regard.worked.given import Number, Numbers, Table, matrix, plain, seeded, vector

RECURRENT_WEIGHT = ((0.1, 0.2), (-0.1, 0.3))
INPUT_WEIGHT = ((0.4, 0.5), (0.6, 0.7))
BIAS = (0.1, 0.2)
OUTPUT_WEIGHT = (0.8, 0.9)
HIDDEN = (0.5, -0.5)

SLIPS = (
    Slip(
        "L8",
        "the past",
        ((0.05, -0.1), (-0.05, -0.15)),
        (-0.05, -0.2),
        "A matrix times a vector is one number a row: the products of each row are summed. The slide "
        "prints the products themselves, a 2 x 2 that cannot be added to two numbers.",
    ),
    Slip(
        "L8",
        "hidden state",
        (0.4228, 0.5370),
        (0.42190, 0.53705),
        "tanh(0.45) is 0.42190, not 0.4228.",
    ),
    Slip("L8", "output terms", (0.3382, 0.4833), (0.33752, 0.48334), "0.8 times that tanh."),
    Slip("L8", "output", 0.8215, 0.82086, "The wrong tanh carries through to the sum."),
)


def elman(
    recurrent_weight: Float[Tensor, "width width"],
    input_weight: Float[Tensor, "width input_width"],
    bias: Float[Tensor, " width"],
) -> Elman:
    """The library's cell with these weights."""
    with seeded(0):
        cell = Elman(input_weight.shape[1], len(bias)).double()
    with torch.no_grad():
        for parameter, numbers in zip(
            cell.weights,
            (input_weight, recurrent_weight, bias, torch.zeros_like(bias)),
            strict=True,
        ):
            parameter.copy_(numbers)
    return cell


def rnn_step(
    x: Numbers = (1.0, 0.0),
    hidden: Numbers = HIDDEN,
    recurrent_weight: Table = RECURRENT_WEIGHT,
    input_weight: Table = INPUT_WEIGHT,
    bias: Numbers = BIAS,
    output_weight: Numbers = OUTPUT_WEIGHT,
    output_bias: Number = 0.0,
) -> Worked:
    """The new hidden state from the old one and the input, then the output."""
    before = vector("hidden", hidden)
    width = len(before)
    word = vector("x", x)
    past_weight = matrix("recurrent_weight", recurrent_weight, width, width)
    word_weight = matrix("input_weight", input_weight, width, len(word))
    shift = vector("bias", bias, width)
    out = vector("output_weight", output_weight, width)
    cell = elman(past_weight, word_weight, shift)
    with torch.no_grad():
        after = cell.step(word[None], (before[None],))[0][0]
    past, present = past_weight @ before, word_weight @ word
    return Worked(
        formula="h_t = tanh(W_hh h_{t-1} + W_xh x_t + b)\ny_t = W_hy h_t + c",
        given=(
            Step("input", "x_t", plain(word)),
            Step("old hidden state", "h_{t-1}", plain(before)),
            Step("recurrent weights", "W_hh", plain(past_weight)),
            Step("input weights", "W_xh", plain(word_weight)),
            Step("bias", "b", plain(shift)),
            Step("output weights", "W_hy", plain(out)),
            Step("output bias", "c", float(output_bias)),
        ),
        steps=(
            Step("products", "W_hh[i,j] h_{t-1}[j]", plain(past_weight * before)),
            Step("the past", "W_hh h_{t-1}: each row of products summed", plain(past)),
            Step("the input", "W_xh x_t", plain(present)),
            Step("sum", "a_t = W_hh h_{t-1} + W_xh x_t + b", plain(past + present + shift)),
            Step("hidden state", "h_t = tanh(a_t)", plain(after)),
            Step("output terms", "W_hy[j] h_t[j]", plain(out * after)),
        ),
        result=Step("output", "y_t = W_hy h_t + c", float(out @ after) + output_bias),
        slips=SLIPS,
    )
