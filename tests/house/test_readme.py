"""The README, the map and the settings' page tell the truth: what they list is what is there."""

import re

from regard.config import meaning
from regard.run.settings import RunSettings
from tests.house.settings import PAGE, groups, page
from tests.house.tree import BEGIN, MAP, PACKAGE, ROOT, tree, written


def test_the_tree_is_the_real_one():
    assert written() == tree(), "run: python -m tests.house.tree --write"


def test_every_setting_is_explained():
    silent = [
        f"{path}.{n}"
        for path, kind in groups(RunSettings)
        for n in kind.model_fields
        if not meaning(kind, n)
    ]
    assert not silent
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.house.settings --write"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_bytes()) <= 12_000


def test_nothing_of_the_map_is_cut_off():
    assert "…" not in written()


def test_the_map_names_files_that_are_there():
    """A file of the package by its whole path, or by its name alone; other folders from the root."""
    text = MAP.read_text("utf-8").split(BEGIN)[0]
    files = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
    there = files | {path.rpartition("/")[2] for path in files}
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    assert {name for name in named - there if not (ROOT / name).is_file()} == set()


def test_the_twelve_questions_have_their_answers():
    rows = re.findall(r"^\| [^|]+\? \| `([\w/.]+)` \| `([^`]+)` \|$", MAP.read_text("utf-8"), re.M)
    assert len(rows) == 12
    for path, words in rows:
        assert (PACKAGE / path).is_file(), f"docs/map.md: where did {path} go?"
        text = (PACKAGE / path).read_text("utf-8")
        assert words in text, f"docs/map.md: {words} has left {path}"


def test_ci_runs_the_readme_command():
    readme = (ROOT / "README.md").read_text("utf-8")
    gate = (ROOT / ".ci" / "run").read_text("utf-8").strip().split("\n")[-1]
    assert f"\n{gate}\n" in readme
