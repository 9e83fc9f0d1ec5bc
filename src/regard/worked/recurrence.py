"""One step of a recurrent network, with the first lecture's numbers (L6, L7, L8)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers import Elman
from regard.worked.worked_example import (
    Number,
    Numbers,
    Slip,
    Step,
    Table,
    Worked,
    matrix,
    plain,
    positive,
    seeded,
    vector,
)

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


# How a gradient fades or explodes on its way backwards through a recurrent network (L10).


def fading_gradient(
    scales: Numbers = (0.5, 0.9, 1.0, 1.1, 1.5),
    distances: Sequence[int] = (1, 2, 5, 10, 20, 50),
    width: int = 4,
    seed: int = 1,
) -> Worked:
    """How much of a change in h_0 is left in h_T, for recurrent weights that shrink, keep or stretch.

    W_hh is a rotation times `scale`, and the input is silent, so every tanh works at its steepest.
    """
    factors = vector("scales", scales)
    positive(width=width, distances=min(distances, default=0))
    with seeded(seed):
        cell = Elman(width, width).double()
        nn.init.orthogonal_(cell.weights[1])
    rotation = cell.weights[1].detach().clone()
    rows = []
    for factor in factors:
        with torch.no_grad():
            cell.weights[1].copy_(factor * rotation)
        rows.append([_reach(cell, distance) for distance in distances])
    left = torch.tensor(rows, dtype=torch.float64)
    columns = tuple(f"T = {distance}" for distance in distances)
    names = tuple(f"scale {factor:g}" for factor in factors.tolist())
    return Worked(
        formula="dh_T/dh_0 = prod_t diag(f'(a_t)) W_hh",
        given=(
            Step("scales", "W_hh = scale * rotation", plain(factors)),
            Step("rotation", "W_hh at scale 1", plain(rotation)),
        ),
        steps=(Step("what is left", "|dh_T/dh_0|, by autograd", plain(left), names, columns),),
        result=Step(
            "after the longest way",
            f"|dh_T/dh_0|, T = {distances[-1]}",
            plain(left[:, -1]),
            columns=names,
            note="Below 1 it vanishes, above 1 it explodes: scale to the power T.",
        ),
    )


def _reach(cell: Elman, distance: int) -> float:
    """The largest factor by which a small change of h_0 arrives in h_T."""
    silence = torch.zeros(1, distance, cell.width, dtype=torch.float64)

    def last(start: Tensor) -> Tensor:
        return cell.run(silence, (start[None],))[0, -1]

    start = torch.zeros(cell.width, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(last, start)
    return float(torch.linalg.matrix_norm(jacobian, ord=2))
