"""From paths to examples: recognise what people bring, say what was understood, read it as a stream."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import final

from regard.data.example import (
    Captioned,
    Columns,
    Example,
    Kind,
    Labelled,
    Line,
    Parsed,
    Pointed,
    Spoken,
)
from regard.data.formats.beside import several
from regard.data.formats.columnar import is_columnar
from regard.data.formats.format import (
    Format,
    Reading,
    Row,
    labelled_files,
    labelled_folders,
    listed,
    readable,
)
from regard.data.lines import OnBadUtf8
from regard.data.recognise import agree, by_habit, go_together, parallel, plain, recognise
from regard.data.tally import Tally, counted
from regard.errors import DataError, UsageError, missing

__all__ = ["Source", "Splits", "splits", "understand"]


@final
@dataclass(frozen=True)
class Splits:
    """What to learn from, what to watch while learning, and what to judge by in the end."""

    train: Source
    valid: Source | None = None
    test: Source | None = None


ROLES = {
    "train": ("train", "training"),
    "valid": ("valid", "val", "dev", "validation", "devel"),
    "test": ("test", "testing"),
}


def understand(
    paths: Sequence[Path],
    hint: Kind | None = None,
    *,
    on_bad_utf8: OnBadUtf8 = "stop",
    keep_empty: bool = False,
    columns: Columns | None = None,
) -> Source:
    """Recognise files, or the training part of a folder.

    `hint` is the kind of examples that is wanted; `keep_empty` is for test sets. `columns` names several
    sources and their target.
    """
    for path in paths:
        if not path.exists():
            raise missing(path)
    if len(paths) == 1 and paths[0].is_dir():
        parts = _folder_parts(paths[0], "train", hint, columns)
    else:
        parts = _parts(paths, hint, columns)
    return Source(parts, on_bad_utf8, keep_empty)


def splits(
    paths: Sequence[Path],
    hint: Kind | None = None,
    *,
    on_bad_utf8: OnBadUtf8 = "stop",
    columns: Columns | None = None,
) -> Splits:
    """As `understand`; a folder's valid and test files are found, too, and no test line is dropped."""
    train = understand(paths, hint, on_bad_utf8=on_bad_utf8, columns=columns)
    if len(paths) != 1 or not paths[0].is_dir() or not _named(paths[0], "train"):
        return Splits(train)
    held_out = {
        role: Source(
            _folder_parts(paths[0], role, train.kind, columns), on_bad_utf8, role == "test"
        )
        for role in ("valid", "test")
        if _named(paths[0], role)
    }
    return Splits(train, held_out.get("valid"), held_out.get("test"))


def _parts(
    paths: Sequence[Path], hint: Kind | None, columns: Columns | None = None
) -> tuple[Format, ...]:
    """Two sides of one thing, or files that hold whole examples and follow one another."""
    if not paths:
        raise UsageError(
            "no file was named",
            remedy="give two files (train.en train.de) or one TSV",
            where="files",
        )
    for path in paths:
        if path.is_dir():
            raise UsageError("a folder stands alone", where=str(path), remedy="name its files")
    if columns is not None:
        return several(paths, columns)
    if len(paths) == 2 and hint not in (Line, Pointed, Parsed):
        first, second = paths
        if go_together(first, second) or (plain(first) and plain(second)):
            return (parallel(first, second, hint),)
    parts = tuple(agree(recognise(path, hint), hint) for path in paths)
    if len({part.kind for part in parts}) > 1:
        raise DataError(
            "the files do not hold the same kind of examples: "
            + ", ".join(f"{part.kind.noun}s" for part in parts),
            where=", ".join(str(path) for path in paths),
            remedy="name the files of one kind, or the task",
        )
    return parts


def _folder_parts(
    folder: Path, role: str, hint: Kind | None, columns: Columns | None = None
) -> tuple[Format, ...]:
    named = _named(folder, role)
    if len(named) == 1 and named[0].is_dir():
        return _folder_parts(named[0], role, hint, columns)
    if columns is not None and named:
        return several(named, columns)
    parts_of_one = all(map(is_columnar, named))
    if (len(named) > 2 and not parts_of_one) or len({path.is_dir() for path in named}) > 1:
        names = ", ".join(path.name for path in named)
        raise DataError(
            f"the folder holds {len(named)} files to {role} with: {names}",
            where=str(folder),
            remedy="name the one file, or the two that go together",
        )
    if named:
        return _parts(by_habit(named), hint)
    shards = [path for path in listed(folder) if is_columnar(path)]
    if shards:
        return _parts(shards, hint)
    tables = readable(folder)
    if (
        hint in (None, Captioned, Spoken)
        and len(tables) == 1
        and recognise(tables[0], hint).kind in (Captioned, Spoken)
    ):
        return _parts(tables, hint)
    whole = labelled_folders(folder) or (labelled_files(folder) if hint is Labelled else None)
    if whole is not None:
        return (agree(whole, hint),)
    if len(readable(folder)) in (1, 2):
        return _parts(by_habit(readable(folder)), hint)
    raise DataError(
        "no file of this folder is recognised",
        where=str(folder),
        remedy="name files train.*, valid.* and test.*, or make one sub-folder a label",
    )


def _named(folder: Path, role: str) -> list[Path]:
    """The files, or the one sub-folder, whose names say `train`, `valid` or `test`."""
    words = ROLES[role]
    below = [path for path in listed(folder) if path.is_dir() and path.name.lower() in words]
    parted = str.maketrans("_-", "..")
    files = [
        path
        for path in readable(folder)
        if set(path.name.lower().translate(parted).split(".")) & set(words)
    ]
    if not below and not files and (folder / "data").is_dir():  # as on the Hugging Face hub
        return _named(folder / "data", role)
    return below or files


# Examples as a value: a way to read files again and again, with nothing held in memory.

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
