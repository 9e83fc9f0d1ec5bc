"""What a model learns from: one frozen value an example, and nothing about files or ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, final

TaskName = Literal["translate", "tag", "classify", "point", "language"]


@final
@dataclass(frozen=True, slots=True)
class Pair:
    """A text and what it becomes: a sentence and its translation, a word and its sounds."""

    source: str
    target: str


@final
@dataclass(frozen=True, slots=True)
class Tagged:
    """A sentence with one tag a word."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Labelled:
    """A text and the class it belongs to."""

    text: str
    label: str


@final
@dataclass(frozen=True, slots=True)
class Pointed:
    """Items (one vector each), and the positions to point at, in order, counted from 0."""

    items: tuple[tuple[float, ...], ...]
    positions: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Line:
    """A text by itself, to learn what comes next."""

    text: str


Example: TypeAlias = Pair | Tagged | Labelled | Pointed | Line
Kind: TypeAlias = type[Pair] | type[Tagged] | type[Labelled] | type[Pointed] | type[Line]

KIND_OF: dict[TaskName, Kind] = {
    "translate": Pair,
    "tag": Tagged,
    "classify": Labelled,
    "point": Pointed,
    "language": Line,
}
TASK_OF: dict[Kind, TaskName] = {kind: task for task, kind in KIND_OF.items()}
NOUN_OF: dict[Kind, str] = {
    Pair: "pair",
    Tagged: "tagged sentence",
    Labelled: "labelled text",
    Pointed: "pointing problem",
    Line: "line",
}


def counted(count: int, noun: str) -> str:
    """`29,000 pairs`, `1 pair`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
