"""Figures in pixels: every weight has its colour, every label its ink, whatever the label."""

import struct
import sys
import zlib

import numpy as np
import pytest

from regard.errors import UsageError
from regard.show import svg_png
from regard.show.colour import cividis
from regard.show.figure import Figure, Stroke, Words, heat_map, lines
from tests.data.test_png import chunks
from tests.show.payloads import EVERY


def dots(figure):
    """The picture, read back by the rules of the format."""
    found = dict(chunks(svg_png.painted(figure)[0]))
    width, height = struct.unpack(">II", found[b"IHDR"][:8])
    assert (width, height) == (figure.width * svg_png.SCALE, figure.height * svg_png.SCALE)
    rows = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(height, -1)
    return rows[:, 1:].reshape(height, width, 3)


def at(picture, x, y):
    return tuple(picture[round(y * svg_png.SCALE), round(x * svg_png.SCALE)].tolist())


def ink(picture, left, top, right, bottom):
    """How many dots of a rectangle are not white."""
    left, top, right, bottom = (round(edge * svg_png.SCALE) for edge in (left, top, right, bottom))
    return int((picture[top:bottom, left:right] < 250).any(-1).sum())


def test_each_weight_has_its_colour():
    weights = np.array([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]], np.float32)
    figure = heat_map(weights, ["a", "b"], ["x", "y", "z"], "five")
    cells = [shape for shape in figure.shapes if getattr(shape, "told", "")]
    picture = dots(figure)
    for cell, weight in zip(cells, weights.ravel().tolist(), strict=True):
        middle = at(picture, cell.x + cell.width / 2, cell.y + cell.height / 2)
        assert middle == cividis(weight)


def test_labels_stand_where_they_belong():
    level = Words(50, 40, "level")
    picture = dots(Figure(200, 120, "", (level,)))
    assert ink(picture, 50, 25, 90, 45)
    assert not ink(picture, 0, 0, 49, 120)
    ending = dots(Figure(200, 120, "", (Words(150, 40, "ending", "end"),)))
    assert ink(ending, 90, 25, 151, 45)
    assert not ink(ending, 152, 0, 200, 120)
    rising = dots(Figure(200, 120, "", (Words(50, 100, "rising", rising=True),)))
    assert ink(rising, 50, 60, 100, 101)
    assert not ink(rising, 0, 0, 40, 120), "it rises to the right"
    assert not ink(rising, 50, 104, 200, 120)
    bold = dots(Figure(200, 120, "", (Words(50, 40, "level", weight=600),)))
    assert ink(bold, 50, 25, 120, 45) > ink(picture, 50, 25, 120, 45)


def test_a_right_to_left_label_runs_from_the_right():
    """Alef is one upright stroke wide; the mirror of its place in a Latin label."""
    there = dots(Figure(200, 60, "", (Words(50, 40, "אאאב"),)))
    back = dots(Figure(200, 60, "", (Words(50, 40, "באאא"),)))
    assert not np.array_equal(there, back)
    columns = [np.flatnonzero((one < 250).any((0, 2))) for one in (there, back)]
    assert abs(len(columns[0]) - len(columns[1])) <= 2 * svg_png.SCALE


def test_a_line_is_as_strong_as_its_weight():
    strong, faint = (
        dots(Figure(100, 60, "", (Stroke((10, 20), (90, 40), "#0072b2", opacity),)))
        for opacity in (1.0, 0.3)
    )
    assert at(strong, 50, 30) == (0x00, 0x72, 0xB2)
    assert at(faint, 50, 30)[0] == pytest.approx(255 * 0.7, abs=3)
    assert at(strong, 50, 50) == (255, 255, 255)
    falling = dots(Figure(100, 60, "", (Stroke((10, 40), (90, 20), "#0072b2", 1.0),)))
    assert at(falling, 50, 30) == (0x00, 0x72, 0xB2)


def test_any_label_can_be_painted():
    weights = np.full((len(EVERY), len(EVERY)), 1 / len(EVERY), np.float32)
    dots(heat_map(weights, EVERY, EVERY, EVERY[0]))
    dots(lines(weights[None, :3, :5], EVERY[:3], EVERY[:5], EVERY[-3]))


def test_very_many_cells_are_painted_too():
    names = [str(number) for number in range(200)]
    figure = heat_map(np.eye(200, dtype=np.float32), names, names)
    picture = dots(figure)
    (block,) = [shape for shape in figure.shapes if hasattr(shape, "colours")]
    cell = block.width / 200
    assert at(picture, block.x + 10.5 * cell, block.y + 10.5 * cell) == cividis(1.0)
    assert at(picture, block.x + 10.5 * cell, block.y + 12.5 * cell) == cividis(0.0)


def test_a_letter_that_no_font_has_is_told():
    painted, missing = svg_png.painted(Figure(90, 30, "", (Words(5, 20, "a\U0010fffdb"),)))
    assert painted
    assert missing == ("\U0010fffd",)


def test_what_would_be_too_large_is_refused():
    with pytest.raises(UsageError, match="40,000 x 40,000 dots is too large"):
        svg_png.painted(Figure(20_000, 20_000, "", ()))


def test_without_pillow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UsageError) as fault:
        svg_png.painted(Figure(10, 10, "", ()))
    assert fault.value.what == "letters in a PNG need Pillow, which is not installed"
    assert fault.value.remedy == "pip install 'regard[png]', or draw it with --svg"
