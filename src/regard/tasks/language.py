"""What comes next: a model of text alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch

from regard.attention.attention import INPUTS, TARGET
from regard.data.example import Example, Line
from regard.evaluate import Metric, exact_match
from regard.models import Sizes
from regard.models.readers import IGNORE
from regard.tasks.batch import Batch, padded, shifted
from regard.tasks.task import Examples, Forced, Prediction, Progress, Row, Write, only
from regard.tasks.writing import Spelled
from regard.text import END, UNKNOWN, Codec, TextSettings
from regard.text.languages import doubt


@final
@dataclass(frozen=True, eq=False)
class Language(Spelled):
    """Lines of text; there is no source, and every symbol is a target."""

    target: Codec
    name = "language"
    verb = "continue text"
    method = "complete"
    hint = "Type a beginning"
    continues = True
    reads_nothing = True
    sides = "target"
    decided_by = "perplexity"  # which no answer shows

    @classmethod
    def learn(
        cls, examples: Examples, settings: TextSettings, progress: Progress | None = None
    ) -> Language:
        """One vocabulary."""
        return cls(Codec.train((e.text for e in only(examples(), Line)), settings, progress))

    def to_dict(self) -> dict[str, str]:
        """One document."""
        return {"target": self.target.to_json()}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Language:
        """One document."""
        return cls(Codec.from_json(documents["target"]))

    @property
    def sizes(self) -> Sizes:
        """A target vocabulary only."""
        return Sizes(target=self.target.size, begin=self.target.begin, end=END)

    def unlike(self, text: str, reads: Sequence[str]) -> str | None:
        """The language of the beginning."""
        return doubt(text, None, reads)

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """The source is empty."""
        texts = [line.text for line in only(iter(examples), Line)]
        nothing = np.empty(0, np.int32)
        return [
            {"source": nothing, "target": np.array([*ids, END], np.int32)}
            for ids in self.target.encode_batch(texts)
        ]

    def collate(self, rows: Sequence[Row], source_length: int, target_length: int) -> Batch:  # noqa: ARG002
        """Inputs are the targets one step late."""
        targets = [row["target"] for row in rows]
        return Batch.of(
            source=torch.zeros(len(rows), 0, dtype=torch.long),
            lengths=None,
            inputs=shifted(targets, target_length, self.target.begin),
            targets=padded(targets, target_length, IGNORE),
            count=sum(map(len, targets)),
        )

    def encode(self, text: str) -> np.ndarray:  # noqa: ARG002
        """There is no source."""
        return np.empty(0, np.int32)

    def count(self, text: str) -> int:
        """The text is read as if it had been said."""
        return len(self.target.encode(text))

    def prompt(self, text: str) -> list[int]:
        """The text itself."""
        return self.target.encode(text)

    def writer(self, text: str) -> Write:
        """A beginning with unknown words as it was typed, and what follows."""
        given, unknown = self.prompt(text), self._unknown(text)
        if not unknown:
            return self.write

        def write(ids: Sequence[int]) -> tuple[str, tuple[str, ...]]:
            if list(ids[: len(given)]) != given:
                return self.write(ids)
            names = tuple(unknown.get(n, self.symbol(number)) for n, number in enumerate(ids))
            # Decoding takes the first space off.
            return text + self.target.decode([UNKNOWN, *ids[len(given) :]])[1:], names

        return write

    def _unknown(self, text: str) -> dict[int, str]:
        """The words of a beginning that are outside the vocabulary, as they were typed, by their places."""
        ((ids, letters),) = self.target.typed_batch([text])
        words = enumerate(zip(ids, letters, strict=True))
        return {place: word.replace(" ", "▁") for place, (n, word) in words if n == UNKNOWN}

    def forced(self, text: str, answer: Prediction) -> Forced:
        """The symbols of the answer: encoding its text again might cut it elsewhere."""
        ids, target, _ = self.said(answer)
        unknown = self._unknown(text).items() if UNKNOWN in ids else ()
        target = target.renamed({n: word for n, word in unknown if ids[n : n + 1] == [UNKNOWN]})
        row = {"source": np.empty(0, np.int32), "target": np.array(ids, np.int32)}
        inputs = target.later(self.target.piece(self.target.begin))
        return Forced(row, {TARGET: target, INPUTS: inputs}, ids)

    def told(self, text: str, answer: str) -> Prediction | None:
        """The text and what follows it, read as if it had been said."""
        whole = f"{text} {answer}" if answer else text
        return Prediction(whole, ids=tuple(self.target.encode(whole))) if whole.strip() else None

    def pieces_of(self, row: Row) -> dict[str, tuple[str, ...]]:
        """The line."""
        return {"target": self.target.pieces(row["target"])}

    def question(self, example: Example) -> str:
        """The first half of the words: enough to go on from."""
        assert isinstance(example, Line)
        words = example.text.split(" ")
        return " ".join(words[: max(1, len(words) // 2)])

    def answer(self, example: Example) -> str:
        """The whole line."""
        assert isinstance(example, Line)
        return example.text

    def judge(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """How often a half-given line was finished to the letter; perplexity comes from the loss."""
        return [exact_match(predicted, answers)]
