"""How questions become predictions: by which form of the model, in which precision, within memory."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Literal, final, get_args

import torch

from regard.accelerate.cpu import LeanWeights, lean, multiplies_whole
from regard.attention import Attention, Heads
from regard.decode import DecodeSettings
from regard.errors import MemoryLimitError, UsageError
from regard.models import Model
from regard.run import weights
from regard.run.device import is_out_of_memory, need_bfloat16
from regard.run.folder import Run
from regard.run.load import filled, outline
from regard.seams import is_reference
from regard.tasks import Prediction, Task
from regard.tasks.batch import ALONE, ROWS
from regard.tasks.search import Found, Symbols, find
from regard.tasks.task import Progress

Choice = Literal["stored", "float32", "int8"]


@final
class Forms:
    """A model and its lean form; `weights` is what the lean one multiplies."""

    def __init__(
        self,
        plain: Model | Callable[[], Model],
        weights: LeanWeights = "float32",
        made: Model | None = None,
    ) -> None:
        self.weights, self._made, self._tried = weights, made, made is not None
        self._plain = plain if isinstance(plain, Model) else None
        self._load = None if isinstance(plain, Model) else plain
        self._stamp = None if self._plain is None else _stamp(self._plain)

    @classmethod
    def load(cls, run: Run, device: torch.device, choice: Choice, *, plain: bool) -> Forms:
        """The forms of a run: int8 weights become lean at once, without a float of them in between.

        If `plain`, the model that can be watched comes from the same reading of the file; else it is read
        when somebody asks for it.
        """
        path = run.weights_file
        if _chosen(path, choice, device) == "float32":
            return cls(run.load_model(device))
        model, state = outline(path, run.settings.model, run.task.sizes, promised=plain)
        watchable = filled(model, state, path) if plain else None
        made = lean(model, "int8", state)
        if watchable is None and made is None:
            watchable = run.load_model(device)
        return cls(watchable or partial(run.load_model, device), "int8", made)

    @property
    def plain(self) -> Model:
        """The model that can be watched."""
        if self._plain is None:
            assert self._load is not None
            with torch.inference_mode(False):  # its tensors must count their versions
                self._plain = self._load()
            self._stamp = _stamp(self._plain)
        return self._plain

    @property
    def device(self) -> torch.device:
        """Where it works."""
        model = self._plain or self._made
        return torch.device("cpu") if model is None else next(model.parameters()).device

    def answering(self) -> Model:
        """The CPU form, where there is one and it is still the same model; the model itself, by reference."""
        if is_reference():
            return self.plain
        if self._plain is not None and _stamp(self._plain) != self._stamp:
            return self._plain
        if not self._tried:
            self._tried = True
            self._made = lean(self.plain, self.weights) if self.device.type == "cpu" else None
        return self._made or self.plain


def _chosen(path: Path, choice: Choice, device: torch.device) -> LeanWeights:
    """Integers where they are asked for, or stored and nothing else is asked for."""
    if choice not in get_args(Choice):
        what, where = f"no weights '{choice}'", f'weights="{choice}"'
        raise UsageError(what, where, "stored, float32 or int8")
    if choice == "int8" and device.type != "cpu":
        remedy = 'leave it out, or add device="cpu"'
        raise UsageError("int8 works on a CPU", 'weights="int8"', remedy)
    if choice == "float32" or device.type != "cpu" or not multiplies_whole():
        return "float32"
    if choice == "int8":
        return "int8"
    stored = weights.read_header(path).metadata.get("weights") == "int8"
    return "int8" if stored else "float32"


def _stamp(model: Model) -> tuple[object, ...]:
    """What changes when anybody touches the model."""
    gates = [part.gate for part in model.modules() if isinstance(part, Heads)]
    weights = tuple((id(one), one._version) for one in (*model.parameters(), *gates))
    watched = any(m.watcher is not None for m in model.modules() if isinstance(m, Attention))
    return (weights, watched)


# How texts become predictions: in the precision asked for, within memory, each one by itself.

Precision = Literal["float32", "bfloat16"]
Note = Callable[[str], None]


@final
@dataclass(frozen=True, eq=False)
class Engine:
    """A task and its model at work; `note` hears of what was done otherwise than asked."""

    task: Task
    forms: Forms
    precision: Precision
    batch_tokens: int
    strict: bool
    note: Note

    def __post_init__(self) -> None:
        if self.precision not in get_args(Precision):
            raise UsageError(
                f"no precision '{self.precision}'",
                where=f'precision="{self.precision}"',
                remedy="float32 or bfloat16",
            )
        if self.precision == "bfloat16":
            need_bfloat16(self.forms.device, 'precision="bfloat16"')

    def answer(
        self, texts: list[str], settings: DecodeSettings, advance: Progress | None
    ) -> list[Prediction]:
        """Answers in the precision asked for; where that breaks down, in float32 (D11)."""
        answers = self._within_memory(texts, settings, self.precision, advance)
        broken = [number for number, answer in enumerate(answers) if _is_broken(answer)]
        if self.precision == "float32" or not broken:
            return answers
        again = self._within_memory([texts[n] for n in broken], settings, "float32", None)
        for number, answer in zip(broken, again, strict=True):
            answers[number] = answer
        self.note(
            f"{self.precision} broke down on {len(broken)} of {len(answers)} texts: "
            "these were worked out again in float32"
        )
        return answers

    def find(self, text: str, settings: DecodeSettings, prefix: Symbols = ()) -> Found:
        """The same answer to one text, with the tree it grew in, behind symbols that are given."""
        if settings.sample and self.task.searches and not prefix:
            (drawn,) = self.draw([text], settings, [0], None)
            given = len(self.task.prompt(text))
            return Found(drawn, given, most=settings.max_length + given)
        with torch.inference_mode(), self._computing(self.precision):
            answered = find(
                self.task, self._model(settings, self.precision), text, settings, prefix
            )
            if self.precision != "float32" and _is_broken(answered.answer):
                answered = find(self.task, self._model(settings, "float32"), text, settings, prefix)
        return answered

    def draw(
        self,
        texts: list[str],
        settings: DecodeSettings,
        places: Sequence[int],
        advance: Progress | None,
    ) -> list[Prediction]:
        """Answers drawn by chance, each a function of the seed, its text and its place in the input."""
        drawn = []
        for text, place in zip(texts, places, strict=True):
            drawn.append(self._drawn(text, settings, place))
            if advance is not None:
                advance(1)
        return drawn

    def _drawn(self, text: str, settings: DecodeSettings, place: int) -> Prediction:
        """A batch holds copies of one text, so that neighbours cannot matter; each copy draws anew."""
        draws: list[Prediction] = []
        for start in range(0, settings.top_beams, ROWS):
            seed = Random(f"{settings.seed}/{place}/{start}").getrandbits(48)
            own = settings.model_copy(update={"seed": seed})
            draws += self.answer([text] * min(ROWS, settings.top_beams - start), own, None)
        draws.sort(key=lambda draw: -draw.score)
        return replace(draws[0], alternatives=tuple((draw.text, draw.score) for draw in draws))

    def _within_memory(
        self,
        texts: list[str],
        settings: DecodeSettings,
        precision: Precision,
        advance: Progress | None,
    ) -> list[Prediction]:
        """Predict, strictly one by one; when memory runs out, with batches half as large, down to 8 rows."""
        tokens, meter = ALONE if self.strict else self.batch_tokens, _Meter(advance)
        while True:
            try:
                with self._computing(precision):
                    return self.task.predict(
                        self._model(settings, precision),
                        texts,
                        settings,
                        tokens=tokens,
                        advance=meter.add,
                    )
            except (RuntimeError, MemoryError) as fault:
                if not is_out_of_memory(fault):
                    raise
                if tokens <= ROWS:
                    raise MemoryLimitError(
                        "one text does not fit into memory",
                        where=f"up to {max(map(len, texts)):,} characters, beam {settings.beam}",
                        remedy="shorten it, or lower the beam or max_length",
                    ) from fault
            tokens //= 2
            meter.done = 0
            if self.forms.device.type == "cuda":
                torch.cuda.empty_cache()

    def _model(self, settings: DecodeSettings, precision: Precision) -> Model:
        """The lean form, but where every bit counts, or chance turns a bit into another word."""
        exact = self.strict or precision != "float32"
        if self.forms.weights == "float32" and (exact or settings.sample):
            return self.forms.plain
        return self.forms.plain if exact else self.forms.answering()

    @contextlib.contextmanager
    def _computing(self, precision: Precision) -> Iterator[None]:
        """In this precision; strictly, by one thread: how several share a product depends on its size."""
        threads = torch.get_num_threads()
        reduced = precision == "bfloat16"
        with torch.autocast(self.forms.device.type, dtype=torch.bfloat16, enabled=reduced):
            try:
                torch.set_num_threads(1 if self.strict else threads)
                yield
            finally:
                torch.set_num_threads(threads)


@final
@dataclass
class _Meter:
    """Tells of each text once, however often it was begun."""

    advance: Progress | None
    done: int = 0
    told: int = 0

    def add(self, count: int) -> None:
        self.done += count
        if self.advance is not None and self.done > self.told:
            self.advance(self.done - self.told)
        self.told = max(self.told, self.done)


def _is_broken(answer: Prediction) -> bool:
    return answer.finish == "numerics" or not math.isfinite(answer.score)
