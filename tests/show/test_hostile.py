"""More than two hundred tricks through every export: none of them is ever more than text (P1 to P3)."""

import html
import io
import json
import re
from xml.etree import ElementTree

import pytest
from rich.console import Console

from regard.show import figure, svg_png
from regard.show.heatmap import heat_map, site_map
from regard.show.label import one_line
from regard.show.notebook import head_view, model_view, neuron_view
from regard.show.page import frame, page
from regard.traces.overview import overview
from regard.traces.trace import Trace
from tests.show.hostile import PARTS, hostile
from tests.show.payloads import CORPUS, ESCAPES
from tests.show.test_page import Reader, blocks, built
from tests.show.test_svg import parsed, uniform
from tests.traces.kit import traced

# What steers a terminal or turns text around: nothing of ours needs any of it but a line's end.
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066\u2067]")
pytestmark = built


@pytest.fixture(scope="module")
def clean():
    return page(traced("transformer"))


def test_there_are_more_than_two_hundred():
    assert len(CORPUS) > 200
    assert len(set(CORPUS)) == len(CORPUS)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part[0][:20])
def test_drawings(part):
    seen = hostile(part)
    for drawing in (
        svg_png.drawing(seen),
        svg_png.lines(seen.sites[0].weights, part, part, part[0]),
    ):
        parsed(drawing)
        assert not CONTROLS.search(drawing)
    labels = {
        element.text
        for element in ElementTree.fromstring(svg_png.drawing(seen)).iter()
        if element.text
    }
    short = [one_line(name) for name in part if len(one_line(name)) <= figure.LONGEST]
    assert len(labels & set(short)) >= len(set(short)) - 2  # `piece_names` may take a mark off


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part[0][:20])
def test_pages_and_notebooks(part, clean):
    seen = hostile(part)
    made = page(seen)
    reader, description, _, program = blocks(made)
    assert reader.elements == Reader(clean).elements
    assert description["trace"] == json.loads(json.dumps({"id": "inside", **overview(seen)}))
    assert program == blocks(clean)[3]
    assert not CONTROLS.search(made.replace(program, ""))
    shown = frame(seen)
    inside = re.fullmatch(r'<iframe sandbox="[a-z -]*"[^<>]* srcdoc="([^"<>]*)"></iframe>', shown)
    assert html.unescape(inside[1]) == made


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part[0][:20])
def test_calls_from_notebooks(part, clean):
    program = blocks(clean)[3]
    weights = uniform(len(part), len(part))[None, None]
    for view in (head_view, model_view):
        made = view([weights], list(part), html_action="return")
        assert Reader(made.data).elements == Reader(clean).elements
        assert not CONTROLS.search(made.data.replace(program, ""))
    made = neuron_view(hostile(part), html_action="return")
    assert Reader(made.data).elements == Reader(clean).elements


@pytest.mark.parametrize("colour", [None, "truecolor"])
@pytest.mark.parametrize("width", [30, 120])
def test_terminals_obey_none_of_it(printed, colour, width):
    """Our own colours are escape sequences; once they are taken away, nothing that steers is left."""
    for part in [*PARTS, ESCAPES]:
        for picture in (
            heat_map(uniform(len(part), len(part)), part, part, part[0]),
            site_map(hostile(part), title=part[-1]),
        ):
            said = printed(picture, width, 200, colour)
            ours = re.sub(r"\x1b\[[0-9;]*m", "", said) if colour else said
            assert not CONTROLS.search(ours), part
            assert "\x1b[31m" not in said


def test_files_keep_every_character(tmp_path):
    """A trace file and its JSON are data: whatever was asked comes back as it was."""
    for number, part in enumerate(PARTS):
        seen = hostile(part)
        seen.save(tmp_path / f"{number}.npz")
        back = Trace.load(tmp_path / f"{number}.npz")
        assert back.axes == seen.axes
        assert (back.question, back.answer, back.steps) == (seen.question, seen.answer, seen.steps)


def test_a_markup_of_the_console_is_not_obeyed():
    """Rich reads [red] as a colour where it is told to; our labels are never told."""
    file = io.StringIO()
    names = ["[red]x[/red]", "[link=https://evil.example]y[/link]", ":bomb:"]
    console = Console(file=file, width=100, color_system="truecolor", force_terminal=True)
    console.print(heat_map(uniform(3, 3), names, names, names[1]))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert all(name[:8] in plain for name in names)
