"""From what the settings name to examples: a toy or files, training or held out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, final

from regard.data.example import Example, TaskName
from regard.data.readers import Source, splits, understand
from regard.data.toys import Toy, toy
from regard.errors import DataError, UsageError
from regard.run.settings import DataSettings

HOLD_OUT = 50  # one example in so many is held out when no validation set was given
ENOUGH = 2_000  # and no more than this

Role = Literal["train", "valid"]


@final
@dataclass(frozen=True)
class Corpus:
    """The examples of a run, to be read again and again."""

    settings: DataSettings
    toy: Toy | None = None
    train: Source | None = None
    valid: Source | None = None

    @classmethod
    def of(cls, settings: DataSettings, task: TaskName | None = None) -> Corpus:
        """Find what the settings name; refuse both a toy and files, and neither."""
        if settings.toy is not None and settings.train:
            raise UsageError(
                "a run learns from a toy or from files, not both",
                where="data",
                remedy="leave out data.toy or data.train",
            )
        if settings.toy is not None:
            return cls(settings, toy=toy(settings.toy))
        if not settings.train:
            raise UsageError(
                "there is nothing to learn from",
                where="data",
                remedy="name two files (train.en train.de), a TSV, a folder, or --toy reverse",
            )
        paths = [Path(path) for path in settings.train]
        found = splits(paths, task, on_bad_utf8=settings.on_bad_utf8)
        valid = found.valid
        if settings.valid:
            given = [Path(path) for path in settings.valid]
            valid = understand(given, task or found.train.task, on_bad_utf8=settings.on_bad_utf8)
        return cls(settings, train=found.train, valid=valid)

    @property
    def task(self) -> TaskName:
        """What these examples teach."""
        if self.toy is not None:
            return self.toy.task
        assert self.train is not None
        return self.train.task

    @property
    def fingerprint(self) -> str:
        """What the examples come from; it changes when the files do."""
        if self.toy is not None:
            return f"toy {self.toy.name}"
        sources = [source for source in (self.train, self.valid) if source is not None]
        return " ".join(source.fingerprint() for source in sources)

    def examples(self, role: Role) -> Iterator[Example]:
        """Training or validation examples; no example is ever both."""
        found = self._all(role)
        return found if role == "valid" else islice(found, self.settings.examples)

    def _all(self, role: Role) -> Iterator[Example]:
        if self.toy is not None:
            return self.toy.examples(role)
        assert self.train is not None
        if self.valid is not None:
            return (self.train if role == "train" else self.valid).examples()
        return self._held(role == "valid")

    def _held(self, out: bool) -> Iterator[Example]:
        """Held out by its content, so that the choice needs no memory and a repeated line cannot leak."""
        assert self.train is not None
        examples = (e for e in self.train.examples() if _is_held_out(e) == out)
        return islice(examples, ENOUGH) if out else examples

    def probe(self) -> list[Example]:
        """An example to watch while learning, if the corpus has one of its own."""
        return [] if self.toy is None else [self.toy.probe]


def refuse_empty(role: Role, count: int) -> None:
    """A set with nothing in it cannot be used (T15)."""
    if count == 0:
        raise DataError(
            f"0 {role} examples are left",
            where=f"data.{role}",
            remedy="look at the files with `regard data`; a tiny corpus needs a validation file",
        )


def _is_held_out(example: Example) -> bool:
    digest = hashlib.blake2b(repr(example).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % HOLD_OUT == 0
