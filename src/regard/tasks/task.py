"""What is learned: how examples become ids, what a loss is, how to predict, and how to judge."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, final, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import Room
from regard.data.columns import ColumnKind, Frames, Ids, Ragged
from regard.data.example import Example
from regard.data.image import PictureSettings
from regard.data.sound import SoundSettings
from regard.decode import DecodeSettings
from regard.errors import DataError, UsageError
from regard.evaluate import Comparison, Metric, exact_match
from regard.evaluate.comparison import paired_counts
from regard.layers.block import is_sharded
from regard.models import SOURCE, Decoder, Model, Sizes, TokenDecoder
from regard.models.readers import IGNORE, disagreement
from regard.question import Question, listed, named_files, single
from regard.tasks.axis import Axis
from regard.tasks.batch import Batch, padded, shifted, side_by_side
from regard.tasks.names import PACKS
from regard.text import END, Codec, Labels, TextSettings

if TYPE_CHECKING:
    from regard.tasks.objective import Term

TEXT = '"..."'  # a question that is a text, as a person types it

Examples = Callable[[], Iterator[Example]]
Progress = Callable[[int], None]
Row = Mapping[str, np.ndarray]
Read = np.ndarray | Row
Write = Callable[[Sequence[int]], tuple[str, tuple[str, ...]]]
Name = Callable[[int], str]
Joined = Mapping[
    str, tuple[np.ndarray, np.ndarray]
]  # values end to end, and the length of each row


@final
@dataclass(frozen=True)
class Prediction:
    """One answer: as text, as symbols with their log-probabilities, and the runners-up."""

    text: str
    score: float = 0.0
    symbols: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    log_probabilities: tuple[float, ...] = ()
    finish: str = "end"
    alternatives: tuple[tuple[str, float], ...] = ()
    parts: tuple[Prediction, ...] = ()  # of running text, the answer to each sentence
    words: tuple[str, ...] = ()  # of the question, where each symbol belongs to one

    @property
    def beside(self) -> str:
        """Each symbol beside the word it belongs to, `I/PRON saw/VERB`; without words, the text."""
        pairs = zip(self.words, self.symbols, strict=False)
        return " ".join(f"{word}/{symbol}" for word, symbol in pairs) or self.text

    def as_dict(self) -> dict[str, Any]:
        """For JSON, where numbers that are not finite become null."""
        return {
            "text": self.text,
            "score": _finite(self.score),
            "symbols": list(self.symbols),
            "log_probabilities": [_finite(value) for value in self.log_probabilities],
            "finish": self.finish,
            "alternatives": [{"text": text, "score": _finite(s)} for text, s in self.alternatives],
            **({"words": list(self.words)} if self.words else {}),
        }


@final
@dataclass(frozen=True, eq=False)
class Forced:
    """What makes a model say an answer once more: the row to read, and what stands along its axes."""

    row: dict[str, np.ndarray]
    axes: dict[str, Axis]
    ids: list[int]  # what the steps said, the end included


@runtime_checkable
class Reads(Protocol):
    """How each kind of source is read: the settings of a run are such a value."""

    @property
    def text(self) -> TextSettings:
        """How text is cut."""

    @property
    def picture(self) -> PictureSettings:
        """How pictures become columns of pixels."""

    @property
    def sound(self) -> SoundSettings:
        """How sounds become frames."""


class Task(ABC):
    """One kind of learning. It holds the vocabularies, and so is the only place where text becomes ids.

    A row of the stored corpus has a `source` and a `target`; `features` is 0 when the source is ids, or the
    width of its frames.
    """

    name: ClassVar[str]
    sides: ClassVar[Literal["both", "source", "target"]] = "both"  # which have lengths of their own
    sources: ClassVar[tuple[str, ...]] = (SOURCE,)  # what it reads, by name
    features: int = 0
    verb: ClassVar[str]  # what a model of it was trained to do
    method: ClassVar[str]  # how that is called in Python
    searches: ClassVar[bool] = True  # whether an answer is searched for symbol by symbol
    reads_nothing: ClassVar[bool] = False  # whether an empty text is a question, too
    end: ClassVar[int] = END  # the symbol that ends an answer
    decided_by: ClassVar[Literal["answers", "perplexity"]] = (
        "answers"  # which model is the better one
    )
    hint: ClassVar[str] = "Type a text"  # what a person is asked to give
    accepts: ClassVar[str] = ""  # the kind of file that may be given instead: `image/*`
    reading: ClassVar[str] = ""  # how the symbols of an answer are read, where that is not plain
    counted_in: ClassVar[str] = "symbols read"  # how long a question is
    chunk: ClassVar[int] = 2_000  # examples that are encoded at once
    writes_text: ClassVar[bool] = False  # whether scores may lower-case and tokenise its answers
    continues: ClassVar[bool] = False  # whether an answer begins with the question

    @property
    def typed(self) -> str:
        """A question as a person types it, with dots for what is asked: a text, or a file."""
        return "FILE" if self.accepts else TEXT

    @property
    def packs(self) -> bool:
        """Whether rows may lie end to end."""
        return self.name in PACKS

    @classmethod
    def learn(
        cls,
        examples: Examples,  # noqa: ARG003
        settings: TextSettings,  # noqa: ARG003
        progress: Progress | None = None,  # noqa: ARG003
    ) -> Task:
        """Learn the vocabularies from one pass, or a few, over the training examples; some have none."""
        return cls()

    @classmethod
    def learn_from(
        cls, examples: Examples, settings: Reads, progress: Progress | None = None
    ) -> Task:
        """The same with the settings of every kind of source; most tasks read text alone."""
        return cls.learn(examples, settings.text, progress)

    @classmethod
    def trial_sizes(cls, *, shared: bool) -> Sizes | None:
        """Sizes to try with whether a model of these settings can be built, before any data is read."""
        return Sizes(source=7, target=7, labels=3, shared=shared)

    def to_dict(self) -> dict[str, str]:
        """The vocabularies, each as its JSON document."""
        return {}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Task:  # noqa: ARG003
        """The task that `to_dict` described."""
        return cls()

    @property
    @abstractmethod
    def sizes(self) -> Sizes:
        """What the data decides about the model."""

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """What a stored row has: a column a source, and the target."""
        sizes, features = self.sizes.sources, self.features
        widths = {name: sizes[name].features if sizes else features for name in self.sources}
        sources = {name: Frames(width) if width else Ids() for name, width in widths.items()}
        return {**sources, "target": Ids()}

    @abstractmethod
    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """Examples as ids, ready to be stored."""

    def block(self, examples: Sequence[Example]) -> Mapping[str, Ragged]:
        """The same, column by column, all rows end to end."""
        rows = self.rows(examples)
        return {name: Ragged.of([row[name] for row in rows]) for name in self.columns}

    def collate(self, rows: Sequence[Row], source_length: int, target_length: int) -> Batch:
        """Stored rows as one batch of this padded shape; inputs are the targets one step late."""
        sources = {
            name: side_by_side([row[name] for row in rows], source_length) for name in self.sources
        }
        targets = [row["target"] for row in rows]
        return Batch(
            sources,
            shifted(targets, target_length, self.sizes.begin),
            padded(targets, target_length, IGNORE),
            sum(map(len, targets)),
        )

    def pack(self, rows: Joined, sizes: tuple[int, int], room: Room, longest: int) -> Batch:
        """Stored rows end to end in one row of these two sizes; none is longer than `longest`."""
        raise NotImplementedError(f"{self.name} rows are not packed")

    def logits(self, model: Model, batch: Batch) -> Tensor:
        """What the model says about each target."""
        if batch.packing is not None and isinstance(model.reader, TokenDecoder):
            assert batch.inputs is not None
            states = model.hidden(batch.sources, None, batch.inputs, batch.packing)
            return model.reader.output(states)
        return model(batch.sources, None, batch.inputs)

    def loss(self, model: Model, batch: Batch, smoothing: float = 0.0) -> Float[Tensor, ""]:
        """The reader's own loss, summed over the targets that count."""
        reader = model.reader
        whole = not is_sharded(model)
        if isinstance(reader, TokenDecoder) and batch.inputs is not None and whole:
            states = model.hidden(batch.sources, None, batch.inputs, batch.packing)
            return reader.loss_of_states(states, batch.targets, smoothing)
        return reader.loss(self.logits(model, batch), batch.targets, smoothing)

    def loss_of_two(
        self, model: Model, batch: Batch, smoothing: float, agreement: float
    ) -> Float[Tensor, ""]:
        """Two passes, which dropout makes differ: both should be right, and both should agree (Liang 2021).

        The mean of their losses, and `agreement` / 4 times how far they are apart in both directions.
        """
        one, other = self.logits(model, batch), self.logits(model, batch)
        losses = [model.reader.loss(logits, batch.targets, smoothing) for logits in (one, other)]
        return sum(losses) / 2 + agreement / 4 * disagreement(one, other, batch.targets)

    def terms(self) -> Sequence[Term]:
        """Terms of the objective that this task itself brings; most bring none."""
        return ()

    def predict(
        self,
        model: Model,
        inputs: Sequence[str],
        settings: DecodeSettings,
        *,
        tokens: int = 4096,
        advance: Progress | None = None,
    ) -> list[Prediction]:
        """One prediction for each input, in order: what a search finds. `advance` hears how many are done.

        Nothing in gives nothing out, unless the task reads nothing.
        """
        from regard.tasks.search import EMPTY, generate, length_of

        read = list(map(self.encode, inputs))
        places = [n for n, source in enumerate(read) if length_of(source) or self.reads_nothing]
        prompts = [self.prompt(inputs[n]) for n in places]
        answers = generate(
            model,
            [read[n] for n in places],
            settings,
            [self.writer(inputs[n]) for n in places],
            tokens=tokens,
            advance=advance,
            prefixes=prompts if any(prompts) else None,
            constrain=lambda decoder, rows: self.constrained(
                decoder, [inputs[places[row]] for row in rows]
            ),
        )
        predictions = [EMPTY] * len(inputs)
        for place, answer in zip(places, answers, strict=True):
            predictions[place] = self.completed(inputs[place], answer)
        return predictions

    def constrained(self, decoder: Decoder[Any], texts: Sequence[str]) -> Decoder[Any]:  # noqa: ARG002
        """What a search drives: the decoder, kept to what can answer these questions, one a row."""
        return decoder

    def completed(self, text: str, answer: Prediction) -> Prediction:  # noqa: ARG002
        """An answer that was found, with what only its question can say."""
        return answer

    def ask(self, text: str) -> Question:
        """A question by its sources; of several, the text is a JSON object."""
        return Question.read(text, self.sources)

    def check_labels(self, examples: Sequence[Example], where: str) -> str:  # noqa: ARG002
        """What is doubtful about the labels of a test; nothing, where answers are no labels."""
        return ""

    def unlike(self, text: str, reads: Sequence[str]) -> str | None:  # noqa: ARG002
        """Why an answer would be a guess: how a question is unlike all that was learned, where that is known.

        `reads` has the languages of the questions that it learned from, if somebody wrote them down.
        """
        return None

    def files(self, text: str) -> tuple[str, ...]:
        """The files of this machine that a question names; a picture or a sound that is sent names none."""
        if self.sources == (SOURCE,):
            return ()
        return named_files(self.ask(text).sources.values())

    def checked(self, text: str) -> str:
        """The same; a question of other sources than this task reads is refused."""
        return self.ask(text) if isinstance(text, Question) else text

    def one_asked(self, question: Any) -> str:
        """One question, given in Python: a text, or sources by name; tasks of files take what holds one."""
        return self.checked(single(question))

    def all_asked(self, questions: Any) -> list[str]:
        """One question or several, given in Python."""
        return [self.checked(one) for one in listed(questions)]

    def cut(self, text: str, most: int) -> list[str]:  # noqa: ARG002
        """A text that is longer than any that was learned from, as several; most tasks read it as a whole."""
        return [text]

    def joined(self, answers: Sequence[Prediction]) -> Prediction:
        """The answer to a text from those to what it was cut into."""
        (answer,) = answers
        return answer

    @abstractmethod
    def encode(self, text: str) -> Read:
        """A question as the model reads it; of several sources, each by its name."""

    def count(self, text: str) -> int:
        """How many symbols the model reads of a question; of several sources, of the longest."""
        read = self.encode(text)
        return max(map(len, read.values())) if isinstance(read, Mapping) else len(read)

    def prompt(self, text: str) -> list[int]:  # noqa: ARG002
        """The symbols of an answer that its question gives; only a text that is continued gives some."""
        return []

    def write(self, ids: Sequence[int]) -> tuple[str, tuple[str, ...]]:
        """What a search found, as text, and the name of each symbol."""
        names = tuple(map(self.symbol, ids))
        return " ".join(names), names

    def writer(self, text: str) -> Write:  # noqa: ARG002
        """`write` for the answers to one question, some of whose symbols may be its own words."""
        return self.write

    def namer(self, text: str) -> Name:  # noqa: ARG002
        """`symbol` for the answers to one question."""
        return self.symbol

    @abstractmethod
    def forced(self, text: str, answer: Prediction) -> Forced:
        """What makes the model give this answer to this question once more, under `watch`."""

    def worded(self, answer: Prediction, settings: DecodeSettings) -> Prediction:  # noqa: ARG002
        """What a person is told of an answer: itself, unless a task has a word for being unsure."""
        return answer

    def only_read(self, text: str) -> tuple[Read, Axis]:
        """A text as the model reads it, nothing being asked: its symbols, and the axis they lie along."""
        forced = self.forced(text, Prediction(""))
        return self.encode(text), forced.axes[SOURCE]

    def told(self, text: str, answer: str) -> Prediction | None:  # noqa: ARG002
        """An answer that somebody wrote, to be forced; None where the model can only be asked."""
        return None

    def sayable(self, model: Model, answer: Prediction) -> Prediction:  # noqa: ARG002
        """An answer that somebody wrote, in symbols that this model can say."""
        return answer

    @abstractmethod
    def symbol(self, number: int) -> str:
        """The name of what a step can say."""

    @property
    def named(self) -> Mapping[str, int]:
        """Every symbol by its name; none where symbols have no names of their own."""
        return {}

    @property
    def prose(self) -> Codec | None:
        """The vocabulary of questions that are running text, and may be read sentence by sentence."""
        return None

    def pieces_of(self, row: Row) -> dict[str, tuple[str, ...]]:  # noqa: ARG002
        """How each side of a row that is text was cut into pieces."""
        return {}

    def given(self, prefix: Sequence[int | str], places: int) -> list[int]:  # noqa: ARG002
        """The first symbols of an answer as ids, checked; each is an id, the name of a symbol, or a word."""
        if prefix:
            raise UsageError(
                f"the {self.name} task says nothing step by step",
                where="prefix",
                remedy="leave the prefix out",
            )
        return []

    def of_steps(
        self,
        text: str,  # noqa: ARG002
        logits: Tensor,
        ids: Sequence[int],  # noqa: ARG002
        most: int,  # noqa: ARG002
    ) -> Float[Tensor, "step choice"]:
        """The logits that each step was said from; an answer might have had `most` symbols."""
        return logits[0]

    def places(self, model: Model, forced: Forced) -> Sequence[int]:  # noqa: ARG002
        """Where in the source the state stands that each step was said from; none if it is not there."""
        return ()

    def question(self, example: Example) -> str:
        """The input of an example, as `predict` takes it."""
        return example.asked

    def answer(self, example: Example) -> str:
        """The right answer of an example, as `predict` would write it."""
        return example.answer

    @abstractmethod
    def judge(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """How good predictions are; the first metric is the one that decides."""

    def report(
        self,
        predicted: Sequence[str],
        answers: Sequence[str],
        *,
        lowercase: bool = False,  # noqa: ARG002
        tokenize: str = "13a",  # noqa: ARG002
    ) -> list[Metric]:
        """All that a test says about answers; some tasks name typical faults beside their metrics."""
        return self.judge(predicted, answers)

    def beside(
        self,
        questions: Sequence[str],  # noqa: ARG002
        predicted: Sequence[str],  # noqa: ARG002
        answers: Sequence[str],  # noqa: ARG002
    ) -> list[Metric]:
        """What can be measured of answers only beside their questions, such as the length of a tour."""
        return []

    def by_size(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """What says best how questions of one length fare; the first measure is the one a curve draws."""
        return self.judge(predicted, answers)

    def kept_words(self, question: str, answer: str) -> list[tuple[int, int]]:  # noqa: ARG002
        """Words of the right answer that are words of the question, each by its two places, from 0."""
        return []

    def compare(
        self,
        first: Sequence[str],
        second: Sequence[str],
        answers: Sequence[str],
        *,
        lowercase: bool = False,  # noqa: ARG002
        tokenize: str = "13a",  # noqa: ARG002
    ) -> list[Comparison]:
        """Whether the second model's answers are better than the first's, or only luckier."""
        return [compared(self.share_right, first, second, answers)]

    def share_right(self, predicted: Sequence[str], answers: Sequence[str]) -> Metric:
        """The share of answers that are right, by which two models are compared."""
        return exact_match(predicted, answers)


def compared(
    measure: Callable[[Sequence[str], Sequence[str]], Metric],
    first: Sequence[str],
    second: Sequence[str],
    answers: Sequence[str],
) -> Comparison:
    """Two models by how many of their answers are right."""
    both = (first, second)
    right = [[int(a == b) for a, b in zip(guess, answers, strict=True)] for guess in both]
    before, after = (measure(guess, answers) for guess in both)
    return paired_counts(before, after, *right)


def only(examples: Iterator[Example], kind: type) -> Iterator[Any]:
    """The examples, when they are of the kind this task learns from."""
    for example in examples:
        if not isinstance(example, kind):
            raise DataError(
                f"this task learns from {kind.__name__} examples, and was given "
                f"{type(example).__name__}",
                remedy="name the task that fits the data (task)",
                where="task",
            )
        yield example


def label_id(labels: Labels, name: str) -> int:
    """The id of a label. One that training never showed cannot be learned: the loss leaves it out."""
    try:
        return labels.encode(name)
    except DataError:
        return IGNORE


def device_of(model: Model) -> torch.device:
    """Where the model lives."""
    return next(model.parameters()).device


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
