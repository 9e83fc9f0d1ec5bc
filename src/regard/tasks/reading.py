"""How one source of a question is read: a text by its vocabulary, a picture, a sound.

A reading turns a source into ids or frames, says how large they are, and names the axis that attention to
them is drawn along.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from regard.data import image, sound, wav
from regard.data.columns import ColumnKind, Ids, Pixels
from regard.data.columns import Frames as FramesColumn
from regard.data.image import PictureForm, PictureSettings, read
from regard.data.sound import SoundForm, SoundSettings
from regard.data.wav import Clip
from regard.errors import DataError, ModelFileError, UsageError, nearest
from regard.models import SourceSize
from regard.question import Image, Sound, Source
from regard.tasks.axis import Axis, Grid, Times, typed
from regard.text import END, Codec


class OneReading(ABC):
    """One kind of source."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def size(self) -> SourceSize:
        """What the model must know of it."""

    @property
    def column(self) -> ColumnKind:
        """How it is stored."""
        return Ids()

    @abstractmethod
    def encode(self, source: Source | None) -> np.ndarray:
        """Ids or frames; of a source that is missing, none."""

    @abstractmethod
    def axis(self, source: Source) -> Axis:
        """What stands along its side of a map."""

    @abstractmethod
    def to_json(self) -> str:
        """All that it must remember."""

    @classmethod
    @abstractmethod
    def from_json(cls, document: str) -> OneReading:
        """What `to_json` wrote."""

    @staticmethod
    def read(kind: str, document: str) -> OneReading:
        """A reading by the name of its kind."""
        for one in READINGS:
            if one.kind == kind:
                return one.from_json(document)
        known = [one.kind for one in READINGS]
        raise ModelFileError(
            f"no source is a '{kind[:40]}'", where="tokenizer.json", remedy=nearest(kind, known)
        )


@final
@dataclass(frozen=True, eq=False)
class TextReading(OneReading):
    """Pieces of a text and the end symbol; a text that says nothing is a missing one."""

    codec: Codec
    kind = "text"

    @property
    def size(self) -> SourceSize:
        """As many symbols as the vocabulary has."""
        return SourceSize(self.codec.size)

    def encode(self, source: Source | None) -> np.ndarray:
        """Ids."""
        if source is not None and not isinstance(source, str):
            raise UsageError(
                f"a text is wanted, and this is {type(source).__name__}",
                where="question",
                remedy="give a string",
            )
        ids = [*self.codec.encode(source), END] if source and source.strip() else []
        return np.array(ids, np.int32)

    def axis(self, source: Source) -> Axis:
        """Its pieces."""
        assert isinstance(source, str)
        return typed(self.codec, source, after=(END,))

    def to_json(self) -> str:
        """The vocabulary."""
        return self.codec.to_json()

    @classmethod
    def from_json(cls, document: str) -> TextReading:
        """The vocabulary."""
        return cls(Codec.from_json(document))


@final
@dataclass(frozen=True, eq=False)
class PictureReading(OneReading):
    """The columns of a picture, all brought to one form."""

    form: PictureForm
    kind = "picture"

    @classmethod
    def learn(cls, pictures: Iterable[Image], settings: PictureSettings) -> PictureReading:
        """The form of the first pictures."""
        some = (read(one.data) for one, _ in zip(pictures, range(image.LOOKED_AT), strict=False))
        return cls(PictureForm.of(some, settings))

    @property
    def size(self) -> SourceSize:
        """A column has rows x channels numbers."""
        return SourceSize(features=self.form.width, rows=self.form.rows)

    @property
    def column(self) -> ColumnKind:
        """Pixels as bytes, each picture once; features as they are."""
        width = self.form.width
        return FramesColumn(width) if self.form.features else Pixels(width)

    def encode(self, source: Source | None) -> np.ndarray:
        """One frame a column; none, where there is no picture."""
        if source is None or source == "":
            return np.zeros((0, self.form.width), np.float32 if self.form.features else np.uint8)
        return self.form.frames(read(_origin(source)))

    def axis(self, source: Source) -> Axis:
        """Its cells, above the picture as the model saw it."""
        picture = read(_origin(source))
        return Grid(self.form.rows, len(self.form.frames(picture)), self.form.shown(picture))

    def to_json(self) -> str:
        """The form."""
        return self.form.to_json()

    @classmethod
    def from_json(cls, document: str) -> PictureReading:
        """The form."""
        return cls(PictureForm.from_json(document))


def _origin(source: Source) -> object:
    """What a picture is read from: a path or a data URL, typed alone too, or its numbers."""
    if isinstance(source, Image | str):
        return source.data if isinstance(source, Image) else source
    raise UsageError(
        f"a picture is wanted, and this is {type(source).__name__}",
        where="question",
        remedy='give its path: {"image": "dog.jpg"}',
    )


@final
@dataclass(frozen=True, eq=False)
class SoundReading(OneReading):
    """The log-mel frames of a sound, all brought to one form."""

    form: SoundForm
    kind = "sound"

    @classmethod
    def learn(cls, sounds: Iterable[Sound], settings: SoundSettings) -> SoundReading:
        """The form of the first sounds."""
        some = (_clip(one) for one, _ in zip(sounds, range(sound.LOOKED_AT), strict=False))
        return cls(SoundForm.of(some, settings))

    @property
    def size(self) -> SourceSize:
        """A frame has one number a band."""
        return SourceSize(features=self.form.bands)

    @property
    def column(self) -> ColumnKind:
        """Frames."""
        return FramesColumn(self.form.bands)

    def encode(self, source: Source | None) -> np.ndarray:
        """Its frames; none, where there is no sound."""
        if source is None or source == "":
            return np.zeros((0, self.form.bands), np.float32)
        return self.form.frames(_clip(source))

    def axis(self, source: Source) -> Axis:
        """Its moments, below its spectrogram."""
        return times_of(self.form, _clip(source))

    def to_json(self) -> str:
        """The form."""
        return self.form.to_json()

    @classmethod
    def from_json(cls, document: str) -> SoundReading:
        """The form."""
        return cls(SoundForm.from_json(document))


def _clip(source: Source) -> Clip:
    """A sound from a path or a data URL, typed alone too, or from its samples."""
    if isinstance(source, Sound):
        return sound.read(source.data, source.rate)
    if isinstance(source, str):
        return sound.read(source)
    raise UsageError(
        f"a sound is wanted, and this is {type(source).__name__}",
        where="question",
        remedy='give its path: {"sound": "one.wav"}',
    )


def times_of(form: SoundForm, clip: Clip) -> Times:
    """The moments of a sound as a model hears it."""
    frames = len(form.frames(clip))
    return Times(
        form.seconds(frames),
        form.waveform(clip, frames),
        form.shown(clip),
        wav.url(clip),
        clip.seconds,
    )


READINGS: tuple[type[OneReading], ...] = (TextReading, PictureReading, SoundReading)


def reads_text(source: Source) -> bool:
    """Whether a source is a text."""
    return isinstance(source, str)


def reading_of(
    sources: Iterable[Source], picture: PictureSettings, heard: SoundSettings
) -> OneReading:
    """How a source that is no text is read; all of them are of one kind."""
    some = iter(sources)
    first = next(some)
    every = itertools.chain([first], some)
    match first:
        case Image():
            return PictureReading.learn((one for one in every if isinstance(one, Image)), picture)
        case Sound():
            return SoundReading.learn((one for one in every if isinstance(one, Sound)), heard)
    raise DataError(
        f"of several sources none can be a {type(first).__name__}",
        where="data.sources",
        remedy="give texts, pictures and sounds",
    )
