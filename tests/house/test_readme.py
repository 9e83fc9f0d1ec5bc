"""The README and the settings' page tell the truth: what they list is what is there, and examples run."""

import re

from regard.config import meaning
from regard.run.settings import RunSettings
from tests.house.settings import PAGE, groups, page
from tests.house.tree import ROOT, tree, written


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


def test_python_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_ci_runs_the_readme_command():
    readme = (ROOT / "README.md").read_text("utf-8")
    gate = (ROOT / ".ci" / "run").read_text("utf-8").strip().split("\n")[-1]
    assert f"\n{gate}\n" in readme
