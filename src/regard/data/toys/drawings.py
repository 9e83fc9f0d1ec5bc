"""Pictures that we draw ourselves: scenes of shapes to describe, and strips of digits to read (L83).

Where each thing was drawn is known, so that a map of attention can be checked and not only admired.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, UInt8

from regard.data import png
from regard.data.example import Captioned
from regard.data.toys.toy import Toy

SIDE = 48  # of a scene, in pixels
COLOURS = {
    "red": (230, 60, 50),
    "green": (60, 190, 90),
    "blue": (70, 110, 240),
    "yellow": (240, 210, 60),
}
SHAPES = ("circle", "square", "triangle")
HEIGHT = 24  # of a strip of digits
# Five columns by seven rows, a row a number: the highest bit is the left column.
GLYPHS = {
    "0": (14, 17, 19, 21, 25, 17, 14),
    "1": (4, 12, 4, 4, 4, 4, 14),
    "2": (14, 17, 1, 2, 4, 8, 31),
    "3": (31, 2, 4, 2, 1, 17, 14),
    "4": (2, 6, 10, 18, 31, 2, 2),
    "5": (31, 16, 30, 1, 1, 17, 14),
    "6": (6, 8, 16, 30, 17, 17, 14),
    "7": (31, 1, 2, 4, 8, 8, 8),
    "8": (14, 17, 17, 14, 17, 17, 14),
    "9": (14, 17, 17, 15, 1, 2, 12),
}


class Thing(NamedTuple):
    """One shape of a scene: its centre and half its size, in pixels."""

    colour: str
    shape: str
    x: int
    y: int
    half: int

    @property
    def name(self) -> str:
        """`a red circle`."""
        return f"a {self.colour} {self.shape}"

    def mask(self) -> Bool[np.ndarray, "row column"]:
        """The pixels that it covers."""
        down, across = np.mgrid[:SIDE, :SIDE]
        x, y = across - self.x, down - self.y
        match self.shape:
            case "circle":
                return x * x + y * y <= self.half**2
            case "square":
                return np.maximum(abs(x), abs(y)) <= self.half - 1
            case _:  # a triangle on its base
                return (y <= self.half - 1) & (2 * abs(x) <= y + self.half)


def scene(generator: Random) -> tuple[Thing, Thing]:
    """Two shapes well apart, of different looks: the left one first, or the upper one."""
    while True:
        half = [generator.randint(6, 8) for _ in range(2)]
        places = [
            (generator.randrange(own, SIDE - own), generator.randrange(own, SIDE - own))
            for own in half
        ]
        away = [abs(a - b) for a, b in zip(*places, strict=True)]
        # One direction is meant, and no shape touches the other's neighbourhood.
        if max(away) >= 20 and min(away) <= max(away) - 10:
            break
    looks = [(generator.choice(list(COLOURS)), generator.choice(SHAPES)) for _ in range(2)]
    while looks[0] == looks[1]:
        looks[1] = generator.choice(list(COLOURS)), generator.choice(SHAPES)
    both = [Thing(*look, *place, own) for look, place, own in zip(looks, places, half, strict=True)]
    across = away[0] > away[1]
    first, second = sorted(both, key=lambda thing: thing.x if across else thing.y)
    return first, second


def painted(things: tuple[Thing, ...]) -> UInt8[np.ndarray, "48 48 3"]:
    """The scene in pixels, on black."""
    canvas = np.zeros((SIDE, SIDE, 3), np.uint8)
    for thing in things:
        canvas[thing.mask()] = COLOURS[thing.colour]
    return canvas


def said(first: Thing, second: Thing) -> str:
    """`a red circle left of a blue square`."""
    across = abs(first.x - second.x) > abs(first.y - second.y)
    return f"{first.name} {'left of' if across else 'above'} {second.name}"


def strip(digits: str, generator: Random) -> tuple[UInt8[np.ndarray, "24 column 1"], list[range]]:
    """Digits beside each other, each a little higher or lower, and the columns that each takes."""
    gap = lambda: generator.randint(3, 9)  # noqa: E731
    canvas, taken, x = np.zeros((HEIGHT, 24 * len(digits) + 12), np.uint8), [], gap()
    for digit in digits:
        bits = np.array([[row >> 4 - column & 1 for column in range(5)] for row in GLYPHS[digit]])
        glyph = bits.repeat(2, 0).repeat(2, 1) * generator.randint(150, 255)
        top = generator.randint(1, HEIGHT - 15)
        canvas[top : top + 14, x : x + 10] = glyph
        taken.append(range(x, x + 10))
        x += 10 + gap()
    return canvas[:, :x, None], taken


def _scene(generator: Random) -> Captioned:
    things = scene(generator)
    return Captioned(png.url(painted(things)), (said(*things),))


def _strip(generator: Random) -> Captioned:
    digits = "".join(generator.choice("0123456789") for _ in range(generator.randint(3, 6)))
    return Captioned(png.url(strip(digits, generator)[0]), (digits,))


# What `scene(Random(7))` and `strip("2015", Random(5))` draw, written down: to import a toy draws nothing.
_SCENE = png.URL + (
    "iVBORw0KGgoAAAANSUhEUgAAADAAAAAwCAIAAADYYG7QAAAAY0lEQVR4nO3OsQ2AMAwFUc9Enf0HyBDUjABK"
    "FSmSU2D8LXSnG+CZ0YddvakJo8exXksjMzkagWmryTYBitBUNCVpAAWZUjVbk0DjmGSauSoOIiIiot92tsMf"
    "ECBAgAABInrdDbvvyZoSwf0BAAAAAElFTkSuQmCC"
)
_STRIP = png.URL + (
    "iVBORw0KGgoAAAANSUhEUgAAAEYAAAAYCAAAAABiwdTfAAAAeUlEQVR4nO3T0QmAMAxF0e4/g3N0jyziDEIh"
    "sTYvaSwp/nhBBNGDIVrKX9chvXyQaAsDb6otD9nEgJEY8KE15mwZzM2Bi/kMAwKFmeFdEpluLLxwxQxbSmT4"
    "AAyv3EcUQ4Q/wDnDYxkMqEoWEwoyz/NiSYz6GT5m4l0RaLiR9RO7IgAAAABJRU5ErkJggg=="
)

SHAPES_TOY = Toy(
    name="shapes",
    title="describe a scene of two shapes",
    story="The caption names one thing after the other, and attention has to be where it is (Xu 2015).",
    probe=Captioned(_SCENE, ("a yellow circle above a red square",)),
    draw=_scene,
)

DIGITS_TOY = Toy(
    name="digits",
    title="read a strip of digits",
    story="A picture is read from left to right, and nobody told the model so: attention learns to move.",
    probe=Captioned(_STRIP, ("2015",)),
    draw=_strip,
    unit="char",
)
