"""Train a model of pictures on tables that a recipe wrote, and judge its answers: what both recipes share."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import regard

Prepare = Callable[[Path, Path, int | None], None]  # (DATA, OUT, how many pictures of each part)


def write(path: Path, rows: Sequence[tuple[str, str]]) -> None:
    """A table of file and text."""
    lines = (f"{name}\t{' '.join(text.split())}\n" for name, text in rows)
    path.write_text("".join(lines), encoding="utf-8")


def answers_of(path: Path) -> dict[str, list[str]]:
    """Every picture of a table, and all of its right texts."""
    found: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        name, _, text = line.partition("\t")
        found.setdefault(str(path.parent / name), []).append(text)
    return found


def judge(run: Path, table: Path, device: str) -> dict[str, dict]:
    """The answers to the pictures of a table, written beside the run, and what they are worth."""
    model, right = regard.load(run, device=device), answers_of(table)
    said = [answer.text for answer in model.predict(list(right))]
    (run.parent / f"{table.stem}.answers.txt").write_text("".join(f"{one}\n" for one in said))
    metrics = model.learned.report(said, ["\n".join(texts) for texts in right.values()])
    return {one.name: one.as_dict() for one in metrics}


def main(doc: str, settings: str, prepare: Prepare, tests: Sequence[str]) -> None:
    """The command of a recipe: DATA OUT [--steps N] [--pictures N] [--device auto]."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, help="fewer than the recipe has, for a trial")
    parser.add_argument("--pictures", type=int, help="so many of each part, for a trial")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if not (options.out / "train.tsv").exists():
        prepare(options.data, options.out, options.pictures)
    config = options.out / "settings.toml"
    config.write_text(settings)
    changes = {} if options.steps is None else {"train.steps": options.steps}
    regard.train(
        options.out / "train.tsv",
        out=options.out / "run",
        valid=options.out / "valid.tsv",
        config=config,
        task="caption",
        settings=changes,
        device=options.device,
    )
    results = {
        name: judge(options.out / "run", options.out / f"{name}.tsv", options.device)
        for name in tests
    }
    (options.out / "results.json").write_text(json.dumps(results, indent=1))
    print(json.dumps({n: {k: v["value"] for k, v in one.items()} for n, one in results.items()}))
