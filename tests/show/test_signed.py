"""Numbers above and below zero as colours: grey is zero, and what is left out is said."""

import numpy as np
import pytest
from rich.console import Console

from regard.errors import UsageError
from regard.show.colour import cividis
from regard.show.figure import Dots, Words
from regard.show.signed import dots, marked, scale, signed_figure, signed_map
from regard.show.svg_png import written


def printed(picture, width=60):
    console = Console(width=width, no_color=True, force_terminal=False, color_system=None)
    with console.capture() as shown:
        console.print(picture)
    return shown.get().splitlines()


def test_the_ends_and_the_middle_of_the_scale():
    found = dots(np.array([[-2.0, 0.0, 2.0, np.nan]]), 2.0)[0]
    assert tuple(found[0]) == cividis(0.0)
    assert tuple(found[1]) == tuple(found[3]) == cividis(128 / 255)
    assert tuple(found[2]) == cividis(1.0)


def test_the_scale_is_the_round_number_above_all():
    assert scale(np.array([[0.2, -0.6]])) == 1
    assert scale(np.array([[0.1, -0.15]])) == 0.2
    assert scale(np.array([[0.2, -3.5]])) == 3.5


def test_a_line_a_row_with_words_on_both_sides():
    lines = printed(signed_map(np.array([[-1.0, 0, 1], [1, 1, -1]]), "ab", "title", "unit", "xy"))
    assert lines[0] == "title"
    assert lines[1] == "a  ▄█ x"
    assert lines[2] == "b ██  y"
    assert lines[3].split()[0] == "-1"
    assert len(lines) == 4


def test_numbers_without_room_are_left_out_evenly_and_this_is_said():
    values = np.tile(np.linspace(-1, 1, 100), (2, 1))
    lines = printed(signed_map(values, "ab", "title", "unit"), width=30)
    assert lines[-1] == "one unit in 4 of 100 is shown:"[:29] + "…" or "in 4 of 100" in lines[-1]
    assert all(len(line) <= 30 for line in lines)


def test_a_picture_has_every_number_as_a_dot():
    values = np.linspace(-1, 1, 12).reshape(3, 4)
    figure = signed_figure(values, ["p", "q", "r"], "title", "note", "dimension")
    (drawn,) = [shape for shape in figure.shapes if isinstance(shape, Dots)]
    assert drawn.colours.shape == (3, 4, 3)
    words = {shape.text for shape in figure.shapes if isinstance(shape, Words)}
    assert {"title", "note", "dimension", "p", "q", "r", "-1", "1"} <= words
    assert written(figure).startswith("<svg")


@pytest.mark.parametrize(
    ("count", "expected"),
    [(512, [0, 128, 256, 384, 511]), (20, [0, 5, 10, 15, 19]), (3, [0, 1, 2]), (1, [0])],
)
def test_columns_have_numbers_below_their_middle(count, expected):
    assert marked(count) == expected
    figure = signed_figure(np.zeros((2, count)), ["p", "q"], "title", "note", "dimension")
    (drawn,) = [shape for shape in figure.shapes if isinstance(shape, Dots)]
    below = {
        shape.text: shape.x
        for shape in figure.shapes
        if isinstance(shape, Words) and shape.anchor == "middle"
    }
    for column in expected:
        middle = drawn.x + (column + 0.5) * drawn.width / count
        assert below[str(column)] == pytest.approx(middle)


def test_names_must_fit():
    with pytest.raises(UsageError, match="a 2 x 3 table does not fit 1 rows"):
        signed_map(np.zeros((2, 3)), ["a"], "", "unit")
