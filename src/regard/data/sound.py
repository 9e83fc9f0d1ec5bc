"""From a file, a data URL, samples or a word to spell to the log-mel frames of a sound, at one rate.

WAV is read by the standard library alone; FLAC, Ogg and MP3 by soundfile, an extra.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from jaxtyping import Float
from pydantic import Field, PositiveFloat, PositiveInt

from regard.config import Settings
from regard.data import png, wav
from regard.data.wav import RATES, Clip
from regard.errors import (
    DataError,
    ModelFileError,
    RegardError,
    UsageError,
    kind_of,
    missing,
)
from regard.question import SPELLED, Question, Sound
from regard.strict_json import loads

if TYPE_CHECKING:
    from torch import Tensor

MOST_BYTES, MOST_SECONDS = 1 << 28, 600
LOOKED_AT = 64  # sounds that decide how all are brought to one form
USUAL = 16_000  # samples a second that speech is happy with
DRAWN = 6 * math.log(10)  # from the loudest of a picture to the darkest: 60 decibels
LOUDNESS = "▁▂▃▄▅▆▇█"
REACH = 16  # zero crossings of the sinc, on each side, that resampling looks at


class SoundSettings(Settings):
    """How sounds become frames; what is left open is decided by the first sounds."""

    rate: PositiveInt | None = Field(default=None, ge=RATES[0], le=48_000)
    """The number of samples a second that all sounds are resampled to: 8,000 to 48,000. By default that of
    the first, up to 16,000."""
    bands: PositiveInt = Field(default=40, ge=4, le=128)
    """The number of bands of the log-mel features: 20 to 80."""
    window: PositiveFloat = Field(default=25.0, ge=5, le=200)
    """The milliseconds of sound in a frame: 20 to 50."""
    hop: PositiveFloat = Field(default=10.0, ge=2, le=100)
    """The milliseconds from one frame to the next: 5 to 20."""


@final
@dataclass(frozen=True)
class SoundForm:
    """The form that every sound of a model has: `window` and `hop` are in samples."""

    rate: int
    bands: int = 40
    window: int = 400
    hop: int = 160

    @classmethod
    def of(cls, clips: Iterable[Clip], settings: SoundSettings) -> SoundForm:
        """What the first sounds decide, where the settings leave it open."""
        rates = [clip.rate for clip in clips]
        if not rates:
            raise DataError("there is not one sound here", "data.train", "name some sounds")
        rate = settings.rate or min(USUAL, *rates, USUAL)
        window, hop = (max(2, round(rate * ms / 1000)) for ms in (settings.window, settings.hop))
        return cls(rate, settings.bands, window, hop)

    def frames(self, clip: Clip) -> Float[np.ndarray, "frame band"]:
        """The log-mel features of a sound, levelled."""
        from regard.data.log_mel import levelled

        return levelled(self._energies(clip)).numpy()

    def _energies(self, clip: Clip) -> Tensor:
        import torch

        from regard.data.log_mel import log_mel

        samples = torch.from_numpy(resampled(clip, self.rate))
        sizes = {"bands": self.bands, "window": self.window, "hop": self.hop}
        return log_mel(samples, self.rate, **sizes)

    def seconds(self, frames: int) -> tuple[float, ...]:
        """The middle of each frame."""
        first = self.window / 2
        return tuple((first + number * self.hop) / self.rate for number in range(frames))

    def shown(self, clip: Clip) -> str:
        """The spectrogram as a picture: time goes right, frequencies go up, and light is loud."""
        energies = self._energies(clip).numpy()
        share = 1 + (energies - energies.max()) / DRAWN
        grey = np.rint(np.clip(share, 0, 1) * 255).astype(np.uint8)
        return png.url(np.ascontiguousarray(grey.T[::-1, :, None]))

    def waveform(self, clip: Clip, frames: int) -> tuple[float, ...]:
        """The loudest sample near each frame, from 0 to 1."""
        samples = np.abs(resampled(clip, self.rate))
        starts = np.minimum(np.arange(frames) * self.hop, len(samples) - 1)
        return tuple(round(float(one), 4) for one in np.maximum.reduceat(samples, starts))

    def to_json(self) -> str:
        """For tokenizer.json."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SoundForm:
        """What `to_json` wrote, checked."""
        tree = loads(text, where="tokenizer.json")
        bounds = {"rate": RATES, "bands": (4, 128), "window": (2, 76_800), "hop": (2, 38_400)}
        if (
            not isinstance(tree, dict)
            or tree.keys() != bounds.keys()
            or not all(
                type(tree[name]) is int and low <= tree[name] <= high
                for name, (low, high) in bounds.items()
            )
        ):
            what, remedy = "this is no form of sounds", "put back the tokenizer.json of this run"
            raise ModelFileError(what, "tokenizer.json", remedy)
        return cls(**tree)


def read(origin: Any, rate: int | None = None) -> Clip:
    """A sound from a path, a data URL, `spell:WORD/NUMBER`, or samples with their rate."""
    if isinstance(origin, str) and origin.startswith("data:"):
        data = wav.from_url(origin)
        if data is None:
            raise DataError("this data URL is damaged", origin[:40], "give the whole of it")
        return decoded(data, "data URL")
    if isinstance(origin, str) and origin.startswith(SPELLED):
        from regard.data.toys.spelling import spelled

        return spelled(origin)
    if isinstance(origin, str) and not origin.strip():
        raise DataError("no sound is named", "sound", "give the path of a sound")
    if isinstance(origin, str | Path):
        return decoded(_bytes_of(Path(origin)), str(origin))
    return _given(origin, rate)


def decoded(data: bytes, where: str) -> Clip:
    """A sound from the bytes of its file."""
    is_wav = data[:4] in (b"RIFF", b"RIFX", b"RF64") or len(data) < 4
    clip = wav.decode(data, where) if is_wav else _by_soundfile(data, where)
    if clip.seconds > MOST_SECONDS:
        what = f"this sound lasts {clip.seconds:,.0f} seconds, over {MOST_SECONDS}"
        raise DataError(what, where[:200], "cut it into sentences first")
    return clip


def resampled(clip: Clip, rate: int) -> Float[np.ndarray, " sample"]:
    """The sound at another rate: y(t) = sum_n x(n) h(t - n), h a sinc under a Hann window.

    Frequencies that the new rate cannot hold are taken out, so that none comes back as another one.
    """
    if clip.rate == rate:
        return clip.samples
    cut = min(1.0, rate / clip.rate)  # the new highest frequency, as a share of the old
    half = math.ceil(REACH / cut)
    padded = np.pad(clip.samples, half)
    count = max(1, round(len(clip.samples) * rate / clip.rate))
    result = np.empty(count, np.float32)
    near = np.arange(1 - half, half + 1)
    for start in range(0, count, 4096):
        places = np.arange(start, min(count, start + 4096)) * (clip.rate / rate)
        below = np.floor(places).astype(np.int64)
        away = (below - places)[:, None] + near
        weights = cut * np.sinc(away * cut) * np.cos(np.pi / 2 * away / half) ** 2
        weights *= np.abs(away) < half
        some = padded[np.minimum(below[:, None] + near + half, len(padded) - 1)]
        result[start : start + len(places)] = (weights * some).sum(1)
    return result


def _by_soundfile(data: bytes, where: str) -> Clip:
    try:
        import soundfile  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise UsageError(
            "this is no WAV file, and other kinds of sound need soundfile, which is not installed",
            where=where[:200],
            remedy="pip install 'regard[sounds]', or save it as WAV",
        ) from None
    try:
        samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    except Exception as fault:  # a decoder may fail at broken bytes in any way
        what = f"this sound cannot be read: {str(fault).splitlines()[0][:120]}"
        raise DataError(what, where[:200], "save it again as WAV, or leave it out") from None
    return _given(samples.mean(1), int(rate))


def _bytes_of(path: Path) -> bytes:
    try:
        if "\0" in str(path) or not path.exists():
            raise missing(path, "sound")
        if path.is_dir():
            told = "this is a folder, and one sound is asked about"
            raise DataError(told, str(path)[:200], f"name the files in it: {path}/*")
        if path.stat().st_size > MOST_BYTES:
            what = f"this sound has over {MOST_BYTES >> 20} MiB"
            raise DataError(what, str(path)[:200], "cut it into sentences first")
        return path.read_bytes()
    except OSError as fault:
        if isinstance(fault, FileNotFoundError) and hasattr(fault, "remedy"):
            raise
        what = f"this sound cannot be read: {fault.strerror or fault}"
        raise DataError(what, str(path)[:200], "name a sound that is there") from None


def _given(origin: Any, rate: int | None) -> Clip:
    """Samples that somebody has already: one channel, or (samples, channels)."""
    try:
        array = np.asarray(origin)
        whole = array.dtype.kind == "i" and array.dtype.itemsize in (2, 4)
        values = np.asarray(array / -np.iinfo(array.dtype).min if whole else array, np.float32)
        values = values.mean(1) if values.ndim == 2 and values.shape[1] <= wav.CHANNELS else values
        if values.ndim != 1 or not len(values) or not np.abs(values).max() <= wav.LOUDEST:
            raise ValueError  # not finite is not less either
    except (TypeError, ValueError):
        raise UsageError(
            f"a sound cannot be {kind_of(origin)} of shape {np.shape(origin)[:4]}",
            where="sound",
            remedy="give a path, or finite samples from -1 to 1 in one row, with their rate",
        ) from None
    known = rate if isinstance(rate, int) and RATES[0] <= rate <= RATES[1] else 0
    if len(values) > MOST_SECONDS * known:
        what = f"{len(values):,} samples at a rate of {rate} are no sound that can be read"
        remedy = f"say how many there are a second: regard.Sound(samples, rate={USUAL})"
        raise UsageError(what, where="sound", remedy=remedy)
    return Clip(values, known)


def glance(origin: str, width: int = 16) -> str:
    """`0.62 s  ▁▃▇▆▃▁`: how long a sound lasts and how loud it is; or why it cannot be read."""
    try:
        clip = read(origin)
    except RegardError as fault:
        return f"({fault.what})"
    parts = np.array_split(np.abs(clip.samples), width)
    loud = np.array([part.max(initial=0.0) for part in parts])
    steps = np.rint(loud / max(float(loud.max()), 1e-9) * (len(LOUDNESS) - 1)).astype(int)
    return f"{clip.seconds:.2f} s  {''.join(LOUDNESS[step] for step in steps)}"


def question_of(sound: Any, rate: int | None = None) -> str:
    """A sound as the question about it: its path or data URL, or, of samples, a data URL."""
    if isinstance(sound, Sound):
        sound, rate = sound.data, sound.rate
    if isinstance(sound, str | Path):
        return str(sound)
    return wav.url(read(sound, rate))


def clip_of(question: str) -> Clip:
    """The sound that a question is about."""
    origin = origin_of(question)
    return read(origin.data, origin.rate)


def origin_of(question: str) -> Sound:
    """What a question about a sound names: a path, a data URL, a word to spell, or its one `Sound`."""
    sources: Mapping[str, Any] = question.sources if isinstance(question, Question) else {}
    sounds = [one for one in sources.values() if isinstance(one, Sound)]
    if len(sounds) == 1:
        return sounds[0]
    if question.lstrip().startswith("{"):
        tree = loads(question, where="question")
        inner = next(iter(tree.values()), None) if isinstance(tree, dict) else None
        named = tree if isinstance(tree, dict) and "sound" in tree else inner
        if isinstance(named, dict) and "sound" in named:
            return Sound(named["sound"], named.get("rate"))
    return Sound(str(question))
