"""docs/lectures.md: every item has a line to type, and every line is typed here."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from regard.cli.main import status

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "lectures.md").read_text("utf-8")
LAST = 106
# What a training of two steps needs: the command is tried, not what it learns (tests/learn does that).
SHORT = [
    f"--set={change}"
    for change in (
        "data.examples=48",
        "batch.tokens=128",
        "batch.max_length=128",
        "train.steps=2",
        "train.warmup=1",
        "train.evaluate_every=2",
        "train.evaluate_examples=1",
        "train.checkpoint_every=2",
        "train.workers=0",
        "decode.beam=1",
        "decode.max_length=4",
    )
]


def rows():
    """(section, items, lines to type) of each row, in the order of the page."""
    for section in PAGE.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        for line in body.splitlines():
            if line.startswith("| L"):
                items, _, typed = (cell.strip() for cell in line.strip("|").split(" | ", 2))
                yield title, items.strip().split(", "), re.findall(r"`([^`]+)`", typed)


SECTIONS = {title: [line for name, _, lines in rows() for line in lines if name == title]
            for title, *_ in rows()}  # fmt: skip
# Many seconds by themselves, and with tests of their own: typed only with the slow tests.
LONG = ("regard bench", "regard heads", "regard senses")


def type_in(lines, more):
    """Type each line: a command must end well, and Python must run."""
    known = {"regard": regard}
    for line in lines:
        if not line.startswith("regard "):
            exec(compile(line, "lectures.md", "exec"), known)
            continue
        words = shlex.split(line)[1:]
        extra = more if words[0] in ("train", "compare") else []
        if extra and "vaswani2017-tiny" in words:
            extra = [*extra, "--set=model.encoder.layers=1", "--set=model.reader.layers=1"]
        if status([*words, *extra]) != 0:
            raise AssertionError(line)


def type_page(sections, more):
    """In a process of its own, as a person would: without the shape checks of a test run, which take time."""
    lines = {title: [one for one in SECTIONS[title] if not more or not one.startswith(LONG)]
             for title in sections}  # fmt: skip
    code = f"""
import os
from regard.training import compare_runs
from tests.cli.test_lectures import type_in
if {bool(more)}:
    compare_runs.MOST_ASKED = 4
for title, lines in {lines!r}.items():
    os.makedirs(title)
    os.chdir(title)
    type_in(lines, {more!r})
    os.chdir("..")
"""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    typed = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert typed.returncode == 0, typed.stderr[-3000:]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_item_has_a_line_to_type():
    listed = [item for _, items, lines in rows() for item in items if lines]
    assert sorted(listed, key=lambda item: int(item[1:])) == [
        f"L{number}" for number in range(1, LAST + 1)
    ]


def test_every_row_shows_something():
    """A row that ends with `heads = regard.Heads(16, 4)` printed nothing."""
    for _, items, lines in rows():
        if not lines[-1].startswith("regard "):
            assert isinstance(ast.parse(lines[-1]).body[-1], ast.Expr), (items, lines[-1])


def test_every_line_can_be_typed():
    type_page(SECTIONS, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS)
def test_every_line_as_it_stands(section):
    type_page([section], [])


def test_a_lesson_takes_numbers_of_your_own(capsys):
    assert status(["lesson", "flying-arrows", "--given", "x=1"]) == 0
    assert "-0.19557" in capsys.readouterr().out  # [-0.1956, 1], worked out by hand
    assert status(["lesson", "--json"]) == 0
    assert '"six-steps"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("y=1", "no input 'y'"),
        ("x", "needs a value"),
        ("x=[1]", "not of the kind"),
        ("arrows=[1, 2]", ""),
        ("arrows=[[1]]", ""),
    ],
)
def test_numbers_that_do_not_fit_are_refused(given, what, capsys):
    assert status(["lesson", "flying-arrows", "--given", given]) == 2
    assert what in capsys.readouterr().err
