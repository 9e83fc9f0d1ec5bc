"""The tasks by name, and what a trained model does by the verb of its task: `model.translate(text)`.

A task without a verb here is answered by `model(question)` and by `model.predict`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias, overload

import numpy as np
import torch

from regard import presets
from regard.config import parse
from regard.data import sound
from regard.data.example import Kind
from regard.decode import DecodeSettings
from regard.errors import UsageError
from regard.question import Asked, Problem, listed, written
from regard.tasks.caption import Caption
from regard.tasks.classify import Classify
from regard.tasks.fill import Fill
from regard.tasks.language import Language
from regard.tasks.multisource import Multisource
from regard.tasks.names import LEARNS_FROM
from regard.tasks.parse import Parse
from regard.tasks.point import Point
from regard.tasks.reconstruct import Reconstruct
from regard.tasks.summarise import Summarise
from regard.tasks.tag import Tag
from regard.tasks.task import Prediction, Task
from regard.tasks.transcribe import Transcribe
from regard.tasks.translate import Translate

TASKS: dict[str, type[Task]] = {
    kind.name: kind
    for kind in (
        Translate,
        Tag,
        Classify,
        Point,
        Language,
        Fill,
        Reconstruct,
        Multisource,
        Parse,
        Caption,
        Summarise,
        Transcribe,
    )
}


def register(task: type[Task], example: Kind, preset: str) -> ExitStack:
    """Make a task known: what it learns from, and the preset that it is learned with by default.

    For ever, or as long as a `with` lasts.
    """
    tables: tuple[dict[str, Any], ...] = (TASKS, LEARNS_FROM, presets.DEFAULT_OF)
    known = ExitStack()
    for table, value in zip(tables, (task, example, preset), strict=True):
        table[task.name] = value
        known.callback(table.pop, task.name, None)
    return known


Texts: TypeAlias = list[str] | tuple[str, ...]  # a plain string is a sequence of strings, too


class Verbs(ABC):
    """What can be asked of a model, by the name of what it was trained to do."""

    @property
    @abstractmethod
    def learned(self) -> Task:
        """The task that it was trained for, with its vocabularies."""

    @property
    @abstractmethod
    def decode(self) -> DecodeSettings:
        """How it answers by default."""

    @property
    @abstractmethod
    def where(self) -> str:
        """Where the model comes from, for errors."""

    @property
    @abstractmethod
    def languages(self) -> tuple[str, ...]:
        """The languages that it can be asked to translate into; none, where it knows only one."""

    @abstractmethod
    def predict(
        self,
        texts: Asked,
        *,
        beam: int | None = None,
        max_length: int | None = None,
        decode: DecodeSettings | None = None,
        truncate: bool = False,
        to: str | None = None,
        split: bool = False,
    ) -> list[Prediction]:
        """Answers with their scores, whatever the task."""

    @abstractmethod
    def noted(
        self, texts: Sequence[str], answers: list[Prediction], to: str | None = None
    ) -> list[Prediction]:
        """The answers, after a note of what is doubtful about them."""

    def require(self, task: str) -> None:
        """Refuse to do what the model was not trained for."""
        if task != self.learned.name:
            raise UsageError(
                f"this model was trained to {self.learned.verb}, not to {TASKS[task].verb}",
                where=self.where,
                remedy=f"use .{self.learned.method}(...)",
            )

    @overload
    def translate(
        self,
        texts: str,
        *,
        to: str | None = None,
        split: bool | None = None,
        beam: int | None = None,
        truncate: bool = False,
    ) -> str: ...
    @overload
    def translate(
        self,
        texts: Texts,
        *,
        to: str | None = None,
        split: bool | None = None,
        beam: int | None = None,
        truncate: bool = False,
    ) -> list[str]: ...
    def translate(
        self,
        texts: str | Texts,
        *,
        to: str | None = None,
        split: bool | None = None,
        beam: int | None = None,
        truncate: bool = False,
    ) -> str | list[str]:
        """The target of each source; of a model that knows several languages, `to` says which.

        Such a model reads sentence by sentence, so that a text may be of any length; so does any other when
        told to `split`.
        """
        self.require("translate")
        asked = listed(texts)
        split = bool(self.languages) if split is None else split
        answers = self.noted(
            asked, self.predict(asked, to=to, split=split, beam=beam, truncate=truncate), to
        )
        translations = [answer.text for answer in answers]
        return translations[0] if isinstance(texts, str) else translations

    @overload
    def tag(self, texts: str, *, truncate: bool = False) -> list[tuple[str, str]]: ...
    @overload
    def tag(self, texts: Texts, *, truncate: bool = False) -> list[list[tuple[str, str]]]: ...
    def tag(
        self, texts: str | Texts, *, truncate: bool = False
    ) -> list[tuple[str, str]] | list[list[tuple[str, str]]]:
        """The words of each text, each with its tag."""
        self.require("tag")
        asked = listed(texts)
        tagged = [
            list(zip(answer.words, answer.symbols, strict=True))
            for answer in self.noted(asked, self.predict(asked, truncate=truncate))
        ]
        return tagged[0] if isinstance(texts, str) else tagged

    def worded(self, answer: Prediction) -> Prediction:
        """What a person is told of an answer; `predict` gives the answer itself."""
        return answer

    @overload
    def classify(self, texts: str, *, truncate: bool = False) -> str: ...
    @overload
    def classify(self, texts: Texts, *, truncate: bool = False) -> list[str]: ...
    def classify(self, texts: str | Texts, *, truncate: bool = False) -> str | list[str]:
        """The label of each text, or the model's word for being unsure (`decode.sure`), if it has one."""
        self.require("classify")
        asked = listed(texts)
        labels = [
            self.worded(answer).text
            for answer in self.noted(asked, self.predict(asked, truncate=truncate))
        ]
        return labels[0] if isinstance(texts, str) else labels

    @overload
    def fill(self, texts: str, *, truncate: bool = False) -> str: ...
    @overload
    def fill(self, texts: Texts, *, truncate: bool = False) -> list[str]: ...
    def fill(self, texts: str | Texts, *, truncate: bool = False) -> str | list[str]:
        """Each text with a word for every `<mask>` in it."""
        self.require("fill")
        filled = [answer.text for answer in self.predict(texts, truncate=truncate)]
        return filled[0] if isinstance(texts, str) else filled

    @overload
    def reconstruct(self, texts: str, *, beam: int | None = None) -> str: ...
    @overload
    def reconstruct(self, texts: Texts, *, beam: int | None = None) -> list[str]: ...
    def reconstruct(self, texts: str | Texts, *, beam: int | None = None) -> str | list[str]:
        """What an autoencoder says that each text was."""
        self.require("reconstruct")
        outputs = [answer.text for answer in self.predict(texts, beam=beam)]
        return outputs[0] if isinstance(texts, str) else outputs

    @overload
    def parse(self, texts: str, *, beam: int | None = None) -> str: ...
    @overload
    def parse(self, texts: Texts, *, beam: int | None = None) -> list[str]: ...
    def parse(self, texts: str | Texts, *, beam: int | None = None) -> str | list[str]:
        """The tree over each sentence, in brackets; words stand between spaces: `the cat sat .`"""
        self.require("parse")
        trees = [answer.text for answer in self.predict(texts, beam=beam)]
        return trees[0] if isinstance(texts, str) else trees

    def caption(self, pictures: Any, *, beam: int | None = None) -> Any:
        """What each picture says or shows: a text for one, a list of texts for several.

        A picture is a path, a data URL, bytes of shape (rows, columns[, 3]), or what Pillow opened.
        """
        self.require("caption")
        captions = [answer.text for answer in self.predict(pictures, beam=beam)]
        return captions if isinstance(pictures, list | tuple) else captions[0]

    def transcribe(self, sounds: Any, *, rate: int | None = None, beam: int | None = None) -> Any:
        """What is said in each sound: a text for one, a list of texts for several.

        A sound is a path, a data URL, a `Sound`, or samples from -1 to 1, `rate` of them a second.
        """
        self.require("transcribe")
        several = isinstance(sounds, list | tuple)
        questions = [sound.question_of(one, rate) for one in (sounds if several else [sounds])]
        transcripts = [answer.text for answer in self.predict(questions, beam=beam)]
        return transcripts if several else transcripts[0]

    def point(
        self,
        problems: str | Texts | Problem | Sequence[Problem] | np.ndarray | torch.Tensor,
        *,
        beam: int | None = None,
    ) -> list[int] | list[list[int]]:
        """The positions each problem points at, counted from 0.

        A problem is a list of numbers, `[0.3, 0.1]`, or of points, `[(0, 1), (2, 3)]`; or the same as text,
        `0.3 0.1` and `0,1 2,3`; or an array, (items, features) or (problems, items, features).
        """
        self.require("point")
        texts = written(problems, self.learned.features)
        asked = listed(texts)
        positions = [
            [int(name) for name in answer.symbols]
            for answer in self.noted(asked, self.predict(asked, beam=beam))
        ]
        return positions[0] if isinstance(texts, str) else positions

    @overload
    def complete(
        self, texts: str, *, max_length: int | None = None, sample: bool = False, seed: int = 1
    ) -> str: ...
    @overload
    def complete(
        self, texts: Texts, *, max_length: int | None = None, sample: bool = False, seed: int = 1
    ) -> list[str]: ...
    def complete(
        self,
        texts: str | Texts,
        *,
        max_length: int | None = None,
        sample: bool = False,
        seed: int = 1,
    ) -> str | list[str]:
        """Each text, and what the model says comes next: the likeliest, or drawn by chance (`sample`)."""
        self.require("language")
        asked = listed(texts)
        tree = {**self.decode.model_dump(), "sample": sample, "seed": seed}
        decode = parse(DecodeSettings, tree, where="decode")
        drawn = self.noted(asked, self.predict(asked, max_length=max_length, decode=decode))
        continued = [answer.text for answer in drawn]
        return continued[0] if isinstance(texts, str) else continued
