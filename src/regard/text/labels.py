"""Names <-> ids, for tags and classes: a closed list, where a name that is not on it is an error."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import final

from regard.errors import DataError, UsageError, nearest
from regard.text import document
from regard.text.learn import refuse_surrogates
from regard.text.words import is_control

FORMAT = "regard-labels"
MOST_LABELS = 10_000


@final
@dataclass(frozen=True)
class Labels:
    """The names in alphabetical order; a name's id is its place."""

    names: tuple[str, ...]

    @classmethod
    def train(cls, names: Iterable[str]) -> Labels:
        """All different names of the data, in whatever order and however often they come."""
        known: set[str] = set()
        for name in names:
            if name not in known:
                _check(name, len(known))
                known.add(name)
        if not known:
            raise DataError(
                "there are no labels to learn",
                remedy="give at least one example",
                where="data.train",
            )
        return cls(tuple(sorted(known)))

    @classmethod
    def from_json(cls, text: str | bytes, where: str = "labels.json") -> Labels:
        """The labels that `to_json` wrote, or a `ModelFileError`."""
        names = document.texts(document.read(FORMAT, ("names",), text, where), "names", where)
        if not 0 < len(names) <= MOST_LABELS or list(names) != sorted(names):
            document.refuse(f"names must be 1 to {MOST_LABELS:,} names in order", where)
        return cls(names)

    def to_json(self) -> str:
        """One JSON document; equal labels give equal text."""
        return document.write(FORMAT, {"names": self.names})

    @property
    def size(self) -> int:
        """How many labels there are."""
        return len(self.names)

    def encode(self, name: str) -> int:
        """The id of a name."""
        try:
            return self._ids[name]
        except KeyError:
            hint = textwrap.shorten(nearest(name, self.names), 200, placeholder=" ...")
            raise DataError(f"there is no label '{name}'", where="labels", remedy=hint) from None

    def decode(self, id: int) -> str:
        """The name of an id."""
        if not 0 <= id < self.size:
            raise UsageError(
                f"there is no label {id}",
                where="labels",
                remedy=f"ids go from 0 to {self.size - 1}",
            )
        return self.names[id]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}


def _check(name: str, size: int) -> None:
    refuse_surrogates(name, "labels")
    if not name or any(map(is_control, name)):
        raise DataError(f"{name!r} is not a label", where="labels", remedy="labels are plain words")
    if size >= MOST_LABELS:
        raise DataError(
            f"there are more than {MOST_LABELS:,} different labels, such as '{name[:40]}'",
            where="labels",
            remedy="is this column a label, or text?",
        )
