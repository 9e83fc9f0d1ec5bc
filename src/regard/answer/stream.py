"""Lines in, lines out: as many, in the same order, in bounded memory; a share of them, a file to resume.

Importing this brings no torch, so that a slip is told before that is loaded.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from regard.data.lines import Stream as ByteStream
from regard.data.lines import TextLine
from regard.errors import DataError, MissingFileError, RegardError, UsageError
from regard.run.system import disk_errors
from regard.settings.decode import DecodeSettings
from regard.text.languages import chosen, target_of

if TYPE_CHECKING:
    from regard.answer.engine import Note
    from regard.answer.predictor import Predictor
    from regard.tasks import Prediction
    from regard.tasks.task import Progress

_SHARD = re.compile(r"(\d{1,9})/(\d{1,9})")
_BREAKS = str.maketrans("\r\n", "  ")  # an answer is one line, whatever the model says
_CELL = str.maketrans("\r\n\t", "   ")


@final
@dataclass(frozen=True)
class Shard:
    """Line `number` of every `count`: with 2/3, lines 2, 5, 8, .. so that three machines share the work."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """`2/3`."""
        match = _SHARD.fullmatch(text)
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not 1 <= shard.number <= shard.count:
            raise UsageError(
                f"'{text}' is no share of the lines",
                where="--shard",
                remedy="for three machines: --shard 1/3, --shard 2/3 and --shard 3/3",
            )
        return shard

    def of(self, lines: Iterable[TextLine]) -> Iterator[TextLine]:
        """The lines of this share, with the numbers they have among all."""
        return islice(lines, self.number - 1, None, self.count)

    def size(self, total: int) -> int:
        """How many of `total` lines are in this share."""
        return len(range(self.number - 1, total, self.count))


@final
@dataclass(frozen=True)
class Form:
    """How an answer is written: its text, a score before it, several alternatives, or a JSON object.

    Answers to the files of a folder are `named`: each stands behind its file, as in a table.
    """

    n_best: int = 1
    scores: bool = False
    as_json: bool = False
    named: bool = False

    @property
    def lines_each(self) -> int:
        """How many lines each answer takes."""
        return 1 if self.as_json else self.n_best

    def write(self, line: TextLine, answer: Prediction) -> str:
        """All lines of one answer; an alternative that does not exist is a blank line."""
        ranked = answer.alternatives[: self.n_best]
        if self.n_best == 1 or not ranked:  # what is said, which may be that nothing is sure
            ranked = ((answer.text, answer.score),)
        if self.as_json:
            entry = _entry(line, answer, self.n_best)
            return json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n"
        if answer.words:
            ranked = ((answer.beside, answer.score),)
        written = [
            f"{score:.4f}\t" * self.scores + text.translate(_BREAKS) for text, score in ranked
        ]
        written += [""] * (self.n_best - len(written))
        start = f"{line.text.translate(_CELL)}\t" if self.named else ""
        return "".join(f"{start}{one}\n" for one in written)


@final
@dataclass(frozen=True)
class Manner:
    """How a translator reads: into which language, and whether sentence by sentence."""

    to: str | None = None
    spoken: str | None = None
    split: bool = False

    @classmethod
    def of(
        cls,
        known: Sequence[str],
        to: str | None = None,
        spoken: str | None = None,
        split: bool | None = None,
    ) -> Manner:
        """What was asked for, where the model knows these languages; else what is usual for it."""
        spoken = None if spoken is None else chosen(spoken, known, "from")
        to = None if to is None else chosen(to, known)
        if to is None and spoken is not None:
            to = "en" if spoken != "en" else target_of("", None, known)
        return cls(to, spoken, bool(known) if split is None else split)


PLAIN = Manner()


@contextmanager
def output_file(path: Path, lines_each: int, resume: bool) -> Iterator[tuple[ByteStream, int]]:
    """A new file to write answers to, or an old one to go on with; and how many answers it holds whole."""
    with disk_errors("write", path):
        if not resume and path.exists():
            raise UsageError(
                f"{path.name} is there already",
                where=str(path),
                remedy="go on with it: --resume; or remove it first",
            )
        with path.open("r+b" if path.exists() else "x+b") as file:
            done = _whole(file, lines_each)
            yield file, done


def write_out(file: ByteStream, text: str, *, durable: bool) -> None:
    """Hand lines on at once; into a file, so that they are still there after a power failure."""
    file.write(text.encode())
    file.flush()
    if durable:
        os.fsync(file.fileno())


def skip(lines: Iterator[TextLine], done: int, where: str) -> Iterator[TextLine]:
    """The lines after those that were answered before."""
    skipped = sum(1 for _ in islice(lines, done))
    if skipped < done:
        raise DataError(
            f"{done:,} answers are there already, and the input has {skipped:,} lines",
            where=where,
            remedy="is this the same input, and the same --shard?",
        )
    return lines


def _whole(file: ByteStream, lines_each: int) -> int:
    """Count whole answers and cut off what a kill left of the next one."""
    position = end = lines = done = 0
    for raw in file:
        if not raw.endswith(b"\n"):
            break
        position, lines = position + len(raw), lines + 1
        if lines % lines_each == 0:
            end, done = position, done + 1
    file.truncate(end)
    file.seek(end)
    return done


def _entry(line: TextLine, answer: Prediction, n_best: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"line": line.number, "input": line.text, **answer.as_dict()}
    entry["alternatives"] = entry["alternatives"][:n_best]
    return entry


# Lines in, lines out: as many, in the same order, in bounded memory.


@final
@dataclass(frozen=True, eq=False)
class Stream:
    """A predictor that answers lines as they come, `chunk` at a time.

    A line that cannot be answered stops the stream with its place; with `keep_going` its answer is nothing.
    """

    predictor: Predictor
    decode: DecodeSettings
    name: str
    chunk: int
    note: Note
    truncate: bool = False
    keep_going: bool = False
    manner: Manner = PLAIN

    def answers(
        self, lines: Iterator[TextLine], advance: Progress | None = None
    ) -> Iterator[list[tuple[TextLine, Prediction]]]:
        """Each line with its answer, in order, some at a time; in the end what is doubtful about them."""
        named = self.manner.spoken is not None
        doubts = self.predictor.doubts(self.manner.to, "line", is_spoken_named=named)
        for some in self._answers(lines, advance):
            for line, answer in some:
                doubts.add(line.number, line.text, answer.text)
            yield some
        for told in doubts.told():
            self.note(told)

    def _answers(
        self, lines: Iterator[TextLine], advance: Progress | None
    ) -> Iterator[list[tuple[TextLine, Prediction]]]:
        while taken := list(islice(lines, self.chunk)):
            try:
                answers = self._together(taken, advance)
            except (DataError, UsageError) as fault:
                if not _is_of_a_line(fault):
                    raise
                # One by one, to name the line that is at fault, or to go on without it.
                yield from ([(line, self._alone(line))] for line in taken)
            else:
                yield list(zip(taken, answers, strict=True))

    def _together(self, lines: list[TextLine], advance: Progress | None) -> list[Prediction]:
        for line in lines:
            if line.fault:
                raise DataError(
                    f"this line cannot be read: {line.fault}",
                    where=self.name,
                    remedy="save it as UTF-8 text",
                )
        answers = self.predictor.predict(
            [line.text for line in lines],
            decode=self.decode,
            truncate=self.truncate,
            to=self.manner.to,
            split=self.manner.split,
            numbers=[line.number - 1 for line in lines],
            advance=advance,
        )
        return [self.predictor.learned.worded(answer, self.decode) for answer in answers]

    def _alone(self, line: TextLine) -> Prediction:
        try:
            return self._together([line], None)[0]
        except (DataError, UsageError) as fault:
            if not _is_of_a_line(fault):
                raise
            where = f"{self.name}:{line.number}"
            if _names_a_file(fault):
                where = f"{where}, {fault.where}"
            if not self.keep_going:
                mended = (fault.remedy or "mend it").rstrip("?")
                remedy = f"{mended}; or answer such lines with nothing: --keep-going"
                raise type(fault)(fault.what, where, remedy) from None
            self.note(f"{where}: {fault.what}; answered with nothing")
            from regard.answer.predictor import EMPTY

            return EMPTY


def _is_of_a_line(fault: DataError | UsageError) -> bool:
    """Whether one line is at fault, by what it says or a file that it names, and no choice for all."""
    is_question = fault.where.startswith("question") or _names_a_file(fault)
    return isinstance(fault, DataError) or is_question


def _names_a_file(fault: RegardError) -> bool:
    if isinstance(fault, MissingFileError):
        return True
    with suppress(OSError, ValueError):  # a place can be longer than any path
        return Path(fault.where).is_file()
    return False
