"""Beam search over anything that takes steps.

The beam follows `beam` hypotheses a row. Each step ranks all their continuations by total log-probability
and keeps the best; one that ends keeps its place and is followed no further. With `beam = 1` this is greedy
search; with a beam as wide as the space it is exhaustive search.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.candidates import Prefix, best, best_continuations, following, numbers
from regard.decode.hypothesis import (
    NOTHING,
    BeamTree,
    Expansion,
    Fate,
    Finish,
    Hypothesis,
    best_to_come,
    divisor,
    hypothesis,
    kept_rows,
)
from regard.models import Decoder, Encoded, select
from regard.models.encoder import require_encoded
from regard.settings.decode import DecodeSettings

# One step in plain numbers: row -> the (parent, token, log-probability) of each of its slots.
Slots = dict[int, list[tuple[int, int, float]]]


@final
@dataclass(frozen=True, eq=False)
class Step:
    """What one step decided, for the rows still searched: slot s continues slot parents[s] by tokens[s]."""

    rows: Int[Tensor, " rows"]
    parents: Int[Tensor, "rows slots"]
    tokens: Int[Tensor, "rows slots"]
    totals: Float[Tensor, "rows slots"]
    added: Float[Tensor, "rows slots"]
    ended: Bool[Tensor, "rows slots"]
    alive: Bool[Tensor, "rows slots"]


@final
@dataclass(frozen=True)
class Noted:
    """The same in plain numbers: where each slot comes from, and which are over: (row, slot, total, how)."""

    slots: Slots
    over: list[tuple[int, int, float, Finish]]


@final
@dataclass
class Record:
    """All steps so far; hypotheses are read off it backwards, once, at the end.

    On a CPU they are noted at once: small tensors that stay where large ones come and go leave holes in
    memory.
    """

    limits: Int[Tensor, " batch"]  # the length that no hypothesis of a row goes beyond
    steps: list[Step | Noted] = field(default_factory=list)
    trees: list[list[list[Expansion]]] | None = None

    def add(self, step: Step) -> None:
        """One more."""
        on_cpu = step.rows.device.type == "cpu"
        self.steps.append(_noted(step, len(self.steps), self.limits) if on_cpu else step)

    def noted(self) -> list[Noted]:
        """All in plain numbers."""
        limits = self.limits.cpu()
        return [
            step if isinstance(step, Noted) else _noted(_on_cpu(step), number, limits)
            for number, step in enumerate(self.steps)
        ]


@torch.no_grad()
def beam(
    decoder: Decoder[Any],
    encoded: Encoded,
    settings: DecodeSettings,
    prefix: Prefix | None = None,
    *,
    tree: bool = False,
) -> tuple[list[list[Hypothesis]], list[BeamTree] | None]:
    """The best `top_beams` hypotheses of each row, best first, and the tree when asked for."""
    states, width = require_encoded(encoded).states, settings.beam
    batch, device = len(states), states.device
    prefix = prefix or Prefix.of([()] * batch, device)
    capacity = settings.max_length + prefix.longest
    rows = torch.arange(batch, device=device)
    state = select(decoder.start(encoded, capacity), rows.repeat_interleave(width))
    tokens = torch.full((batch * width,), decoder.begin, device=device)
    totals = states.new_full(
        (batch, width), -torch.inf, dtype=torch.promote_types(states.dtype, torch.float32)
    )
    totals[:, 0] = 0.0  # all slots start alike, so only one of them counts
    finished = torch.full_like(totals, -torch.inf)
    trees: list[list[list[Expansion]]] | None = [[] for _ in range(batch)] if tree else None
    record = Record(settings.max_length + prefix.lengths, trees=trees)
    forced = prefix
    for number in range(capacity):
        if batch == 0:
            break
        logits, state = decoder.step(state, tokens)
        each = _each(forced, width) if number < forced.longest + settings.min_length else forced
        log_probabilities = following(
            logits, each, number, end=decoder.end, min_length=settings.min_length
        ).to(totals.dtype)
        del logits  # what is large goes before the next step comes
        step = _choose(
            log_probabilities, totals, finished, rows, forced.lengths <= number, decoder.end
        )
        record.add(step)
        if record.trees is not None:
            _draw(record.trees, step, log_probabilities, totals)
        del log_probabilities
        finished = _finish(finished, step, number + 1 - forced.lengths, settings)
        totals = step.totals.masked_fill(~step.alive, -torch.inf)
        tokens = step.tokens.flatten()
        origin = torch.arange(len(rows), device=device).unsqueeze(1) * width + step.parents
        open_rows = _open(totals, finished, forced, number, settings)
        keep = kept_rows(open_rows, decoder.multiple)
        if not len(keep):
            break
        totals = totals.masked_fill(~open_rows.unsqueeze(1), -torch.inf)
        if len(keep) < len(rows):
            origin, tokens = origin[keep], tokens.view(-1, width)[keep].flatten()
            totals, finished = totals[keep], finished[keep]
            rows, forced = rows[keep], forced.select(keep)
        state = select(state, origin.flatten())
    return _read(record, batch, prefix, settings), _trees(record)


def _each(prefix: Prefix, width: int) -> Prefix:
    rows = torch.arange(len(prefix.lengths), device=prefix.lengths.device)
    return prefix.select(rows.repeat_interleave(width))


def _choose(
    log_probabilities: Float[Tensor, "hypotheses vocabulary"],
    totals: Float[Tensor, "rows slots"],
    finished: Float[Tensor, "rows slots"],
    rows: Tensor,
    may_end: Bool[Tensor, " rows"],
    end: int,
) -> Step:
    """The best continuations of each row, as many as it has open places."""
    width, vocabulary = totals.shape[1], log_probabilities.shape[1]
    values, index = _best(log_probabilities, totals, width)
    places = width - finished.isfinite().sum(-1, keepdim=True)
    open_place = torch.arange(width, device=values.device) < places
    kept = open_place & values.isfinite()
    parents, tokens = index // vocabulary, index % vocabulary
    ended = kept & (tokens == end) & may_end.unsqueeze(1)
    added = log_probabilities.view(len(totals), -1).gather(1, index)
    return Step(rows, parents, tokens, values, added, ended, kept & ~ended)


def _best(log_probabilities: Tensor, totals: Tensor, most: int) -> tuple[Tensor, Tensor]:
    ranked = best_continuations(log_probabilities, totals, most)
    if ranked is not None:
        return ranked
    candidates = totals.unsqueeze(-1) + numbers(log_probabilities).view(*totals.shape, -1)
    return best(candidates.flatten(1), most)


def _finish(finished: Tensor, step: Step, lengths: Tensor, settings: DecodeSettings) -> Tensor:
    """Scores of the hypotheses that hold their places for good, best first."""
    lengths = lengths.clamp(min=1).unsqueeze(1)
    scores = step.totals / divisor(lengths, settings.penalty, settings.alpha)
    new = scores.masked_fill(~step.ended, -torch.inf)
    return torch.cat([finished, new], 1).sort(-1, descending=True).values[:, : finished.shape[1]]


def _open(
    totals: Tensor, finished: Tensor, prefix: Prefix, number: int, settings: DecodeSettings
) -> Bool[Tensor, " rows"]:
    """Rows where something unfinished could still come among the best: stopping the others is exact."""
    longest = torch.full((1,), float(settings.max_length), device=totals.device)
    hope = best_to_come(totals, longest, settings.penalty, settings.alpha).amax(1)
    worst_returned = finished[:, min(settings.top_beams, finished.shape[1]) - 1]
    in_time = number + 1 < settings.max_length + prefix.lengths
    return (hope > worst_returned) & totals.isfinite().any(1) & in_time


def _read(
    record: Record, batch: int, prefix: Prefix, settings: DecodeSettings
) -> list[list[Hypothesis]]:
    """Walk back from each end; what never ended stopped at the length limit."""
    steps, lengths = record.noted(), prefix.lengths.tolist()
    slots = [step.slots for step in steps]
    hypotheses: list[list[Hypothesis]] = [[] for _ in range(batch)]
    for number, step in enumerate(steps):
        for row, slot, total, finish in step.over:
            path = _walk(slots[: number + 1], row, slot)
            hypotheses[row].append(hypothesis(path, total, finish, lengths[row], settings))
    best_first = [sorted(row, key=lambda h: -h.score)[: settings.top_beams] for row in hypotheses]
    return [row or [NOTHING] for row in best_first]


def _noted(step: Step, number: int, limits: Int[Tensor, " batch"]) -> Noted:
    """A step on a CPU, the `number`th, in plain numbers."""
    columns = (step.parents.tolist(), step.tokens.tolist(), step.added.tolist())
    by_place = [list(zip(*place, strict=True)) for place in zip(*columns, strict=True)]
    rows = step.rows.tolist()
    over = step.ended | (step.alive & limits[step.rows].unsqueeze(1).eq(number + 1))
    ends: list[tuple[int, int, float, Finish]] = [
        (rows[at], slot, float(step.totals[at, slot]), "end" if step.ended[at, slot] else "length")
        for at, slot in over.nonzero().tolist()
    ]
    return Noted(dict(zip(rows, by_place, strict=True)), ends)


def _walk(slots: list[Slots], row: int, slot: int) -> list[tuple[int, float]]:
    path = []
    for step in reversed(slots):
        slot, token, added = step[row][slot]
        path.append((token, added))
    return path[::-1]


def _on_cpu(step: Step) -> Step:
    names = ("rows", "parents", "tokens", "totals", "added", "ended", "alive")
    return Step(*(getattr(step, name).cpu() for name in names))


def _draw(
    trees: list[list[list[Expansion]]], step: Step, log_probabilities: Tensor, totals: Tensor
) -> None:
    """Note twice as many candidates as the beam keeps: those that lived, and the best that did not."""
    width, vocabulary = totals.shape[1], log_probabilities.shape[1]
    values, index = _best(log_probabilities, totals, 2 * width)
    added = numbers(log_probabilities.view(len(totals), -1).gather(1, index))
    lived, ended = (step.alive | step.ended).tolist(), step.ended.tolist()
    for at, row in enumerate(step.rows.tolist()):
        drawn = []
        for rank, (value, place, own) in enumerate(
            zip(values[at].tolist(), index[at].tolist(), added[at].tolist(), strict=True)
        ):
            if value == -torch.inf:
                continue
            parent, token = divmod(place, vocabulary)
            is_kept = rank < width and lived[at][rank]
            fate: Fate = (
                "ended" if is_kept and ended[at][rank] else "kept" if is_kept else "dropped"
            )
            drawn.append(Expansion(parent, token, own, value, fate, rank if is_kept else -1))
        if drawn:
            trees[row].append(drawn)


def _trees(record: Record) -> list[BeamTree] | None:
    if record.trees is None:
        return None
    return [BeamTree(tuple(tuple(step) for step in tree)) for tree in record.trees]
