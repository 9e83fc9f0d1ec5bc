"""The tree over a sentence, said as a row of brackets: `(S (NP XX XX ) (VP XX ) )` (Vinyals 2015; L95)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.attention import INPUTS, TARGET
from regard.data.example import Example, Parsed
from regard.decode.well_formed import Signs, WellFormed, forced_to_trees
from regard.errors import DataError, UsageError, nearest
from regard.evaluate import Metric
from regard.evaluate.brackets import bracket_scores
from regard.models import SOURCE, Decoder, Sizes
from regard.tasks.axis import Axis, Tokens, typed
from regard.tasks.task import Examples, Forced, Prediction, Progress, Row, Task, only
from regard.text import BEGIN, END, PAD, UNKNOWN, Codec, Labels, TextSettings
from regard.text.trees import CLOSE, WORD, Tree, grown, linear, read_tree, without_brackets

SPECIALS = {PAD: "<pad>", BEGIN: "<s>", END: "</s>", UNKNOWN: "<unk>"}
FIRST = max(SPECIALS) + 1  # the id of the first symbol that is none of these


@final
@dataclass(frozen=True, eq=False)
class Parse(Task):
    """Words in, symbols of a tree out; words stand between spaces, punctuation for itself: `the cat sat .`

    A bracket in a word is read and written as Penn does it, -LRB- or -RRB-: others would be a tree's own.
    """

    source: Codec
    symbols: Labels
    name = "parse"
    verb = "parse"
    method = "parse"
    hint = "A sentence, a space between its words: the cat sat ."
    reading = "(NP opens a phrase, XX is the next word, and ) closes the last phrase that is open."

    @classmethod
    def learn(
        cls, examples: Examples, settings: TextSettings, progress: Progress | None = None
    ) -> Parse:
        """A vocabulary of the words, and every symbol of the trees."""
        if settings.start != "begin":
            raise UsageError(
                "a tree is said from the begin sign on",
                where="text.start",
                remedy='leave text.start = "begin"',
            )
        source = Codec.train((e.asked for e in only(examples(), Parsed)), settings, progress)
        symbols = {WORD, CLOSE}
        for example in only(examples(), Parsed):
            symbols.update(linear(read_tree(example.tree)))
        return cls(source, Labels.train(symbols))

    def to_dict(self) -> dict[str, str]:
        """Two documents."""
        return {"source": self.source.to_json(), "symbols": self.symbols.to_json()}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Parse:
        """Two documents."""
        symbols = Labels.from_json(documents["symbols"], "tokenizer.json")
        return cls(Codec.from_json(documents["source"]), symbols)

    @property
    def sizes(self) -> Sizes:
        """Pieces in, symbols out."""
        return Sizes(self.source.size, FIRST + self.symbols.size, begin=BEGIN, end=END)

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """Pieces of the words, symbols of the tree; a label that training never showed is left unknown."""
        rows: list[Row] = []
        for example in only(iter(examples), Parsed):
            target = [self._id(symbol) for symbol in linear(read_tree(example.tree))]
            rows.append({"source": self.encode(example.asked), "target": _ended(target)})
        return rows

    def _id(self, symbol: str) -> int:
        try:
            return FIRST + self.symbols.encode(symbol)
        except DataError:
            return UNKNOWN

    def encode(self, text: str) -> np.ndarray:
        """Pieces and the end symbol; nothing for a text that says nothing."""
        words = without_brackets(text)
        return _ended(self.source.encode(words)) if words else _ended([])[:0]

    def constrained(self, decoder: Decoder[Any], texts: Sequence[str]) -> Decoder[Any]:
        """Only trees over the words of each text."""
        signs = self._signs(next(decoder.parameters(), torch.zeros(1)).device)
        return WellFormed(decoder, signs, [len(text.split()) for text in texts])

    def _signs(self, device: torch.device) -> Signs:
        opens = [False] * FIRST + [name.startswith("(") for name in self.symbols.names]
        word, close = self._id(WORD), self._id(CLOSE)
        return Signs(torch.tensor(opens, device=device), word, close, END)

    def write(self, ids: Sequence[int]) -> tuple[str, tuple[str, ...]]:
        """The symbols; `completed` writes the words into them."""
        names = tuple(map(self.symbol, ids))
        return " ".join(names), names

    def completed(self, text: str, answer: Prediction) -> Prediction:
        """The tree with its words, where it is whole; a length limit may have cut it off."""
        others = tuple((self._worded(text, said.split()), s) for said, s in answer.alternatives)
        return replace(answer, text=self._worded(text, answer.symbols), alternatives=others)

    def _worded(self, text: str, symbols: Sequence[str]) -> str:
        tree = grown(symbols, without_brackets(text).split())
        return " ".join(symbols) if tree is None else str(tree)

    def forced(self, text: str, answer: Prediction) -> Forced:
        """The words, the symbols of the tree, and what each step had read."""
        ids = [*answer.ids, *(() if answer.finish == "length" else (END,))]
        target = Tokens.whole(map(self.symbol, ids))
        axes: dict[str, Axis] = {
            SOURCE: typed(self.source, without_brackets(text), after=(END,)),
            TARGET: target,
            INPUTS: target.later(SPECIALS[BEGIN]),
        }
        return Forced({"source": self.encode(text), "target": np.array(ids, np.int32)}, axes, ids)

    def of_steps(
        self, text: str, logits: Tensor, ids: Sequence[int], most: int
    ) -> Float[Tensor, "step choice"]:
        """Without what no tree can continue with, as the search saw them."""
        words = torch.tensor([len(text.split())], device=logits.device)
        inputs = torch.tensor([[BEGIN, *ids[:-1]]], device=logits.device)
        return forced_to_trees(logits, inputs, self._signs(logits.device), words, most)[0]

    def symbol(self, number: int) -> str:
        """`(NP`, `XX`, `)`, or a special symbol."""
        return SPECIALS[number] if number < FIRST else self.symbols.decode(number - FIRST)

    @property
    def named(self) -> Mapping[str, int]:
        """The symbols of trees."""
        return {name: FIRST + number for number, name in enumerate(self.symbols.names)}

    def given(self, prefix: Sequence[int | str], places: int) -> list[int]:  # noqa: ARG002
        """Symbols by name or number."""
        ids = []
        for symbol in prefix:
            number = symbol if isinstance(symbol, int) else self.named.get(symbol, -1)
            if not FIRST <= number < FIRST + self.symbols.size and number != END:
                remedy = nearest(str(symbol), self.symbols.names)
                raise UsageError(f"no symbol {symbol!r} to begin with", "prefix", remedy)
            ids.append(number)
        return ids

    def judge(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """F1, precision and recall of labelled brackets, and whole trees."""
        return bracket_scores([_tree(text) for text in predicted], [read_tree(t) for t in answers])

    def share_right(self, predicted: Sequence[str], answers: Sequence[str]) -> Metric:
        """Whole trees."""
        return self.judge(predicted, answers)[3]


def _ended(ids: Sequence[int]) -> np.ndarray:
    return np.array([*ids, END], np.int32)


def _tree(text: str) -> Tree | None:
    try:
        return read_tree(text)
    except DataError:
        return None
