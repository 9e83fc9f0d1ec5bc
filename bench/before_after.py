"""Two checkouts of this library side by side: the same losses, and what each takes.

    python bench/before_after.py OLD NEW [--only curves decoding training] [--out before_after.json]

`curves` trains one preset of each family on a CPU, one thread, and compares the losses of all steps bit for
bit. `decoding` drives both checkouts' `parts/decode_peer.py` in turns, round after round, so that a busy
machine is busy for both: symbols a CPU-second, greedy and beam 4, one sentence and 32, float32 and int8.
`training` is the CPU time of a step: that of a longer training less that of a shorter one, divided by the
steps between them. Ratios are NEW by OLD; where time is meant, its inverse: above 1 is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from decode_cpu import CASES

FAMILIES = (
    "bahdanau2015",
    "vaswani2017-tiny",
    "tagger",
    "classifier",
    "language",
    "vinyals2015-sort",
)
KINDS = ("regard int8", "regard float32")
STEPS = 20


def environment(checkout: Path, threads: int) -> dict[str, str]:
    """Its source alone, and as many threads."""
    quiet = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
    paths = {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": str(threads)}
    return {**os.environ, **quiet, **paths}


def trained(checkout: Path, preset: str, steps: int, threads: int) -> tuple[list[float], float]:
    """The loss of every step of a short training, and the CPU-seconds of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        changes = [
            f"train.{name}={steps}" for name in ("steps", "evaluate_every", "checkpoint_every")
        ]
        flags = [flag for change in (*changes, "train.log_every=1") for flag in ("--set", change)]
        command = ["-m", "regard", "train", "--preset", preset, "--device", "cpu", *flags]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *command, "--out", f"{folder}/run"],
            env=environment(checkout, threads),
            cwd=folder,
            check=True,
            capture_output=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = (Path(folder) / "run" / "metrics.jsonl").read_text("utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    losses = [entry["loss"] for entry in entries if entry.get("kind") == "train"]
    assert len(losses) == steps, f"{len(losses)} losses of {steps} steps"
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return losses, spent


def curves(sides: dict[str, Path]) -> dict[str, Any]:
    """Whether every loss of both is the same number."""
    results: dict[str, Any] = {}
    for preset in FAMILIES:
        old, new = (trained(side, preset, STEPS, 1)[0] for side in sides.values())
        apart = [
            step for step, (one, other) in enumerate(zip(old, new, strict=True), 1) if one != other
        ]
        results[preset] = {"old": old, "new": new, "first_difference": apart[0] if apart else None}
        told = f"differs from step {apart[0]} on" if apart else "the same bits"
        print(
            f"curves    {preset:20} {STEPS} losses: {told}, last {old[-1]!r} {new[-1]!r}",
            flush=True,
        )
    return results


class Decoder:
    """One checkout's process that decodes when asked."""

    def __init__(self, checkout: Path, kind: str, folder: str) -> None:
        worker = checkout / "bench" / "parts" / "decode_peer.py"
        self.process = subprocess.Popen(
            [sys.executable, str(worker), kind, folder, "2"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(checkout, 2),
        )

    def rate(self, batch: int, beam: int) -> float:
        """Symbols a CPU-second."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        question = {"batch": batch, "beam": beam, "source": 32, "target": 64}
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "failed" not in answer, answer
        return float(answer["tokens"] / answer["cpu"])

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def decoding(sides: dict[str, Path], rounds: int) -> dict[str, Any]:
    """Every case for both, in turns."""
    results: dict[str, Any] = {}
    for kind in KINDS:
        for case, (batch, beam) in CASES.items():
            with tempfile.TemporaryDirectory() as folder:
                both = {}
                for name, side in sides.items():  # each has a model file of its own
                    (Path(folder) / name).mkdir()
                    both[name] = Decoder(side, kind, f"{folder}/{name}")
                found: dict[str, list[float]] = {name: [] for name in both}
                for turn in range(rounds + 1):
                    for name, one in both.items():
                        rate = one.rate(batch, beam)
                        if turn:  # the first turn warms up
                            found[name].append(rate)
                for one in both.values():
                    one.close()
            results[f"{kind}, {case}"] = compared(f"decoding  {kind:15} {case:11}", found, "/CPU-s")
    return results


def compared(title: str, found: dict[str, list[float]], unit: str) -> dict[str, Any]:
    """Medians, the median ratio of neighbouring rounds, and their range."""
    old, new = found.values()
    ratios = sorted(after / before for before, after in zip(old, new, strict=True))
    middle = statistics.median(ratios)
    print(
        f"{title} {statistics.median(old):9.2f} -> {statistics.median(new):9.2f} {unit}"
        f"  x{middle:.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})",
        flush=True,
    )
    return {**found, "ratio": middle}


def training(sides: dict[str, Path], rounds: int) -> dict[str, Any]:
    """Steps a CPU-second, for a recurrent network and a Transformer."""
    results, short, long = {}, 5, 45
    for preset in FAMILIES[:2]:
        found: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                spent = [trained(side, preset, steps, 1)[1] for steps in (short, long)]
                found[name].append((long - short) / (spent[1] - spent[0]))
        results[preset] = compared(f"training  {preset:27}", found, "steps/CPU-s")
    return results


def main() -> None:
    """The parts that are wanted, one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--only", nargs="*", choices=("curves", "decoding", "training"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sides = {"old": options.old.resolve(), "new": options.new.resolve()}
    parts = {
        "curves": lambda: curves(sides),
        "decoding": lambda: decoding(sides, options.rounds),
        "training": lambda: training(sides, options.rounds),
    }
    results = {name: part() for name, part in parts.items() if name in (options.only or parts)}
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
