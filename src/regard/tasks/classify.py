"""One label a sequence (L79)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.attention import LABEL
from regard.data.example import Example, Labelled
from regard.decode import DecodeSettings
from regard.evaluate import Metric, accuracy, macro_f1
from regard.models import SOURCE, Model
from regard.models.readers import IGNORE, Classifier, FirstPool
from regard.tasks.axis import Axis, Tokens, typed
from regard.tasks.batch import Batch, lengths_of, padded
from regard.tasks.tag import Labelling, known
from regard.tasks.task import (
    Examples,
    Forced,
    Prediction,
    Progress,
    Row,
    label_id,
    only,
)
from regard.text import BEGIN, PAD, Codec, Labels, TextSettings


@final
@dataclass(frozen=True, eq=False)
class Classify(Labelling):
    """Text in, one label out. A begin symbol stands in front, for a reader that looks at the first place."""

    name = "classify"
    verb = "classify"
    method = "classify"
    hint = "Type a text to classify"

    @classmethod
    def learn(
        cls, examples: Examples, settings: TextSettings, progress: Progress | None = None
    ) -> Classify:
        """A vocabulary of pieces and a list of labels."""
        labels = Labels.train(example.label for example in only(examples(), Labelled))
        lines = (example.text for example in only(examples(), Labelled))
        return cls(Codec.train(lines, settings, progress), labels)

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """Pieces, and one label."""
        labelled = list(only(iter(examples), Labelled))
        ids = self.source.encode_batch([example.text for example in labelled])
        return [
            {
                "source": np.array([BEGIN, *pieces], np.int32),
                "target": np.array([label_id(self.labels, example.label)], np.int32),
            }
            for pieces, example in zip(ids, labelled, strict=True)
        ]

    def collate(self, rows: Sequence[Row], source_length: int, target_length: int) -> Batch:  # noqa: ARG002
        """One target a row."""
        sources, labels = [row["source"] for row in rows], [int(row["target"][0]) for row in rows]
        return Batch.of(
            source=padded(sources, source_length, PAD),
            lengths=lengths_of(sources, source_length),
            inputs=None,
            targets=torch.tensor(labels, dtype=torch.long),
            count=sum(label != IGNORE for label in labels),
        )

    def predict(
        self,
        model: Model,
        inputs: Sequence[str],
        settings: DecodeSettings,  # noqa: ARG002
        *,
        tokens: int = 4096,
        advance: Progress | None = None,
    ) -> list[Prediction]:
        """The likeliest label of each text, and the others in order."""
        ids = [np.array([BEGIN, *row], np.int32) for row in self.source.encode_batch(list(inputs))]
        predictions = [Prediction("")] * len(inputs)
        for member, sure in known(model, ids, tokens, advance):
            predictions[member] = self._prediction(sure)
        return predictions

    def _prediction(self, sure: torch.Tensor) -> Prediction:
        values, ids = sure.sort(descending=True, stable=True)
        names = [self.labels.decode(number) for number in ids.tolist()]
        ranked = tuple(zip(names, values.tolist(), strict=True))
        return Prediction(
            names[0], ranked[0][1], (names[0],), (int(ids[0]),), (ranked[0][1],), "end", ranked
        )

    def worded(self, answer: Prediction, settings: DecodeSettings) -> Prediction:
        """The label, or, where it is too improbable to be told, the word for that; all else stays."""
        if not answer.symbols or math.exp(answer.score) >= settings.sure:
            return answer
        return replace(answer, text=settings.unsure)

    def encode(self, text: str) -> np.ndarray:
        """The begin symbol, then pieces."""
        return np.array([BEGIN, *self.source.encode(text)], np.int32)

    def forced(self, text: str, answer: Prediction) -> Forced:
        """The pieces with their words, and the one label."""
        axes: dict[str, Axis] = {
            SOURCE: typed(self.source, text, before=(BEGIN,)),
            LABEL: Tokens.whole(answer.symbols),
        }
        row = {"source": self.encode(text), "target": np.zeros(1, np.int32)}
        return Forced(row, axes, list(answer.ids))

    def places(self, model: Model, forced: Forced) -> Sequence[int]:  # noqa: ARG002
        """The first, where the label is read from its state."""
        reads_first = isinstance(model.reader, Classifier) and isinstance(
            model.reader.pool, FirstPool
        )
        return (0,) if reads_first else ()

    def of_steps(
        self,
        text: str,  # noqa: ARG002
        logits: Tensor,
        ids: Sequence[int],  # noqa: ARG002
        most: int,  # noqa: ARG002
    ) -> Float[Tensor, "step choice"]:
        """The one step."""
        return logits[:1]

    def right(self, example: Example) -> Sequence[str]:
        """The one label."""
        return (self.answer(example),)

    def judge(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """Accuracy, and F1 averaged over the labels."""
        return [accuracy(predicted, answers), macro_f1(predicted, answers)]

    def share_right(self, predicted: Sequence[str], answers: Sequence[str]) -> Metric:
        """Accuracy."""
        return accuracy(predicted, answers)
