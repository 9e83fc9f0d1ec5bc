"""Which axes of weights run over queries and over keys: the product that reads values with them says so.

Keys are what is summed over. An axis that the values have, too, is a batch or the heads; the last of the
others runs over queries.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Any, final

from torch import Tensor


@final
@dataclass(frozen=True)
class ReadAxes:
    """Axes of one tensor of weights; without one of queries, there is one query."""

    lead: tuple[int, ...]
    query: int | None
    keys: int

    @property
    def order(self) -> tuple[int, ...]:
        """All of them, as everybody lays them out."""
        return (*self.lead, *(() if self.query is None else (self.query,)), self.keys)


def by_matmul(weights: Tensor, *, left: bool) -> ReadAxes | None:
    """`weights @ values`, or `values @ weights` with both turned."""
    axes = weights.dim()
    if axes == 1:
        return ReadAxes((), None, 0)
    query, keys = (axes - 2, axes - 1) if left else (axes - 1, axes - 2)
    return ReadAxes(tuple(range(axes - 2)), query, keys)


def by_sum(weights: Tensor, values: Tensor, keys: int) -> ReadAxes:
    """`(weights * values).sum(keys)`: weights have one place where values have their width."""
    sizes = (1,) * (weights.dim() - values.dim()) + values.shape
    others = [n for n in range(weights.dim()) if n != keys and weights.shape[n] > 1]
    return _laid(others, [n for n in others if sizes[n - weights.dim()] == 1], keys)


def by_einsum(equation: Any, weights: Tensor, values: Tensor, *, first: bool) -> ReadAxes | None:
    """An equation of two terms."""
    terms = _terms(equation, first=first)
    if terms is None:
        return None
    own, other, output = terms
    own, other = own[len(own) - weights.dim() :], other[len(other) - values.dim() :]
    keys = [n for n, letter in enumerate(own) if letter not in output]
    if len(keys) != 1 or own[keys[0]] not in other or len(set(own)) != len(own):
        return None
    rest = [n for n in range(len(own)) if n != keys[0]]
    return _laid(rest, [n for n in rest if own[n] not in other], keys[0])


def mixed_by_einsum(equation: Any, keys: int | None, *, first: bool) -> int | None:
    """Which axis of the result still runs over keys, where something else was summed over."""
    terms = _terms(equation, first=first)
    if terms is None or keys is None or not "".join(terms).islower():
        return None
    own, other, output = terms
    letter = own[keys]
    return output.index(letter) if letter in output and letter not in other else None


def _terms(equation: Any, *, first: bool) -> tuple[str, str, str] | None:
    """The letters of the weights, of the values, and of the result; dots are letters that nobody else has."""
    if not isinstance(equation, str):
        return None
    terms, _, output = equation.replace(" ", "").partition("->")
    parts = terms.split(",")
    if len(parts) != 2 or not output:
        return None
    own, other, output = (
        term.replace("...", string.ascii_uppercase[-8:]) for term in (*parts, output)
    )
    return (own, other, output) if first else (other, own, output)


def _laid(axes: list[int], queries: list[int], keys: int) -> ReadAxes:
    """The last axis that values lack is that of the queries; one before it is of heads that share values."""
    query = queries[-1] if queries else None
    return ReadAxes(tuple(n for n in axes if n != query), query, keys)
