"""Nobody matches a task's name or parses a module's path: a task says itself what others would ask."""

import ast

import pytest

from regard.tasks.names import COMMANDS, LEARNS_FROM
from tests.house.tree import ROOT

SOURCE = ROOT / "src" / "regard"
WORDS = {*LEARNS_FROM, *COMMANDS.values()}
CLASSES = {name.title() for name in LEARNS_FROM}
KINDS = {kind.__name__ for kind in LEARNS_FROM.values()}
OWNERS = ("tasks", "presets")  # the rooms that own tasks
# The same words for other things, by file.
HOMONYMS = {
    "data/formats/media_table.py": {"caption"},  # the name of a column
    "config.py": {"tag"},  # pydantic's word for what tells the members of a union apart
    # What a model that was brought does, in the words that a trace has for it.
    "interop/bring.py": {"translate", "classify", "language"},
    # What folders of other libraries are brought in as.
    "interop/bert.py": {"Fill", "Tag", "isinstance(task, Fill)"},
    "interop/gpt2.py": {"Language"},
    "interop/marian.py": {"translate", "Translate"},
    "interop/returned.py": {"Translate"},
    "settings/architecture.py": {"tag", "classify", "point"},  # kinds of readers
    "studio/trace_store.py": {"language"},  # in which a question is written
    "traces/overview.py": {"language"},
}
FILES = [
    path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] not in OWNERS
]


def named(source: str) -> set[str]:
    """The tasks that a program names: as a string, or by importing the class of one."""
    tree = ast.parse(source)
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} & WORDS
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("regard.tasks")
        for alias in node.names
    }
    return strings | imported & CLASSES | _asked_what_it_is(tree)


def _asked_what_it_is(tree: ast.AST) -> set[str]:
    """Where a program asks whether a task is of some class: `isinstance(run.task, Writing)`."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    return {
        ast.unparse(call)
        for call in calls
        if ast.unparse(call.func) in ("isinstance", "issubclass", "type")
        and ast.unparse(call.args[0]).split(".")[-1] in ("task", "learned")
    }


def parses_a_path(source: str) -> bool:
    """Whether the path of a module is cut into parts: `path.split(".")`, `path.partition("[")`."""
    cut = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"split", "rsplit", "partition", "rpartition"}
        and [ast.unparse(one) for one in node.args[:1]] in (["'.'"], ["'['"])
    )
    return any(
        isinstance(node, ast.Call)
        and ast.unparse(node).startswith(("path.", "module.", "site.path", "self.path"))
        for node in cut
    )


def kinds(source: str) -> set[str]:
    """The kinds of examples that a program imports, to match them or to make them."""
    imports = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom))
    return {alias.name for one in imports if "example" in (one.module or "") for alias in one.names}


def test_no_kind_of_examples_is_named_outside_the_data_and_its_task():
    """Whether one has several sources, or a reader of files of its own, it says itself."""
    for path in FILES:
        if path.relative_to(SOURCE).parts[0] != "data":
            assert not kinds(path.read_text("utf-8")) & KINDS, path


def test_a_kind_that_is_named_is_found():
    assert kinds("def f(one):\n from regard.data.example import Kind, Several") & KINDS


def test_no_task_is_named_outside_its_room():
    for path in FILES:
        name = str(path.relative_to(SOURCE))
        assert named(path.read_text("utf-8")) <= HOMONYMS.get(name, set()), name


@pytest.mark.parametrize(
    "room", ["attention", "models", "tasks", "traces", "answer", "studio", "show"]
)
def test_no_module_path_is_parsed(room):
    for path in sorted((SOURCE / room).rglob("*.py")):
        assert not parses_a_path(path.read_text("utf-8")), path


@pytest.mark.parametrize(
    "program",
    [
        "def f(task):\n match task.name:\n  case 'translate': return 1",
        "from regard.tasks import Task, Translate\nisinstance(task, Translate)",
        "from regard.tasks.writing import Writing\nisinstance(run.task, Writing)",
        "verbs = {'tag': 1}",
        "if task == 'language': pass",
    ],
)
def test_the_test_finds_what_it_looks_for(program):
    assert named(program)


def test_paths_that_are_parsed_are_found():
    assert parses_a_path("def role(path): return path.split('.')[0]")
    assert parses_a_path("site.path.partition('[')[0]")
    assert not parses_a_path("'a.b'.split('.')")
