"""Recipes and benchmarks are no modules that a type checker reads: what they import must exist."""

import ast

import pytest

from tests.house.tree import ROOT

SCRIPTS = sorted(
    path for room in ("recipes", "bench", "tools") for path in (ROOT / room).rglob("*.py")
)


def source_of(module):
    """The file of a module of regard."""
    path = ROOT / "src" / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def names_in(tree):
    """Every name that stands in a module's top level, in whatever branch."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.alias():
                yield node.asname or node.name


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_script_imports_exists(script):
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("regard"):
            continue
        file = source_of(node.module)
        assert file.is_file(), f"{node.module} does not exist"
        defined = set(names_in(ast.parse(file.read_text("utf-8"))))
        for alias in node.names:
            inside = source_of(f"{node.module}.{alias.name}")
            assert alias.name in defined or inside.is_file(), f"{node.module}.{alias.name}"
