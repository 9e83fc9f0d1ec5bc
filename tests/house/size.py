"""How long files and functions are: a report, not a limit (`make size`)."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    files, functions = [], []
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text("utf-8")
        name = path.relative_to(ROOT)
        files.append((text.count("\n"), str(name)))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                functions.append((length, f"{name}:{node.lineno} {node.name}"))
    total = sum(length for length, _ in files)
    print(f"{total:,} lines in {len(files)} files, {len(functions):,} functions")
    for title, rows in (("files", files), ("functions", functions)):
        lengths = sorted(length for length, _ in rows)
        print(
            f"\n{title}: median {lengths[len(lengths) // 2]}, p90 {lengths[len(lengths) * 9 // 10]}"
        )
        for length, name in sorted(rows, reverse=True)[:10]:
            print(f"  {length:5}  {name}")


if __name__ == "__main__":
    main()
