import re
import subprocess
import sys
import unicodedata
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.table import Table

from regard.errors import UsageError
from regard.show import heatmap
from regard.show.colour import BLOCKS
from regard.show.heatmap import heat_map
from regard.tasks.axis import Tokens
from tests.show.conftest import site_of

LABELS = st.text(st.characters(codec="utf-8"), max_size=9)
ESCAPE = re.compile(r"\x1b\[[\d;]*m")
unhurried = settings(deadline=None)


def test_a_small_map_word_for_word(printed):
    weights = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    shown = printed(heat_map(weights, ["le", "chat"], ["the", "black", "cat"], "where it looks"))
    assert shown.split("\n") == [
        "where it looks",
        "     the",
        "     │ black",
        "     │ │ cat",
        "  le ██    ",
        "chat   ▄▄▄▄",
        "     0   ▁▁▂▂▃▃▃▄▄▅▅▅▆▆▇▇██ 1",
        "",
    ]


def test_numbers_stand_under_their_labels(printed):
    weights = np.array([[0.25, 0.75], [1.0, 0.0]])
    shown = printed(heat_map(weights, ["a", "b"], ["one", "two"], numbers=True))
    assert shown.split("\n") == ["   one   two", "a  0.25  0.75 ", "b  1.00  0.00 ", ""]


@given(st.lists(LABELS, min_size=1, max_size=6), st.lists(LABELS, min_size=1, max_size=12))
@unhurried
def test_every_row_is_equally_wide_and_each_square_under_its_label(printed, rows, columns):
    """Row i is heavy at column i alone: the ink must stand where the label does."""
    weights = np.eye(len(rows), len(columns))
    lines = printed(heat_map(weights, rows, columns), width=100).split("\n")
    body = lines[-2 - len(rows) : -2]
    assert len({cell_len(line) for line in body}) == 1
    frame = heatmap.Frame.fitting(tuple(rows), tuple(columns), 100, numbers=False)
    for number, line in enumerate(body[: len(columns)]):
        before = line[: line.rindex("█" * frame.cell)]
        assert cell_len(before) == frame.margin + number * frame.cell


@given(
    st.lists(LABELS, min_size=1, max_size=4),
    st.lists(LABELS, min_size=1, max_size=40),
    st.integers(8, 120),
    st.booleans(),
    st.booleans(),
    LABELS,
)
@unhurried
def test_no_line_is_wider_than_the_console(printed, rows, columns, width, numbers, wrap, title):
    weights = np.ones((len(rows), len(columns)))
    picture = heat_map(weights, rows, columns, title, numbers, wrap=wrap, most_rows=2)
    for line in printed(picture, width=width).split("\n"):
        assert cell_len(line) <= width


@given(st.lists(LABELS, min_size=1, max_size=5))
@unhurried
def test_nothing_of_a_label_controls_the_terminal(printed, labels):
    weights = np.ones((len(labels), len(labels)))
    for line in printed(heat_map(weights, labels, labels, labels[0])).split("\n"):
        assert not [one for one in line if unicodedata.category(one) in ("Cc", "Zl", "Zp")]
        depth = 0
        for character in line:
            kind = unicodedata.bidirectional(character)
            assert kind not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI")
            depth += {"FSI": 1, "PDI": -1}.get(kind, 0)
            assert depth in (0, 1)
        assert depth == 0


def backgrounds(line):
    return [tuple(map(int, one)) for one in re.findall(r"48;2;(\d+);(\d+);(\d+)m", line)]


def test_colours_grow_lighter_with_the_weight(printed):
    weights = np.linspace(0, 1, 30)[None]
    shown = printed(heat_map(weights, ["r"], ["c"] * 30), colour="truecolor", width=100)
    row = backgrounds(shown.split("\n")[1])
    light = [red + green for red, green, _ in row]
    assert len(row) == 30
    assert light == sorted(light)
    assert row[0] == (0x00, 0x22, 0x4E)
    assert row[-1] == (0xFE, 0xE8, 0x38)


def test_256_colours_use_no_others(printed):
    shown = printed(heat_map(np.eye(3), list("abc"), list("abc"), "t"), colour="256")
    assert "48;5;227" in shown
    assert "8;2;" not in shown


def test_colour_changes_nothing_else(printed):
    weights = np.full((2, 3), 0.5)
    picture = heat_map(weights, ["a", "שלום"], ["long name", "b", "c"], "title")
    in_colour = ESCAPE.sub("", printed(picture, colour="truecolor")).split("\n")
    plain = printed(picture).split("\n")
    assert in_colour[:-4] == plain[:-4]  # the title and the heading
    assert [cell_len(line) for line in in_colour] == [cell_len(line) for line in plain]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colour_it_is_pure_text(printed, environment):
    picture = heat_map(np.eye(3), list("abc"), ["long", "names", "here"], "title")
    colour = "truecolor" if "NO_COLOR" in environment else None
    shown = printed(picture, colour=colour, environment=environment)
    assert "\x1b" not in shown
    assert "██" in shown


def test_a_console_of_ascii_has_letters_for_everything(printed):
    picture = heat_map(np.eye(2), ["é", "日本"], ["длинный", "b…"], "où")
    shown = printed(picture, encoding="ascii")
    assert "o?" in shown
    assert "@@" in shown
    widths = [cell_len(line) for line in shown.split("\n")]
    assert widths == [cell_len(line) for line in printed(picture).split("\n")]


def test_what_is_too_wide_goes_on_below_and_every_weight_is_shown(printed):
    weights = np.zeros((1, 30))
    weights[0, ::7] = 1
    shown = printed(heat_map(weights, ["row"], [f"name{n}" for n in range(30)]), width=24)
    assert "columns 1 to 10 of 30" in shown
    assert "columns 21 to 30 of 30" in shown
    assert "".join(re.findall(r"^row (.*)$", shown, re.M)).count("██") == len(range(0, 30, 7))


def test_what_is_cut_is_said(printed):
    names = [f"name{n}" for n in range(60)]
    picture = heat_map(np.ones((60, 60)), names, names, numbers=True, wrap=False, most_rows=4)
    shown = printed(picture, width=41).split("\n")
    assert "43 of 60 columns left out: no room" in shown
    assert "56 of 60 rows left out: no room" in shown
    assert "numbers left out: no room" in shown
    assert sum(line.endswith(" " + "██" * 17) for line in shown) == 4


def test_weights_that_are_not_numbers_are_asked_about(printed):
    shown = printed(heat_map(np.array([[float("nan"), 1.0]]), ["r"], ["a", "b"]))
    assert "r ? ██" in shown


@pytest.mark.parametrize(
    ("largest", "top", "shown"),
    [
        (0.3, 1.0, "1"),
        (0.3, None, "0.5"),
        (0.02, None, "0.02"),
        (0.51, None, "1"),
        (2.5, 1.0, "2.5"),
    ],
)
def test_the_legend_says_what_the_lightest_colour_means(printed, largest, top, shown):
    weights = np.array([[largest, 0.0]])
    lines = printed(heat_map(weights, ["r"], ["a", "b"], top=top)).split("\n")
    assert lines[-2].split() == ["0", lines[-2].split()[1], shown]
    ink = round(largest / float(shown) * (len(BLOCKS) - 1))
    assert lines[1] == f"r {BLOCKS[ink] * 2}  "


def test_a_map_measures_itself_for_a_table(printed):
    table = Table.grid()
    maps = [heat_map(np.eye(2), ["a", "b"], ["c", "d"], name) for name in ("one", "two")]
    table.add_row(*maps)
    first = printed(table).split("\n")[0]
    assert first.index("two") == len("  0   ▁▁▂▂▃▃▃▄▄▅▅▅▆▆▇▇██ 1")


def test_matrices_that_do_not_fit_their_names_are_refused():
    with pytest.raises(UsageError) as fault:
        heat_map(np.ones((2, 3)), ["a"], ["b", "c", "d"])
    assert fault.value.what == "a 2 x 3 matrix does not fit 1 rows and 3 columns"
    with pytest.raises(UsageError) as fault:
        heat_map(np.array([[-0.5]]), ["a"], ["b"])
    assert fault.value.what == "a weight of -0.5 is below 0"


def test_a_sight_shows_the_mean_of_its_heads(printed, seen):
    shown = printed(heatmap.site_map(seen, numbers=True), width=100)
    lines = shown.split("\n")
    assert lines[0] == "reader.blocks.0.cross, mean of 2 heads: answer down, source across"
    assert "sleep" in shown
    assert "·ing" in shown
    for name, weights in zip(("le", "chat", "</s>"), seen.site().weights.mean(0), strict=True):
        row = next(line for line in lines if line.strip().startswith(name))
        assert [float(one) for one in row.split()[1:]] == pytest.approx(weights, abs=0.0051)


def test_a_sight_shows_one_head_or_another_site(printed, seen):
    shown = printed(heatmap.site_map(seen, head=1, numbers=True), width=100)
    assert shown.startswith("reader.blocks.0.cross, head 1 (of 0 to 1): answer down, source across")
    assert f"{seen.site().weights[1, 0, 0]:.2f}" in shown
    own = printed(heatmap.site_map(seen, "encoder.blocks.0.self"))
    assert own.startswith("encoder.blocks.0.self: source down and across")
    with pytest.raises(UsageError) as fault:
        heatmap.site_map(seen, head=2)
    assert (fault.value.what, fault.value.remedy) == (
        "no head 2 at 'reader.blocks.0.cross'",
        "choose 0 to 1",
    )


def test_one_query_stands_upright(printed, seen):
    weights = np.array([[[0.0, 0.25, 0.5, 0.25, 0.0]]], np.float32)
    site = site_of("reader.pool", "label", "source", weights)
    axes = {**seen.axes, "label": Tokens.whole(("good",))}
    pooled = replace(seen, axes=axes, sites=(site,))
    lines = printed(heatmap.site_map(pooled, numbers=True)).split("\n")
    assert lines[0] == "reader.pool: source down, answer across"
    assert [line.split() for line in lines[1:-1]] == [
        ["good"],
        ["the", "0.00"],
        ["cat", "0.25"],
        ["sleep", "0.50"],
        ["·ing", "0.25"],
        ["</s>", "0.00"],
    ]


def test_a_map_needs_no_torch():
    program = (
        "import sys, regard.show.heatmap, regard.show.report; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
