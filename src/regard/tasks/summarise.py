"""A text and what matters of it: a summary or a headline, which takes words from the text (L82, L84).

One vocabulary numbers both sides. A word that it does not know has a number behind the vocabulary, that of
its first place in the source, so that a reader that copies can say it as it was typed (See 2017). One that
does not copy reads and says the unknown word in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float
from torch import Tensor

from regard.attention.attention import INPUTS, TARGET
from regard.data.example import Example, Pair
from regard.evaluate import Metric, exact_match
from regard.evaluate.breakdown import same_words
from regard.evaluate.rouge import rouge
from regard.models import SOURCE, Model, Sizes
from regard.models.copying import Copying
from regard.tasks.axis import Axis, axis_of, typed
from regard.tasks.batch import Batch
from regard.tasks.task import (
    Examples,
    Forced,
    Name,
    Prediction,
    Progress,
    Row,
    Task,
    Write,
    only,
)
from regard.tasks.writing import Writing
from regard.text import END, UNKNOWN, Codec, TextSettings


@final
@dataclass(frozen=True, eq=False)
class Summarise(Writing):
    """Text in, text out, both in one vocabulary, each with its end symbol."""

    target: Codec
    name = "summarise"
    verb = "summarise"
    method = "predict"
    hint = "Type a text to summarise"

    @classmethod
    def learn(
        cls, examples: Examples, settings: TextSettings, progress: Progress | None = None
    ) -> Summarise:
        """One vocabulary over both sides: what is copied must have one number."""
        lines = (text for pair in only(examples(), Pair) for text in (pair.source, pair.target))
        return cls(Codec.train(lines, settings.model_copy(update={"shared": True}), progress))

    @classmethod
    def trial_sizes(cls, *, shared: bool) -> Sizes:  # noqa: ARG003
        """Both sides are always numbered alike."""
        return Sizes(source=7, target=7, shared=True, unknown=UNKNOWN)

    def to_dict(self) -> dict[str, str]:
        """One document."""
        return {"shared": self.target.to_json()}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Summarise:
        """One document."""
        return cls(Codec.from_json(documents["shared"]))

    @property
    def sizes(self) -> Sizes:
        """One vocabulary, and what stands for all words behind it."""
        size = self.target.size
        return Sizes(size, size, begin=self.target.begin, end=END, shared=True, unknown=UNKNOWN)

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """Ids of both sides; an unknown word of the target that stands in the source has its number there."""
        pairs = list(only(iter(examples), Pair))
        sources = self.target.typed_batch([pair.source for pair in pairs])
        targets = self.target.typed_batch([pair.target for pair in pairs])
        rows: list[Row] = []
        for (source, words), (target, said) in zip(sources, targets, strict=True):
            ids, places = self._numbered(source, words)
            own = [
                places.get(word, n) if n == UNKNOWN else n
                for n, word in zip(target, said, strict=True)
            ]
            rows.append({"source": _ended(ids), "target": _ended(own)})
        return rows

    def _numbered(
        self, ids: Sequence[int], words: Sequence[str]
    ) -> tuple[list[int], dict[str, int]]:
        """Ids with every unknown word numbered by its first place, and these numbers by word.

        A word is told from the same one with a space before it, as the vocabulary does; one in the
        source only without, or only with it, is found all the same.
        """
        size = self.target.size
        places: dict[str, int] = {}
        for place, (number, word) in enumerate(zip(ids, words, strict=True)):
            if number == UNKNOWN:
                places.setdefault(word, size + place)
        own = [places[w] if n == UNKNOWN else n for n, w in zip(ids, words, strict=True)]
        for word, number in list(places.items()):
            places.setdefault(word.lstrip(" "), number)
            places.setdefault(" " + word.lstrip(" "), number)
        return own, places

    def encode(self, text: str) -> np.ndarray:
        """Pieces and the end symbol; nothing for a text that says nothing."""
        if not text.strip():
            return _ended([])[:0]
        ((ids, words),) = self.target.typed_batch([text])
        return _ended(self._numbered(ids, words)[0])

    def count(self, text: str) -> int:
        """The end symbol counts, even behind nothing."""
        return len(self.target.encode(text)) + 1

    def logits(self, model: Model, batch: Batch) -> Tensor:
        """What the model says about each target."""
        return super().logits(model, self._read_by(model, batch))

    def loss(self, model: Model, batch: Batch, smoothing: float = 0.0) -> Float[Tensor, ""]:
        """The reader's own; one that cannot copy says the unknown word."""
        return super().loss(model, self._read_by(model, batch), smoothing)

    def loss_of_two(
        self, model: Model, batch: Batch, smoothing: float, agreement: float
    ) -> Float[Tensor, ""]:
        """The same, twice."""
        return super().loss_of_two(model, self._read_by(model, batch), smoothing, agreement)

    def _read_by(self, model: Model, batch: Batch) -> Batch:
        if isinstance(model.reader, Copying):
            return batch
        beyond = batch.targets >= self.target.size
        return replace(batch, targets=batch.targets.masked_fill(beyond, UNKNOWN))

    def writer(self, text: str) -> Write:
        """Copied words as the text has them, letter by letter."""
        ((_, words),) = self.target.typed_batch([text])

        def write(ids: Sequence[int]) -> tuple[str, tuple[str, ...]]:
            parts, known = list[str](), list[int]()
            for number in ids:
                if number < self.target.size:
                    known.append(number)
                    continue
                parts += [self._spelled(known), words[number - self.target.size]]
                known = []
            parts.append(self._spelled(known))
            name = self._name(words)
            return "".join(parts).removeprefix(" "), tuple(map(name, ids))

        return write

    def _spelled(self, ids: Sequence[int]) -> str:
        """Known pieces with the space that each begins with: decoding takes the first one off."""
        return self.target.decode([UNKNOWN, *ids])[1:] if ids else ""

    def namer(self, text: str) -> Name:
        """Copied words by their letters, other symbols by their pieces."""
        ((_, words),) = self.target.typed_batch([text])
        return self._name(words)

    def _name(self, words: Sequence[str]) -> Name:
        def name(number: int) -> str:
            if number < self.target.size:
                return self.target.piece(number)
            place = number - self.target.size
            return words[place].replace(" ", "▁") if place < len(words) else "</s>"

        return name

    def told(self, text: str, answer: str) -> Prediction | None:
        """The pieces of the answer; unknown words that stand in the text have their numbers there."""
        if not answer:
            return None
        (row,) = self.rows([Pair(text, answer)])
        return Prediction(answer, ids=tuple(row["target"][:-1].tolist()))

    def sayable(self, model: Model, answer: Prediction) -> Prediction:
        """The same; of a reader that cannot copy, with the unknown word."""
        if isinstance(model.reader, Copying):
            return answer
        size = self.target.size
        return replace(answer, ids=tuple(n if n < size else UNKNOWN for n in answer.ids))

    def forced(self, text: str, answer: Prediction) -> Forced:
        """Source, what each step said, and what it had read before."""
        ids = [*answer.ids, *(() if answer.finish == "length" else (END,))]
        name, size = self.namer(text), self.target.size
        target = axis_of(self.target, [n if n < size else UNKNOWN for n in ids])
        target = target.renamed({place: name(n) for place, n in enumerate(ids) if n >= size})
        source = self.encode(text) if text.strip() else _ended([])
        copied = {place: name(int(n)) for place, n in enumerate(source) if n >= size}
        axes: dict[str, Axis] = {
            SOURCE: typed(self.target, text, after=(END,)).renamed(copied),
            TARGET: target,
            INPUTS: target.later(self.target.piece(self.target.begin)),
        }
        return Forced({"source": source, "target": np.array(ids, np.int32)}, axes, ids)

    @property
    def prose(self) -> Codec:
        """The vocabulary of both sides."""
        return self.target

    def pieces_of(self, row: Row) -> dict[str, tuple[str, ...]]:
        """Both sides; what can only be copied is unknown."""
        size = self.target.size
        return {
            side: self.target.pieces(np.where(row[side] < size, row[side], UNKNOWN))
            for side in ("source", "target")
        }

    def judge(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """ROUGE-1, ROUGE-2 and ROUGE-L, and how often the answer is right to the letter."""
        return [*rouge(predicted, answers), exact_match(predicted, answers)]

    def report(
        self,
        predicted: Sequence[str],
        answers: Sequence[str],
        *,
        lowercase: bool = False,
        tokenize: str = "13a",
    ) -> list[Metric]:
        """The same, then what every text is judged by."""
        more = super().report(predicted, answers, lowercase=lowercase, tokenize=tokenize)
        return [*rouge(predicted, answers), *more]

    unknown_are = "unknown word of the source"

    def unknown(self, question: str, answer: str) -> list[str]:
        """Words between spaces that the vocabulary does not know, and the question holds."""
        there = set(question.split())
        return [word for word in super().unknown(question, answer) if word in there]

    def kept_words(self, question: str, answer: str) -> list[tuple[int, int]]:
        """Words that the question and its right answer share."""
        return same_words(question, answer)

    compare = Task.compare  # by how many are right to the letter


def _ended(ids: Sequence[int]) -> np.ndarray:
    return np.array([*ids, END], np.int32)
