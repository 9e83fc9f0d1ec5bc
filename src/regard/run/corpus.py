"""From what the settings name to examples: a toy or files, training or held out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal, final

from regard.data.example import Example, Kind
from regard.data.source import Source, splits, understand
from regard.data.tally import Tally, require_some
from regard.data.toys import Toy, toy
from regard.errors import DataError, UsageError
from regard.question import Image, Question, Sound
from regard.run.settings import DataSettings
from regard.tasks.names import example_of, task_for

HOLD_OUT = 50  # one example in so many is held out when no validation set was given
ENOUGH = 2_000  # and no more than this
LOOKED_AT = 100  # examples that tell what the sources are
FEW = 50  # but at least so many, where the corpus has ten times as many; else a tenth of it

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
    def of(cls, settings: DataSettings, task: str | None = None) -> Corpus:
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
                remedy='name two files (train.en train.de), a TSV, a folder, or toy="reverse"',
            )
        paths = [Path(path) for path in settings.train]
        hint = example_of(task)
        columns = settings.columns
        parts = splits(paths, hint, on_bad_utf8=settings.on_bad_utf8, columns=columns)
        valid = parts.valid
        if settings.valid:
            given = [Path(path) for path in settings.valid]
            valid = understand(
                given,
                hint or parts.train.kind,
                on_bad_utf8=settings.on_bad_utf8,
                columns=columns,
            )
        return cls(settings, train=parts.train, valid=valid)

    @property
    def kind(self) -> Kind:
        """The class of its examples."""
        if self.toy is not None:
            return self.toy.kind
        assert self.train is not None
        return self.train.kind

    @property
    def task(self) -> str:
        """The task that learns from them."""
        return task_for(self.kind)

    @property
    def fingerprint(self) -> str:
        """What the examples come from; it changes when the files do."""
        if self.toy is not None:
            return f"toy {self.toy.name}"
        sources = [source for source in (self.train, self.valid) if source is not None]
        return " ".join(source.fingerprint() for source in sources)

    def examples(self, role: Role, tally: Tally | None = None) -> Iterator[Example]:
        """Training or validation examples; no example is ever both. The tally counts what was unusable."""
        examples = self._all(role, tally)
        return examples if role == "valid" else islice(examples, self.settings.examples)

    def source(self, role: Role) -> Source | None:
        """The files that these examples are read from, if they come from files."""
        return self.valid if role == "valid" and self.valid is not None else self.train

    def _all(self, role: Role, tally: Tally | None) -> Iterator[Example]:
        if self.toy is not None:
            return self.toy.examples(role)
        source = self.source(role)
        assert source is not None
        if self.valid is not None:
            return source.examples(tally)
        return self._held(source, role == "valid", tally)

    def _held(self, source: Source, out: bool, tally: Tally | None) -> Iterator[Example]:
        """Held out by its content, so that the choice needs no memory and a repeated line cannot leak."""
        bound = self._bound
        examples = (e for e in source.examples(tally) if (_digest(e) < bound) == out)
        return islice(examples, ENOUGH) if out else examples

    @cached_property
    def _bound(self) -> int:
        """Below it the digests of held-out examples lie; a small corpus is looked through to find it."""
        assert self.train is not None
        first = [_digest(e) for e in islice(self.train.examples(), FEW * HOLD_OUT)]
        if len(first) == FEW * HOLD_OUT:
            return 2**64 // HOLD_OUT
        digests = sorted(set(first))
        return digests[max(1, min(FEW, len(digests) // 10))] if len(digests) > 1 else 0

    def media(self) -> dict[str, type[Image | Sound]]:
        """Which of several sources are pictures or sounds, by the first examples; features are neither."""
        kinds: dict[str, type[Image | Sound]] = {}
        for one in self.probe() or islice(self.examples("train"), LOOKED_AT):
            sources = one.asked.sources if isinstance(one.asked, Question) else {}
            for name, source in sources.items():
                if isinstance(source, Image | Sound) and not str(source.data).endswith(".npz"):
                    kinds[name] = type(source)
        return kinds

    def probe(self) -> list[Example]:
        """An example to watch while learning, if the corpus has one of its own."""
        return [] if self.toy is None else [self.toy.probe]


def refuse_empty(role: Role, count: int, corpus: Corpus | None = None) -> None:
    """A set with nothing in it cannot be used; where files were read, the reasons are counted (T15)."""
    if count:
        return
    source = None if corpus is None else corpus.source(role)
    if source is not None:
        tally, place = Tally(), ", ".join(str(path) for path in source.paths[:2])
        for _ in source.examples(tally):
            pass
        require_some(tally.kept, tally.dropped, source.noun, place)
    raise DataError(
        f"0 {role} examples are left",
        where=f"data.{role}",
        remedy='look at the files with `regard data`; a tiny corpus needs validation files: valid="FILE"',
    )


def left_out(tally: Tally) -> str:
    """`3 of 1,000 examples were left out: 2 empty (first at train.en:17), 1 too long (...)`."""
    reasons = ", ".join(
        f"{count:,} {reason} (first at {tally.first[reason]})"
        for reason, count in tally.dropped.most_common()
    )
    total = tally.dropped.total()
    verb = "example was" if total == 1 else "examples were"
    return f"{total:,} of {tally.total:,} {verb} left out: {reasons}"


def _digest(example: Example) -> int:
    return int.from_bytes(hashlib.blake2b(example.decides.encode(), digest_size=8).digest(), "big")
