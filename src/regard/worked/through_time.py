"""Backpropagation through time: one gradient by five roads, of which the slide's is the wrong one (L9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.layers import Elman
from regard.worked.recurrence import (
    BIAS,
    HIDDEN,
    INPUT_WEIGHT,
    OUTPUT_WEIGHT,
    RECURRENT_WEIGHT,
    elman,
)
from regard.worked.worked_example import (
    Numbers,
    Slip,
    Step,
    Table,
    Value,
    Worked,
    matrix,
    numbered,
    plain,
    vector,
)

States = Float[Tensor, "steps width"]
NUDGE = 1e-5  # central differences err by its square; double precision leaves ten digits

SLIPS = (
    Slip(
        "L9",
        "delta of h",
        "delta_t = dL_t/dh_t + delta_{t+1} W_hh^T * f'(a_t)",
        "delta_t = dL_t/dh_t + W_hh^T (delta_{t+1} * f'(a_{t+1}))",
        "Going backwards from h_{t+1} to h_t a gradient passes the tanh of step t+1, so it is that step's "
        "slope that belongs here.",
    ),
    Slip(
        "L9",
        "by delta of h",
        "dL/dW_hh = sum_t delta_t h_{t-1}^T",
        "dL/dW_hh = sum_t (delta_t * f'(a_t)) h_{t-1}^T",
        "The weights stand before the tanh. With delta_t = dL/dh_t, as printed, its slope is still missing; "
        "without it the sum fits delta_t = dL/da_t. On the slide's weights the first entry is 0.61348, and "
        "the printed form gives 1.17778.",
    ),
)


@final
@dataclass(frozen=True, eq=False)
class Forward:
    """What the forward pass leaves for the backward pass; step t of the formulas is row t - 1 here."""

    before: States  # h_{t-1}
    hidden: States  # h_t
    output: Float[Tensor, " steps"]  # o_t
    loss: Float[Tensor, " steps"]  # L_t = (o_t - y_t)^2 / 2

    @property
    def slope(self) -> States:
        """f'(a_t) = 1 - tanh(a_t)^2."""
        return 1 - self.hidden.square()


def forward(
    cell: Elman,
    words: Float[Tensor, "steps input_width"],
    start: Float[Tensor, " width"],
    out: Float[Tensor, " width"],
    targets: Float[Tensor, " steps"],
) -> Forward:
    """Through the library's cell, step by step."""
    hidden = [start]
    for word in words:
        hidden.append(cell.step(word[None], (hidden[-1][None],))[0][0])
    states = torch.stack(hidden)
    output = states[1:] @ out
    return Forward(states[:-1], states[1:], output, (output - targets).square() / 2)


def backward(
    local: States, pull: Callable[[int, Float[Tensor, " width"]], Float[Tensor, " width"]]
) -> States:
    """Deltas from the last step to the first: what `pull` makes of step t and of the delta after it."""
    deltas = [torch.zeros_like(local[0])]
    for t in reversed(range(len(local))):
        deltas.append(pull(t, deltas[-1]))
    return torch.stack(deltas[:0:-1])


def recursions(forward: Forward, local: States, weight: Tensor) -> tuple[States, States, States]:
    """dL/dh_t, dL/da_t, and what the slide's recursion gives."""
    slope, back = forward.slope, weight.T
    after = torch.cat(
        [slope[1:], torch.zeros_like(slope[:1])]
    )  # f'(a_{t+1}); no step follows the last
    of_hidden = backward(local, lambda t, later: local[t] + back @ (later * after[t]))
    of_sum = backward(local, lambda t, later: (local[t] + back @ later) * slope[t])
    printed = backward(local, lambda t, later: local[t] + back @ later * slope[t])
    return of_hidden, of_sum, printed


def backpropagation(
    inputs: Table = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)),
    targets: Numbers = (0.3, -0.2, 0.5),
    hidden: Numbers = HIDDEN,
    recurrent_weight: Table = RECURRENT_WEIGHT,
    input_weight: Table = INPUT_WEIGHT,
    bias: Numbers = BIAS,
    output_weight: Numbers = OUTPUT_WEIGHT,
) -> Worked:
    """The gradient of the loss in the weights: by autograd, two recursions, nudging, and as printed."""
    words, start = matrix("inputs", inputs), vector("hidden", hidden)
    width, wanted = len(start), vector("targets", targets, len(words))
    weight = matrix("recurrent_weight", recurrent_weight, width, width)
    word_weight = matrix("input_weight", input_weight, width, words.shape[1])
    shift, out = vector("bias", bias, width), vector("output_weight", output_weight, width)
    cell = elman(weight, word_weight, shift)
    times = numbered("t = ", len(words))

    def run() -> Forward:
        return forward(cell, words, start, out, wanted)

    found = run()
    in_words, in_hidden = torch.autograd.grad(found.loss.sum(), cell.weights[:2])
    with torch.no_grad():
        nudged = differences(run, cell.weights[1])
        local = (found.output - wanted)[:, None] * out
        steps = _forward_steps(found, times) + _backward_steps(found, local, weight, times)
    return Worked(
        formula="h_t = tanh(W_hh h_{t-1} + W_xh x_t + b),  o_t = W_hy h_t\n"
        "L = sum_t L_t,  L_t = (o_t - y_t)^2 / 2",
        given=(
            Step("inputs", "x_t", plain(words), rows=times),
            Step("targets", "y_t", plain(wanted), columns=times),
            Step("first hidden state", "h_0", plain(start)),
            Step("recurrent weights", "W_hh", plain(weight)),
            Step("input weights", "W_xh", plain(word_weight)),
            Step("bias", "b", plain(shift)),
            Step("output weights", "W_hy", plain(out)),
        ),
        steps=(
            *steps,
            Step("by nudging", "(L(W + e) - L(W - e)) / 2e, weight by weight", plain(nudged)),
            Step("for the input weights", "dL/dW_xh, by autograd", plain(in_words)),
        ),
        result=Step("by autograd", "dL/dW_hh", plain(in_hidden)),
        slips=SLIPS,
    )


def _forward_steps(forward: Forward, times: tuple[str, ...]) -> list[Step]:
    return [
        Step("hidden states", "h_t", plain(forward.hidden), rows=times),
        Step("outputs", "o_t = W_hy h_t", plain(forward.output), columns=times),
        Step("losses", "L_t = (o_t - y_t)^2 / 2", plain(forward.loss), columns=times),
        Step("slopes", "f'(a_t) = 1 - h_t^2", plain(forward.slope), rows=times),
    ]


def _backward_steps(
    forward: Forward, local: States, weight: Tensor, times: tuple[str, ...]
) -> list[Step]:
    of_hidden, of_sum, printed = recursions(forward, local, weight)

    def total(delta: States) -> Value:
        return plain(delta.T @ forward.before)

    return [
        Step("local", "dL_t/dh_t = (o_t - y_t) W_hy", plain(local), rows=times),
        Step(
            "delta of h",
            "delta_t = dL/dh_t = dL_t/dh_t + W_hh^T (delta_{t+1} * f'(a_{t+1}))",
            plain(of_hidden),
            rows=times,
        ),
        Step(
            "by delta of h",
            "dL/dW_hh = sum_t (delta_t * f'(a_t)) h_{t-1}^T",
            total(of_hidden * forward.slope),
        ),
        Step(
            "delta of a",
            "delta_t = dL/da_t = (dL_t/dh_t + W_hh^T delta_{t+1}) * f'(a_t)",
            plain(of_sum),
            rows=times,
        ),
        Step("by delta of a", "dL/dW_hh = sum_t delta_t h_{t-1}^T", total(of_sum)),
        Step(
            "delta as printed",
            "dL_t/dh_t + W_hh^T delta_{t+1} * f'(a_t)",
            plain(printed),
            rows=times,
        ),
        Step(
            "as printed",
            "sum_t delta_t h_{t-1}^T with that delta_t",
            total(printed),
            note="Not the gradient: all other roads agree, and not with this one.",
        ),
    ]


def differences(
    run: Callable[[], Forward], weight: Float[Tensor, "rows columns"]
) -> Float[Tensor, "rows columns"]:
    """How the loss answers when each weight in turn is moved a little up, and a little down."""
    gradient = torch.zeros_like(weight)
    flat, answers = weight.view(-1), gradient.view(-1)
    for n in range(len(flat)):
        kept = flat[n].clone()
        flat[n] = kept + NUDGE
        above = run().loss.sum()
        flat[n] = kept - NUDGE
        answers[n] = (above - run().loss.sum()) / (2 * NUDGE)
        flat[n] = kept
    return gradient
