"""The frame of every JSON file this room writes: a format name, a version, and a closed set of keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from regard import strict_json
from regard.errors import ModelFileError
from regard.text.words import is_control

VERSION = 1
MOST_ENTRIES = 1 << 18
MOST_VALUES = 5 * MOST_ENTRIES  # a piece, its score, and a merge with its two sides
_REMEDY = "the file is damaged or foreign; get it again from its source, or train anew"


def write(name: str, body: Mapping[str, Any]) -> str:
    """A document with one key a line; the same body gives the same text."""
    whole = {"format": name, "version": VERSION, **body}
    lines = [f"{json.dumps(key)}: {_compact(value)}" for key, value in whole.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read(
    name: str, keys: Sequence[str], text: str | bytes, where: str, optional: Sequence[str] = ()
) -> dict[str, Any]:
    """The body of such a document: exactly these keys, of this format, of a version we know."""
    value = strict_json.loads(text, max_depth=3, max_values=MOST_VALUES, where=where)
    if not isinstance(value, dict) or value.get("format") != name:
        refuse(f"this is not a {name} file", where)
    version = value.get("version")
    if type(version) is int and version > VERSION:
        raise ModelFileError(
            f"this {name} file has version {version}; this regard reads up to version {VERSION}",
            where=where,
            remedy="install a newer regard",
        )
    if type(version) is not int or version != VERSION:
        refuse(f"version must be {VERSION}, not {_shorten(version)}", where)
    body = {key: item for key, item in value.items() if key not in ("format", "version")}
    if unexpected := sorted((set(body) - set(optional)) ^ set(keys)):
        refuse(f"missing or unknown key {_shorten(unexpected[0])}", where)
    return body


def texts(body: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """A list of different, non-empty strings in which nothing is hidden."""
    items = entries(body, key, where)
    for number, item in enumerate(items):
        if type(item) is not str or not item:
            refuse(f"{key}[{number}] must be a string, not {_shorten(item)}", where)
        if not item.isprintable() and any(map(is_control, item)):
            refuse(f"{key}[{number}] has a control character: {_shorten(item)}", where)
    if len(set(items)) < len(items):
        first = {item: number for number, item in reversed(list(enumerate(items)))}
        twice = next(number for number, item in enumerate(items) if first[item] != number)
        refuse(
            f"{key}[{twice}] repeats {key}[{first[items[twice]]}]: {_shorten(items[twice])}", where
        )
    return tuple(items)


def entries(body: Mapping[str, Any], key: str, where: str) -> list[Any]:
    """A list of bearable length."""
    items = body[key]
    if type(items) is not list:
        refuse(f"{key} must be a list, not {_shorten(items)}", where)
    if len(items) > MOST_ENTRIES:
        refuse(f"{key} has {len(items):,} entries, more than {MOST_ENTRIES:,}", where)
    return items


def refuse(what: str, where: str) -> NoReturn:
    """Give the whole file up, with one reason."""
    raise ModelFileError(what, where=where, remedy=_REMEDY) from None


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _shorten(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
