"""Sounds that we synthesise ourselves, a letter at a time: vowels, tones and hisses that spell words (L83).

`spell:bano lu/7` names a sound: how those letters sound in take 7. Pitch, tempo, loudness and noise differ
from take to take, and when each letter sounds is known, so that a map of attention can be checked.
"""

from __future__ import annotations

import re
from functools import lru_cache
from random import Random

import numpy as np
from jaxtyping import Float

from regard.data.example import Spoken
from regard.data.toys.toy import Toy
from regard.data.wav import Clip
from regard.errors import UsageError
from regard.question import SPELLED

RATE = 8_000
VOWELS = {  # the two frequencies at which a mouth is loudest
    "a": (800.0, 1300.0),
    "e": (480.0, 1900.0),
    "i": (280.0, 2400.0),
    "o": (500.0, 900.0),
    "u": (320.0, 680.0),
}
TONES = {  # a consonant is a tone from one frequency to another, so many times a second loud
    "b": (1000.0, 400.0, 0.0),
    "d": (2000.0, 1000.0, 0.0),
    "g": (3200.0, 1700.0, 0.0),
    "l": (600.0, 1500.0, 0.0),
    "m": (250.0, 250.0, 0.0),
    "n": (1150.0, 1150.0, 0.0),
    "r": (1500.0, 1500.0, 40.0),
}
CONSONANTS = (*TONES, "s")  # s is a hiss
LONGEST = 64  # letters
RAMP = 0.008  # seconds in which a letter grows loud, and in which it fades
_NAME = re.compile(
    rf"{SPELLED}([{''.join((*VOWELS, *CONSONANTS))} ]{{1,{LONGEST}}})/([0-9]{{1,9}})"
)

Samples = Float[np.ndarray, " sample"]


def spelled(name: str) -> Clip:
    """The sound that `spell:WORD/NUMBER` names."""
    match = _NAME.fullmatch(name)
    if match is None or not match[1].strip():
        raise UsageError(
            f"{name[:60]!r} names no sound that can be spelt",
            where=SPELLED,
            remedy=f"write {SPELLED}WORD/NUMBER, of the letters {' '.join((*VOWELS, *CONSONANTS))}",
        )
    return spoken(match[1], int(match[2]))[0]


@lru_cache(maxsize=64)
def spoken(text: str, take: int) -> tuple[Clip, tuple[tuple[float, float], ...]]:
    """How a text sounds in one take, and from when to when each of its letters does, in seconds."""
    draw = Random(f"{text}/{take}")
    pitch, mouth = draw.uniform(95, 210), draw.uniform(0.92, 1.1)
    parts, spans, now = [np.zeros(round(RATE * draw.uniform(0.03, 0.12)))], [], 0
    for letter in text:
        now += len(parts[-1])
        parts.append(_letter(letter, pitch, mouth, draw))
        spans.append((now / RATE, (now + len(parts[-1])) / RATE))
    parts.append(np.zeros(round(RATE * draw.uniform(0.03, 0.12))))
    whole = np.concatenate(parts)
    noise = np.random.default_rng(draw.randrange(2**31)).standard_normal(len(whole))
    whole = whole * draw.uniform(0.2, 0.8) + noise * draw.uniform(0.001, 0.006)
    return Clip(whole.clip(-1, 1).astype(np.float32), RATE), tuple(spans)


def _letter(letter: str, pitch: float, mouth: float, draw: Random) -> Samples:
    least, most = (0.09, 0.14) if letter in VOWELS else (0.06, 0.09)
    count = round(RATE * draw.uniform(least, most))
    time = np.arange(count) / RATE
    if letter == " ":
        return np.zeros(count)
    if letter in VOWELS:
        sound = _vowel(time, pitch * draw.uniform(0.95, 1.05), mouth, *VOWELS[letter])
    elif letter in TONES:
        sound = _tone(time, mouth, *TONES[letter])
    else:
        white = np.random.default_rng(draw.randrange(2**31)).standard_normal(count + 1)
        sound = np.diff(white) * 0.25  # a difference has more of the high frequencies
    edge = np.minimum(time, time[::-1]) / RAMP
    return sound * np.minimum(1.0, edge)


def _vowel(time: Samples, pitch: float, mouth: float, first: float, second: float) -> Samples:
    """Harmonics of the pitch, the louder the nearer they are to one of the two frequencies of the mouth."""
    harmonics = np.arange(1, int(RATE / 2 / pitch)) * pitch
    away = [(harmonics - one * mouth) / 90 for one in (first, second)]
    loud = 1 / (1 + away[0] ** 2) + 1 / (1 + away[1] ** 2)
    heard = loud > 0.02 * loud.max()
    harmonics, loud = harmonics[heard], loud[heard]
    waves = np.sin(2 * np.pi * harmonics[:, None] * time)
    return (loud / np.sqrt((loud**2).sum()) * 0.6) @ waves


def _tone(time: Samples, mouth: float, first: float, last: float, trill: float) -> Samples:
    """A sine that glides; a trill is loud and silent in turn."""
    share = time / max(time[-1], 1e-9)
    phase = np.cumsum(first + (last - first) * share) * mouth / RATE
    loud = 0.5 + 0.5 * np.cos(2 * np.pi * trill * time) if trill else 1.0
    return 0.6 * loud * np.sin(2 * np.pi * phase)


def _word(generator: Random) -> str:
    syllables = generator.randint(1, 2)
    word = "".join(
        generator.choice(CONSONANTS) + generator.choice("aeiou") for _ in range(syllables)
    )
    return word + (generator.choice(CONSONANTS) if generator.random() < 0.3 else "")


def _spoken(generator: Random) -> Spoken:
    text = " ".join(_word(generator) for _ in range(generator.randint(1, 3)))
    return Spoken(f"{SPELLED}{text}/{generator.randrange(1000)}", text)


SOUNDS = Toy(
    name="sounds",
    title="words spelt in tones and vowels",
    story="A sound is heard from its beginning to its end: attention has to learn to move along.",
    probe=Spoken(f"{SPELLED}regar dos/7", "regar dos"),
    draw=_spoken,
    unit="char",
)
