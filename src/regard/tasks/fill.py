"""Masked words: some are hidden, and the model says what they were (Devlin 2019; L101).

What it learns by that is of use elsewhere: `--start-from` gives its encoder to a tagger or a classifier.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.attention.attention import TARGET
from regard.data.example import Example, Line
from regard.decode import DecodeSettings
from regard.errors import UsageError
from regard.evaluate import Metric, exact_match
from regard.layers.block import is_sharded
from regard.models import SOURCE, Model, Sizes
from regard.models.encoder import Encoded, Padded, padding_of
from regard.models.readers import IGNORE
from regard.tasks.axis import Axis, Tokens, axis_of
from regard.tasks.batch import Batch, lengths_of, padded
from regard.tasks.tag import known
from regard.tasks.task import Examples, Forced, Prediction, Progress, Read, Row, Task, only
from regard.text import BEGIN, END, PAD, Codec, TextSettings

MASK = "<mask>"
SHARE = 0.15  # of the pieces of a line are asked for (Devlin 2019),
HIDDEN, WRONG = (
    0.8,
    0.1,
)  # of these so many are hidden and so many replaced by any piece; the rest stay
SHOWN = 5  # words told where one is hidden, the best among them
_SPACED = re.compile(rf"\s*{MASK}")


@final
@dataclass(frozen=True, eq=False)
class Fill(Task):
    """Every piece is read, and some are asked for. To the model it is tagging with pieces for tags."""

    source: Codec
    name = "fill"
    verb = "fill in masked words"
    method = "fill"
    sides = "source"
    searches = False

    @classmethod
    def learn(
        cls, examples: Examples, settings: TextSettings, progress: Progress | None = None
    ) -> Fill:
        """One vocabulary, with a symbol for what is hidden."""
        if MASK not in settings.symbols:
            settings = settings.model_copy(update={"symbols": (*settings.symbols, MASK)})
        return cls(Codec.train((e.text for e in only(examples(), Line)), settings, progress))

    def to_dict(self) -> dict[str, str]:
        """One document."""
        return {"source": self.source.to_json()}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Fill:
        """One document."""
        return cls(Codec.from_json(documents["source"]))

    @property
    def sizes(self) -> Sizes:
        """Pieces in, and pieces for labels."""
        return Sizes(source=self.source.size, labels=self.source.size)

    @property
    def is_framed(self) -> bool:
        """Whether a text stands between the begin and the end symbol, as BERT learned to read it."""
        return self.source.settings.kind == "wordpiece"

    def _read(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of texts, with what stands around them."""
        encoded = self.source.encode_batch(texts)
        return [[BEGIN, *ids, END] if self.is_framed and ids else ids for ids in encoded]

    @property
    def mask(self) -> int:
        """The id of what stands for a hidden piece."""
        (number,) = self.source.encode(MASK)
        return number

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """Every piece is its own target; which of them count, a batch decides."""
        texts = [line.text for line in only(iter(examples), Line)]
        pieces = [np.array(ids, np.int32) for ids in self._read(texts)]
        return [{"source": row, "target": row} for row in pieces]

    def collate(self, rows: Sequence[Row], source_length: int, target_length: int) -> Batch:  # noqa: ARG002
        """Lines with some pieces hidden, always the same: what held-out text is judged by."""
        sources = [row["source"] for row in rows]
        pieces = padded(sources, source_length, PAD)
        real = padded(sources, source_length, IGNORE) != IGNORE
        source, targets = self.hide(pieces, real, fixed_lots(pieces, real))
        lengths = lengths_of(sources, source_length)
        return Batch.of(source, lengths, None, targets, int((targets != IGNORE).sum()))

    def loss(self, model: Model, batch: Batch, smoothing: float = 0.0) -> Float[Tensor, ""]:
        """Cross-entropy of the pieces that are asked for; while learning, others each time.

        Only these are turned into logits: all others, six in seven, would be worked out for nothing.
        """
        batch = self.hidden_anew(batch) if model.training else batch
        if is_sharded(model):
            return super().loss(model, batch, smoothing)
        encoded, asked_for = model.encode(batch.sources), batch.targets != IGNORE
        some = Encoded(encoded.states[asked_for].unsqueeze(0))
        return model.reader.loss(model.reader(some), batch.targets[asked_for][None], smoothing)

    def loss_of_two(
        self, model: Model, batch: Batch, smoothing: float, agreement: float
    ) -> Float[Tensor, ""]:
        """Both passes are asked for the same pieces."""
        batch = self.hidden_anew(batch) if model.training else batch
        return super().loss_of_two(model, batch, smoothing, agreement)

    def hidden_anew(self, batch: Batch) -> Batch:
        """The same lines, and as many of their pieces asked for, drawn by chance."""
        pieces = batch.source.where(batch.targets == IGNORE, batch.targets)
        padding = padding_of(batch.source, batch.lengths)
        real = torch.ones_like(pieces, dtype=torch.bool)
        if padding is not None:
            real = ~padding.unseen(pieces.shape[1])
        lots = torch.rand((3, *pieces.shape), device=pieces.device)
        source, targets = self.hide(pieces, real, lots)
        return replace(batch, sources={SOURCE: Padded(source, batch.lengths)}, targets=targets)

    def hide(
        self,
        pieces: Int[Tensor, "batch source"],
        real: Bool[Tensor, "batch source"],
        lots: Float[Tensor, "3 batch source"],
    ) -> tuple[Int[Tensor, "batch source"], Int[Tensor, "batch source"]]:
        """What is read and what is asked for. Of what is asked for most is hidden, some is another piece.

        A line that hides something already is a question: it is read as it is.
        """
        order, fate, other = lots
        real = real & (pieces != BEGIN) & (pieces != END)
        chosen = asked(order, real) & (pieces != self.mask).all(1, keepdim=True)
        others = (other * self.source.size).long().clamp(max=self.source.size - 1)
        read = pieces.where(~(chosen & (fate < HIDDEN + WRONG)), others)
        read = read.masked_fill(chosen & (fate < HIDDEN), self.mask)
        return read, pieces.masked_fill(~chosen, IGNORE)

    def predict(
        self,
        model: Model,
        inputs: Sequence[str],
        settings: DecodeSettings,  # noqa: ARG002
        *,
        tokens: int = 4096,
        advance: Progress | None = None,
    ) -> list[Prediction]:
        """Each text with its masks filled in."""
        rows = [self.encode(text) for text in inputs]
        answers = [Prediction("")] * len(inputs)
        read = [number for number, row in enumerate(rows) if len(row)]
        for member, logits in known(model, [rows[number] for number in read], tokens, advance):
            row = rows[read[member]]
            hidden = np.flatnonzero(row == self.mask)
            answers[read[member]] = self._prediction(row, hidden, logits)
        return answers

    def _prediction(self, row: np.ndarray, hidden: np.ndarray, sure: Tensor) -> Prediction:
        sure = self._sayable(sure[torch.from_numpy(hidden)]).log_softmax(-1)
        best, ids = sure.max(-1)
        others: tuple[tuple[str, float], ...] = ()
        if len(hidden) == 1:
            values, pieces = sure[0].topk(min(SHOWN, len(sure[0])))
            texts = [self._filled(row, hidden, [number]) for number in pieces.tolist()]
            others = tuple(zip(texts, values.tolist(), strict=True))
        return Prediction(
            self._filled(row, hidden, ids.tolist()),
            sum(best.tolist()),
            tuple(map(self.source.piece, ids.tolist())),
            tuple(ids.tolist()),
            tuple(best.tolist()),
            alternatives=others,
        )

    def _sayable(self, steps: Float[Tensor, "step choice"]) -> Float[Tensor, "step choice"]:
        """Without what is no piece of a text: padding, begin and end, and the mask itself."""
        never = torch.tensor([PAD, BEGIN, END, self.mask], device=steps.device)
        return steps.index_fill(1, never, -torch.inf)

    def _filled(self, row: np.ndarray, hidden: np.ndarray, ids: Sequence[int]) -> str:
        filled = row.copy()
        filled[hidden] = ids
        return self.source.decode(filled.tolist())

    def encode(self, text: str) -> np.ndarray:
        """Its pieces, at least one of which is hidden, where there are any."""
        ids = self._pieces(text)
        if len(ids) and self.mask not in ids:
            raise UsageError(
                f"this text hides no word: {text[:60]!r}",
                where="text",
                remedy=f'write {MASK} for a word, as in "The {MASK} ate the mouse."',
            )
        return ids

    def _pieces(self, text: str) -> np.ndarray:
        # A piece brings the space before it, and so does what stands for one.
        return np.array(self._read([_SPACED.sub(MASK, text)])[0], np.int32)

    def only_read(self, text: str) -> tuple[Read, Axis]:
        """A text need not hide a word to be read."""
        ids = self._pieces(text)
        return ids, axis_of(self.source, ids.tolist())

    def forced(self, text: str, answer: Prediction) -> Forced:
        """The pieces of the text, and what stands behind its masks."""
        ids = self.encode(text)
        axes: dict[str, Axis] = {
            SOURCE: axis_of(self.source, ids.tolist()),
            TARGET: Tokens.whole(answer.symbols),
        }
        return Forced({"source": ids, "target": ids}, axes, list(answer.ids))

    def places(self, model: Model, forced: Forced) -> Sequence[int]:  # noqa: ARG002
        """The masks."""
        return np.flatnonzero(forced.row["source"] == self.mask).tolist()

    def symbol(self, number: int) -> str:
        """A piece of the vocabulary."""
        return self.source.piece(number)

    def of_steps(
        self,
        text: str,
        logits: Tensor,
        ids: Sequence[int],  # noqa: ARG002
        most: int,  # noqa: ARG002
    ) -> Float[Tensor, "step choice"]:
        """Those of the masks."""
        hidden = np.flatnonzero(self.encode(text) == self.mask)
        return self._sayable(logits[0, torch.from_numpy(hidden).to(logits.device)])

    def question(self, example: Example) -> str:
        """The line with one piece hidden, the one nearest to its middle that is a whole word."""
        assert isinstance(example, Line)
        words = example.text.split(" ")
        middle = sorted(range(len(words)), key=lambda number: abs(2 * number + 1 - len(words)))
        whole = [n for n in middle if words[n] and len(self.source.encode(words[n])) == 1]
        if not whole:
            return f"{example.text} {MASK}"
        words[whole[0]] = MASK
        return " ".join(words)

    def answer(self, example: Example) -> str:
        """The line, as its pieces write it."""
        assert isinstance(example, Line)
        return self.source.decode(self.source.encode(example.text))

    def judge(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """How often a hidden word was found."""
        return [exact_match(predicted, answers)]


def asked(
    order: Float[Tensor, "batch source"], real: Bool[Tensor, "batch source"]
) -> Bool[Tensor, "batch source"]:
    """The pieces that come first in a drawn order: a share of each line, and one at least.

    How many they are depends on the line alone, so that a step knows its number of targets before it draws.
    """
    places = torch.arange(order.shape[1], device=order.device).expand_as(order)
    first = order.masked_fill(~real, 2.0).argsort(dim=1, stable=True)
    rank = torch.empty_like(first).scatter_(1, first, places)
    lengths = real.sum(1, keepdim=True)
    return real & (rank < (lengths * SHARE).round().clamp(min=1))


def fixed_lots(
    pieces: Int[Tensor, "batch source"], real: Bool[Tensor, "batch source"]
) -> Float[Tensor, "3 batch source"]:
    """Three numbers from 0 to 1 a piece that look drawn, and are the same for the same line, alone or not."""
    places = torch.arange(pieces.shape[1], device=pieces.device)
    line = pieces.masked_fill(~real, 0)
    key = line * 40503 + places * 30011 + (line * (places + 1)).sum(1, keepdim=True)
    return torch.stack([_hashed(key + salt) for salt in (1, 7919, 104729)])


def _hashed(key: Int[Tensor, "batch source"]) -> Float[Tensor, "batch source"]:
    """By a linear congruential generator, its high bits folded over the low ones, twice."""
    for _ in range(2):
        key = (key * 1103515245 + 12345) % (1 << 31)
        key = key ^ (key >> 13)
    return (key % (1 << 20)).float() / (1 << 20)
