"""The picture under the map: every weight over its own part of the picture, in cells or smooth."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from regard.data import png
from regard.question import Question, titled
from regard.show import sheet, svg_png
from regard.show.figure import Dots, Words
from regard.show.overlay import (
    DIM,
    GOLD,
    MANNERS,
    NOWHERE,
    STRONGEST,
    ground,
    overlaid,
    picture_maps,
    shown_in,
    size_for,
)
from regard.tasks import Prediction
from regard.tasks.axis import Grid, Times, Tokens
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

ROWS, COLUMNS = 2, 3
PICTURE = np.arange(20 * 30 * 3, dtype=np.uint8).reshape(20, 30, 3)
WORDS = ("a", "red", "cat")


def site(weights: np.ndarray) -> TracedSite:
    heads, queries, keys = weights.shape
    nothing = np.zeros((heads, queries, 1), np.float32)
    return TracedSite(
        path="reader.attention",
        kind="cross",
        layer=0,
        queries="target",
        keys="source",
        score="dot",
        normaliser="softmax",
        combine="product",
        scale=1.0,
        weights=weights,
        scores=np.zeros_like(weights),
        query=nothing,
        key=np.zeros((heads, keys, 1), np.float32),
        value=np.zeros((heads, keys, 1), np.float32),
    )


def seen(axis, heads: int = 2) -> Trace:
    generator = np.random.default_rng(5)
    weights = generator.dirichlet(np.ones(len(axis)), (heads, len(WORDS))).astype(np.float32)
    return Trace(
        "caption",
        "",
        Question("cat.png"),
        Prediction("a red cat", 0.0, WORDS, (1, 2, 3)),
        (),
        {"source": axis, "target": Tokens.whole(WORDS)},
        (site(weights),),
    )


def grid(picture: str = png.url(PICTURE), covered=(1.0, 1.0)) -> Grid:
    return Grid(ROWS, COLUMNS, picture, covered)


def test_each_cell_has_the_colour_of_its_weight_over_its_part_of_the_picture():
    weights = np.arange(6, dtype=np.float32) / 15  # column after column
    drawn = overlaid(grid(), weights, (20, 30), "cells")
    for row, column in np.ndindex(20, 30):
        share = weights[column // 10 * ROWS + row // 10] / weights.max() * STRONGEST
        wanted = DIM * PICTURE[row, column] * (1 - share) + np.array(GOLD) * share
        assert np.abs(drawn[row, column] - wanted).max() <= 0.51


def test_smooth_is_the_weight_at_the_centre_of_a_cell_and_between_its_neighbours_elsewhere():
    weights = np.array([0, 1, 0, 0, 0, 0], np.float32)  # the lower cell of the first column
    black = grid(png.url(np.zeros((20, 30, 1), np.uint8)))
    red = overlaid(black, weights, (22, 33), "smooth")[..., 0] / (STRONGEST * GOLD[0])
    assert red[16, 5] == pytest.approx(1.0, abs=0.01)  # its centre
    assert red[16, 16] == pytest.approx(0.0, abs=0.01)  # the centre beside it
    assert red[16, 10] == pytest.approx(6 / 11, abs=0.01)  # six of eleven dots away from that
    assert (np.diff(red[16, 5:17]) <= 0).all()


def test_what_no_picture_lies_under_is_grey_and_the_picture_is_not_stretched():
    half = grid(covered=(1.0, 0.5))
    drawn = ground(half, 20, 60)
    assert np.array_equal(drawn[:, :30], PICTURE)
    assert (drawn[:, 30:] == NOWHERE).all()


@pytest.mark.parametrize(
    "url", ["", "/etc/hostname", "data:image/png;base64,AAAA", "data:image/png;base64,???", "x"]
)
def test_a_picture_that_is_none_is_none_and_no_file_is_opened(url):
    assert shown_in(url) is None
    assert (ground(grid(url), 4, 6) == NOWHERE).all()


@pytest.mark.parametrize("covered", [(0.0, 0.0), (-3.0, 7.0), (1e-9, 1e9)])
def test_a_file_that_lies_about_its_picture_is_still_drawn(covered):
    assert overlaid(grid(covered=covered), np.ones(6) / 6, (8, 12), "cells").shape == (8, 12, 3)


@pytest.mark.parametrize("manner", MANNERS)
def test_svg_and_png_have_the_picture_and_one_for_each_word_and_say_how(manner):
    trace = seen(grid())
    drawn = sheet.drawing(trace, manner=manner)
    pictures = [shape for shape in drawn.shapes if isinstance(shape, Dots)]
    assert len(pictures) == 1 + len(WORDS)
    weights = trace.site().weights.mean(0)
    dots = pictures[0].colours.shape[:2]
    assert dots == size_for(grid(), *dots)
    for shape, row in zip(pictures[1:], weights, strict=True):
        assert np.array_equal(shape.colours, overlaid(grid(), row, dots, manner))
    said = " ".join(shape.text for shape in drawn.shapes if isinstance(shape, Words))
    assert all(f"{word}  {row.max():.2f}" in said for word, row in zip(WORDS, weights, strict=True))
    assert MANNERS[manner].split()[0] in said
    root = ElementTree.fromstring(svg_png.written(drawn))
    assert sum(one.tag.endswith("image") for one in root.iter()) == 1 + len(WORDS)
    assert svg_png.painted(drawn)[0].startswith(png.SIGNATURE)


def test_one_head_is_that_head():
    trace = seen(grid())
    one = [s.colours for s in sheet.drawing(trace, head=1).shapes if isinstance(s, Dots)]
    own = overlaid(grid(), trace.site().weights[1, 0], one[0].shape[:2], "cells")
    assert np.array_equal(one[1], own)


def printed(drawn, width: int = 80, **how) -> str:
    console = Console(file=io.StringIO(), width=width, **how)
    console.print(drawn)
    return console.file.getvalue()


def test_the_terminal_draws_half_blocks_that_fit_and_names_each_word():
    trace = seen(grid())
    shown = printed(picture_maps(trace), force_terminal=True, color_system="truecolor")
    colours = overlaid(grid(), trace.site().weights.mean(0)[0], size_for(grid(), 24, 80), "cells")
    red, green, blue = colours[0, 0]
    assert f"38;2;{red};{green};{blue}" in shown
    plain = printed(picture_maps(trace), color_system=None)
    for word, row in zip(WORDS, trace.site().weights.mean(0), strict=True):
        assert f"{word} {row.max():.2f}" in shown
        assert f"{word} {row.max():.2f}" in plain
    assert "▀" not in plain
    assert "needs a terminal with colours" in plain
    assert all(len(line) <= 80 for line in plain.splitlines())


def test_a_terminal_says_which_of_the_two_ways_it_drew():
    colours = {"force_terminal": True, "color_system": "truecolor"}
    cells, smooth = (
        printed(picture_maps(seen(grid()), manner=manner), **colours)
        for manner in ("cells", "smooth")
    )
    assert "one square a weight" in cells
    assert "smooth: interpolated" in smooth
    assert cells != smooth


def test_without_colours_it_is_cells_whatever_was_asked_for_and_says_so():
    cells, smooth = (
        printed(picture_maps(seen(grid()), manner=manner), color_system=None)
        for manner in ("cells", "smooth")
    )
    for shown in (cells, smooth):
        assert "More ink is more weight, one square a weight." in shown
    assert "or a smooth map, needs a terminal with colours" in smooth
    assert "smooth" not in cells


def test_numbers_are_asked_for_by_cell():
    shown = printed(picture_maps(seen(grid()), numbers=True), width=200)
    assert "row 2, column 3" in shown.replace("│", " ") or "0." in shown
    assert "▀" not in shown


def test_a_sound_lies_below_its_map_on_one_scale_of_seconds():
    axis = Times((0.0, 0.5, 1.0, 1.5), tuple(np.sin(np.arange(40)).tolist()))
    drawn = sheet.drawing(seen(axis))
    said = [shape.text for shape in drawn.shapes if isinstance(shape, Words)]
    assert {"0.00 s", "2.00 s", *WORDS} <= set(said)
    rows = [shape for shape in drawn.shapes if isinstance(shape, Dots)]
    assert [row.colours.shape for row in rows] == [(1, 4, 3)] * len(WORDS)
    with_picture = Times(axis.seconds, axis.waveform, png.url(PICTURE))
    pictured = [s for s in sheet.drawing(seen(with_picture)).shapes if isinstance(s, Dots)]
    assert len(pictured) == len(WORDS) + 1
    assert np.array_equal(pictured[-1].colours, PICTURE)


def test_a_title_names_a_picture_and_does_not_spell_it():
    assert titled(png.url(PICTURE)) == "(picture)"
    both = Question({"word": "top", "cells": {"image": png.url(PICTURE)}})
    assert titled(both) == '{"word": "top", "cells": {"image": "(picture)"}}'
    assert titled("data: none") == "data: none"
