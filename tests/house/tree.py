"""The list of files in docs/map.md, made from their docstrings: `python -m tests.house.tree --write`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "regard"
MAP = ROOT / "docs" / "map.md"
BEGIN, END = "<!-- tree -->\n", "<!-- /tree -->"


def tree() -> str:
    """A table for each folder of the package: its files, each with the sentence its docstring opens with."""
    folders = [PACKAGE, *sorted(path.parent for path in PACKAGE.rglob("__init__.py"))[1:]]
    return "".join(f"{line}\n" for folder in folders for line in _table(folder))


def written() -> str:
    """The tables as docs/map.md has them."""
    return MAP.read_text("utf-8").split(BEGIN, 1)[1].split(END, 1)[0]


def _table(folder: Path) -> Iterator[str]:
    name = folder.relative_to(PACKAGE.parent).as_posix()
    yield f"\n### `{name}/`\n\n{_sentence(folder / '__init__.py')}\n"
    files = [path for path in sorted(folder.iterdir()) if path.suffix in (".py", ".toml")]
    rows = [(path.name, _sentence(path)) for path in files if path.name != "__init__.py"]
    if rows:
        yield "| file | |\n|---|---|"
    for row, sentence in rows:
        yield f"| `{row}` | {sentence.replace('|', chr(92) + '|')} |"


def _sentence(path: Path) -> str:
    """What the file says of itself first, whole: of a docstring, or of the comment that opens a preset."""
    text = path.read_text("utf-8")
    if path.suffix == ".toml":
        return text.split("\n", 1)[0].removeprefix("# ")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    return " ".join(docstring.split("\n\n")[0].split())


if __name__ == "__main__" and "--write" in sys.argv:
    head, rest = MAP.read_text("utf-8").split(BEGIN, 1)
    MAP.write_text(head + BEGIN + tree() + END + rest.split(END, 1)[1], "utf-8")
