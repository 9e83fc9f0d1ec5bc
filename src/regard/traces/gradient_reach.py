"""How far a gradient reaches: from each step of an answer back to each position of the source (L10, L15).

Without attention there is one way from a word that was read to a word that is said: through every state
between them, each of which multiplies the gradient once more. Attention is a shortcut past them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.example import Example
from regard.errors import UsageError
from regard.layers import Embedded
from regard.models import Decoder, Model
from regard.models.encoder import Encoder
from regard.models.readers import IGNORE
from regard.seams import reference
from regard.tasks import Task
from regard.tasks.task import Row, device_of


def mean_reach(
    task: Task, model: Model, examples: Sequence[Example], *, most: int = 32
) -> dict[int, tuple[float, int]]:
    """The mean of |d z_t / d x_i| by distance, and of how many pairs (t, i) of the right answers it is.

    z_t is the logit of the right symbol at step t, x_i the embedded symbol at position i, both from 1; their
    distance is n - i + t, the number of states on the recurrent way between them. A logit, since the
    gradient of a probability near 1 is small wherever it comes from. `most` rows are worked out at once.
    """
    encoder = _only_encoder(model)
    rows = task.rows(examples)
    sums: dict[int, list[float]] = {}
    for first in range(0, len(rows), most):
        some = rows[first : first + most]
        norms = jacobian_norms(task, model, some).tolist()
        for row, own in zip(some, norms, strict=True):
            size = encoder.embedding.states_of(len(row["source"]))
            for step in range(len(row["target"])):
                for place in range(size):
                    sums.setdefault(size - place + step, []).append(own[step][place])
    return {
        distance: (math.fsum(some) / len(some), len(some))
        for distance, some in sorted(sums.items())
    }


def jacobian_norms(
    task: Task, model: Model, rows: Sequence[Row]
) -> Float[Tensor, "row step position"]:
    """|d z_t / d x_i| of a batch: one backward pass a step, since rows know nothing of each other."""
    encoder = _only_encoder(model)
    longest = max(len(row["source"]) for row in rows), max(len(row["target"]) for row in rows)
    batch = task.collate(rows, *longest).to(device_of(model))
    model.eval()
    with torch.enable_grad(), reference(), embedded_leaf(encoder) as leaves:
        logits = task.logits(model, batch)
        right = batch.targets.masked_fill(batch.targets == IGNORE, 0)
        chosen = logits.gather(-1, right.unsqueeze(-1)).squeeze(-1)
        chosen = chosen.masked_fill(batch.targets == IGNORE, 0.0)
        gradients = [
            torch.autograd.grad(chosen[:, step].sum(), leaves, retain_graph=True)[0]
            for step in range(chosen.shape[1])
        ]
    return torch.stack(gradients, 1).norm(dim=-1)


@contextmanager
def embedded_leaf(encoder: Encoder) -> Iterator[list[Tensor]]:
    """While this lasts, what the encoder's front-end gives is a leaf, whose gradient can be asked for."""
    leaves: list[Tensor] = []
    plain = encoder.embed

    def embed(*given: object) -> Embedded:
        embedded = plain(*given)  # type: ignore[arg-type]
        leaves.append(embedded.states.detach().requires_grad_())
        return replace(embedded, states=leaves[-1])

    encoder.embed = embed  # type: ignore[method-assign, assignment]
    try:
        yield leaves
    finally:
        del encoder.embed


def _only_encoder(model: Model) -> Encoder:
    """The encoder of a model that reads one source and writes its answer step by step."""
    if model.encoder is None or not isinstance(model.reader, Decoder):
        raise UsageError(
            "this model does not read one source and then answer step by step",
            where="gradient",
            remedy="ask a model with an encoder and a decoder, such as a translator",
        )
    return model.encoder
