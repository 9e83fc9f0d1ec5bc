"""Which format a file has, from its name and its first lines; nothing is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from regard.data.example import Kind, Labelled, Line, Pair, Tagged
from regard.data.formats.bracketed import Bracketed, looks_bracketed
from regard.data.formats.columnar import columnar, style_of
from regard.data.formats.conll import Conll, looks_tagged, looks_universal
from regard.data.formats.format import LABEL_MARK, Format, Lined, Parallel
from regard.data.formats.gettext import Gettext
from regard.data.formats.markup import Tmx, xliff
from regard.data.formats.media_table import MediaTable, Pictures, Sounds
from regard.data.formats.record import (
    LABEL,
    SOURCE,
    TAGS,
    TARGET,
    TEXT,
    WORDS,
    is_language,
    json_lines,
    parsed,
    roles,
)
from regard.data.formats.subtitle import PairedSubtitles, Subtitles, looks_timed
from regard.data.formats.table import Table, label_column, likelier_labels, rows_of, separator_of
from regard.data.lines import LINE_BOUND, bare_name, opened, read_lines, refuse_binary
from regard.errors import DataError

HEAD_LINES = 200
STRUCTURED = frozenset(
    {".tsv", ".tab", ".csv", ".json", ".jsonl", ".ndjson", ".conllu", ".conll", ".po", ".tmx", ".xlf",
     ".xliff", ".parquet", ".arrow", ".mrg", ".ptb", ".tree", ".trees"}
)  # fmt: skip
TREES = frozenset({".mrg", ".ptb", ".tree", ".trees"})
PART = re.compile(r"[^._\-]+")
# Behind the declaration, comments and a document type, which have no letter after their "<".
ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<[?!][^>]*>\s*)*<(?:[a-z]+:)?(tmx|xliff)\b", re.IGNORECASE
)
FIRST_SIDE = SOURCE | TEXT | WORDS | {"in", "texts", "sentences"}
SECOND_SIDE = TARGET | LABEL | TAGS | {"out"}


def recognise(path: Path, hint: Kind | None) -> Format:
    """The format of one file that holds whole examples; `hint` is the kind of them that is wanted."""
    if hint is not None and hint.format is not None:
        return hint.format(path)
    with opened(path) as stream:
        start = stream.peek(1024)[:1024]
    style = style_of(start)
    if style is not None:
        return columnar(path, style, hint)
    refuse_binary(start, str(path))
    suffix = Path(bare_name(path)).suffix.lower()
    if suffix == ".tmx" or _root(start) == "tmx":
        return Tmx(path)
    if suffix in (".xlf", ".xliff") or _root(start) == "xliff":
        return xliff(path)
    head = head_of(path)
    if suffix == ".srt" or looks_timed(head):
        return Subtitles(path)
    return _by_content(path, suffix, head, hint)


def parallel(first: Path, second: Path, hint: Kind | None) -> Parallel | PairedSubtitles:
    """Two files side by side: which is which by name, else in the order given."""
    kind = _hinted(hint, Pair)
    sides = (_role(first), _role(second))
    swapped = sides in (("second", "first"), ("second", ""), ("", "first"))
    if kind is Pair and looks_timed(_first_lines(first)) and looks_timed(_first_lines(second)):
        return PairedSubtitles(second, first) if swapped else PairedSubtitles(first, second)
    if kind is Labelled and sides == ("", ""):
        swapped = label_column(list(zip(head_of(first), head_of(second), strict=False))) == 0
    return Parallel(second, first, kind) if swapped else Parallel(first, second, kind)


def by_habit(paths: Sequence[Path]) -> list[Path]:
    """Files found in a folder: more people translate from English than into it."""
    english = {"en", "eng", "english"}
    return sorted(paths, key=lambda path: english.isdisjoint(PART.findall(path.name.lower())))


def go_together(first: Path, second: Path) -> bool:
    """Whether two names differ in one part only: a language, `src`/`tgt`, `in`/`out`, and so on."""
    names = [PART.findall(bare_name(path).lower()) for path in (first, second)]
    if STRUCTURED & {Path(bare_name(path)).suffix.lower() for path in (first, second)}:
        return False
    if len(names[0]) != len(names[1]):
        return False
    differing = [pair for pair in zip(*names, strict=True) if pair[0] != pair[1]]
    return len(differing) == 1 and all(_tells_side(part) for part in differing[0])


def plain(path: Path) -> bool:
    """Whether a file is plain text or subtitles, so that it can only be one side of something."""
    recognised = recognise(path, None)
    if isinstance(recognised, Subtitles):
        return True
    return isinstance(recognised, Lined) and recognised.style == "plain text"


def head_of(path: Path) -> list[str]:
    """The first lines of a file that has some."""
    head = _first_lines(path)
    if not any(text.strip() for text in head):
        raise _nothing_to_read(path)
    return head


def _nothing_to_read(path: Path) -> DataError:
    """Why none of the first lines can be used; bytes that are not UTF-8 are told by reading them."""
    for line in islice(read_lines(path), HEAD_LINES):
        if line.fault == "too long":
            what, remedy = f"a line of over {LINE_BOUND:,} bytes", "break it up: one text a line"
            return DataError(what, f"{path}:{line.number}", remedy)
        if line.fault:
            remedy = "name a text file: this one looks binary"
            return DataError(f"a line with a {line.fault}", f"{path}:{line.number}", remedy)
    return DataError(
        "the file is empty", where=str(path), remedy="name a file with one example a line"
    )


def _first_lines(path: Path) -> list[str]:
    """Those with a fault are left to the reading itself."""
    lines = islice(read_lines(path, on_bad_utf8="skip"), HEAD_LINES)
    return [line.text for line in lines if not line.fault]


def agree(format: Format, hint: Kind | None) -> Format:
    """The format, if it holds the kind of examples that is wanted."""
    if hint is None or hint is format.kind:
        return format
    raise DataError(
        f"the file holds {format.kind.noun}s, but this task learns from {hint.noun}s",
        where=str(format.paths[0]),
        remedy=f"{hint.wanted}, or name the task that learns from {format.kind.noun}s (--task)",
    )


def _by_content(path: Path, suffix: str, head: list[str], hint: Kind | None) -> Format:
    texts = [text for text in head if text.strip()]
    marked = _by_marks(path, suffix, head, texts)
    if marked is not None:
        return marked
    if all(text.lstrip().startswith("{") for text in texts):
        about = _about_files(path, texts, "", hint)
        return json_lines(path, texts[0], hint) if about is None else about
    if suffix in (".json", ".jsonl", ".ndjson"):
        raise DataError(
            "this is not one JSON object a line",
            where=f"{path}:1",
            remedy=f"if it is one JSON array: jq -c '.[]' {path.name} > NEW.jsonl",
        )
    if hint is Line:
        return Lined(path)
    if all(text.startswith(LABEL_MARK) for text in texts):
        return Lined(path, "fastText")
    if all(text.startswith("IN:") and " OUT:" in text for text in texts):
        return Lined(path, "SCAN")
    if suffix in (".conll", ".iob", ".bio") or looks_tagged(head, certain=hint is Tagged):
        return Conll(path, "2003")
    if suffix in (".csv", ".tsv", ".tab") or all("\t" in text for text in texts):
        separator = separator_of(texts) if suffix == ".csv" else "\t"
        return _about_files(path, texts, separator, hint) or _table(path, separator, texts, hint)
    return Lined(path)


def _by_marks(path: Path, suffix: str, head: list[str], texts: Sequence[str]) -> Format | None:
    """A format that its name or its signs tell at once."""
    if suffix in (".po", ".pot") or texts[0].startswith('msgid ""'):
        return Gettext(path)
    if suffix == ".conllu" or looks_universal(head):
        return Conll(path, "U")
    return Bracketed(path) if suffix in TREES or looks_bracketed(texts) else None


def _about_files(
    path: Path, texts: Sequence[str], separator: str, hint: Kind | None
) -> Format | None:
    """Lines that name pictures or sounds, unless something else is wanted."""
    record = {} if separator else parsed(texts[0], f"{path}:1")
    kinds: tuple[type[MediaTable], ...] = (Pictures, Sounds)
    for table in kinds:
        if hint in (None, table.of):
            wanted = hint is table.of
            media = (
                table.from_table(path, texts, separator, wanted)
                if separator
                else table.from_records(path, record, wanted)
            )
            if media is not None:
                return media
    return None


def _root(start: bytes) -> str:
    """The first element of what begins as XML does."""
    root = ROOT.match(start)
    return root[1].decode().lower() if root else ""


def _table(path: Path, separator: str, texts: Sequence[str], hint: Kind | None) -> Format:
    rows = rows_of(texts, separator)
    if len(rows[0]) < 2:
        raise DataError(
            "the first row has one column only",
            where=f"{path}:1",
            remedy="put a tab (TSV) or a comma (CSV) between source and target, or text and label",
        )
    named, columns = roles(rows[0]), len(rows[0])
    if named is not None:
        kind, header = _hinted(hint, named.kind), tuple(rows[0])
        return Table(path, kind, named.first, named.second, separator, header, columns)
    two = [row for row in rows if len(row) == 2]
    label = label_column(two)
    if hint is Labelled or (hint is None and label is not None):
        label = likelier_labels(two) if label is None else label
        return Table(path, Labelled, 1 - label, label, separator, columns=columns)
    return Table(path, _hinted(hint, Pair), 0, 1, separator, columns=columns)


def _hinted(hint: Kind | None, kind: Kind) -> Kind:
    """Two columns can be any of three kinds: what is wanted decides, if it was named."""
    return hint if hint in (Pair, Labelled, Tagged) else kind


def _role(path: Path) -> str:
    """The side a file's name speaks of, if it does."""
    parts = set(PART.findall(bare_name(path).lower()))
    if parts & FIRST_SIDE:
        return "first"
    return "second" if parts & SECOND_SIDE else ""


def _tells_side(part: str) -> bool:
    code = part.isalpha() and len(part) in (2, 3)
    return part in FIRST_SIDE | SECOND_SIDE or is_language(part) or code
