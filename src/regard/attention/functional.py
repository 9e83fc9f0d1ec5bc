"""The two functions a student types first: `attend` gives the context, `align` everything on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.attention import Aligned, Attention
from regard.attention.choose import as_normaliser, make_score
from regard.attention.mask import Mask, as_mask
from regard.attention.memory import Memory
from regard.attention.normalise import Normaliser
from regard.attention.score import Additive, Cosine, General, Location, Score
from regard.errors import UsageError, kind_of

# (rows, width) with up to two axes before them: a tensor, an array or nested lists; checked below, in words.
Rows = Tensor | np.ndarray | Sequence[Any]


def attend(
    query: Rows,
    key: Rows,
    value: Rows,
    score: str | Score = "scaled-dot",
    normalise: str | Normaliser = "softmax",
    mask: Mask | Rows | None = None,
) -> Float[Tensor, "... query value_width"]:
    """What each query reads: sum_j normalise(score(q, k_j)) v_j.

    Takes (rows, width), (batch, rows, width) or (batch, heads, rows, width), as tensors, arrays or lists, and
    answers with a tensor of as many axes. A score that has weights to learn is named here with identity
    weights: additive is sum tanh(q + k), general is q . k, location reads the j-th neuron of q. Pass a Score
    of your own for other weights.
    """
    rows = _rows(query=query, key=key, value=value)
    attention, asked, memory = _ready(rows, score, normalise, mask)
    return attention(asked, memory).view(*rows[0].shape[:-1], rows[2].shape[-1])


def align(
    query: Rows,
    key: Rows,
    value: Rows | None = None,
    score: str | Score = "scaled-dot",
    normalise: str | Normaliser = "softmax",
    mask: Mask | Rows | None = None,
) -> Aligned:
    """Scores and weights (batch, heads, query, key) of each query over the keys, and their contributions."""
    rows = _rows(query=query, key=key, value=key if value is None else value)
    attention, asked, memory = _ready(rows, score, normalise, mask)
    return attention.align(asked, memory)


def _ready(
    rows: tuple[Tensor, Tensor, Tensor],
    score: str | Score,
    normalise: str | Normaliser,
    mask: Mask | Rows | None,
) -> tuple[Attention, Tensor, Memory]:
    query, key, value = rows
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not 2 <= tensor.dim() <= 4 or tensor.dim() != query.dim():
            raise UsageError(
                f"{name} has shape {tuple(tensor.shape)} beside a query of {tuple(query.shape)}",
                where=name,
                remedy="(rows, width), (batch, rows, width) or (batch, heads, rows, width), alike for all",
            )
        if not tensor.is_floating_point():
            raise UsageError(f"{name} holds {tensor.dtype}", where=name, remedy="use float numbers")
        if (tensor.dtype, tensor.device) != (query.dtype, query.device):
            ours, theirs = (f"{one.dtype} on {one.device}" for one in (tensor, query))
            raise UsageError(
                f"{name} is {ours}, and query is {theirs}",
                where=name,
                remedy=f"bring them together: {name}.to(query)",
            )
        if tensor.shape[:-2] != query.shape[:-2]:
            raise UsageError(
                f"{name} has shape {tuple(tensor.shape)}: its batch and heads differ from the query's "
                f"{tuple(query.shape[:-2])}",
                where=name,
                remedy=f"give {name} the shape ({', '.join(map(str, query.shape[:-2]))}, keys, width)",
            )
    if isinstance(score, str):
        score = _with_identity(score, query.shape[-1], key.shape[-1], key.shape[-2]).to(query)
    if isinstance(normalise, str):
        normalise = as_normaliser(normalise).eval()
    query, key, value, mask = _four(query), _four(key), _four(value), as_mask(mask)
    if mask is not None:
        batch, heads, keys, _ = key.shape
        mask.fit(batch, heads, keys, query.shape[2])
    attention = Attention(score, normalise)
    return attention, query, attention.remember(key, value, mask)


def _rows(**given: object) -> tuple[Tensor, Tensor, Tensor]:
    """Tensors of one type: arrays and lists take the type of a tensor among them, or else their own."""
    first = next((one for one in given.values() if isinstance(one, Tensor)), None)
    if first is None or not first.is_floating_point():
        wide = any(
            isinstance(one, np.ndarray) and one.dtype == np.float64 for one in given.values()
        )
        first = torch.empty(0, dtype=torch.float64 if wide else torch.float32)
    query, key, value = (_tensor(name, one, first) for name, one in given.items())
    return query, key, value


def _tensor(name: str, given: Any, like: Tensor) -> Tensor:
    if isinstance(given, Tensor):
        return given
    try:
        if isinstance(given, (list, tuple)) and any(isinstance(row, Tensor) for row in given):
            return torch.stack([torch.as_tensor(row) for row in given]).to(like)
        return torch.from_numpy(np.ascontiguousarray(given, dtype=np.float64)).to(like)
    except (TypeError, ValueError, RuntimeError):
        raise UsageError(
            f"{kind_of(given)} holds no rows of numbers",
            where=name,
            remedy="give a tensor, an array or nested lists of numbers, each row as long as the others",
        ) from None


def _four(tensor: Tensor) -> Float[Tensor, "batch heads rows width"]:
    return tensor[(None,) * (4 - tensor.dim())] if tensor.dim() != 3 else tensor[:, None]


def _with_identity(name: str, query_width: int, key_width: int, keys: int) -> Score:
    score = make_score(
        name, query_width=query_width, key_width=key_width, neurons=query_width, max_length=keys
    )
    with torch.no_grad():
        match score:
            case Cosine():
                score = Cosine()
            case General() | Location():
                nn.init.eye_(score.weight[0])
            case Additive():
                nn.init.eye_(score.query_weight[0])
                nn.init.eye_(score.key_weight[0])
                nn.init.ones_(score.value_weight)
            case _:
                pass
    return score.requires_grad_(False)
