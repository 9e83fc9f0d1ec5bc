"""Curves and maps: every point where its numbers say, round ticks, and the same figure in pixels."""

import pytest

from regard.errors import UsageError
from regard.show.figure import Box, Stroke
from regard.show.plot import HIGH, WIDE, Dot, curves, scatter, ticks
from regard.show.svg_png import written


def test_points_lie_where_their_numbers_say_and_lines_join_them_in_order():
    drawn = curves({"one": [(8, 3.0), (0, 1.0), (4, 2.0)]}, "title", "left", "BLEU")
    marks = [shape for shape in drawn.shapes if isinstance(shape, Box) and shape.told]
    assert [round(one.x - marks[0].x, 6) for one in marks] == [0, WIDE / 2, WIDE]
    rises = [marks[n].y - marks[n + 1].y for n in range(2)]
    assert rises[0] == pytest.approx(rises[1])
    assert 0 < rises[0] < HIGH
    assert all(one.start[0] < one.end[0] for one in drawn.shapes if isinstance(one, Stroke))
    assert "one: left 4, BLEU 2" in written(drawn)


def test_nothing_to_draw_is_an_error_and_one_point_is_not():
    with pytest.raises(UsageError, match="nothing to draw"):
        curves({"one": [(1, float("nan"))]}, "t", "x", "y")
    with pytest.raises(UsageError, match="nothing to draw"):
        scatter([], "t", [])
    assert curves({"one": [(1, 2.0)]}, "t", "x", "y").width > 0


def test_ticks_are_round_and_inside():
    assert ticks(0, 32) == [0, 10, 20, 30]
    assert ticks(30.2, 39.1) == [32, 34, 36, 38]
    assert ticks(0.0, 0.011) == [0, 0.002, 0.004, 0.006, 0.008, 0.01]


def test_a_map_has_one_scale_and_escapes_what_it_is_told():
    dots = [Dot(0, 0, 0, "<b>", "a < b"), Dot(2, 0, 1), Dot(0, 1, 1)]
    drawn = scatter(dots, "t", ["first", "second"])
    x, y = zip(
        *((s.x, s.y) for s in drawn.shapes[2:] if isinstance(s, Box) and s.width == 7), strict=True
    )
    assert (x[1] - x[0]) / (y[0] - y[2]) == pytest.approx(2)
    assert "<b>" not in written(drawn)
