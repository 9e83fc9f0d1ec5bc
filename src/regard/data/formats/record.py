"""Records with named fields, as JSON lines and Parquet hold them: which two to read, and what they make."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, final

from regard.data.example import Kind, Labelled, Line, Pair, Pointed, Tagged
from regard.data.formats.format import OneFile, Reading, Row, packed_as
from regard.data.lines import LINE_BOUND
from regard.errors import DataError
from regard.strict_json import is_deeper

DEEPEST = 32  # levels of a record
SOURCE = frozenset({"source", "src", "input", "question", "prompt", "document", "article"})
TARGET = frozenset(
    {"target", "tgt", "trg", "output", "answer", "response", "completion", "translation", "summary"}
)
TEXT = frozenset({"text", "sentence", "review", "content", "utterance"})
LABEL = frozenset({"label", "class", "category", "sentiment", "intent", "topic"})
WORDS = frozenset({"tokens", "words"})
TAGS = frozenset({"tags", "ner_tags", "pos_tags", "upos", "xpos", "ner", "pos", "labels"})
CODES = (
    "ar bg bn ca cs cy da de el en eo es et eu fa fi fr ga gl he hi hr hu hy id is it ja ka kk ko "
    "lt lv mk mn ms nb nl nn no pl pt ro ru sk sl sq sr sv sw ta te th tr uk ur uz vi zh"
)
SPELT_OUT = (
    "arabic chinese czech dutch english finnish french german greek hebrew hindi hungarian italian "
    "japanese korean polish portuguese romanian russian spanish swedish turkish ukrainian vietnamese"
)
LANGUAGES = frozenset(CODES.split()) | frozenset(SPELT_OUT.split())


class Roles(NamedTuple):
    """Two columns, by position, and what they make together."""

    kind: Kind
    first: int
    second: int


def roles(names: Sequence[str]) -> Roles | None:
    """The two columns to read, by their names; None when no name says anything."""
    plain = [name.strip().lower() for name in names]
    for kind, firsts, seconds in (
        (Tagged, WORDS, TAGS),
        (Pair, SOURCE, TARGET),
        (Labelled, TEXT, LABEL),
        (Pair, TEXT, TARGET),
        (Labelled, SOURCE, LABEL),
    ):
        first, second = _position(plain, firsts), _position(plain, seconds)
        if first is not None and second is not None:
            return Roles(kind, first, second)
    spoken = [index for index, name in enumerate(plain) if is_language(name)]
    if len(spoken) > 2:  # `id` is Indonesian, but more often a row's number
        spoken = [index for index in spoken if plain[index] != "id"]
    return Roles(Pair, *spoken) if len(spoken) == 2 else None


def is_language(name: str) -> bool:
    """`en`, `de_DE`, `zh-Hans`, `english`."""
    return name.lower().replace("-", "_").partition("_")[0] in LANGUAGES


def _position(names: Sequence[str], wanted: frozenset[str]) -> int | None:
    return next((index for index, name in enumerate(names) if name in wanted), None)


@final
@dataclass(frozen=True)
class Fields:
    """The fields to read; a dotted one lies inside an object: `translation.en`."""

    of: Kind
    first: str
    second: str = ""

    def __str__(self) -> str:
        return f"'{self.first}' and '{self.second}'" if self.second else f"'{self.first}'"

    def rows(
        self, reading: Reading, path: Path, number: int, record: Mapping[str, Any]
    ) -> Iterator[Row]:
        """The example that one record holds, or nothing, with the reason counted."""
        values = [_inside(record, name) for name in (self.first, self.second) if name]
        if any(value is None for value in values):
            reading.tally.drop("missing field", path, number)
        elif self.of is Pointed:
            yield from _pointed(reading, path, number, values)
        elif self.of is Tagged and all(isinstance(value, list) for value in values):
            yield from _tagged(reading, path, number, values)
        else:
            texts = [_text(value).replace("\n", " ") for value in values]
            fault = _fault(texts)
            if fault:
                reading.tally.drop(fault, path, number)
            else:
                yield from reading.row(self.of, path, number, *texts)


def fields_of(record: Mapping[str, Any], hint: Kind | None) -> Fields | None:
    """Which fields to read, from the first record; None when no two of them are known."""
    names = list(record)
    guess = _known(record, names)
    if hint is Line or (guess is None and hint is None):
        text = next((name for name in names if name.lower() in TEXT), None)
        if text is not None:
            return Fields(Line, text)
    if guess is None:
        return None
    hinted = guess.of if hint is None else hint
    fixed = Pointed in (hinted, guess.of) or hinted is Line
    return guess if fixed else replace(guess, of=hinted)


def _known(record: Mapping[str, Any], names: Sequence[str]) -> Fields | None:
    nested = record.get("translation")
    if isinstance(nested, dict) and len(nested) >= 2:
        one, other = list(nested)[:2]
        return Fields(Pair, f"translation.{one}", f"translation.{other}")
    if "items" in record and "positions" in record:
        return Fields(Pointed, "items", "positions")
    named = roles(names)
    return Fields(named.kind, names[named.first], names[named.second]) if named else None


def _tagged(reading: Reading, path: Path, number: int, values: Sequence[Any]) -> Iterator[Row]:
    words, tags = (tuple(_text(item) for item in value) for value in values)
    fault = _fault([" ".join(words), " ".join(tags)])
    if not fault and len(words) != len(tags):
        fault = "not one tag a word"
    if not fault and not words and not reading.keep_empty:
        fault = "empty"
    if fault:
        reading.tally.drop(fault, path, number)
    else:
        yield Row(path, number, Tagged(words, tags))


def _pointed(reading: Reading, path: Path, number: int, values: Sequence[Any]) -> Iterator[Row]:
    try:
        items = tuple(tuple(float(x) for x in item) for item in values[0])
        positions = tuple(int(position) for position in values[1])
    except (TypeError, ValueError):
        reading.tally.drop("not numbers", path, number)
        return
    if not items or not all(0 <= position < len(items) for position in positions):
        reading.tally.drop("position outside the items", path, number)
    elif len({len(item) for item in items}) > 1:
        reading.tally.drop("items of different widths", path, number)
    else:
        yield Row(path, number, Pointed(items, positions))


def _inside(record: Mapping[str, Any], name: str) -> Any:
    if name in record:
        return record[name]
    outer, dot, inner = name.partition(".")
    below = record.get(outer)
    return below.get(inner) if dot and isinstance(below, dict) else None


def _text(value: Any) -> str:
    """A text as it is, a list as words with spaces between, anything else as JSON writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(_text(item) for item in value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _fault(texts: Sequence[str]) -> str:
    """Records can hold half a surrogate pair, NUL and texts of any length, which no text file may."""
    if any(len(text) > LINE_BOUND for text in texts):
        return "too long"
    whole = "".join(texts)
    bad = "\0" in whole or any("\ud800" <= character <= "\udfff" for character in whole)
    return "not UTF-8" if bad else ""


@final
@dataclass(frozen=True)
class JsonLines(OneFile):
    """One file of objects, and the fields of each that are read."""

    fields: Fields

    @property
    def kind(self) -> Kind:
        return self.fields.of

    @property
    def shape(self) -> str:
        return f"{self.path.name}, JSON lines{packed_as(self.path)}, {self.fields}"

    def read(self, reading: Reading) -> Iterator[Row]:
        for line in reading.sound_lines(self.path):
            if not line.text.strip():
                reading.tally.drop("empty", self.path, line.number)
                continue
            record = parsed(line.text, f"{self.path}:{line.number}")
            yield from self.fields.rows(reading, self.path, line.number, record)


def json_lines(path: Path, first_line: str, hint: Kind | None) -> JsonLines:
    """Which fields to read, from the first object."""
    record = parsed(first_line, f"{path}:1")
    fields = fields_of(record, hint)
    if fields is None:
        raise DataError(
            "no two fields of the first object are known: " + ", ".join(record),
            where=f"{path}:1",
            remedy="name them src and tgt, text and label, or tokens and tags",
        )
    return JsonLines(path, fields)


def parsed(text: str, where: str) -> dict[str, Any]:
    """One line as a JSON object."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise DataError(
            f"this line is not JSON: {fault}",
            where=where,
            remedy='write one object a line: {"src": "...", "tgt": "..."}',
        ) from None
    if is_deeper(record, DEEPEST):
        raise DataError(
            f"this line is nested deeper than {DEEPEST} levels",
            where=where,
            remedy='write one flat object a line: {"src": "...", "tgt": "..."}',
        )
    if not isinstance(record, dict):
        raise DataError(
            "this line is JSON, but not an object",
            where=where,
            remedy='write one object a line: {"src": "...", "tgt": "..."}',
        )
    return record
