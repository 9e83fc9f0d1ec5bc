"""The README tells the truth: its tree is the real one, and its examples run."""

import re

from tests.house.tree import ROOT, tree, written


def test_the_tree_is_the_real_one():
    assert written() == tree(), "run: python -m tests.house.tree --write"


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
