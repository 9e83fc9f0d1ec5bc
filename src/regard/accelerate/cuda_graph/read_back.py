"""From the record of a search to its hypotheses: walk back from each winner, all rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from regard.accelerate.cuda_graph.search_state import ALIVE, ENDED
from regard.decode.hypothesis import NOTHING, Finish, Hypothesis, divisor, hypothesis
from regard.settings.decode import DecodeSettings


@final
@dataclass(frozen=True, eq=False)
class Stretch:
    """Some steps in a row of some rows of the batch, as they were decided."""

    rows: Int[Tensor, " rows"]
    parents: Int[Tensor, "steps rows slots"]
    chosen: Int[Tensor, "steps rows slots"]
    reached: Float[Tensor, "steps rows slots"]
    added: Float[Tensor, "steps rows slots"]
    fate: Int[Tensor, "steps rows slots"]


@final
@dataclass(frozen=True, eq=False)
class Record:
    """All steps of all rows; a row that had left the batch has fate 0."""

    parents: np.ndarray  # (steps, batch, slots), as all of them
    chosen: np.ndarray
    reached: np.ndarray
    added: np.ndarray
    fate: np.ndarray

    @classmethod
    def of(cls, stretches: Sequence[Stretch], batch: int) -> Record:
        """The stretches put together, every row in its own place."""
        joined = []
        for name in ("parents", "chosen", "reached", "added", "fate"):
            parts = []
            for stretch in stretches:
                array = getattr(stretch, name).cpu().numpy()
                whole = np.zeros((len(array), batch, array.shape[2]), array.dtype)
                whole[:, stretch.rows.cpu().numpy()] = array[:, : len(stretch.rows)]
                parts.append(whole)
            joined.append(np.concatenate(parts))
        return cls(*joined)


def read(record: Record, settings: DecodeSettings) -> list[list[Hypothesis]]:
    """The best `top_beams` of each row, best first; of equals the one that was over first."""
    steps, batch, slots = record.fate.shape
    over = record.fate == ENDED
    if steps == settings.max_length:
        over[-1] |= record.fate[-1] == ALIVE
    divisors = [float(divisor(n + 1, settings.penalty, settings.alpha)) for n in range(steps)]
    scores = record.reached.astype(np.float64) / np.array(divisors)[:, None, None]
    ranked = np.where(over, scores, -np.inf).transpose(1, 0, 2).reshape(batch, -1)
    order = np.argsort(-ranked, axis=1, kind="stable")[:, : settings.top_beams]
    last, slot = order // slots, order % slots  # (batch, top)
    paths, added = _walk(record, last, slot)
    hypotheses: list[list[Hypothesis]] = []
    for row in range(batch):
        own = []
        for place in range(order.shape[1]):
            step, at = int(last[row, place]), int(slot[row, place])
            if not over[step, row, at]:
                break
            finish: Finish = "end" if record.fate[step, row, at] == ENDED else "length"
            symbols = paths[row, place, : step + 1].tolist()
            values = added[row, place, : step + 1].tolist()
            total = float(record.reached[step, row, at])
            path = list(zip(symbols, values, strict=True))
            own.append(hypothesis(path, total, finish, 0, settings))
        hypotheses.append(own or [NOTHING])
    return hypotheses


def _walk(record: Record, last: np.ndarray, slot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Symbols and their log-probabilities along the paths that end at (last, slot): (batch, top, steps)."""
    steps, batch, slots = record.fate.shape
    if slots == 1:  # no path ever changed its place
        whole = (*last.shape, steps)
        lines = (part[:, :, 0].T[:, None] for part in (record.chosen, record.added))
        symbols, added = (np.broadcast_to(line, whole) for line in lines)
        return symbols, added
    symbols = np.zeros((*last.shape, steps), record.chosen.dtype)
    added = np.zeros((*last.shape, steps), record.added.dtype)
    row = np.arange(batch)[:, None]
    slot = slot.copy()
    for number in range(steps - 1, -1, -1):
        on_path = number <= last
        symbols[..., number] = record.chosen[number][row, slot]
        added[..., number] = record.added[number][row, slot]
        slot = np.where(on_path, record.parents[number][row, slot], slot)
    return symbols, added
