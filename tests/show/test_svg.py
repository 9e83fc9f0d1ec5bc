"""Drawings: valid XML, whatever the labels; every weight has its square, every label its place."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from regard.errors import UsageError
from regard.question import titled
from regard.show import figure, svg_png
from regard.show.colour import cividis
from regard.tasks.axis import Grid, Times
from tests.show.payloads import EVERY, HOSTILE
from tests.traces.kit import MODELS, traced

SPACE = "{http://www.w3.org/2000/svg}"
ALLOWED = {"svg", "title", "rect", "text", "image", "line"}


def parsed(drawing):
    root = ElementTree.fromstring(drawing)
    for element in root.iter():
        assert element.tag.removeprefix(SPACE) in ALLOWED
        assert not [name for name in element.attrib if name.lower().startswith("on")]
    return root


def texts(root):
    return [element.text for element in root.iter(f"{SPACE}text")]


def uniform(rows, columns):
    return np.full((rows, columns), 1 / columns, np.float32)


@pytest.mark.parametrize("text", EVERY)
def test_other_peoples_text_stays_text(text):
    for drawing in (
        svg_png.heat_map(uniform(1, 2), [text], [text, text], text),
        svg_png.lines(uniform(1, 2)[None], [text], [text, text], text),
    ):
        root = parsed(drawing)
        assert "<script" not in drawing.lower()
        assert "<img" not in drawing.lower()
        assert not re.search(
            "[\u202a-\u202e\u2066-\u2069\u2028\u2029\x00-\x09\x0b-\x1f\x7f]", drawing
        )
        shown = [label for label in texts(root) if label]
        if text in HOSTILE and len(text) <= figure.LONGEST and "\u2028" not in text:
            assert shown.count(text) >= 3


def test_all_at_once():
    parsed(svg_png.heat_map(uniform(len(EVERY), len(EVERY)), EVERY, EVERY))


def test_each_weight_has_its_square():
    weights = np.array([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]], np.float32)
    root = parsed(svg_png.heat_map(weights, ["a", "b"], ["x", "y", "z"], "five"))
    told = {rect.find(f"{SPACE}title").text: rect.get("fill") for rect in root if len(rect)}
    assert told["a → y: 0.250"] == "#{:02x}{:02x}{:02x}".format(*cividis(0.25))
    assert told["b → x: 1.000"] == "#{:02x}{:02x}{:02x}".format(*cividis(1.0))
    assert len(told) == 6
    assert {"a", "b", "x", "y", "z", "five"} <= set(texts(root))


def test_small_weights_use_the_whole_scale():
    root = parsed(svg_png.heat_map(np.full((1, 2), 0.02), ["a"], ["x", "y"]))
    fills = [rect.get("fill") for rect in root if len(rect)]
    assert fills == ["#{:02x}{:02x}{:02x}".format(*cividis(1.0))] * 2
    assert "0.02" in texts(root)


def test_very_many_cells_are_one_picture():
    """P4: two thousand tokens."""
    names = [str(n) for n in range(2000)]
    drawing = svg_png.heat_map(np.eye(2000, dtype=np.float32), names, names)
    root = parsed(drawing)
    assert len(drawing) < 400_000
    (image,) = root.iter(f"{SPACE}image")
    assert image.get("href").startswith("data:image/png;base64,")
    assert any("one label in" in text for text in texts(root))
    assert len(texts(root)) < 600


def test_nothing_is_drawn_too():
    parsed(svg_png.heat_map(np.zeros((0, 0)), [], []))
    parsed(svg_png.heat_map(np.zeros((1, 0)), ["a"], []))
    parsed(svg_png.lines(np.zeros((2, 0, 3)), [], ["a", "b", "c"]))


def test_a_line_for_each_weight_that_can_be_seen():
    weights = np.array([[[0.9, 0.1, 0.0]], [[0.01, 0.0, 0.99]]], np.float32)
    root = parsed(svg_png.lines(weights, ["q"], ["a", "b", "c"]))
    found = [(line.get("stroke"), line.get("stroke-opacity")) for line in root.iter(f"{SPACE}line")]
    assert found == [
        (figure.HEADS[0], "0.900"),
        (figure.HEADS[0], "0.100"),
        (figure.HEADS[1], "0.990"),
    ]


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_trace(kind):
    seen = traced(kind)
    for site in seen.sites:
        for words in (False, True):
            root = parsed(svg_png.drawing(seen, site.path, site.heads - 1, words=words))
            rows, columns, weights = figure.shown(seen, site, words)
            if isinstance(seen.axes[site.keys], Grid):
                pictures = [image for image in root if image.tag.endswith("image")]
                assert len(pictures) == 1 + len(rows)
            elif isinstance(seen.axes[site.keys], Times):
                strips = [image for image in root if image.tag.endswith("image")]
                assert len(strips) == len(rows) + 1  # a strip a row, and what was heard
            else:
                assert len([rect for rect in root if len(rect)]) == weights[0].size
            assert weights.shape[1:] == (len(rows), len(columns))


@pytest.mark.parametrize("kind", MODELS)
def test_a_drawing_without_a_choice_is_one_for_people(kind):
    """Pieces of words below the path of a module, and a third of the picture empty: no slide wants that."""
    seen = traced(kind)
    drawn, site = figure.drawing(seen), seen.site()
    sides = {name for side in (site.queries, site.keys) for name in seen.axes[side].words}
    said = [shape.text for shape in drawn.shapes if isinstance(shape, figure.Words)]
    assert {figure.label_of(name) for name in sides} - {""} <= set(said)
    assert drawn.title == f"{titled(seen.question)} \u2192 {seen.answer.text}".strip()
    cells = [shape for shape in drawn.shapes if isinstance(shape, figure.Box) and shape.told]
    assert len(cells) == seen.alignment().size
    right = max(cell.x + cell.width for cell in cells)
    longest = max(map(len, said))
    assert drawn.width <= max(figure.NARROWEST, right + longest * figure.LETTER + figure.GAP)


def test_a_long_title_is_broken_and_never_wider_than_the_picture():
    drawn = figure.heat_map(uniform(2, 2), ["a", "b"], ["x", "y"], "word " * 60, "x" * 500)
    heading = [s for s in drawn.shapes if isinstance(s, figure.Words) and s.weight != 400]
    assert len(heading) > 3
    assert drawn.width == figure.NARROWEST
    assert all(figure.GAP + len(one.text) * figure.LETTER <= drawn.width for one in heading)
    assert min(s.y for s in drawn.shapes if isinstance(s, figure.Box)) > heading[-1].y
    assert figure.heat_map(uniform(1, 1), ["a"], ["b"]).shapes


def test_a_pooled_look_stands_upright():
    seen = traced("classify")
    root = parsed(svg_png.drawing(seen))
    assert any("source down, answer across" in text for text in texts(root))


def test_what_does_not_fit_is_said():
    with pytest.raises(UsageError, match="no head 2"):
        svg_png.drawing(traced("transformer"), None, 2)
    with pytest.raises(UsageError, match="does not fit 1 rows and 3 columns"):
        svg_png.heat_map(uniform(1, 2), ["a"], ["x", "y", "z"])
