"""Lines in, lines out: as many, in the same order, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import final

from regard.answer.doubts import Doubts
from regard.answer.engine import Note
from regard.answer.lines import PLAIN, Manner
from regard.answer.predictor import EMPTY, Predictor
from regard.data.lines import TextLine
from regard.decode import DecodeSettings
from regard.errors import DataError
from regard.tasks import Prediction
from regard.tasks.task import Progress


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
        doubts = Doubts(self.manner.to, self.predictor.languages, "line")
        for some in self._answers(lines, advance):
            for line, answer in some if self.manner.spoken is None else ():
                doubts.add(line.number, line.text, answer.text)
            yield some
        for told in doubts.told():
            self.note(told)

    def _answers(
        self, lines: Iterator[TextLine], advance: Progress | None
    ) -> Iterator[list[tuple[TextLine, Prediction]]]:
        while taken := list(islice(lines, self.chunk)):
            try:
                found = self._together(taken, advance)
            except DataError:
                # One by one, to name the line that is at fault, or to go on without it.
                yield from ([(line, self._alone(line))] for line in taken)
            else:
                yield list(zip(taken, found, strict=True))

    def _together(self, lines: list[TextLine], advance: Progress | None) -> list[Prediction]:
        for line in lines:
            if line.fault:
                raise DataError(
                    f"this line cannot be read: {line.fault}",
                    where=self.name,
                    remedy="save it as UTF-8 text, or answer such lines with nothing: --keep-going",
                )
        return self.predictor.predict(
            [line.text for line in lines],
            decode=self.decode,
            truncate=self.truncate,
            to=self.manner.to,
            split=self.manner.split,
            numbers=[line.number - 1 for line in lines],
            advance=advance,
        )

    def _alone(self, line: TextLine) -> Prediction:
        try:
            return self._together([line], None)[0]
        except DataError as fault:
            where = f"{self.name}:{line.number}"
            if not self.keep_going:
                remedy = fault.remedy or "mend it, or answer such lines with nothing: --keep-going"
                raise DataError(fault.what, where, remedy) from None
            self.note(f"{where}: {fault.what}; answered with nothing")
            return EMPTY
