"""Which folder a person means by the name of a run, and what its settings say, all without torch."""

from __future__ import annotations

import contextlib
import difflib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from regard import box
from regard.config import LARGEST, loads_toml, parse
from regard.errors import MissingFileError, ModelFileError, UsageError
from regard.run import archive, header, system
from regard.run.settings import RunSettings

_LONGEST_WORDS = 2_000
_SNIFF = 512


def is_brought(path: str | Path) -> bool:
    """Whether a folder is one of Hugging Face's, and no run of ours."""
    path = Path(path)
    return (path / "config.json").is_file() and not (path / "config.toml").is_file()


@contextlib.contextmanager
def folder_of(path: Path) -> Iterator[Path]:
    """The run folder itself, or one that an archive of it was unpacked into for a moment.

    A name that no file has may be that of a model in the box.
    """
    try:
        is_there = path.exists()
    except OSError:  # longer than any name can be
        raise no_such_run(str(path)) from None
    if not is_there:
        if str(path) not in box.names():
            raise no_such_run(str(path))
        path = box.folder(str(path))
    if path.is_dir():
        yield path
        return
    with system.opened(path, "run") as file:
        start = file.read(_SNIFF) or b""
    if start and not any(byte < 9 or 13 < byte < 32 for byte in start):
        raise ModelFileError(
            f"{path.name} is a file of text, not a run",
            where=str(path),
            remedy="name a folder that `regard train` made",
        )
    if not start.startswith(b"PK\x03\x04") or b"data.pkl" in start:
        header.measure(start, path.stat().st_size, str(path))  # says what a foreign file is
        raise ModelFileError(
            "weights alone are not a run", where=str(path), remedy="name the folder they lie in"
        )
    with tempfile.TemporaryDirectory(prefix="regard-") as place:
        folder = Path(place) / path.stem
        archive.unpack(path, folder)
        yield folder


def no_such_run(name: str) -> MissingFileError:
    """The run or model in the box that was perhaps meant, or how to come by one."""
    near = nearest_run(name)
    usual = (
        "name a folder that `regard train` made, or a model in the box: `regard models` lists them"
    )
    remedy = usual if near is None else f"did you mean {near}?"
    return MissingFileError("there is no such run or model", name, remedy)


def nearest_run(name: str, likeness: float = 0.6) -> str | None:
    """The run or model in the box with a name like this one."""
    with contextlib.suppress(OSError):
        beside = {Path(name).parent, Path("runs")}
        folders = [one.parent for folder in beside for one in folder.glob("*/config.toml")]
        known = {**{one.name: str(one) for one in folders}, **{one: one for one in box.names()}}
        close = difflib.get_close_matches(Path(name).name, known, n=1, cutoff=likeness)
        return known[close[0]] if close else None
    return None


def read_settings(path: Path) -> RunSettings:
    """The settings of a run, or a `ModelFileError`: they come with the model, not from its user."""
    content = read_bounded(path, "settings file", LARGEST)
    try:
        return parse(RunSettings, loads_toml(content, str(path)), where=str(path))
    except UsageError as fault:
        raise ModelFileError(fault.what[:_LONGEST_WORDS], str(path), fault.remedy) from None


def read_bounded(path: Path, kind: str, longest: int) -> bytes:
    """The bytes of a plain file that is no longer than it can sensibly be."""
    with system.opened(path, kind) as file:
        content = file.read(longest + 1) or b""
    if len(content) > longest:
        raise ModelFileError(
            f"{path.name} is longer than {longest:,} bytes",
            str(path),
            remedy="take the file from the run itself: no file of its kind is as long",
        )
    return content
