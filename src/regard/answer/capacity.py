"""How much a model can read and write: some choices have a last position, most have none.

A text that is too long is refused, or cut; an answer ends where positions do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from regard.data.batches import key_bucket
from regard.decode import DecodeSettings
from regard.models import (
    ClassifySettings,
    ModelSettings,
    PointSettings,
    RnnReaderSettings,
    StackSettings,
    TransformerReaderSettings,
    TransformerSettings,
    WindowReaderSettings,
)
from regard.tasks import Task

_WORD = re.compile(r"\S+")


@final
@dataclass(frozen=True)
class Room:
    """The most symbols a model takes in (`read`) and puts out (`written`); None where there is no end."""

    read: int | None
    written: int | None

    @classmethod
    def of(cls, settings: ModelSettings) -> Room:
        """What has weights of its own for each position ends; all else goes on for ever."""
        reads, writes = [], []
        if isinstance(settings.encoder, TransformerSettings) and (
            _is_bounded(settings.encoder) or settings.encoder.mixing == "whole"
        ):
            reads.append(settings.encoder.max_length)
        match settings.reader:
            case TransformerReaderSettings() as reader if _is_bounded(reader):
                writes.append(reader.max_length)
                if reader.score == "location" and settings.encoder is not None:
                    reads.append(reader.max_length)
            case (
                RnnReaderSettings()
                | ClassifySettings()
                | PointSettings()
                | WindowReaderSettings() as reader
            ):
                if reader.score == "location" and settings.encoder is not None:
                    reads.append(reader.max_length)
        return cls(_whole_bucket(min(reads)) if reads else None, min(writes, default=None))

    def prompt(self) -> int | None:
        """What a text to be continued may have: it is read as if it had been written."""
        return None if self.written is None else self.written - 1

    def bounded(
        self, settings: DecodeSettings, task: Task, text: str, given: int = 0
    ) -> DecodeSettings:
        """Settings by which the answer to a text ends where positions do; so many symbols of it are given."""
        if self.written is None:
            return settings
        symbols = given + len(task.prompt(text))
        left = max(1, min(settings.max_length, self.written - symbols))
        least = min(settings.min_length, left)
        return settings.model_copy(update={"max_length": left, "min_length": least})


def cut(text: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning that fits: whole words, or whole characters of a first word too long."""
    ends = [0, *(word.end() for word in _WORD.finditer(text))]
    if len(ends) < 2 or not fits(text[: ends[1]]):
        ends = list(range(len(text) + 1))
    low, high = 0, len(ends)  # text[: ends[low]] fits, text[: ends[high]] would not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(text[: ends[middle]]) else (low, middle)
    return text[: ends[low]]


def _is_bounded(settings: StackSettings) -> bool:
    return settings.position == "learned" or settings.score == "location"


def _whole_bucket(room: int) -> int:
    """Inputs are padded to a length of their own before they are read; that length must fit, too."""
    return next((n for n in range(room, 0, -1) if key_bucket(n) <= room), 0)
