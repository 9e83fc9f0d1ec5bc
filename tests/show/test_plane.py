"""Items in the plane and the line through them: every leg once, closed, as long as it is said to be."""

import math
from dataclasses import replace

import pytest

from regard.errors import UsageError
from regard.show.figure import Box, Stroke, Words
from regard.show.plane import Path, plane, plane_figure
from regard.show.svg_png import painted, written
from tests.traces.kit import traced

SQUARE = ((0.0, 0.0), (3.0, 4.0), (3.0, 0.0), (0.0, 4.0))


def test_a_tour_is_as_long_as_its_legs_and_comes_back():
    path = Path(SQUARE, (0, 2, 1, 3))
    assert list(path.legs()) == [(0, 2), (2, 1), (1, 3), (3, 0)]
    assert path.length == 14.0
    assert path.note == "a line through 4 of 4 items, and back: length 14.0000"
    assert Path(SQUARE, (0, 1)).length == 5.0  # two items have one leg between them
    assert list(Path(SQUARE, (2,)).legs()) == list(Path(SQUARE, ()).legs()) == []


def test_a_picture_has_a_line_for_each_leg_and_every_item_in_its_place():
    figure = plane_figure(Path(SQUARE, (0, 2, 1)), "0 → 2 → 1 → 0")
    dots = {one.told[0]: (one.x + 3, one.y + 3) for one in figure.shapes if isinstance(one, Box)}
    assert len(dots) == 4
    assert dots["1"][0] > dots["0"][0]  # the first number to the right
    assert dots["1"][1] < dots["0"][1]  # the second upwards
    wide, high = dots["2"][0] - dots["0"][0], dots["0"][1] - dots["3"][1]
    assert wide / high == pytest.approx(3 / 4)  # one scale for both
    lines = [one for one in figure.shapes if isinstance(one, Stroke)]
    ends = {frozenset((one.start, one.end)) for one in lines}
    assert ends == {frozenset((dots[a], dots[b])) for a, b in ("02", "21", "10")}
    words = {one.text for one in figure.shapes if isinstance(one, Words)}
    assert {"0", "1", "2", "3", "a line through 3 of 4 items, and back: length 12.0000"} <= words
    assert written(figure).startswith("<svg")
    assert painted(figure)[0].startswith(b"\x89PNG")


def test_in_a_terminal_all_numbers_are_there():
    shown = plane(Path(SQUARE, (0, 2, 1, 3))).plain
    assert [shown.count(number) for number in "0123"] == [1, 1, 1, 1]
    assert "·" in shown
    assert shown.splitlines()[0].strip()[0] == "3"
    assert plane(Path(((2.0, 2.0),), (0,))).plain.strip() == "0"  # one place alone has no size


def test_of_a_trace_it_is_the_answer():
    seen = traced("point-dot")
    path = Path.of(seen)
    assert path.points == seen.axes["source"].points
    assert [str(number) for number in path.order] == list(seen.answer.symbols)
    named = [path.points[number] for number in path.order]
    due = sum(math.dist(a, b) for a, b in zip(named, [*named[1:], named[0]], strict=True))
    assert path.length == pytest.approx(due if len(named) > 2 else due / 2)
    with pytest.raises(UsageError, match="does not lie in a plane"):
        Path.of(traced("rnn-dot"))
    bare = {
        **seen.axes,
        "source": replace(seen.axes["source"], points=((1.0,),) * len(path.points)),
    }
    with pytest.raises(UsageError, match="does not lie in a plane"):
        Path.of(replace(seen, axes=bare))
