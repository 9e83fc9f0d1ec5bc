"""Any sound to any text: speech, digits, tones that spell (Chan 2016, Chorowski 2015; L83)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import final

import numpy as np

from regard.attention.attention import INPUTS, TARGET
from regard.data.columns import ColumnKind, Frames, Ids
from regard.data.example import Example, Spoken
from regard.data.sound import LOOKED_AT, SoundForm, clip_of, origin_of, question_of, read
from regard.evaluate import (
    Comparison,
    Metric,
    character_error,
    edit_distance,
    exact_match,
    word_error,
)
from regard.evaluate.comparison import paired_counts
from regard.models import SOURCE, Sizes
from regard.question import named_files
from regard.tasks.axis import Axis
from regard.tasks.reading import times_of
from regard.tasks.task import (
    Examples,
    Forced,
    Prediction,
    Progress,
    Reads,
    Row,
    compared,
    only,
)
from regard.tasks.writing import WritingFromOneFile
from regard.text import BEGIN, END, Codec


@final
@dataclass(frozen=True, eq=False)
class Transcribe(WritingFromOneFile):
    """A sound in, text out. A question is the path of a sound, a data URL, or a `Sound`.

    Sounds become log-mel frames when they are stored, so training reads no file again.
    """

    target: Codec
    form: SoundForm
    name = "transcribe"
    verb = "transcribe"
    method = "transcribe"
    hint = "The path of a sound"
    accepts = "audio/*"
    counted_in = "frames of the sound"
    chunk = 128
    question_of = staticmethod(question_of)

    @classmethod
    def learn_from(
        cls, examples: Examples, settings: Reads, progress: Progress | None = None
    ) -> Transcribe:
        """The texts' vocabulary, and the form of the first sounds."""
        some = islice(only(examples(), Spoken), LOOKED_AT)
        form = SoundForm.of((read(one.sound) for one in some), settings.sound)
        lines = (one.text for one in only(examples(), Spoken))
        return cls(Codec.train(lines, settings.text, progress), form)

    @classmethod
    def trial_sizes(cls, *, shared: bool) -> Sizes:  # noqa: ARG003
        """Frames of as many bands as are usual."""
        return Sizes(target=7, features=SoundForm(8000).bands, begin=BEGIN, end=END)

    def to_dict(self) -> dict[str, str]:
        """The vocabulary, and the form of a sound."""
        return {"target": self.target.to_json(), "sound": self.form.to_json()}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Transcribe:
        """Both."""
        return cls(Codec.from_json(documents["target"]), SoundForm.from_json(documents["sound"]))

    @property
    def sizes(self) -> Sizes:
        """A frame has one number a band."""
        return Sizes(target=self.target.size, features=self.form.bands, begin=BEGIN, end=END)

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Frames, and the ids of the text."""
        return {SOURCE: Frames(self.form.bands), "target": Ids()}

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """The frames of each sound and its text."""
        spoken = list(only(iter(examples), Spoken))
        texts = self.target.encode_batch([one.text for one in spoken])
        return [
            {SOURCE: self.form.frames(read(one.sound)), "target": np.array([*ids, END], np.int32)}
            for one, ids in zip(spoken, texts, strict=True)
        ]

    def encode(self, text: str) -> np.ndarray:
        """The frames of the sound that a question names."""
        return self.form.frames(clip_of(text))

    def forced(self, text: str, answer: Prediction) -> Forced:
        """The sound as the model heard it, what each step said, and what it had read before."""
        clip = clip_of(text)
        ids, target, inputs = self.said(answer)
        times = times_of(self.form, clip)
        axes: dict[str, Axis] = {SOURCE: times, TARGET: target, INPUTS: inputs}
        return Forced(
            {SOURCE: self.form.frames(clip), "target": np.array(ids, np.int32)}, axes, ids
        )

    def files(self, text: str) -> tuple[str, ...]:
        """The sound's path, where it has one."""
        return named_files([origin_of(text)])

    def pieces_of(self, row: Row) -> dict[str, tuple[str, ...]]:
        """The text alone."""
        return {"target": self.target.pieces(row["target"])}

    def judge(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """Word and character errors, and how often all of a text is right."""
        return [
            word_error(predicted, answers),
            character_error(predicted, answers),
            exact_match(predicted, answers),
        ]

    def report(
        self,
        predicted: Sequence[str],
        answers: Sequence[str],
        *,
        lowercase: bool = False,
        tokenize: str = "13a",  # noqa: ARG002
    ) -> list[Metric]:
        """The same; capitals may be made small on both sides first."""
        if lowercase:
            predicted = [text.lower() for text in predicted]
            answers = [text.lower() for text in answers]
        return self.judge(predicted, answers)

    def compare(
        self,
        first: Sequence[str],
        second: Sequence[str],
        answers: Sequence[str],
        *,
        lowercase: bool = False,  # noqa: ARG002
        tokenize: str = "13a",  # noqa: ARG002
    ) -> list[Comparison]:
        """By word errors, and by texts that are right as a whole."""
        both = (first, second)
        spared = [
            [-edit_distance(a.split(), b.split()) for a, b in zip(guess, answers, strict=True)]
            for guess in both
        ]
        before, after = (word_error(guess, answers) for guess in both)
        words = paired_counts(before, after, *spared)
        return [words, compared(exact_match, first, second, answers)]
