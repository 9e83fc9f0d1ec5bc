"""The file of a sentencepiece model (Kudo 2018), read and written without its library: pieces, scores.

It is a message of protocol buffers: numbered fields, each a number, four bytes, eight bytes, or a stretch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from regard.errors import ModelFileError
from regard.run.find import read_bounded
from regard.text.vocabulary import NEVER, SPECIALS, Vocabulary

LONGEST = 1 << 26  # bytes; models in use have about one million
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM = 1

Value = int | float | bytes


@final
@dataclass(frozen=True)
class Piece:
    """One piece, its logarithm of a probability, and what kind it is."""

    text: str
    score: float
    kind: int


@final
@dataclass(frozen=True)
class SentencePiece:
    """What such a file says, as far as text is cut by it."""

    pieces: tuple[Piece, ...]
    charmap: bytes

    @classmethod
    def read(cls, path: Path) -> SentencePiece:
        """The model of a file; one that cuts otherwise than by the likeliest pieces is refused."""
        content = read_bounded(path, "sentencepiece model", LONGEST)
        pieces: list[Piece] = []
        trainer: dict[int, Value] = {}
        normaliser: dict[int, Value] = {}
        try:
            for field, value in _fields(content):
                if field == 1 and isinstance(value, bytes):
                    pieces.append(_piece(dict(_fields(value))))
                elif field == 2 and isinstance(value, bytes):
                    trainer = dict(_fields(value))
                elif field == 3 and isinstance(value, bytes):
                    normaliser = dict(_fields(value))
        except (IndexError, struct.error, UnicodeDecodeError, ValueError, KeyError):
            raise ModelFileError(
                "this is no sentencepiece model, or a damaged one", str(path), "get it again"
            ) from None
        _refuse_others(trainer, normaliser, pieces, path)
        charmap = normaliser.get(2, b"")
        return cls(tuple(pieces), charmap if isinstance(charmap, bytes) else b"")


def spelled(vocabulary: Vocabulary) -> bytes:
    """The file of a vocabulary that came from one: pieces that text is cut into, scores, characters."""
    special = (("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL))
    scored = zip(vocabulary.pieces, vocabulary.scores, strict=True)
    first = len(SPECIALS) + len(vocabulary.settings.symbols)
    normal = [
        (piece.replace(" ", "▁"), score, NORMAL)
        for number, (piece, score) in enumerate(scored)
        if number >= first and score > NEVER
    ]
    content = b""
    for text, score, kind in (*special, *normal):
        own = _stretch(1, text.encode()) + _key(2, 5) + struct.pack("<f", score)
        content += _stretch(1, own + _key(3, 0) + _spelled(kind))
    content += _stretch(2, _key(3, 0) + _spelled(UNIGRAM))
    return content + _stretch(3, _stretch(1, b"regard") + _stretch(2, vocabulary.charmap))


def _stretch(field: int, content: bytes) -> bytes:
    return _key(field, 2) + _spelled(len(content)) + content


def _key(field: int, kind: int) -> bytes:
    return _spelled(field << 3 | kind)


def _spelled(value: int) -> bytes:
    """The other direction of `_number`."""
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def _refuse_others(
    trainer: dict[int, Value], normaliser: dict[int, Value], pieces: list[Piece], path: Path
) -> None:
    clauses = {
        "it cuts by merges and not by the likeliest pieces": trainer.get(3, UNIGRAM) != UNIGRAM,
        "it puts no space in front of a text": normaliser.get(3, 1) != 1,
        "it keeps several spaces as they are": normaliser.get(4, 1) != 1,
        "it writes spaces as they are": normaliser.get(5, 1) != 1,
        "it falls back to bytes": any(piece.kind == BYTE for piece in pieces),
        "it has pieces of its user's own": any(piece.kind == USER_DEFINED for piece in pieces),
    }
    for clause, holds in clauses.items():
        if holds:
            raise ModelFileError(
                f"this sentencepiece model cannot be held here: {clause}",
                where=str(path),
                remedy="look into the model as it is: regard look FOLDER 'text'",
            )


def _piece(fields: dict[int, Value]) -> Piece:
    text, score, kind = fields[1], fields.get(2, 0.0), fields.get(3, NORMAL)
    if not isinstance(text, bytes) or not isinstance(score, float) or not isinstance(kind, int):
        raise ValueError(fields)
    return Piece(text.decode(), score, kind)


def _fields(content: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a message by their numbers."""
    place = 0
    while place < len(content):
        key, place = _number(content, place)
        match key & 7:
            case 0:
                value, place = _number(content, place)
                yield key >> 3, value
            case 1:
                yield key >> 3, content[place : place + 8]
                place += 8
            case 2:
                length, place = _number(content, place)
                if place + length > len(content):
                    raise ValueError(length)
                yield key >> 3, content[place : place + length]
                place += length
            case 5:
                yield key >> 3, struct.unpack_from("<f", content, place)[0]
                place += 4
            case kind:
                raise ValueError(kind)


def _number(content: bytes, place: int) -> tuple[int, int]:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    value = shift = 0
    while shift < 70:
        byte = content[place]
        value, place, shift = value | (byte & 127) << shift, place + 1, shift + 7
        if byte < 128:
            return value, place
    raise ValueError(shift)
