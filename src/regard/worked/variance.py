"""Why scores are divided by sqrt(d_k): a sum of d_k products has variance d_k (L63)."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regard.attention import Dot, ScaledDot
from regard.worked.example import Step, Worked
from regard.worked.given import plain, positive


def score_variance(
    widths: Sequence[int] = (1, 4, 16, 64, 256), samples: int = 5_000, seed: int = 1
) -> Worked:
    """Queries and keys of mean 0 and variance 1 are drawn, and their scores measured."""
    positive(widths=min(widths, default=0), samples=samples)
    chance = torch.Generator().manual_seed(seed)
    rows = []
    for width in widths:
        drawn = torch.randn(2, samples, 1, 1, width, generator=chance, dtype=torch.float64)
        bare, scaled = (score(*drawn).flatten() for score in (Dot(), ScaledDot()))
        rows.append(
            [
                bare.mean(),
                bare.var(correction=0),
                bare.var(correction=0) / width,
                scaled.var(correction=0),
            ]
        )
    measured = torch.tensor(rows, dtype=torch.float64)
    labels = tuple(f"d_k = {width}" for width in widths)
    return Worked(
        formula="Var(q . k) = sum_n Var(q_n k_n) = d_k;  Var(q . k / sqrt(d_k)) = 1",
        given=(
            Step("widths", "d_k", tuple(widths)),
            Step("samples", "pairs of q and k a width", samples),
        ),
        steps=(
            Step("mean", "mean of q . k: near 0", plain(measured[:, 0]), columns=labels),
            Step("variance", "variance of q . k: near d_k", plain(measured[:, 1]), columns=labels),
            Step("variance / d_k", "near 1", plain(measured[:, 2]), columns=labels),
        ),
        result=Step(
            "scaled", "variance of q . k / sqrt(d_k): near 1", plain(measured[:, 3]), columns=labels
        ),
    )
