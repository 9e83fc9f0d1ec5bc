"""Arcs: each from a word to an earlier word, as strong as its weight, in the terminal and as a figure."""

from dataclasses import replace

import numpy as np
import pytest

from regard.errors import UsageError
from regard.show.arcs import EAST, LANES, LINES, NORTH, SOUTH, Reading, arcs, drawing, lanes
from regard.show.figure import Box, Stroke
from regard.show.svg_png import written
from regard.tasks.axis import Tokens
from tests.show.conftest import site_of
from tests.traces.kit import traced

BOTH = NORTH | SOUTH
SENTENCE = ["<s>", "The", "FBI", "is", "chasing", "a", "criminal"]


@pytest.fixture
def read(seen):
    """`chasing` looks at `FBI`, `criminal` at `chasing`; `is` at two words."""
    weights = np.zeros((1, 7, 7), np.float32)
    for query, key, share in ((1, 0, 1), (2, 1, 1), (3, 2, 0.7), (3, 1, 0.3), (4, 2, 0.9)):
        weights[0, query, key] = share
    weights[0, 6, 4] = 0.8
    weights[0, 5, 1] = 0.05  # too little to be named
    axes = {"inputs": Tokens.whole(SENTENCE)}
    return replace(seen, axes=axes, sites=(site_of("reader.tape", "inputs", "inputs", weights),))


def test_a_word_names_what_it_looked_back_at(read, printed):
    own = Reading.of(read)
    assert own.said(3) == "FBI 0.70, The 0.30"
    assert own.said(5) == ""
    lines = printed(arcs(read)).splitlines()
    assert [line.split()[-1] for line in lines[:1]] == ["<s>"]
    assert "chasing" in lines[4]
    assert lines[4].endswith("← FBI 0.90")
    assert lines[6].endswith("← chasing 0.80")
    assert "reader.tape" in lines[7]


def test_every_arc_can_be_followed_by_eye(read):
    """In one lane from the earlier word down to the later one, and at both ends across to the words."""
    own = Reading.of(read)
    grid, left_out = lanes(own)
    assert left_out == 0
    for first, last in ((0, 1), (1, 2), (2, 3), (2, 4), (4, 6)):

        def joins(column, first=first, last=last):
            ends = grid[first][column] & SOUTH and grid[last][column] & NORTH
            down = all(grid[row][column] & BOTH == BOTH for row in range(first + 1, last))
            across = all(
                grid[row][inner] & EAST
                for row in (first, last)
                for inner in range(column, len(grid[0]))
            )
            return ends and down and across

        assert any(map(joins, range(len(grid[0])))), (first, last)
    assert [LINES[bits] for bits in grid[5]].count(
        "│"
    ) == 1  # past it, from `chasing` to `criminal`
    assert LINES[grid[5][-1]] != "╰"  # its own only look is too faint
    assert all(bits in LINES for row in grid for bits in row)


def test_what_finds_no_lane_is_said(seen, printed):
    """Everybody looks at the first word: more arcs side by side than there is room for."""
    count = LANES + 5
    weights = np.zeros((1, count, count), np.float32)
    weights[0, 1:, 0] = 1.0
    axes = {"inputs": Tokens.whole([f"w{n}" for n in range(count)])}
    own = replace(seen, axes=axes, sites=(site_of("tape", "inputs", "inputs", weights),))
    grid, left_out = lanes(Reading.of(own))
    assert left_out == count - 1 - LANES
    assert {len(row) for row in grid} == {LANES}
    assert f"{left_out} arcs left out: no room" in printed(arcs(own))
    assert printed(arcs(own), encoding="ascii").isascii()
    assert max(map(len, printed(arcs(own), width=20).splitlines())) <= 20


def test_a_figure_has_one_arc_a_weight_as_strong_as_it_is(read):
    drawn = drawing(read)
    strokes = [shape for shape in drawn.shapes if isinstance(shape, Stroke)]
    assert all(one.start[0] < one.end[0] for one in strokes)
    opacities = sorted({round(one.opacity, 3) for one in strokes})
    assert opacities == [0.05, 0.3, 0.7, 0.8, 0.9, 1.0]
    told = [shape.told for shape in drawn.shapes if isinstance(shape, Box)]
    assert told[4] == "chasing ← FBI 0.90"
    assert "chasing" in written(drawn)
    highest = min(one.end[1] for one in strokes)
    assert highest > 40  # below title and note


def test_what_is_pointed_at_is_drawn_from_the_word_that_was_said(printed):
    """The step that says word i looks at words before it: its arc begins at that word."""
    trace = traced("language-sentinel")
    own, site = Reading.of(trace), trace.sites[-1]
    assert own.words[1:] == tuple(p.strip("▁") for p in trace.axes["target"].pieces)
    for step in range(len(trace.axes["target"])):
        assert (
            own.weights[step + 1, : step + 1].tolist() == site.weights[0, step, : step + 1].tolist()
        )
    assert not own.weights[:, 0].any()  # the begin symbol is no word
    gate = next(one for one in trace.ribbons if one.name == "gate")
    sums = own.weights[1:].sum(1) + np.array(gate.values)
    np.testing.assert_allclose(sums, 1.0, atol=1e-5)


def test_an_lstmn_is_drawn_as_it_reads(printed):
    trace = traced("language-lstmn")
    own = Reading.of(trace)
    assert own.where == "reader.cells.1.attention"
    np.testing.assert_allclose(own.weights[1:].sum(1), 1.0, atol=1e-5)
    assert not own.weights[0].any()
    assert "reader.cells.0.attention" in printed(arcs(trace, "reader.cells.0.attention"))
    encoder = Reading.of(traced("translate-lstmn"), "encoder.recurrent.forward_cells.0.attention")
    assert encoder.weights.shape[0] == len(traced("translate-lstmn").axes["source"])


def test_what_cannot_be_drawn_as_arcs_is_refused(seen):
    with pytest.raises(UsageError, match="reads another text"):
        Reading.of(seen, "reader.blocks.0.cross")
    with pytest.raises(UsageError, match="looks ahead as well"):
        Reading.of(seen)
