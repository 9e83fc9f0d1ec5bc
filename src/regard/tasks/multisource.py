"""Several sources, one text: two languages into a third (Zoph 2016), a sentence and its picture (Huang 2016).

Every source has a reading of its own. A source that is missing is read as nothing: its encoder gives no
states, and attention to it has weights 0 and a context of 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from regard.attention.attention import INPUTS, SOURCES, TARGET
from regard.data.columns import ColumnKind, Ids
from regard.data.example import Example, Several
from regard.errors import DataError, ModelFileError
from regard.models import Sizes
from regard.models.readers import IGNORE
from regard.question import Image, Question, Source, named_files
from regard.tasks.axis import Axis, Tokens
from regard.tasks.batch import Batch, padded, shifted, side_by_side
from regard.tasks.reading import OneReading, TextReading, reading_of, reads_text
from regard.tasks.task import Examples, Forced, Prediction, Progress, Reads, Row, only
from regard.tasks.writing import WritingFromFiles
from regard.text import END, Codec


@final
@dataclass(frozen=True, eq=False)
class Multisource(WritingFromFiles):
    """Sources by name in, a text out; every text ends with the end symbol."""

    readings: Mapping[str, OneReading]
    target: Codec
    name = "multisource"
    verb = "translate from several sources"
    method = "predict"
    counted_in = "length of the longest source"
    hint = 'Type the sources as JSON: {"en": "two dogs run", "de": "zwei Hunde rennen"}'

    @classmethod
    def learn_from(
        cls, examples: Examples, settings: Reads, progress: Progress | None = None
    ) -> Multisource:
        """One vocabulary over every text, or one a text, and the form of the first pictures and sounds."""
        cut = settings.text
        firsts = _first_of_each(only(examples(), Several))
        texts = [name for name, source in firsts.items() if isinstance(source, str)]

        def lines(*names: str) -> Iterator[str]:
            for one in only(examples(), Several):
                known = ((name, one.question.sources.get(name)) for name in names)
                yield from (text for _, text in known if isinstance(text, str))

        def written() -> Iterator[str]:
            return (one.target for one in only(examples(), Several))

        def both() -> Iterator[str]:
            yield from lines(*texts)
            yield from written()

        if cut.shared:
            target = Codec.train(both(), cut, progress)
            codecs = dict.fromkeys(texts, target)
        else:
            target = Codec.train(written(), cut, progress)
            codecs = {name: Codec.train(lines(name), cut, progress) for name in texts}

        def given(name: str) -> Iterator[Source]:
            every = (one.question.sources.get(name) for one in only(examples(), Several))
            return (source for source in every if source is not None)

        readings = {
            name: TextReading(codecs[name])
            if name in codecs
            else reading_of(given(name), settings.picture, settings.sound)
            for name in firsts
        }
        return cls(readings, target)

    def to_dict(self) -> dict[str, str]:
        """The target's vocabulary, the kinds of the sources, and what each needs; nothing where shared."""
        kinds = {name: one.kind for name, one in self.readings.items()}
        parts = {
            f"source.{name}": one.to_json()
            for name, one in self.readings.items()
            if not (isinstance(one, TextReading) and one.codec is self.target)
        }
        return {"target": self.target.to_json(), "kinds": json.dumps(kinds), **parts}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Multisource:
        """What `to_dict` gave."""
        target = Codec.from_json(documents["target"])
        kinds = json.loads(documents["kinds"])
        if not isinstance(kinds, dict) or not all(isinstance(k, str) for k in kinds.values()):
            raise ModelFileError(
                "the sources of this tokenizer are not named",
                where="tokenizer.json",
                remedy="put back the tokenizer.json that `regard train` wrote for this run",
            )
        readings = {
            name: TextReading(target)
            if f"source.{name}" not in documents
            else OneReading.read(kind, documents[f"source.{name}"])
            for name, kind in kinds.items()
        }
        return cls(readings, target)

    @property
    def sources(self) -> tuple[str, ...]:  # type: ignore[override]
        """What it reads, by name."""
        return tuple(self.readings)

    @property
    def typed(self) -> str:
        """All sources by name: a text, or the file of a picture or of a sound."""
        as_typed = {"text": "...", "picture": {"image": "FILE"}, "sound": {"sound": "FILE"}}
        sources = {name: as_typed[one.kind] for name, one in self.readings.items()}
        return f"'{json.dumps(sources)}'"

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Each source as its reading stores it."""
        return {**{name: one.column for name, one in self.readings.items()}, "target": Ids()}

    @classmethod
    def trial_sizes(cls, *, shared: bool) -> Sizes | None:  # noqa: ARG003
        """Only data names the sources, so there is nothing to try beforehand."""
        return None

    @property
    def sizes(self) -> Sizes:
        """A size for each source, and the target's vocabulary."""
        shared = all(
            one.codec is self.target
            for one in self.readings.values()
            if isinstance(one, TextReading)
        )
        sources = {name: one.size for name, one in self.readings.items()}
        return Sizes(
            0, self.target.size, begin=self.target.begin, end=END, shared=shared, sources=sources
        )

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """Ids or frames of every source, and ids of the target with its end symbol."""
        several = list(only(iter(examples), Several))
        targets = self.target.encode_batch([one.target for one in several])
        return [
            {**self._read(one.question), "target": np.array([*ids, END], np.int32)}
            for one, ids in zip(several, targets, strict=True)
        ]

    def collate(self, rows: Sequence[Row], source_length: int, target_length: int) -> Batch:
        """Each source is padded to its own longest row, in steps of 8; one row alone not at all."""
        step, sources = 8 if len(rows) > 1 else 1, {}
        for name in self.readings:
            own = [row[name] for row in rows]
            longest = max(1, *map(len, own))
            most = min(-(-longest // step) * step, max(longest, source_length))
            sources[name] = side_by_side(own, most)
        targets = [row["target"] for row in rows]
        return Batch(
            sources,
            shifted(targets, target_length, self.target.begin),
            padded(targets, target_length, IGNORE),
            sum(map(len, targets)),
        )

    def ask(self, text: str) -> Question:
        """Sources by name; some may be missing."""
        return Question.read(text, self.sources, partial=True)

    def files(self, text: str) -> tuple[str, ...]:
        """The files that a question names; a picture or a sound may be given by its path alone."""
        files = [name for name, one in self.readings.items() if not isinstance(one, TextReading)]
        given = [one for name, one in self.ask(text).sources.items() if name in files]
        return named_files(Image(one) if isinstance(one, str) else one for one in given)

    def encode(self, text: str) -> Row:
        """Every source as the model reads it; a missing one is as long as nothing."""
        return self._read(self.ask(text))

    def _read(self, asked: Question) -> dict[str, np.ndarray]:
        return {name: one.encode(asked.sources.get(name)) for name, one in self.readings.items()}

    def forced(self, text: str, answer: Prediction) -> Forced:
        """Every source that is there, the sources themselves, and the answer."""
        question = self.ask(text)
        ids, target, inputs = self.said(answer)
        axes: dict[str, Axis] = {
            name: one.axis(question.sources[name])
            for name, one in self.readings.items()
            if len(one.encode(question.sources.get(name)))
        }
        axes |= {SOURCES: Tokens.whole(self.sources), TARGET: target, INPUTS: inputs}
        return Forced({**self._read(question), "target": np.array(ids, np.int32)}, axes, ids)

    def pieces_of(self, row: Row) -> dict[str, tuple[str, ...]]:
        """Every text."""
        texts = {name: one for name, one in self.readings.items() if isinstance(one, TextReading)}
        cut = {name: one.codec.pieces(row[name]) for name, one in texts.items()}
        return {**cut, "target": self.target.pieces(row["target"])}


def _first_of_each(examples: Iterator[Several]) -> dict[str, Source]:
    """The first source of each name, in the order in which they are met; one kind a name."""
    firsts: dict[str, Source] = {}
    for number, one in enumerate(examples):
        for name, source in one.question.sources.items():
            first = firsts.setdefault(name, source)
            if reads_text(first) != reads_text(source) or type(first) is not type(source):
                raise DataError(
                    f"source '{name}' is a text in one example and a file in another",
                    where=f"example {number + 1}",
                    remedy="let every cell of a column be of one kind",
                )
    if not firsts:
        raise DataError(
            "there is not one source here", where="data.sources", remedy="is the file empty?"
        )
    return firsts
