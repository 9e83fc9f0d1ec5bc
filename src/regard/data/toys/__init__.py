"""Data that needs no download: small worlds made by rules, each to teach one thing about attention.

`toy("reverse").examples("train")` draws from one; `TOYS` lists them all by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from regard.data.toys.balanced import BALANCED
from regard.data.toys.brackets import BRACKETS
from regard.data.toys.copy import COPY
from regard.data.toys.dates import DATES
from regard.data.toys.feelings import FEELINGS
from regard.data.toys.hull import HULL
from regard.data.toys.numbers_de import NUMBERS_DE
from regard.data.toys.numbers_en import NUMBERS_EN
from regard.data.toys.numbers_fr import NUMBERS_FR
from regard.data.toys.parts import PARTS
from regard.data.toys.phrases import PHRASES
from regard.data.toys.reverse import REVERSE
from regard.data.toys.sort import SORT
from regard.data.toys.stories import STORIES
from regard.data.toys.toy import Split, Toy
from regard.errors import UsageError, nearest

__all__ = ["TOYS", "Split", "Toy", "toy"]

_TRANSLATE = (PHRASES, COPY, REVERSE, DATES, NUMBERS_EN, NUMBERS_FR, NUMBERS_DE)
_OTHERS = (SORT, HULL, BRACKETS, PARTS, FEELINGS, BALANCED, STORIES)

TOYS: Mapping[str, Toy] = MappingProxyType({one.name: one for one in (*_TRANSLATE, *_OTHERS)})


def toy(name: str) -> Toy:
    """The toy of this name."""
    if name not in TOYS:
        raise UsageError(f"there is no toy '{name}'", where="toy", remedy=nearest(name, TOYS))
    return TOYS[name]
