"""The page and the server agree: its types are the API's, and what it says of a task it was told."""

import re

from regard.tasks.names import LEARNS_FROM
from regard.worked import EXAMPLES
from tests.house.schema import TYPES, types
from tests.house.tree import ROOT

SOURCES = sorted(
    path for path in (ROOT / "web" / "src").rglob("*") if path.suffix in (".ts", ".svelte")
)


def test_the_types_of_the_page_are_those_of_the_api():
    assert TYPES.read_text("utf-8") == types(), "run: python -m tests.house.schema --write"


def test_no_view_names_a_task():
    """What a task is, the server says (`tasks` of /api/about)."""
    assert len(SOURCES) > 50
    names = "|".join(LEARNS_FROM)
    named = re.compile(rf"""(?<!class=)["'`]({names})["'`]|\w\[[\w.?]*\.task\]""")
    found = {
        path.relative_to(ROOT).as_posix(): match[0].strip()
        for path in SOURCES
        if path != TYPES
        for match in named.finditer(path.read_text("utf-8"))
    }
    assert not found


def test_every_lesson_has_a_picture():
    painted = (ROOT / "web" / "src" / "pure" / "picture.ts").read_text("utf-8")
    painters = set(re.findall(r'^  "?([a-z-]+)"?: \(', painted, re.MULTILINE))
    assert set(EXAMPLES) == painters
