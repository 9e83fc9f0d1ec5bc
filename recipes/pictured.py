"""Train a model of pictures on tables that a recipe wrote, and judge its answers: what recipes share."""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import regard

Prepare = Callable[[Path, Path, int | None], None]  # (DATA, OUT, how many pictures of each part)


@dataclass(frozen=True)
class Form:
    """One model of a recipe: its settings in TOML, the table it learns from, and how its answers are read."""

    settings: str
    tables: tuple[str, str] = ("train", "valid")
    read: Callable[[str], str] = str


class Log(regard.Listener):
    """Every report as a line of JSON."""

    def noted(self, message: str) -> None:
        print(message, flush=True)

    def stepped(self, report: Any) -> None:
        print(json.dumps(report.as_dict()), flush=True)

    def evaluated(self, report: Any) -> None:
        print(json.dumps(report.as_dict()), flush=True)


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


def on_gpu(device: str) -> bool:
    return device != "cpu" and torch.cuda.is_available()


def train(*files: Path, minutes: float | None = None, **options: Any) -> regard.Predictor:
    """`regard.train`, in bfloat16 on a GPU, and politely stopped after so many minutes.

    What is answered with is the best of the evaluations until then.
    """
    if on_gpu(options.get("device", "auto")):
        options["settings"] = {"train.precision": "bfloat16", **options.get("settings", {})}
    if minutes is not None:  # the run is safe on disk when the signal is passed on to us
        signal.signal(signal.SIGTERM, lambda *_: print("the time is over", flush=True))
        timer = threading.Timer(minutes * 60, os.kill, (os.getpid(), signal.SIGTERM))
        timer.daemon = True
        timer.start()
    try:
        return regard.train(*files, listener=Log(), **options)
    finally:
        if minutes is not None:
            timer.cancel()


def judge(
    model: regard.Predictor, table: Path, out: Path, read: Callable[[str], str]
) -> dict[str, Any]:
    """The answers to the pictures of a table, written beside the run, and what they are worth."""
    right = answers_of(table)
    said = [read(" ".join(answer.text.split())) for answer in model.predict(list(right))]
    out.write_text("".join(f"{one}\n" for one in said))
    metrics = model.learned.report(said, ["\n".join(texts) for texts in right.values()])
    return {one.name: one.as_dict() for one in metrics}


def main(doc: str, forms: Mapping[str, Form], prepare: Prepare, tests: Sequence[str]) -> None:
    """The command of a recipe: DATA OUT, and what its --help lists."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--form", choices=list(forms), default=next(iter(forms)))
    parser.add_argument(
        "--minutes", type=float, help="stop after so many, and judge the best so far"
    )
    parser.add_argument("--steps", type=int, help="fewer than the recipe has, for a trial")
    parser.add_argument("--pictures", type=int, help="so many of each part, for a trial")
    parser.add_argument("--start", type=Path, help="a run whose weights it begins with")
    parser.add_argument("--set", nargs="*", default=[], help="train.rate=1e-3 and the like")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if not (options.out / "train.tsv").exists():
        prepare(options.data, options.out, options.pictures)
    form = forms[options.form]
    name = f"{options.form}-on" if options.start else options.form
    config = options.out / f"{name}.toml"
    config.write_text(form.settings)
    changes: dict[str, Any] = {
        path: json.loads(value) for path, _, value in (one.partition("=") for one in options.set)
    }
    changes |= {} if options.steps is None else {"train.steps": options.steps}
    learned, held_out = (options.out / f"{table}.tsv" for table in form.tables)
    began = time.monotonic()
    model = train(
        learned,
        minutes=options.minutes,
        out=options.out / name,
        valid=held_out,
        config=config,
        task="caption",
        settings=changes,
        device=options.device,
        start_from=options.start,
    )
    results: dict[str, Any] = {"form": name, "minutes": (time.monotonic() - began) / 60}
    for test in tests:
        table, said = options.out / f"{test}.tsv", options.out / f"{name}.{test}.txt"
        results[test] = judge(model, table, said, form.read)
        (options.out / f"{name}.json").write_text(json.dumps(results, indent=1))
        print(json.dumps({test: {k: v["value"] for k, v in results[test].items()}}), flush=True)
