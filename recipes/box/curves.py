"""How a model learned, small enough to ship: its curves, and one question with its maps as they sharpened.

`shelve.py` puts both beside the weights, under the names that a run gives them, so that the studio shows a
model of the box as it shows a run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from regard.run.files import write_new

POINTS = 60  # of the training curve
MOMENTS = 6  # evaluations whose maps are kept
FILES = ("metrics.jsonl", "samples.jsonl")


def keep(run: Path, folder: Path) -> None:
    """Write what is kept of a run's curves and samples; a run that has none has none here either."""
    kept = {
        "metrics.jsonl": thinned(_read(run / "metrics.jsonl")),
        "samples.jsonl": one_question(_read(run / "samples.jsonl")),
    }
    for name, rows in kept.items():
        if rows:
            text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
            write_new(folder / name, text.encode())


def thinned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every evaluation, and of the training steps as many as a curve can show, first and last among them."""
    steps = [number for number, row in enumerate(rows) if row.get("kind") == "train"]
    if len(steps) > POINTS:
        share = (len(steps) - 1) / (POINTS - 1)
        chosen = {steps[round(place * share)] for place in range(POINTS)}
    else:
        chosen = set(steps)
    return [
        _rounded(row)
        for number, row in enumerate(rows)
        if row.get("kind") != "train" or number in chosen
    ]


def one_question(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first question at a few evaluations from the first to the last; a file goes by its name."""
    if not rows:
        return []
    first = rows[0]["question"]
    own = [row for row in rows if row["question"] == first]
    if len(own) > MOMENTS:
        share = (len(own) - 1) / (MOMENTS - 1)
        own = [own[round(place * share)] for place in range(MOMENTS)]
    is_path = not first.startswith("data:") and "\n" not in first and Path(first).is_file()
    name = Path(first).name if is_path else first
    return [{**row, "question": name} for row in own]


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: float(f"{value:.5g}") if isinstance(value, float) else value
        for name, value in row.items()
    }


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
