"""What another library's attention was given, as an alignment of ours, so that every number can be asked for.

A score there is q . k times a scale, plus, in some models, a bias that depends on the positions; a mask is
True where a query may look, or a number to add, hugely negative where it may not.
"""

from __future__ import annotations

import math
from typing import Any, final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import (
    Aligned,
    Attention,
    Bias,
    Causal,
    Dot,
    Given,
    Mask,
    Memory,
    ScaledDot,
    Score,
)

Query = Float[Tensor, "batch heads query width"]
Key = Float[Tensor, "batch key_heads key width"]
Value = Float[Tensor, "batch key_heads key value_width"]
Weights = Float[Tensor, "batch heads query key"]

TRIED = 4  # queries whose context is worked out again, to see whether it is explained


@final
class Written(Bias):
    """A bias on the scores that was worked out elsewhere."""

    def __init__(self, added: Float[Tensor, "#batch heads query key"]) -> None:
        super().__init__()
        self.added = added

    def forward(self, queries: int, keys: int, first: int = 0) -> Tensor:
        """It is known for these queries and keys alone."""
        del first
        return self.added[:, :, :queries, :keys]

    def keep(self, heads: list[int]) -> None:
        """The bias of these heads."""
        self.added = self.added[:, heads]


def aligned(
    query: Query,
    key: Key,
    value: Value,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    bias: Tensor | None = None,
) -> Aligned:
    """The alignment of softmax(q . k scale + bias) over the keys that a mask allows.

    Where several heads of queries share a head of keys (Ainslie 2023), that head is repeated for each.
    """
    query, key, value = (_precise(states) for states in (query, key, value))
    sharing = query.shape[1] // max(1, key.shape[1])
    key, value = (states.repeat_interleave(sharing, 1) for states in (key, value))
    sizes = (*query.shape[:3], key.shape[2])
    allowed, added = _apart(mask, sizes)
    if bias is not None:
        allowed, added = _with(bias, allowed, added, sizes)
    score, query = _score(query, scale)
    attention = Attention(score, bias=None if added is None else Written(added)).eval()
    return Aligned(query, Memory(key, value, _mask(allowed, causal)), attention)


def known(weights: Weights, scores: Weights | None = None) -> Aligned:
    """An alignment of which the weights alone are known: no neuron of it can be shown.

    Scores are then known but for a constant a row: the logarithms of the weights.
    """
    batch, heads, queries, keys = weights.shape
    nothing = [weights.new_zeros(batch, heads, length, 0) for length in (queries, keys, keys)]
    alignment = Aligned(nothing[0], Memory(nothing[1], nothing[2]), Attention("dot"))
    # What would be worked out when first looked at is there already.
    alignment.__dict__["weights"] = _precise(weights)
    alignment.__dict__["scores"] = _precise(weights.log() if scores is None else scores)
    return alignment


def with_weights(found: Aligned, weights: Tensor) -> Aligned:
    """The same with the weights that the model itself worked out, to their last bit; blind rows have none."""
    if weights.shape == found.weights.shape:
        blind = found.weights.sum(-1, keepdim=True) == 0
        found.__dict__["weights"] = _precise(weights).masked_fill(blind, 0.0)
    return found


def softmax(scores: Weights) -> Aligned:
    """An alignment whose scores came from somewhere: hugely negative ones say that nobody may look."""
    scores = scores.masked_fill(scores <= _forbidden(scores.dtype), -torch.inf)
    empty = scores.isneginf().all(-1, keepdim=True)
    weights = _precise(scores).masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    return known(weights, scores)


def explains(found: Aligned, value: Value, context: Tensor) -> bool:
    """Whether this alignment gives the context that the model worked out, tried on its last queries."""
    queries = found.query.shape[2]
    if context.shape[:3] != (found.query.shape[0], queries, found.query.shape[1]):
        return False
    last = slice(max(0, queries - TRIED), queries)
    allowed = None if found.allowed is None else found.allowed[:, :, last]
    if "weights" in found.__dict__:
        weights = found.weights[:, :, last]
    else:
        scores = found.attention.score(found.query[:, :, last], found.memory.key)
        if isinstance(found.attention.bias, Written):
            scores = scores + found.attention.bias.added[:, :, last]
        weights = found.attention.normaliser(scores, allowed)
    sharing = found.query.shape[1] // max(1, value.shape[1])
    expected = weights @ _precise(value).repeat_interleave(sharing, 1)
    actual = _precise(context[:, last].transpose(1, 2))
    if allowed is not None:  # what a query reads that may see nothing is everybody's own affair
        blind = ~allowed.any(-1, keepdim=True)
        expected, actual = expected.masked_fill(blind, 0.0), actual.masked_fill(blind, 0.0)
    near = 2e-5 if context.dtype in (torch.float32, torch.float64) else 3e-2
    scale = float(value.detach().abs().max()) if value.numel() else 0.0
    return bool(((expected - actual).abs() <= near * max(scale, 1e-6)).all())


def _precise(states: Tensor) -> Tensor:
    """At least float32: numbers to be looked at are not rounded as those to be learned from may be."""
    return states.to(torch.promote_types(states.dtype, torch.float32))


def _score(query: Tensor, scale: float | None) -> tuple[Score, Tensor]:
    """The score of this scale; one that is neither 1 nor 1 / sqrt(width) goes into the query."""
    usual = 1 / math.sqrt(query.shape[-1])
    if scale is None or math.isclose(scale, usual, rel_tol=1e-6):
        return ScaledDot(), query
    return Dot(), query if scale == 1 else query * scale


def _apart(mask: Tensor | None, sizes: tuple[int, ...]) -> tuple[Tensor | None, Tensor | None]:
    """A mask as what it allows, and what it adds beside; None for each that does nothing."""
    if mask is None:
        return None, None
    mask = mask[(None,) * (4 - mask.dim())] if mask.dim() < 4 else mask
    mask = mask[..., : sizes[2], : sizes[3]]  # some models cut a longer one in the kernel
    if mask.dtype == torch.bool:
        return mask, None
    hidden = mask <= _forbidden(mask.dtype)
    added = _precise(mask).masked_fill(hidden, 0.0)
    if not bool(added.any()):
        return (~hidden if bool(hidden.any()) else None), None
    return ~hidden, added.expand(added.shape[0], sizes[1], sizes[2], sizes[3])


def _with(
    bias: Tensor, allowed: Tensor | None, added: Tensor | None, sizes: tuple[int, ...]
) -> tuple[Tensor | None, Tensor | None]:
    """A bias of the model's own beside the mask; masked places may be written into either."""
    also, more = _apart(bias, sizes)
    both = [one for one in (allowed, also) if one is not None]
    sums = [one for one in (added, more) if one is not None]
    return (
        both[0] if len(both) == 1 else (both[0] & both[1] if both else None),
        sums[0] if len(sums) == 1 else (sums[0] + sums[1] if sums else None),
    )


def _mask(allowed: Tensor | None, causal: bool) -> Mask | None:
    given = None if allowed is None else Given(allowed)
    if not causal:
        return given
    return Causal() if given is None else Causal() & given


def _forbidden(dtype: torch.dtype) -> float:
    """Numbers from here down mean `may not look`; two of them may have been added."""
    return torch.finfo(dtype).min / 2


# Rows of different lengths in one nested tensor, as torch's fast path takes them: padded while watched.

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def padded(rows: Tensor, axis: int = 0) -> tuple[Tensor, Tensor]:
    """Rows of equal length, and True where one was made longer; `axis` is the length's, of a single row."""
    parts = rows.unbind()
    lengths = torch.tensor([part.shape[axis] for part in parts], device=rows.device)
    longest = int(lengths.max()) if len(parts) else 0
    behind = (0, 0) * (parts[0].dim() - 1 - axis) if parts else ()
    filled = [F.pad(part, (*behind, 0, longest - part.shape[axis])) for part in parts]
    return torch.stack(filled), torch.arange(longest, device=rows.device) >= lengths[:, None]


@final
class Nested:
    """A nested tensor that a module of torch was given, put back into its output."""

    def __init__(self, rows: Tensor) -> None:
        self.lengths = [part.shape[0] for part in rows.unbind()]
        self.layout = rows.layout

    def restored(self, output: Any) -> Any:
        """The output with rows of their own lengths."""
        if isinstance(output, tuple):
            return (self.restored(output[0]), *output[1:])
        rows = [row[:length] for row, length in zip(output, self.lengths, strict=True)]
        return torch.nested.as_nested_tensor(rows, layout=self.layout)


def unnested(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Arguments | None:
    """What a module of torch is given, its nested states padded; None where there are none.

    Outside their fast path, which nobody can look into, these modules refuse nested tensors.
    """
    names: tuple[str, ...]
    if isinstance(module, nn.MultiheadAttention):
        names, mask = ("query", "key", "value"), "key_padding_mask"
    elif isinstance(module, nn.TransformerEncoder | nn.TransformerEncoderLayer):
        names, mask = ("src",), "src_key_padding_mask"
    else:
        return None
    meant = {**dict(zip(names, given, strict=False)), **named}
    states = [meant[name] for name in names if name in meant]
    if not states or not all(isinstance(one, Tensor) and one.is_nested for one in states):
        return None
    same = {id(one): padded(one) for one in states}
    for name in names:
        meant[name] = same[id(meant[name])][0]
    meant[mask] = same[id(states[1 if len(states) > 1 else 0])][1]
    return given[len(names) :], meant
