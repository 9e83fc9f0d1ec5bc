"""Synopses of Debian packages from descriptions: a pointer-generator, the same without copying, and ABS.

    python recipes/summaries/run.py DATA OUT [--seconds 120] [--device auto] [--only NAME ...] [--examples N]

DATA holds `train.tsv.xz`, `valid.tsv` and `test.tsv`: name, description and synopsis in each line. All rows
are trained side by side, stopped politely after so many seconds, and judged; typed again, they go on where
they were. OUT/results.json has ROUGE with signatures and the share of unknown words right (See 2017).
"""

from __future__ import annotations

import argparse
import json
import lzma
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import regard

LONGEST = 80  # words of a description that are read
# See 2017 with and without copying; Rush 2015, a window of words and attention to embedded source words.
ROWS = {
    "copying": {"model.encoder.width": 256, "model.reader.width": 256, "model.reader.copies": True},
    "generating": {
        "model.encoder.width": 256,
        "model.reader.width": 256,
        "model.reader.copies": False,
    },
    "abs": {"model.encoder.width": 200, "model.reader.width": 400, "model.reader.embedding": 200},
}


def prepare(data: Path, out: Path, most: int | None) -> None:
    """The first words of each description, a tab, and its synopsis."""
    for part, name in (("train", "train.tsv.xz"), ("valid", "valid.tsv"), ("test", "test.tsv")):
        opened = lzma.open if name.endswith(".xz") else open
        with opened(data / name, "rt", encoding="utf-8") as lines:
            rows = [line.rstrip("\n").split("\t") for line in islice(lines, most)]
        made = [
            f"{' '.join(row[1].split()[:LONGEST])}\t{row[2]}\n" for row in rows if len(row) == 3
        ]
        (out / f"{part}.tsv").write_text("".join(made), encoding="utf-8")


def learn(name: str, options: argparse.Namespace) -> None:
    settings = {
        "task": "summarise",
        **{"text.kind": "word", "text.vocabulary": 20000, "text.min_count": 3},
        **ROWS[name],
        **{
            "model.encoder.dropout": 0.2,
            "model.reader.dropout": 0.2,
            "batch.tokens": options.tokens,
        },
        **{"train.steps": options.steps, "train.rate": 2e-3, "train.warmup": 200},
        **{
            "train.evaluate_every": options.every,
            "train.checkpoint_every": options.every,
            "train.log_every": 50,
        },
        **{"train.evaluate_examples": 16, "train.average": "ema"},
        **({} if name == "abs" else {"objective.coverage": 0.2}),
    }
    regard.train(
        options.out / "train.tsv",
        out=options.out / name,
        valid=options.out / "valid.tsv",
        preset="rush2015" if name == "abs" else "see2017",
        settings=settings,
        device=options.device,
    )


def judge(name: str, options: argparse.Namespace) -> None:
    """Answers to the first test descriptions, and what they are worth."""
    model = regard.load(options.out / name, device=options.device)
    lines = (options.out / "test.tsv").read_text("utf-8").splitlines()[: options.examples]
    questions, right = zip(*(line.split("\t") for line in lines), strict=True)
    said = [answer.text for answer in model.predict(list(questions), max_length=24)]
    task = model.learned
    metrics = [*task.report(said, right), *task.beside(questions, said, right)]
    (options.out / f"{name}.answers.txt").write_text("".join(f"{one}\n" for one in said))
    found = {one.name: one.as_dict() for one in metrics}
    (options.out / f"{name}.json").write_text(json.dumps(found, indent=1))


def together(options: argparse.Namespace, part: str, seconds: float | None) -> None:
    """One process a row; those that still learn when the time is up are asked to stop."""
    running = []
    for name in options.only:
        log = (options.out / f"{name}.log").open("ab")
        command = [sys.executable, *sys.argv, "--part", part, "--one", name]
        running.append(subprocess.Popen(command, stdout=log, stderr=log))
    for one in running:
        try:
            one.wait(seconds)
        except subprocess.TimeoutExpired:
            for late in running:
                late.send_signal(signal.SIGINT)
            seconds = None
            one.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=list(ROWS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--examples", type=int, default=500)
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--lines", type=int, help="of each file, for a trial")
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--part", choices=("learn", "judge"))
    parser.add_argument("--one")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.one:
        {"learn": learn, "judge": judge}[options.part](options.one, options)
        return
    prepare(options.data, options.out, options.lines)
    together(options, "learn", options.seconds)
    together(options, "judge", None)
    found = {name: options.out / f"{name}.json" for name in options.only}
    results = {name: json.loads(path.read_text()) for name, path in found.items() if path.exists()}
    (options.out / "results.json").write_text(json.dumps(results, indent=1))
    print(json.dumps({n: {k: v["value"] for k, v in one.items()} for n, one in results.items()}))


if __name__ == "__main__":
    main()
