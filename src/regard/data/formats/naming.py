"""What people call their columns and fields, and the kind of example that two such names make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from regard.data.example import Kind, Labelled, Pair, Tagged

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
