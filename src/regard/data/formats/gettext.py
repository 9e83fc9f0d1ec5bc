"""Translations of programs: gettext's `.po` files, without the fuzzy and the untranslated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from regard.data.example import Kind, Pair
from regard.data.formats.format import OneFile, Reading, Row, packed_as
from regard.data.lines import LINE_BOUND

QUOTED = re.compile(r'^(msgid|msgid_plural|msgstr|msgstr\[\d+\]|msgctxt)?\s*"(.*)"\s*$')
ESCAPE = re.compile(r"\\(.)")
ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass
class _Message:
    """One entry while its lines come in."""

    line: int = 0
    fuzzy: bool = False
    parts: dict[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Gettext(OneFile):
    """msgid is the source, msgstr the target; a plural gives a second pair."""

    @property
    def kind(self) -> Kind:
        return Pair

    @property
    def shape(self) -> str:
        return (
            f"{self.path.name}, gettext{packed_as(self.path)}, msgid (source) and msgstr (target)"
        )

    def read(self, reading: Reading) -> Iterator[Row]:
        for message in _messages(reading, self.path):
            yield from self._pairs(reading, message)

    def _pairs(self, reading: Reading, message: _Message) -> Iterator[Row]:
        parts = message.parts
        if not parts.get("msgid"):
            return  # the header of the file, or a comment by itself
        if message.fuzzy:
            reading.tally.drop("fuzzy", self.path, message.line)
        elif any(len(part) > LINE_BOUND for part in parts.values()):
            reading.tally.drop("too long", self.path, message.line)
        else:
            target = parts.get("msgstr", parts.get("msgstr[0]", ""))
            yield from reading.row(
                Pair, self.path, message.line, flat(parts["msgid"]), flat(target)
            )
            if "msgid_plural" in parts and "msgstr[1]" in parts:
                source, target = flat(parts["msgid_plural"]), flat(parts["msgstr[1]"])
                yield from reading.row(Pair, self.path, message.line, source, target)


def _messages(reading: Reading, path: Path) -> Iterator[_Message]:
    message, keyword = _Message(), ""
    for line in reading.sound_lines(path):
        quoted = QUOTED.match(line.text)
        begins = (
            quoted is not None and quoted[1] in ("msgid", "msgctxt") and "msgid" in message.parts
        )
        comment = line.text.startswith("#") and bool(message.parts)
        if begins or comment or not line.text.strip():
            yield message
            message = _Message()
        if line.text.startswith("#,"):
            message.fuzzy = "fuzzy" in line.text
        if quoted is not None:
            keyword = quoted[1] or keyword
            message.line = message.line or line.number
            before = message.parts.get(keyword, "")
            if len(before) <= LINE_BOUND:  # one entry must not fill the memory
                message.parts[keyword] = before + _unescaped(quoted[2])
    yield message


def _unescaped(text: str) -> str:
    return ESCAPE.sub(lambda found: ESCAPED.get(found[1], found[1]), text)


def flat(text: str) -> str:
    """A message on one line."""
    return " ".join(part.strip() for part in text.split("\n") if part.strip())
