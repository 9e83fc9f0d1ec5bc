"""Data that needs no download: small worlds made by rules, each to teach one thing about attention.

`toy("reverse").examples("train")` draws from one; `TOYS` lists them all by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import MappingProxyType

from regard.data.toys.bulletins import BULLETINS
from regard.data.toys.drawings import DIGITS_TOY, SHAPES_TOY
from regard.data.toys.english import FEELINGS, PARTS, STORIES
from regard.data.toys.grammar import GRAMMAR
from regard.data.toys.headlines import HEADLINES
from regard.data.toys.lending import LENDING
from regard.data.toys.numerals import NUMBERS_DE, NUMBERS_EN, NUMBERS_FR
from regard.data.toys.persian import PERSIAN
from regard.data.toys.phrases import PHRASES, SENTENCES
from regard.data.toys.spelling import SOUNDS
from regard.data.toys.structure import BALANCED, BEFORE, BRACKETS, HULL, SORT
from regard.data.toys.tours import TOUR
from regard.data.toys.toy import COPY, DATES, REVERSE, Split, Toy
from regard.data.toys.witnesses import WITNESSES
from regard.errors import UsageError, nearest

__all__ = ["TOYS", "Split", "Toy", "register", "toy"]

_TRANSLATE = (PHRASES, COPY, REVERSE, DATES, NUMBERS_EN, NUMBERS_FR, NUMBERS_DE)
_OTHERS = (
    *(SORT, HULL, TOUR, BRACKETS, BEFORE, PARTS, FEELINGS, BALANCED),
    *(STORIES, SENTENCES, LENDING, WITNESSES, GRAMMAR, HEADLINES, BULLETINS),
    *(SHAPES_TOY, DIGITS_TOY, SOUNDS, PERSIAN),
)

_KNOWN = {one.name: one for one in (*_TRANSLATE, *_OTHERS)}
TOYS: Mapping[str, Toy] = MappingProxyType(_KNOWN)


def register(toy: Toy) -> ExitStack:
    """Make a toy known by its name: for ever, or as long as a `with` lasts."""
    _KNOWN[toy.name] = toy
    known = ExitStack()
    known.callback(_KNOWN.pop, toy.name, None)
    return known


def toy(name: str) -> Toy:
    """The toy of this name."""
    if name not in TOYS:
        raise UsageError(f"there is no toy '{name}'", where="toy", remedy=nearest(name, TOYS))
    return TOYS[name]
