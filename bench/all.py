"""Everything that is measured on one GPU, one part after another, within a given time.

    python bench/all.py OUT --pairs pairs.tsv --test test.en --joey JOEY --minutes 25

Parts come in the order of their weight, each in a process of its own with a limit, so that one that hangs or
fails costs no other its figures. OUT gets NAME.txt, what a part printed, and NAME.json. Compilers go first,
side by side (`--warm`), and what they made is found in caches; then nothing runs beside a measurement.
The time to a first step is then that of a warm cache: ask `bench/train.py` alone for the cold one.
Without a GPU run the scripts themselves; bench/README.md has them all.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch

HERE = Path(__file__).parent
WHO = ("ours", "peer-marian", "peer-torch")
CASES = [
    *(f"{who}-base-{text}" for who in WHO for text in ("ragged", "full")),
    "ours-big-ragged",
    "ours-big-full",
]


@dataclass(frozen=True)
class Part:
    """A script with its options, the seconds it may take, and what goes before: one by one, side by side."""

    name: str
    command: tuple[str, ...]
    seconds: int
    prepare: tuple[str, ...] = ()
    warm: tuple[tuple[str, ...], ...] = ()


def parts(given: argparse.Namespace) -> list[Part]:
    """All that can be measured with what was given."""
    text = () if given.pairs is None else ("--data", str(given.pairs))
    test = () if given.test is None else ("--data", str(given.test))
    joey = () if given.joey is None else ("--joey", str(given.joey))
    cases = [case for case in CASES if given.pairs or not case.endswith("ragged")]
    train, decode = ("train.py", *text, "--only"), ("decode.py", *test)
    first = tuple((*train, case, "--steps", "1") for case in cases)
    return [
        Part("train", (*train, *cases, "--steps", "100"), 330, (*train, "nothing"), first),
        Part("decode", decode, 150, warm=((*decode, "--theirs"),)),
        Part("kernels", ("kernel_times.py",), 60),
        Part("additive", ("additive.py",), 90),
        Part("curves", ("curves.py", "--picture", str(given.out / "cost-curves.svg")), 120),
        Part("rnn", ("rnn.py", *joey), 120),
        Part("looking", ("looking.py", "--seconds", "4"), 60),
        Part("growth", ("growth.py", "length", "beam", "batch", "--device", "cuda"), 120),
    ]


def start(command: tuple[str, ...], printed: Path) -> subprocess.Popen[bytes]:
    """A script in a process group of its own, so that whatever it starts ends with it."""
    script, *options = command
    with printed.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, str(HERE / script), *options],
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )


def finish(process: subprocess.Popen[bytes], seconds: float) -> str:
    """How it ended; what takes too long is ended."""
    try:
        code = process.wait(max(1.0, seconds))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"over {seconds:.0f} s"
    return "done" if code == 0 else f"failed ({code})"


def warm(chosen: list[Part], out: Path, jobs: int, until: float) -> None:
    """Run what is compiled once, several at a time, for the compilers' caches alone."""
    for part in chosen:
        if part.prepare:
            finish(start(part.prepare, out / f"prepare-{part.name}.txt"), until - time.monotonic())
    waiting = [(part.name, command) for part in chosen for command in part.warm]
    running: list[subprocess.Popen[bytes]] = []
    for number, (name, command) in enumerate(waiting):
        while len(running) >= jobs and time.monotonic() < until:
            time.sleep(0.2)
            running = [process for process in running if process.poll() is None]
        running.append(start(command, out / f"warm-{number}-{name}.txt"))
    for process in running:
        finish(process, until - time.monotonic())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=Path, help="pairs of text, two columns by tab, to train on")
    parser.add_argument("--test", type=Path, help="raw text, one sentence a line, to decode")
    parser.add_argument("--joey", type=Path, help="where Joey NMT lies, if it is not installed")
    parser.add_argument("--minutes", type=float, default=25.0, help="for all of it")
    parser.add_argument("--only", nargs="*", default=[], metavar="PART")
    parser.add_argument("--warm", type=int, default=8, metavar="JOBS", help="0: do not")
    given = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("there is no GPU here; `regard bench` measures what any machine can")
    known = parts(given)
    unknown = set(given.only) - {part.name for part in known}
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {[p.name for p in known]}")
    given.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * given.minutes
    chosen = [part for part in known if not given.only or part.name in given.only]
    if given.warm:
        begun = time.monotonic()
        warm(chosen, given.out, given.warm, begun + (end - begun) / 3)
        print(f"caches warm after {time.monotonic() - begun:.0f} s", flush=True)
    for part in chosen:
        left = min(part.seconds, end - time.monotonic())
        if left < 5:
            print(f"{part.name}: not begun, the time is up", flush=True)
            continue
        begun, printed = time.monotonic(), given.out / f"{part.name}.txt"
        command = (*part.command, "--out", str(given.out / f"{part.name}.json"))
        ended = finish(start(command, printed), left)
        print(f"== {part.name}: {ended} after {time.monotonic() - begun:.0f} s", flush=True)
        print(printed.read_text(errors="replace"), flush=True)


if __name__ == "__main__":
    main()
