"""Several sources and one target: files side by side, or named columns of a table or of JSON lines.

A cell that names a picture or a sound (`dog.jpg`, `take-7.wav`) is that file, looked for beside the table; a
sentence that ends so (`open logo.png`) is a text, unless there is such a file. An empty cell is a source that
is missing, which is allowed as long as another is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, final

from regard.data.drift import uneven
from regard.data.example import Columns, Kind, Several
from regard.data.formats.format import PICTURES, SOUNDS, Format, OneFile, Reading, Row, packed_as
from regard.data.formats.record import parsed
from regard.data.lines import bare_name, read_lines
from regard.errors import DataError, UsageError, nearest
from regard.question import Image, Question, Sound, Source


def source_of(cell: str, folder: Path) -> Source:
    """A cell as a source: the picture or sound of that name, else its text."""
    suffix = Path(cell.strip()).suffix.lower() if len(cell) < 1024 else ""
    if suffix not in (*PICTURES, *SOUNDS) or "\0" in cell:
        return cell
    path = (folder / cell.strip()).resolve()
    if len(cell.split()) > 1 and not _is_there(path):
        return cell
    return Image(str(path)) if suffix in PICTURES else Sound(str(path))


def _is_there(path: Path) -> bool:
    with suppress(OSError):  # a cell can be longer than any path
        return path.is_file()
    return False


def example(
    cells: Mapping[str, str], columns: Columns, folder: Path, keep_empty: bool
) -> Several | str:
    """The example of one row, or the reason why it is none."""
    texts = {name: cells[name] for name in columns.sources if cells[name].strip()}
    target = cells[columns.target]
    if not texts or not (target.strip() or keep_empty):
        return "empty"
    sources = {name: source_of(one, folder) for name, one in texts.items()}
    for one in sources.values():
        if isinstance(one, Image | Sound) and not _is_there(Path(str(one.data))):
            return "no such picture" if isinstance(one, Image) else "no such sound"
    return Several(Question(sources), target)


@final
@dataclass(frozen=True)
class Beside(Format):
    """`train.en`, `train.de` and `train.fr`, line by line; the last one is the target."""

    files: tuple[Path, ...]
    columns: Columns

    @property
    def kind(self) -> Kind:
        return Several

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.files

    @property
    def shape(self) -> str:
        pairs = zip(self.files, (*self.columns.sources, self.columns.target), strict=True)
        names = ", ".join(f"{path.name} ({name})" for path, name in pairs)
        return f"{names}, side by side{packed_as(self.files[0])}; {self.columns.target} is written"

    def read(self, reading: Reading) -> Iterator[Row]:
        names = (*self.columns.sources, self.columns.target)
        for lines in zip_longest(*map(reading.lines, self.files)):
            if None in lines:
                ended = lines.index(None)
                raise uneven(self.files[ended], self.files[0 if ended else 1])
            faults = [n for n, line in enumerate(lines) if line.fault]
            if faults:
                reading.tally.drop(
                    str(lines[faults[0]].fault), self.files[faults[0]], lines[0].number
                )
                continue
            cells = {name: line.text for name, line in zip(names, lines, strict=True)}
            folder = self.files[0].parent
            made = example(cells, self.columns, folder, reading.keep_empty)
            if isinstance(made, str):
                reading.tally.drop(made, self.files[0], lines[0].number)
            else:
                yield Row(self.files[0], lines[0].number, made)


@final
@dataclass(frozen=True)
class NamedColumns(OneFile):
    """Columns of a table with a header (TSV), or fields of JSON lines, by their names."""

    columns: Columns
    header: tuple[str, ...] = ()  # none: JSON lines

    @property
    def kind(self) -> Kind:
        return Several

    @property
    def shape(self) -> str:
        form = "TSV" if self.header else "JSON lines"
        names = ", ".join(self.columns.sources)
        return f"{self.path.name}, {form}{packed_as(self.path)}, {names} -> {self.columns.target}"

    def read(self, reading: Reading) -> Iterator[Row]:
        wanted = (*self.columns.sources, self.columns.target)
        for number, line in enumerate(reading.sound_lines(self.path)):
            if (self.header and number == 0) or not line.text.strip():
                continue
            cells = self._cells(line.text, f"{self.path}:{line.number}")
            cells = {name: str(cells.get(name) or "").replace("\n", " ") for name in wanted}
            made = example(cells, self.columns, self.path.parent, reading.keep_empty)
            if isinstance(made, str):
                reading.tally.drop(made, self.path, line.number)
            else:
                yield Row(self.path, line.number, made)

    def _cells(self, text: str, where: str) -> Mapping[str, Any]:
        if self.header:
            return dict(zip(self.header, text.split("\t"), strict=False))
        return parsed(text, where)


def several(paths: Sequence[Path], columns: Columns) -> tuple[Format, ...]:
    """Files side by side where there is one a column; else tables, one behind the other."""
    names = (*columns.sources, columns.target)
    firsts = [_first_line(path) for path in paths]
    tables = ["\t" in first or first.lstrip().startswith("{") for first in firsts]
    if len(paths) == len(names) and not any(tables):
        return (Beside(_by_name(paths, names), columns),)
    if not all(tables):
        raise UsageError(
            f"{len(names)} columns ({', '.join(names)}) are wanted, and {len(paths)} files were named",
            where=str(paths[0]),
            remedy="name a file for each, the target's last; or tables whose first line names columns",
        )
    return tuple(_table(path, first, columns) for path, first in zip(paths, firsts, strict=True))


def _table(path: Path, first: str, columns: Columns) -> NamedColumns:
    is_json = first.lstrip().startswith("{")
    header = list(parsed(first, f"{path}:1")) if is_json else first.split("\t")
    header = [name if is_json else name.strip().lower() for name in header]
    # An object may leave out what is missing; a table names all of its columns.
    wanted = (columns.target,) if is_json else (*columns.sources, columns.target)
    missing = [name for name in wanted if name not in header]
    if missing:
        raise DataError(
            f"there is no column '{missing[0]}' here: {', '.join(header)[:200]}",
            where=f"{path}:1",
            remedy=nearest(missing[0], header) or "name the columns in the first line",
        )
    return NamedColumns(path, columns, () if is_json else tuple(header))


def _by_name(paths: Sequence[Path], names: Sequence[str]) -> tuple[Path, ...]:
    """In the order of the names, where every file's name has one of them as a part of it."""
    parts = [set(bare_name(path).lower().replace("-", ".").split(".")) for path in paths]
    places = [[n for n, own in enumerate(parts) if name in own] for name in names]
    if all(len(matching) == 1 for matching in places):
        return tuple(paths[matching[0]] for matching in places)
    return tuple(paths)


def column_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """A name for each file: the one part in which all their names differ, or their whole stems."""
    parts = [bare_name(path).lower().replace("-", "_").split(".") for path in paths]
    if len({len(own) for own in parts}) == 1:
        for column in reversed(list(zip(*parts, strict=True))):
            if len(set(column)) == len(paths) and all(name.isidentifier() for name in column):
                return tuple(column)
    stems = tuple("_".join(own) for own in parts)
    return tuple(one if one.isidentifier() else f"source_{n + 1}" for n, one in enumerate(stems))


def _first_line(path: Path) -> str:
    return next((line.text for line in read_lines(path, on_bad_utf8="skip") if not line.fault), "")


def sides(
    files: Sequence[Path], to: str | Path, names: Sequence[str] = ()
) -> tuple[list[Path], Columns]:
    """What `FILES --to TARGET` means: the target's file goes behind the others, or is a column of them."""
    if not Path(to).is_file():
        if not names:
            raise UsageError(
                f"there is no file '{to}', and as a column it needs others to be read",
                where=f"--to {to}",
                remedy=f"name the target's file, or the columns: --from en de --to {to}",
            )
        return list(files), Columns(tuple(names), str(to))
    every = [*files, Path(to)]
    named = tuple(names) or column_names(every)[:-1]
    if len(named) != len(files):
        raise UsageError(
            f"{len(files)} files to read, and {len(named)} names for them",
            where="--from",
            remedy="give each file a name, in their order, or none at all",
        )
    target = column_names(every)[-1]
    return every, Columns(named, target if target not in named else "written")
