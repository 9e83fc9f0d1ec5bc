"""Examples as a value: a way to read files again and again, with nothing held in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import final

from regard.data.example import Example, Kind, Tally, counted
from regard.data.formats.format import Format, Reading, Row
from regard.data.lines import OnBadUtf8
from regard.errors import DataError

BLOCK = 1 << 16
BLOCKS = 16


@final
@dataclass(frozen=True)
class Source:
    """Examples that can be read again and again; nothing is held in memory but the way to read them."""

    parts: tuple[Format, ...]
    on_bad_utf8: OnBadUtf8 = "stop"
    keep_empty: bool = False

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every file, in the order of reading."""
        return tuple(path for part in self.parts for path in part.paths)

    @property
    def kind(self) -> Kind:
        """The class of the examples."""
        return self.parts[0].kind

    @property
    def noun(self) -> str:
        """What one example is called: `pair`."""
        return self.kind.noun

    @property
    def description(self) -> str:
        """What was understood, in one sentence; reads the files once to count."""
        return self.describe(self.count())

    def describe(self, count: int) -> str:
        """`29,000 pairs: train.en (source) beside train.de (target), plain text`."""
        shapes = "; ".join(part.shape for part in self.parts[:3])
        more = f"; and {len(self.parts) - 3} more files" if len(self.parts) > 3 else ""
        return f"{counted(count, self.noun)}: {shapes}{more}"

    def count(self) -> int:
        """How many examples `examples` gives."""
        return self._count

    def examples(self, tally: Tally | None = None) -> Iterator[Example]:
        """The examples, as a stream; the tally says afterwards what was left out and why."""
        return (row.example for row in self.rows(tally))

    def rows(self, tally: Tally | None = None) -> Iterator[Row]:
        """The examples with the places they come from."""
        tally = Tally() if tally is None else tally
        reading = Reading(tally, self.on_bad_utf8, self.keep_empty)
        for part in self.parts:
            for row in part.read(reading):
                tally.kept += 1
                yield row

    def sample(self, count: int = 3) -> list[Example]:
        """The first few examples, to show."""
        return list(islice(self.examples(), count))

    def fingerprint(self) -> str:
        """What the files are: their sizes and blocks spread over them, never their dates."""
        digest = hashlib.sha256("; ".join(part.shape for part in self.parts).encode())
        for path in self.paths:
            _absorb(path, digest)
        return digest.hexdigest()

    def refuse_change(self, fingerprint: str) -> None:
        """Stop if the files are no longer those that `fingerprint` was taken of."""
        if self.fingerprint() != fingerprint:
            raise DataError(
                "the data changed while it was in use",
                where=", ".join(str(path) for path in self.paths[:3]),
                remedy="put the former files back, or begin a new run with the new ones",
            )

    @cached_property
    def _count(self) -> int:
        return sum(1 for _ in self.rows())


def _absorb(path: Path, digest: hashlib._Hash) -> None:
    """The size and up to 16 blocks of one file, the first and the last among them."""
    try:
        size = path.stat().st_size
        digest.update(size.to_bytes(8, "big"))
        with path.open("rb") as file:
            span = max(size - BLOCK, 0)
            for offset in sorted({span * index // (BLOCKS - 1) for index in range(BLOCKS)}):
                file.seek(offset)
                digest.update(file.read(BLOCK))
    except FileNotFoundError:
        raise DataError(
            "the file is gone",
            where=str(path),
            remedy="put it back, or begin a new run with other files",
        ) from None
