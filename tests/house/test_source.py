"""Facts about the source that no linter knows."""

import ast
import re
import sys
from collections import Counter
from importlib import metadata

import pytest

from tests.house.tree import ROOT

FILES = sorted((ROOT / "src" / "regard").rglob("*.py"))
# `ctx` is torch's own word: it hands what was saved over by that name.
ABBREVIATED = {"attn", "cfg", "proj", "tgt", "idx", "emb", "params", "args", "utils"}
THEIRS = {"parse_args": "the parser of the command line calls this method, and its argument, so"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_file(path):
    module = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(module), "a file opens with the sentence a lecturer would say"
    theirs = [one for one in ast.walk(module) if getattr(one, "name", "") in THEIRS]
    named_by_others = {id(part) for one in theirs for part in (one, *one.args.args)}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
            assert not names & {"pickle", "dill", "joblib", "shelve", "marshal"}
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            assert name not in {"eval", "exec", "torch.load", "torch.save", "__import__"}
        is_ours = id(node) not in named_by_others
        if is_ours and isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.arg)):
            word = node.arg if isinstance(node, ast.arg) else node.name
            assert not set(word.lower().split("_")) & ABBREVIATED, f"whole words, not {word}"
        if isinstance(node, ast.FunctionDef) and node.args.kwarg is not None:
            passed_on = {ast.unparse(k.value) for k in ast.walk(node) if isinstance(k, ast.keyword)}
            assert node.args.kwarg.arg not in passed_on, "no **kwargs tunnels"


def test_nothing_speaks_of_one_machine():
    pattern = re.compile(r"/(?:home|root|Users)/\w|pypi\.org|pythonhosted|registry\.npmjs")
    for path in [*FILES, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        assert not pattern.search(path.read_text("utf-8")), path


def test_files_have_nouns():
    hidden = {"utils.py", "common.py", "misc.py", "base.py", "helpers.py"}
    assert not [path for path in FILES if path.name in hidden]


def test_no_two_files_have_one_name():
    """But `__init__` and `settings`: a name in an error or in a search leads to one place."""
    names = Counter(path.name for path in FILES)
    twice = {name for name, count in names.items() if count > 1}
    assert twice <= {"__init__.py", "settings.py"}


def test_no_script_hides_a_library():
    """A script's folder comes first where Python looks: a `kernels.py` hid what transformers asks for."""
    asked = {
        re.split(r"[^\w-]", one)[0].replace("-", "_").lower()
        for package in metadata.distributions()
        for one in package.requires or []
    }
    scripts = {path.stem for path in (ROOT / "bench").glob("*.py")}
    assert not scripts & (asked | sys.stdlib_module_names)
