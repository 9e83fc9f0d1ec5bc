"""One label a word (L78), and what tagging shares with other tasks that give labels and search nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.attention import TARGET
from regard.data.example import Example, Tagged
from regard.decode import DecodeSettings
from regard.errors import DataError
from regard.evaluate import Comparison, Metric, exact_match, span_f1, token_accuracy
from regard.evaluate.comparison import paired_counts
from regard.models import SOURCE, Model, Sizes
from regard.models.readers import IGNORE
from regard.tasks.axis import Axis, Tokens
from regard.tasks.batch import Batch, groups, lengths_of, padded
from regard.tasks.task import (
    Examples,
    Forced,
    Prediction,
    Progress,
    Row,
    Task,
    device_of,
    label_id,
    only,
)
from regard.text import PAD, Codec, Labels, TextSettings
from regard.text.languages import doubt
from regard.text.words import words_of

SHOWN = 5  # labels in a sentence
_ENDS = frozenset(".!?…。؟")  # words that end a sentence


@dataclass(frozen=True, eq=False)
class Labelling(Task, ABC):
    """A task whose answers are labels from a list."""

    source: Codec
    labels: Labels
    sides = "source"
    searches = False

    def to_dict(self) -> dict[str, str]:
        """Pieces and labels."""
        return {"source": self.source.to_json(), "labels": self.labels.to_json()}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Labelling:
        """Pieces and labels."""
        return cls(Codec.from_json(documents["source"]), Labels.from_json(documents["labels"]))

    def symbol(self, number: int) -> str:
        """A label."""
        return self.labels.decode(number)

    @abstractmethod
    def right(self, example: Example) -> Sequence[str]:
        """The labels of an example."""

    def check_labels(self, examples: Sequence[Example], where: str) -> str:
        """Refuse a test of which no label was learned; of one that has some of those, say so."""
        counts = Counter(chain.from_iterable(map(self.right, examples)))
        strange = [name for name in counts if name not in self.labels.names]
        if strange and len(strange) == len(counts):
            raise DataError(
                f"no label of this test is known to the model: it has {_some(counts)}",
                where=where,
                remedy=f"the model knows {_some(self.labels.names)}: is it the right column?",
            )
        share = sum(counts[name] for name in strange)
        if not strange:
            return ""
        known = f"{share:,} of {counts.total():,} labels are unknown to the model"
        return f"{known}, and count as wrong: {_some(strange)}"

    def unlike(self, text: str, reads: Sequence[str]) -> str | None:
        """Its language."""
        return doubt(text, None, reads)

    def pieces_of(self, row: Row) -> dict[str, tuple[str, ...]]:
        """The text; labels are whole."""
        return {"source": self.source.pieces(row["source"])}

    @property
    def sizes(self) -> Sizes:
        """Pieces in, labels out."""
        return Sizes(source=self.source.size, labels=self.labels.size)


def _some(names: Iterable[str]) -> str:
    shown = list(islice(names, SHOWN + 1))
    return ", ".join(shown[:SHOWN]) + (" and more" if len(shown) > SHOWN else "")


@torch.inference_mode()
def known(
    model: Model, inputs: Sequence[np.ndarray], tokens: int, advance: Progress | None
) -> Iterator[tuple[int, Tensor]]:
    """The number of each input, and the log-probabilities that the model gives its labels."""
    model.eval()
    for group in groups([len(row) for row in inputs], tokens):
        rows = [inputs[member] for member in group.filled]
        lengths = torch.tensor([len(row) for row in rows])
        source = padded(rows, group.length, PAD).to(device_of(model))
        log_probabilities = model(source, lengths.to(source.device)).log_softmax(-1).cpu()
        yield from zip(group.members, log_probabilities, strict=False)
        if advance is not None:
            advance(len(group.members))


@final
@dataclass(frozen=True, eq=False)
class Tag(Labelling):
    """Words are cut into pieces; a word's label is read at its first piece."""

    name = "tag"
    verb = "tag words"
    method = "tag"
    hint = "Type a sentence to tag"
    reading = "Below each word are its tag and the probability of that tag."

    @classmethod
    def learn(
        cls, examples: Examples, settings: TextSettings, progress: Progress | None = None
    ) -> Tag:
        """A vocabulary of pieces and a list of labels."""
        labels = Labels.train(tag for e in only(examples(), Tagged) for tag in e.tags)
        lines = (" ".join(example.words) for example in only(examples(), Tagged))
        return cls(Codec.train(lines, settings, progress), labels)

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """Pieces, and under each first piece its word's label."""
        rows: list[Row] = []
        for example in only(iter(examples), Tagged):
            pieces, starts = self.pieces(example.words)
            target = np.full(len(pieces), IGNORE, np.int32)
            target[starts] = [label_id(self.labels, tag) for tag in example.tags]
            rows.append({"source": pieces, "target": target})
        return rows

    def right(self, example: Example) -> Sequence[str]:
        """A tag a word."""
        assert isinstance(example, Tagged)
        return example.tags

    def pieces(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of the words, and where each word starts; no word is without a piece."""
        cut = [ids or [PAD] for ids in self.source.encode_batch(list(words))]
        starts = np.cumsum([0, *(len(ids) for ids in cut[:-1])]) if cut else np.empty(0, np.int64)
        return np.array([number for ids in cut for number in ids], np.int32), starts

    def collate(self, rows: Sequence[Row], source_length: int, target_length: int) -> Batch:  # noqa: ARG002
        """Targets lie under the pieces."""
        sources, targets = [row["source"] for row in rows], [row["target"] for row in rows]
        return Batch.of(
            source=padded(sources, source_length, PAD),
            lengths=lengths_of(sources, source_length),
            inputs=None,
            targets=padded(targets, source_length, IGNORE),
            count=sum(int((target != IGNORE).sum()) for target in targets),
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
        """The likeliest label of each word."""
        words = [words_of(text) for text in inputs]
        cut = [self.pieces(own) for own in words]
        predictions = [Prediction("")] * len(inputs)
        places = [number for number, (pieces, _) in enumerate(cut) if len(pieces)]
        for member, sure in known(model, [cut[number][0] for number in places], tokens, advance):
            starts = torch.from_numpy(cut[places[member]][1])
            predictions[places[member]] = self._prediction(sure[starts], words[places[member]])
        return predictions

    def _prediction(self, sure: torch.Tensor, words: Sequence[str]) -> Prediction:
        best, ids = sure.max(-1)
        tags = tuple(self.labels.decode(number) for number in ids.tolist())
        values = tuple(best.tolist())
        return Prediction(
            " ".join(tags), sum(values), tags, tuple(ids.tolist()), values, words=tuple(words)
        )

    def cut(self, text: str, most: int) -> list[str]:
        """Behind the ends of sentences, and nowhere else: a row of other symbols may depend on all of it."""
        if len(text.encode()) < most:  # no more pieces than bytes
            return [text]
        words = words_of(text)
        sizes = np.diff([*self.pieces(words)[1], self.count(text)])
        begins, last, size = [0], 0, 0
        for place, (word, own) in enumerate(zip(words, sizes, strict=True)):
            if size + own > most and last > begins[-1]:
                begins.append(last)
                size = int(sizes[last:place].sum())
            size += int(own)
            last = place + 1 if word in _ENDS else last
        if len(begins) == 1:
            return [text]
        spans = zip(begins, [*begins[1:], len(words)], strict=True)
        return ["\t".join(("", *words[begin:end])) for begin, end in spans]

    def joined(self, answers: Sequence[Prediction]) -> Prediction:
        """The tags of all sentences."""
        if len(answers) == 1:
            return answers[0]
        return Prediction(
            " ".join(one.text for one in answers),
            sum(one.score for one in answers),
            tuple(chain.from_iterable(one.symbols for one in answers)),
            tuple(chain.from_iterable(one.ids for one in answers)),
            tuple(chain.from_iterable(one.log_probabilities for one in answers)),
            words=tuple(chain.from_iterable(one.words for one in answers)),
        )

    def encode(self, text: str) -> np.ndarray:
        """The pieces of its words."""
        return self.pieces(words_of(text))[0]

    def forced(self, text: str, answer: Prediction) -> Forced:
        """The pieces with their words, and the tags."""
        words = words_of(text)
        pieces, starts = self.pieces(words)
        owners = np.searchsorted(starts, np.arange(len(pieces)), side="right") - 1
        names = tuple(self.source.piece(int(number)) for number in pieces)
        axes: dict[str, Axis] = {
            SOURCE: Tokens(names, tuple(owners.tolist()), tuple(words)),
            TARGET: Tokens.whole(answer.symbols),
        }
        row = {"source": pieces, "target": np.zeros(len(pieces), np.int32)}
        return Forced(row, axes, list(answer.ids))

    def of_steps(
        self,
        text: str,
        logits: Tensor,
        ids: Sequence[int],  # noqa: ARG002
        most: int,  # noqa: ARG002
    ) -> Float[Tensor, "step choice"]:
        """Those of each word's first piece."""
        _, starts = self.pieces(words_of(text))
        return logits[0, torch.from_numpy(starts).to(logits.device)]

    def question(self, example: Example) -> str:
        """The words, a space between them; a tab, where spaces would not give these words again."""
        assert isinstance(example, Tagged)
        text = " ".join(example.words)
        return text if words_of(text) == list(example.words) else "\t".join(("", *example.words))

    def judge(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """Accuracy a word; for span labels (B-, I-) also F1 a span; and whole sentences right."""
        guesses = [text.split() for text in predicted]
        truths = [text.split() for text in answers]
        metrics = [token_accuracy(guesses, truths), exact_match(predicted, answers)]
        if any(name.startswith("B-") for name in self.labels.names):
            metrics.insert(0, span_f1(guesses, truths))
        return metrics

    def compare(
        self,
        first: Sequence[str],
        second: Sequence[str],
        answers: Sequence[str],
        *,
        lowercase: bool = False,  # noqa: ARG002
        tokenize: str = "13a",  # noqa: ARG002
    ) -> list[Comparison]:
        """Word by word."""
        truth, *both = ([text.split() for text in texts] for texts in (answers, first, second))
        before, after = (token_accuracy(guess, truth) for guess in both)
        right = [
            [sum(map(str.__eq__, *pair)) for pair in zip(guess, truth, strict=True)]
            for guess in both
        ]
        return [paired_counts(before, after, *right)]
