"""How a gradient fades or explodes on its way backwards through a recurrent network (L10)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.layers import Elman
from regard.worked.example import Step, Worked
from regard.worked.given import Numbers, plain, positive, seeded, vector


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
