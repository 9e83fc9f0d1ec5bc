"""The tree in the README, made from each file's own first sentence: `python -m tests.house.tree --write`."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- tree -->\n```\n", "```\n<!-- /tree -->"
WIDTH = 124


def tree() -> str:
    """One line a file of the package, with the clause its docstring opens with."""
    lines: list[str] = []
    _walk(ROOT / "src" / "regard", "", lines)
    return "\n".join(lines) + "\n"


def written() -> str:
    """The tree as the README has it."""
    text = (ROOT / "README.md").read_text("utf-8")
    return text.split(BEGIN, 1)[1].split(END, 1)[0]


def _walk(folder: Path, indent: str, lines: list[str]) -> None:
    lines.append(_line(f"{indent}{folder.name}/", _clause(folder / "__init__.py")))
    inside = indent + "  "
    entries = [entry for entry in sorted(folder.iterdir()) if entry.name != "__pycache__"]
    for entry in entries:
        if entry.suffix == ".py" and entry.name != "__init__.py":
            lines.append(_line(f"{inside}{entry.name}", _clause(entry)))
        elif entry.suffix == ".toml":
            first = entry.read_text("utf-8").split("\n", 1)[0].removeprefix("# ")
            lines.append(_line(f"{inside}{entry.name}", first))
    for entry in entries:
        if entry.is_dir() and (entry / "__init__.py").is_file():
            _walk(entry, inside, lines)


def _clause(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split())


def _line(name: str, clause: str) -> str:
    line = f"{name:<28} {clause}"
    return line if len(line) <= WIDTH else line[: WIDTH - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + " …"


if __name__ == "__main__" and "--write" in sys.argv:
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    head, rest = text.split(BEGIN, 1)
    readme.write_text(head + BEGIN + tree() + END + rest.split(END, 1)[1], "utf-8")
