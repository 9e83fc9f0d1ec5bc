"""Subtitles: SRT files, one cue a line of text; two of them side by side are paired by their times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from regard.data.example import Kind, Line, Pair
from regard.data.formats.format import Format, OneFile, Reading, Row, packed_as
from regard.data.lines import LINE_BOUND

TIME = r"(\d{1,3}):(\d{2}):(\d{2})[,.](\d{3})"
TIMES = re.compile(rf"\s*{TIME}\s*-->\s*{TIME}")
STYLE = re.compile(r"</?(?:[biu]|font)\b[^>]*>|\{\\[^}]*\}", re.IGNORECASE)
MOST_CUES = 4  # a side; what hangs together beyond that was cut apart elsewhere, and pairs nothing


@final
@dataclass(frozen=True)
class Cue:
    """A text, and from when to when it stands on the screen, in milliseconds."""

    line: int
    start: int
    stop: int
    text: str

    def meets(self, others: Sequence[Cue]) -> bool:
        """Whether it shares half of its time, or of theirs, with one of them."""
        return any(
            2 * (min(self.stop, other.stop) - max(self.start, other.start))
            >= max(1, min(self.stop - self.start, other.stop - other.start))
            for other in others
        )


@final
@dataclass(frozen=True)
class Subtitles(OneFile):
    """One file: what is said, cue after cue."""

    @property
    def kind(self) -> Kind:
        return Line

    @property
    def shape(self) -> str:
        return f"{self.path.name}, SRT{packed_as(self.path)}, one line a cue"

    def read(self, reading: Reading) -> Iterator[Row]:
        for cue in cues(reading, self.path):
            yield from reading.row(Line, self.path, cue.line, cue.text)


@final
@dataclass(frozen=True)
class PairedSubtitles(Format):
    """Two files: cues that are on the screen together belong together."""

    first: Path
    second: Path

    @property
    def kind(self) -> Kind:
        return Pair

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.first, self.second

    @property
    def shape(self) -> str:
        names = f"{self.first.name} (source) beside {self.second.name} (target)"
        return f"{names}, SRT{packed_as(self.first)}, paired by time"

    def read(self, reading: Reading) -> Iterator[Row]:
        for ours, theirs in together(cues(reading, self.first), cues(reading, self.second)):
            path, line = (self.first, ours[0].line) if ours else (self.second, theirs[0].line)
            if not ours or not theirs:
                reading.tally.drop("nothing at this time on the other side", path, line)
            elif max(len(ours), len(theirs)) > MOST_CUES:
                reading.tally.drop("too many cues that overlap", path, line)
            else:
                source, target = (" ".join(cue.text for cue in side) for side in (ours, theirs))
                yield from reading.row(Pair, path, line, source, target)


def together(first: Iterator[Cue], second: Iterator[Cue]) -> Iterator[tuple[list[Cue], list[Cue]]]:
    """Cues of both sides in groups: begun by the earlier, joined by all that meet one of the other side."""
    one, other = next(first, None), next(second, None)
    while one is not None or other is not None:
        ours: list[Cue] = []
        theirs: list[Cue] = []
        if other is None or (one is not None and one.start <= other.start):
            assert one is not None
            ours, one = [one], next(first, None)
        else:
            theirs, other = [other], next(second, None)
        grows = True
        while grows:
            grows = False
            while other is not None and other.meets(ours):
                _join(theirs, other)
                other, grows = next(second, None), True
            while one is not None and one.meets(theirs):
                _join(ours, one)
                one, grows = next(first, None), True
        yield ours, theirs


def _join(group: list[Cue], cue: Cue) -> None:
    """One more; a file that hangs together from end to end must not fill the memory."""
    if len(group) > MOST_CUES:
        group.pop()
    group.append(cue)


@dataclass
class _Open:
    """A cue while its lines come in."""

    line: int = 0
    times: tuple[int, int] | None = None
    texts: list[str] = field(default_factory=list)
    size: int = 0
    fault: str = ""


def cues(reading: Reading, path: Path) -> Iterator[Cue]:
    """The cues of a file: a number, two times, then text up to an empty line."""
    cue = _Open()
    for line in reading.lines(path):
        if not line.text.strip() and not line.fault:
            yield from _closed(reading, path, cue)
            cue = _Open()
            continue
        cue.line = cue.line or line.number
        cue.fault = cue.fault or line.fault or ""
        times = TIMES.match(line.text)
        if times is not None and cue.times is None:
            numbers = [int(number) for number in times.groups()]
            cue.times = _milliseconds(numbers[:4]), _milliseconds(numbers[4:])
        elif cue.times is not None:
            cue.size += len(line.text)
            if cue.size <= LINE_BOUND:
                cue.texts.append(STYLE.sub("", line.text).strip())
    yield from _closed(reading, path, cue)


def _closed(reading: Reading, path: Path, cue: _Open) -> Iterator[Cue]:
    fault = cue.fault or ("too long" if cue.size > LINE_BOUND else "")
    if cue.line and not fault and cue.times is None:
        fault = "no times"
    if fault:
        reading.tally.drop(fault, path, cue.line)
    elif cue.times is not None:
        start, stop = cue.times
        yield Cue(cue.line, start, max(start, stop), " ".join(filter(None, cue.texts)))


def _milliseconds(parts: Sequence[int]) -> int:
    hours, minutes, seconds, thousandths = parts
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + thousandths


def looks_timed(rows: Sequence[str]) -> bool:
    """A number, then two times, at the head of the file."""
    texts = [row for row in rows if row.strip()][:2]
    return len(texts) == 2 and texts[0].strip().isdecimal() and bool(TIMES.match(texts[1]))
