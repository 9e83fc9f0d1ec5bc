"""From paths to examples: recognise what people bring, say what was understood, read it as a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from regard.data.example import Kind, Labelled, Line, Pointed
from regard.data.formats.columnar import is_columnar
from regard.data.formats.format import Format
from regard.data.formats.plain import labelled_files, labelled_folders, listed, readable
from regard.data.lines import OnBadUtf8
from regard.data.recognise import agree, by_habit, go_together, parallel, plain, recognise
from regard.data.source import Source
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
) -> Source:
    """Recognise files, or the training part of a folder.

    `hint` is the kind of examples that is wanted; `keep_empty` is for test sets.
    """
    for path in paths:
        if not path.exists():
            raise missing(path)
    if len(paths) == 1 and paths[0].is_dir():
        parts = _folder_parts(paths[0], "train", hint)
    else:
        parts = _parts(paths, hint)
    return Source(parts, on_bad_utf8, keep_empty)


def splits(
    paths: Sequence[Path], hint: Kind | None = None, *, on_bad_utf8: OnBadUtf8 = "stop"
) -> Splits:
    """As `understand`; a folder's valid and test files are found, too, and no test line is dropped."""
    train = understand(paths, hint, on_bad_utf8=on_bad_utf8)
    if len(paths) != 1 or not paths[0].is_dir() or not _named(paths[0], "train"):
        return Splits(train)
    found = {
        role: Source(_folder_parts(paths[0], role, train.kind), on_bad_utf8, role == "test")
        for role in ("valid", "test")
        if _named(paths[0], role)
    }
    return Splits(train, found.get("valid"), found.get("test"))


def _parts(paths: Sequence[Path], hint: Kind | None) -> tuple[Format, ...]:
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
    if len(paths) == 2 and hint not in (Line, Pointed):
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


def _folder_parts(folder: Path, role: str, hint: Kind | None) -> tuple[Format, ...]:
    named = _named(folder, role)
    if len(named) == 1 and named[0].is_dir():
        return _folder_parts(named[0], role, hint)
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
