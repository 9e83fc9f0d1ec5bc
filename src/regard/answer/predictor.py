"""A trained model that answers: text in, answers out, in order, whatever stands beside a text in a batch."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import torch

from regard.answer.capacity import Room, cut
from regard.answer.engine import Choice, Engine, Forms, Note, Precision
from regard.answer.passage import Doubts, Part, Passages, doubtful
from regard.box.card import Card
from regard.box.card import read as read_card
from regard.decode import DecodeSettings
from regard.errors import DataError, UsageError
from regard.models import Model, count_parameters
from regard.question import Asked
from regard.run.device import choose_device
from regard.run.find import folder_of
from regard.run.folder import Run
from regard.settings.decode import changed
from regard.tasks import Prediction, Task
from regard.tasks.task import Progress
from regard.tasks.verbs import Texts, Verbs
from regard.text.languages import chosen

if TYPE_CHECKING:
    from regard.traces.trace import Trace

BATCH_TOKENS = 4096
EMPTY = Prediction("")


@final
class Predictor(Verbs):
    """What `regard.load` gives. One text in gives one answer; a list of texts gives a list of answers.

    An answer depends on its text alone, whatever else is in the batch: with `strict`, to the last bit of its
    score, by one thread on a CPU. `note` hears of anything done otherwise than asked; else Python warns.
    """

    def __init__(
        self,
        run: Run,
        model: Model | Forms,
        *,
        precision: Precision = "float32",
        batch_tokens: int = BATCH_TOKENS,
        strict: bool = False,
        note: Note | None = None,
        card: Card | None = None,
    ) -> None:
        self.run, self.card = run, card
        self.forms = model if isinstance(model, Forms) else Forms(model)
        self.room = Room.of(run.settings.model)
        self.engine = Engine(run.task, self.forms, precision, batch_tokens, strict, note or _warn)

    @classmethod
    def load(
        cls,
        path: str | Path,
        device: str = "auto",
        *,
        precision: Precision = "float32",
        weights: Choice = "stored",
        batch_tokens: int = BATCH_TOKENS,
        strict: bool = False,
        note: Note | None = None,
        looking: bool = False,
    ) -> Predictor:
        """The model of a run folder, or of one packed into a zip archive.

        On a CPU `weights` may be int8: a quarter of the memory, several times the speed, and answers that
        differ now and then. `looking` says that the model will be watched: what can be watched is then made
        from the same reading of the file, and not when it is first asked for.
        """
        path, place = Path(path), choose_device(device)
        with folder_of(path) as folder:
            run = Run.open(folder)
            # An archive lies unpacked for a moment only; a folder, or a model of the box, is there to stay.
            forms = Forms.load(run, place, weights, plain=looking or path.is_file())
            card = read_card(folder)
        return cls(
            run,
            forms,
            precision=precision,
            batch_tokens=batch_tokens,
            strict=strict,
            note=note,
            card=card,
        )

    @property
    def task(self) -> str:
        """What the model was trained to do."""
        return self.run.task.name

    @property
    def example(self) -> str:
        """A question of its own: its card's, or the first that training held out."""
        if self.card is not None:
            return self.card.question(self.run.folder)
        return self.run.probes()[0][0]

    @property
    def learned(self) -> Task:
        """The same, with its vocabularies."""
        return self.run.task

    @property
    def decode(self) -> DecodeSettings:
        """How it answers by default."""
        return self.run.settings.decode

    @property
    def where(self) -> str:
        """Its folder."""
        return str(self.run.folder)

    @property
    def model(self) -> Model:
        """The model itself, to look into, or to change: then it answers as changed."""
        return self.forms.plain

    @property
    def device(self) -> torch.device:
        """Where it works."""
        return self.forms.device

    @property
    def limit(self) -> int | None:
        """The most symbols of a text that the model can read, if there is an end to it."""
        return self.room.read if self.run.task.sides != "target" else self.room.prompt()

    @cached_property
    def passages(self) -> Passages | None:
        """How running text is read, by a model that translates sentences."""
        task, settings = self.run.task, self.run.settings
        if task.prose is None:
            return None
        learned = settings.batch.max_length * 3 // 4
        return Passages(task.prose, max(4, min(learned, self.room.read or learned)))

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that it can be asked to translate into; none, where it knows only one."""
        return self.passages.languages if self.passages else ()

    def __call__(self, texts: str | Texts, *, to: str | None = None) -> Any:
        """`model(text)` is what the model was trained to do: `model.translate(text)`, `model.tag(text)`."""
        answer = getattr(self, self.run.task.method)
        return answer(texts) if to is None else answer(texts, to=to)

    def __repr__(self) -> str:
        return f"Predictor({self.task}, {count_parameters(self.model):,} parameters, {self.device})"

    def predict(
        self,
        texts: Asked,
        *,
        beam: int | None = None,
        top_beams: int | None = None,
        max_length: int | None = None,
        decode: DecodeSettings | None = None,
        truncate: bool = False,
        to: str | None = None,
        split: bool = False,
        numbers: Sequence[int] | None = None,
        advance: Progress | None = None,
    ) -> list[Prediction]:
        """Answers with their scores, whatever the task; settings not named are the run's own.

        A question is a text, or a `Question`: sources by name, as a mapping has them. A model of pictures,
        sounds or items takes what its verb takes, too: a path, an array, a list.

        Without `to` and `split` each text is read as it stands, a tag before it and all. `top_beams` asks for
        so many alternatives. A drawn answer is a function of the seed, its text, and the
        number of its text among all (0, 1, 2, .. if not given). `advance` hears how many texts are done: of
        texts that are `split`, or translated `to` a language, how many sentences.
        """
        changes = {"beam": beam, "top_beams": top_beams, "max_length": max_length}
        settings = changed(decode or self.run.settings.decode, changes)
        questions = self.learned.all_asked(texts)
        numbers = range(len(questions)) if numbers is None else numbers
        if len(numbers) != len(questions):
            what = f"there are {len(numbers):,} numbers for {len(questions):,} texts"
            raise UsageError(what, "numbers", "give one number a text, or leave them out")
        if to is None and not split:
            cut = [self.learned.cut(one, self.run.settings.batch.max_length) for one in questions]
            read = self.fitting([part for parts in cut for part in parts], truncate=truncate)
            if len(read) == len(cut):
                return self._answers(read, settings, numbers, advance)
            answers = iter(self._answers(read, settings, range(len(read)), None))
            if advance is not None:
                advance(len(cut))
            return [self.learned.joined([next(answers) for _ in parts]) for parts in cut]
        return self._sentences().answer(
            questions, numbers, to, lambda some, own: self._answers(some, settings, own, advance)
        )

    def worded(self, answer: Prediction) -> Prediction:
        """What a person is told of an answer, by the run's own settings: perhaps that it is unsure."""
        return self.learned.worded(answer, self.run.settings.decode)

    def _answers(
        self,
        read: Sequence[str],
        settings: DecodeSettings,
        numbers: Sequence[int],
        advance: Progress | None,
    ) -> list[Prediction]:
        """Answers to texts that the model can read."""
        places = [n for n, text in enumerate(read) if text.strip() or self.run.task.reads_nothing]
        if advance is not None and len(places) < len(read):
            advance(len(read) - len(places))
        drawn = settings.sample and self.run.task.searches
        shares: dict[DecodeSettings, list[int]] = {}
        for place in places:
            own = self.room.bounded(settings, self.run.task, read[place])
            shares.setdefault(own, []).append(place)
        predictions = [EMPTY] * len(read)
        for own, share in shares.items():
            chosen = [read[place] for place in share]
            if drawn:
                answers = self.engine.draw(chosen, own, [numbers[n] for n in share], advance)
            else:
                answers = self.engine.answer(chosen, own, advance)
            for place, answer in zip(share, answers, strict=True):
                predictions[place] = answer
        return predictions

    def look(
        self,
        text: Asked,
        *,
        to: str | None = None,
        beam: int | None = None,
        max_length: int | None = None,
        truncate: bool = False,
    ) -> Trace:
        """The answer to one text, read as a whole, and where the model looked for it.

        Of a model that knows several languages, `to` says into which.
        """
        from regard.answer.tracing import trace

        return trace(self, text, beam=beam, max_length=max_length, truncate=truncate, to=to)

    def whole(self, text: str, to: str | None) -> Part | None:
        """A text as one thing to read, for a model that knows several languages; others read it as it is."""
        if to is not None:
            self._sentences()
        return None if self.passages is None else self.passages.whole(text, to)

    def _sentences(self) -> Passages:
        """How running text is read; an error where the model reads none."""
        if self.passages is not None:
            return self.passages
        raise UsageError(
            f"this model was trained to {self.learned.verb}: it reads a text as a whole, and answers "
            "in no language of choice",
            where=self.where,
            remedy="leave out `to` and `split`",
        )

    def doubts(
        self, to: str | None = None, noun: str = "text", *, is_spoken_named: bool = False
    ) -> Doubts:
        """Collects why answers may be wrong: a question unlike all that was learned, a number lost."""
        reads = self.card.languages if self.card is not None else ()

        def why(text: str, answer: str) -> str | None:
            if self.languages:
                return doubtful(text, answer, to, reads, is_spoken_named=is_spoken_named)
            return self.learned.unlike(text, reads)

        return Doubts(why, noun)

    def noted(
        self, texts: Sequence[str], answers: list[Prediction], to: str | None = None
    ) -> list[Prediction]:
        """Note where an answer may be wrong: a strange language, a lost number, numbers never learned."""
        doubts = self.doubts(None if to is None else chosen(to, self.languages))
        for number, (text, answer) in enumerate(zip(texts, answers, strict=True), start=1):
            doubts.add(number, text, answer.text)
        for told in doubts.told():
            self.engine.note(told)
        return answers

    def fitting(self, texts: Sequence[str], *, truncate: bool = False) -> list[str]:
        """The texts, when the model can read all of each; longer ones are refused, or cut and noted (D6)."""
        read, task, most = list(texts), self.run.task, self.limit
        if most is None:
            return read
        lengths = [task.count(text) for text in texts]
        long = [place for place, length in enumerate(lengths) if length > most]
        if long and (not truncate or len(task.sources) > 1):
            raise DataError(
                f"a text has {lengths[long[0]]:,} symbols, and this model reads at most {most:,}",
                where=f"text {long[0] + 1:,}",
                remedy="shorten it, or let its end be cut off: truncate=True",
            )
        for place in long:
            read[place] = cut(texts[place], lambda part: task.count(part) <= most)
        if long:
            self.engine.note(
                f"{len(long):,} of {len(read):,} texts were cut: "
                f"they had up to {max(lengths):,} symbols, and this model reads {most:,}"
            )
        return read


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=2)
