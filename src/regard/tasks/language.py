"""What comes next: a model of text alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch

from regard.attention.attention import INPUTS, TARGET
from regard.data.example import Example, Line
from regard.decode import DecodeSettings
from regard.evaluate import Metric, exact_match
from regard.models import Model, Sizes
from regard.models.readers import IGNORE
from regard.tasks.axis import Axis, axis_of
from regard.tasks.batch import Batch, padded, shifted
from regard.tasks.search import generate, given_of, names_of
from regard.tasks.task import Examples, Forced, Prediction, Progress, Row, Task, only
from regard.text import END, Codec, TextSettings


@final
@dataclass(frozen=True, eq=False)
class Language(Task):
    """Lines of text; there is no source, and every symbol is a target."""

    codec: Codec
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
        return {"target": self.codec.to_json()}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Language:
        """One document."""
        return cls(Codec.from_json(documents["target"]))

    @property
    def sizes(self) -> Sizes:
        """A target vocabulary only."""
        return Sizes(target=self.codec.size, begin=self.codec.begin, end=END)

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """The source is empty."""
        texts = [line.text for line in only(iter(examples), Line)]
        nothing = np.empty(0, np.int32)
        return [
            {"source": nothing, "target": np.array([*ids, END], np.int32)}
            for ids in self.codec.encode_batch(texts)
        ]

    def collate(self, rows: Sequence[Row], source_length: int, target_length: int) -> Batch:  # noqa: ARG002
        """Inputs are the targets one step late."""
        targets = [row["target"] for row in rows]
        return Batch.of(
            source=torch.zeros(len(rows), 0, dtype=torch.long),
            lengths=None,
            inputs=shifted(targets, target_length, self.codec.begin),
            targets=padded(targets, target_length, IGNORE),
            count=sum(map(len, targets)),
        )

    def predict(
        self,
        model: Model,
        inputs: Sequence[str],
        settings: DecodeSettings,
        *,
        tokens: int = 4096,
        advance: Progress | None = None,
    ) -> list[Prediction]:
        """Continue each text; the given part is forced, and part of the answer."""
        prompts = self.codec.encode_batch(list(inputs))
        nothing = [np.empty(0, np.int32)] * len(inputs)
        return generate(
            model,
            nothing,
            settings,
            self.write,
            tokens=tokens,
            advance=advance,
            prefixes=prompts,
        )

    def encode(self, text: str) -> np.ndarray:  # noqa: ARG002
        """There is no source."""
        return np.empty(0, np.int32)

    def count(self, text: str) -> int:
        """The text is read as if it had been said."""
        return len(self.codec.encode(text))

    def prompt(self, text: str) -> list[int]:
        """The text itself."""
        return self.codec.encode(text)

    def forced(self, text: str, answer: Prediction) -> Forced:  # noqa: ARG002
        """The symbols of the answer: encoding its text again might cut it elsewhere."""
        ended = () if answer.finish == "length" else (END,)
        ids = [*answer.ids, *ended]
        target = axis_of(self.codec, ids)
        axes: dict[str, Axis] = {
            TARGET: target,
            INPUTS: target.later(self.codec.piece(self.codec.begin)),
        }
        row = {"source": np.empty(0, np.int32), "target": np.array(ids, np.int32)}
        return Forced(row, axes, ids)

    def told(self, text: str, answer: str) -> Prediction | None:
        """The text and what follows it, read as if it had been said."""
        whole = f"{text} {answer}" if answer else text
        return Prediction(whole, ids=tuple(self.codec.encode(whole))) if whole.strip() else None

    def symbol(self, number: int) -> str:
        """A piece of the vocabulary."""
        return self.codec.piece(number)

    @property
    def named(self) -> Mapping[str, int]:
        """The pieces of the vocabulary."""
        return names_of(self.codec)

    def pieces_of(self, row: Row) -> dict[str, tuple[str, ...]]:
        """The line."""
        return {"target": self.codec.pieces(row["target"])}

    def given(self, prefix: Sequence[int | str], places: int) -> list[int]:  # noqa: ARG002
        """Pieces of the vocabulary."""
        return given_of(self.codec, prefix)

    def write(self, ids: Sequence[int]) -> tuple[str, tuple[str, ...]]:
        """Ids as text, and the name of each."""
        return self.codec.decode(ids), tuple(self.codec.piece(number) for number in ids)

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
