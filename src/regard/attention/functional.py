"""The two functions a student types first: `attend` gives the context, `align` everything on the way."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.attention import Aligned, Attention
from regard.attention.choose import make_normaliser, make_score
from regard.attention.mask import Mask, as_mask
from regard.attention.memory import Memory
from regard.attention.normalise import Normaliser
from regard.attention.score import Additive, Cosine, General, Location, Score
from regard.errors import UsageError

Rows = Tensor  # (rows, width) with up to two axes before them; checked below, in words


def attend(
    query: Rows,
    key: Rows,
    value: Rows,
    score: str | Score = "scaled-dot",
    normalise: str | Normaliser = "softmax",
    mask: Mask | Tensor | None = None,
) -> Float[Tensor, "... query value_width"]:
    """What each query reads: sum_j normalise(score(q, k_j)) v_j.

    Takes (rows, width), (batch, rows, width) or (batch, heads, rows, width) and answers in kind. A score that
    has weights to learn is named here with identity weights: additive is sum tanh(q + k), general is q . k,
    location reads the j-th neuron of q. Pass a Score of your own for other weights.
    """
    attention, asked, memory = _ready(query, key, value, score, normalise, mask)
    return attention(asked, memory).view(*query.shape[:-1], value.shape[-1])


def align(
    query: Rows,
    key: Rows,
    value: Rows | None = None,
    score: str | Score = "scaled-dot",
    normalise: str | Normaliser = "softmax",
    mask: Mask | Tensor | None = None,
) -> Aligned:
    """Scores and weights (batch, heads, query, key) of each query over the keys, and their contributions."""
    attention, asked, memory = _ready(
        query, key, key if value is None else value, score, normalise, mask
    )
    return attention.align(asked, memory)


def _ready(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score: str | Score,
    normalise: str | Normaliser,
    mask: Mask | Tensor | None,
) -> tuple[Attention, Tensor, Memory]:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not 2 <= tensor.dim() <= 4 or tensor.dim() != query.dim():
            raise UsageError(
                f"{name} has shape {tuple(tensor.shape)} beside a query of {tuple(query.shape)}",
                where=name,
                remedy="(rows, width), (batch, rows, width) or (batch, heads, rows, width), alike for all",
            )
        if not tensor.is_floating_point():
            raise UsageError(f"{name} holds {tensor.dtype}", where=name, remedy="use float numbers")
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
        normalise = make_normaliser(normalise).eval()
    query, key, value, mask = _four(query), _four(key), _four(value), as_mask(mask)
    if mask is not None:
        batch, heads, keys, _ = key.shape
        mask.fit(batch, heads, keys, query.shape[2])
    attention = Attention(score, normalise)
    return attention, query, attention.remember(key, value, mask)


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
