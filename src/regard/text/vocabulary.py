"""A vocabulary as plain data: the pieces in the order of their ids, and what joins or weighs them.

Ids 0 to 3 are the specials. Where a kind falls back to bytes, the next 256 ids are the bytes. The names
of both have `<` beside letters, and words are never cut so: typed text cannot reach them. The symbols of
the settings come next, and the learned pieces last.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from pydantic import ValidationError

from regard.text import document
from regard.text.settings import TextSettings

PAD, BEGIN, END, UNKNOWN = 0, 1, 2, 3
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))

FORMAT = "regard-text"
LONGEST_PIECE = 64  # characters
LONGEST_BYTES = 256  # of a piece that is written byte by byte
MOST_BEGINNINGS = 400_000  # of unigram pieces: the library keeps some 340 bytes for each
MOST_CHARMAP = 1 << 22  # bytes; those in use have a quarter of a million
SCORED = ("unigram", "sentencepiece")
NEVER = -1000.0  # the score of a piece that text is never cut into
_KEYS = ("settings", "pieces", "merges", "scores")


@dataclass(frozen=True)
class Vocabulary:
    """All that a codec knows; `merges` is for bpe (pairs of ids, first merge first), `scores` for unigram.

    Pieces of `wordpiece` begin with a space where a word begins, like all others; those of `byte-bpe` have
    one letter a byte (Radford 2019), since a piece may end within a character.

    A sentencepiece vocabulary has scores too, `NEVER` for a piece that text is not cut into, and in `charmap`
    what it makes of characters before it cuts (Kudo 2018), as its own file has it.
    """

    settings: TextSettings
    pieces: tuple[str, ...]
    merges: tuple[tuple[int, int], ...] = ()
    scores: tuple[float, ...] = ()
    charmap: bytes = b""

    def to_json(self) -> str:
        """One JSON document; equal vocabularies give equal text."""
        body: dict[str, Any] = {
            "settings": self.settings.model_dump(mode="json"),
            "pieces": self.pieces,
            "merges": self.merges,
            "scores": self.scores,
        }
        if self.charmap:
            body["charmap"] = base64.b64encode(self.charmap).decode()
        return document.write(FORMAT, body)

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> Vocabulary:
        """The vocabulary a document stands for; anything doubtful is a `ModelFileError`."""
        body = document.read(FORMAT, _KEYS, text, where, optional=("charmap",))
        settings = _settings(body["settings"], where)
        pieces = _pieces(body, settings, where)
        merges = _merges(body, settings, pieces, where)
        scores = _scores(body, settings, len(pieces), where)
        return cls(settings, pieces, merges, scores, _charmap(body, settings, where))


def reserved(settings: TextSettings) -> tuple[str, ...]:
    """The pieces that are there before anything is learned."""
    bytes_too = BYTES if settings.kind in ("bpe", "unigram", "byte") else ()
    return SPECIALS + bytes_too + settings.symbols


def beginnings(pieces: Iterable[str]) -> int:
    """How many different beginnings the pieces have: the nodes of a tree that holds them all."""
    count, before = 0, ""
    for piece in sorted(pieces):
        shared = takewhile(lambda two: two[0] == two[1], zip(before, piece, strict=False))
        count += len(piece) - sum(1 for _ in shared)
        before = piece
    return count


def _settings(tree: Any, where: str) -> TextSettings:
    try:
        # As JSON again, because there alone a list may strictly be a tuple.
        return TextSettings.model_validate_json(json.dumps(tree), strict=True)
    except ValidationError as fault:
        first = fault.errors()[0]
        path = ".".join(["settings", *map(str, first["loc"])])
        document.refuse(f"{path}: {first['msg']}", where)


def _pieces(body: Mapping[str, Any], settings: TextSettings, where: str) -> tuple[str, ...]:
    pieces = document.texts(body, "pieces", where)
    first = reserved(settings)
    for number, name in enumerate(first):
        if pieces[number : number + 1] != (name,):
            document.refuse(f"pieces[{number}] must be '{name}'", where)
    most = len(first) if settings.kind == "byte" else settings.vocabulary
    if len(pieces) > most:
        document.refuse(f"there are {len(pieces):,} pieces where settings allow {most:,}", where)
    longest = {"char": 1, "byte-bpe": LONGEST_BYTES}.get(settings.kind, LONGEST_PIECE)
    for number in range(len(first), len(pieces)):
        if len(pieces[number]) > longest:
            document.refuse(f"pieces[{number}] has {len(pieces[number])} characters", where)
    crowded = settings.kind in SCORED and sum(map(len, pieces)) > MOST_BEGINNINGS
    if crowded and beginnings(pieces) > MOST_BEGINNINGS:
        document.refuse(f"the pieces have more than {MOST_BEGINNINGS:,} beginnings", where)
    return pieces


def _merges(
    body: Mapping[str, Any], settings: TextSettings, pieces: tuple[str, ...], where: str
) -> tuple[tuple[int, int], ...]:
    merges = document.entries(body, "merges", where)
    if merges and settings.kind not in ("bpe", "byte-bpe"):
        document.refuse(f"a {settings.kind} vocabulary has no merges", where)
    least, most = len(reserved(settings)), len(pieces)
    known = set(pieces[least:])
    for number, merge in enumerate(merges):
        if type(merge) is not list or len(merge) != 2:
            document.refuse(f"merges[{number}] must be two ids of learned pieces", where)
        left, right = merge
        # A bool is an int to Python, and True would be id 1.
        of_ids = type(left) is type(right) is int
        if not of_ids or not (least <= left < most and least <= right < most):
            document.refuse(f"merges[{number}] must be two ids of learned pieces", where)
        if pieces[left] + pieces[right] not in known:
            document.refuse(f"merges[{number}] makes a piece that is not there", where)
    pairs = tuple((left, right) for left, right in merges)
    if len(set(pairs)) < len(pairs):
        document.refuse("the same merge appears twice", where)
    return pairs


def _scores(
    body: Mapping[str, Any], settings: TextSettings, size: int, where: str
) -> tuple[float, ...]:
    scores = document.entries(body, "scores", where)
    wanted = size if settings.kind in SCORED else 0
    if len(scores) != wanted:
        document.refuse(f"there are {len(scores):,} scores where {wanted:,} are needed", where)
    for number, score in enumerate(scores):
        if type(score) is not float or not -1000.0 <= score <= 0.0:
            document.refuse(f"scores[{number}] must be a logarithm between -1000.0 and 0.0", where)
    return tuple(scores)


def _charmap(body: Mapping[str, Any], settings: TextSettings, where: str) -> bytes:
    given = body.get("charmap", "")
    if given and settings.kind != "sentencepiece":
        document.refuse(f"a {settings.kind} vocabulary has no charmap", where)
    if type(given) is not str or len(given) > MOST_CHARMAP:
        document.refuse("charmap must be a text in base64", where)
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        document.refuse("charmap must be a text in base64", where)
