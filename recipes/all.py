"""The recipes that need a GPU, side by side on one, and what came of them as one file.

    python recipes/all.py DATA OUT [--seconds 1800] [--only NAME ...] [--device cuda]

DATA holds a folder for each data set (`crohme` unpacked, `multi30k/tok`, `flickr8k`, `ptb`, `treebank`,
`debian_titles`, `ud_english_ewt`, `sst`), and `english.txt` or `english.txt.xz`, plain text for pre-training
(recipes/box/english.py). All trainings end by the clock: after `--seconds`, about a fifth of them for
judging, there is a figure of each. What a recipe prints is in OUT/NAME.log, all results in OUT/summary.json.

Small models share a GPU well if NVIDIA's Multi-Process Service runs (`nvidia-cuda-mps-control -d`); then
`formulas` goes before the others. On one H200 it made 27 steps a second beside fourteen others, and 16,000
steps were too few: give it a run of its own (`--only formulas`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FEW = "few-labels/run.py {data} {out}/few --text {english}"
PTB = "ptb/run.py {data}/ptb {out}"
PICTURE = "multisource/sentence_and_picture.py {data}/flickr8k {out}/pictures --minutes"
TREES = "treebank/run.py {data}/treebank {out}"


@dataclass(frozen=True)
class Job:
    """A command below recipes/, its braces filled by `filled`, and what must have ended before it."""

    command: str
    after: tuple[str, ...] = ()


JOBS = {
    "formulas": Job("formulas/run.py {data}/crohme {out}/formulas --minutes {minutes}"),
    "photographs": Job("flickr8k/run.py {data}/flickr8k {out}/photographs --minutes {minutes}"),
    "sources": Job(
        "multisource/run.py {data}/multi30k/tok {out}/sources --jobs 6 --minutes {minutes}"
    ),
    "pictures": Job(f"{PICTURE} {{half}} --only picture hidden-picture"),
    "pictures-text": Job(f"{PICTURE} {{half}} --only text hidden-text"),
    "tours": Job("tours/run.py {out}/tours --cities 20 --search-on cuda --seconds {seconds}"),
    "titles": Job("summaries/run.py {data}/debian_titles {out}/titles --seconds {seconds}"),
    "ptb": Job(f"{PTB}/ptb --only lstm --row 140 --seconds {{seconds}}"),
    "sentinel": Job(f"{PTB}/sentinel --only sentinel --row 140 --seconds {{seconds}}"),
    "lstmn": Job(
        f"{PTB}/lstmn --only lstmn --width 300 --layers 1 --tokens 5600 --dropout 0.35 --rate 3e-3 "
        "--seconds {seconds}"
    ),
    "masked": Job(f"{FEW} --only masked --seconds {{part}}"),
    "next": Job(f"{FEW} --only next --seconds {{part}}", after=("masked",)),
    "labels": Job(f"{FEW} --only labels", after=("masked", "next")),
    "trees": Job(f"{TREES}/trees --seconds {{half_seconds}}"),
    "trees-pretrained": Job(
        f"{TREES}/trees-pretrained --only pretrained --start {{out}}/few/masked --seconds {{part}}",
        after=("masked",),
    ),
}


def filled(job: Job, options: argparse.Namespace) -> str:
    """The command with its paths and times: four fifths of all the time are for training."""
    training = 0.8 * options.seconds
    english = next(options.data.glob("english.txt*"), options.data / "english.txt")
    return job.command.format(
        data=options.data,
        out=options.out,
        english=english,
        seconds=int(training),
        half_seconds=int(training / 2),
        part=int(training / 4),
        minutes=round(training / 60, 2),
        half=round(training / 120, 2),
    )


def start(name: str, options: argparse.Namespace) -> subprocess.Popen:
    """One process, in a session of its own: what ends this command does not end it."""
    log = (options.out / f"{name}.log").open("ab")
    command = [sys.executable, *filled(JOBS[name], options).split(), "--device", options.device]
    command[1] = str(HERE / command[1])
    first = {"CUDA_MPS_CLIENT_PRIORITY": "0" if name == "formulas" else "1"}
    threads = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    environment = {**os.environ, **first, **threads}
    return subprocess.Popen(
        command, stdout=log, stderr=log, env=environment, start_new_session=True
    )


def gathered(out: Path) -> dict:
    """Every file of results below OUT, by its path."""
    patterns = ("*/results.json", "*/found.json", "few/*/found.json", "formulas/*.json")
    files = sorted({file for one in (*patterns, "photographs/*.json") for file in out.glob(one)})
    return {str(file.relative_to(out)): json.loads(file.read_text()) for file in files}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=1800, help="for training and judging")
    parser.add_argument("--only", nargs="*", default=list(JOBS), choices=list(JOBS))
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    began, waiting, running = time.monotonic(), list(options.only), {}
    while waiting or running:
        for name in list(waiting):
            if not {*JOBS[name].after} & {*waiting, *running}:
                waiting.remove(name)
                running[name] = start(name, options)
        for name, process in list(running.items()):
            if process.poll() is not None:
                del running[name]
                seconds = time.monotonic() - began
                print(f"{seconds:5.0f} s  {name}: exit code {process.returncode}", flush=True)
                text = json.dumps(gathered(options.out), indent=1)
                (options.out / "summary.json").write_text(text)
        time.sleep(0.5)


if __name__ == "__main__":
    main()
