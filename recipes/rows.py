"""Rows of a table of results: each is settings and files; some are trained side by side, then judged.

A recipe says what its rows are (`Row`), how their files are made and how an answer is judged, and calls
`main`. One row that fails costs no other row its figures: each is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """Settings in TOML, the name of the data, and the published figure it stands beside."""

    settings: str
    data: str
    published: str = ""


Prepare = Callable[[Path, Path, str], None]  # (DATA, where to write, the data's name)
Judge = Callable[[list[str], list[str], list[str]], dict[str, float]]  # (questions, found, answers)


def fit(name: str, settings: str, files: Mapping[str, list[Path]], out: Path, device: str) -> None:
    """Train with these settings on `files["train"]`, watched by `files["valid"]`, and tell all of it."""
    from regard.run.resolve import resolve
    from regard.training import Listener, train

    class Log(Listener):
        def noted(self, message):
            print(message, flush=True)

        def stepped(self, report):
            print(json.dumps(report.as_dict()), flush=True)

        def evaluated(self, report):
            print(json.dumps(report.as_dict()), flush=True)

    config = out / f"{name}.toml"
    config.write_text(settings)
    chosen = resolve(config=config, **files, task="translate")
    train(out / name, chosen, Log(), device)


def learn(name: str, row: Row, out: Path, device: str) -> None:
    """Train one row on its `train.tsv`, watched by its `valid.tsv`."""
    files = {part: [out / "data" / row.data / f"{part}.tsv"] for part in ("train", "valid")}
    fit(name, row.settings, files, out, device)


def judge(name: str, row: Row, out: Path, device: str, how: Judge) -> dict:
    """What a trained row answers to its `test.tsv`, measured."""
    from regard.answer.predictor import Predictor
    from regard.models import count_parameters

    lines = (out / "data" / row.data / "test.tsv").read_text("utf-8").splitlines()
    questions, answers = map(list, zip(*(line.split("\t") for line in lines), strict=True))
    predictor = Predictor.load(out / name, device, batch_tokens=16384)
    found = [answer.text for answer in predictor.predict(questions, split=False)]
    about = {"name": name, "data": row.data, "published": row.published}
    return {
        **about,
        "parameters": count_parameters(predictor.model),
        **how(questions, found, answers),
    }


def main(doc: str, rows: Mapping[str, Row], prepare: Prepare, how: Judge) -> None:
    """The command of a recipe: DATA OUT [--only NAME ...] [--jobs 4] [--device auto]."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=list(rows), choices=list(rows))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--one", choices=list(rows), help="train and judge this one, here")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.one:
        learn(options.one, rows[options.one], options.out, options.device)
        result = judge(options.one, rows[options.one], options.out, options.device, how)
        with (options.out / "results.jsonl").open("a") as file:
            file.write(json.dumps(result) + "\n")
        return
    for data in dict.fromkeys(rows[name].data for name in options.only):
        prepare(options.data, options.out / "data" / data, data)
    side_by_side(options)


def side_by_side(options: argparse.Namespace) -> None:
    waiting, running, began = list(options.only), {}, time.monotonic()
    results = options.out / "results.jsonl"
    results.unlink(missing_ok=True)
    while waiting or running:
        while waiting and len(running) < options.jobs:
            name = waiting.pop(0)
            running[name] = start(name, options)
        for name, process in list(running.items()):
            if process.poll() is None:
                continue
            del running[name]
            minutes = (time.monotonic() - began) / 60
            if process.returncode:
                print(f"{name}: exit code {process.returncode}; see {name}.log", flush=True)
                continue
            found = [json.loads(line) for line in results.read_text().splitlines()]
            print(
                f"{minutes:5.1f} min  {[row for row in found if row['name'] == name][-1]}",
                flush=True,
            )
        time.sleep(0.5)


def start(name: str, options: argparse.Namespace) -> subprocess.Popen:
    command = [sys.executable, sys.argv[0], str(options.data), str(options.out)]
    command += ["--device", options.device, "--one", name]
    log = (options.out / f"{name}.log").open("ab")
    return subprocess.Popen(command, stdout=log, stderr=log)
