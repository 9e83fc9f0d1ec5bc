"""What pruned heads buy in a trained translator: Multi30k, a base Transformer, before and after.

    python recipes/pruning/speed.py DATA OUT [--device auto] [--seconds 900] [--short]

DATA as for `run.py`. A Transformer of 6 + 6 layers of width 512 with 8 heads in each attention is trained
(`whole`); three quarters of the heads of self-attention, in encoder and decoder, are removed by gradient
(Michel 2019), those between encoder and decoder stay, and what is left is trained on (`pruned`); `on` is
trained on as long with all heads. Then both answer test text in turns, by `bench/pruned.py`. Trainings stop
where their share of `--seconds` ends. OUT/speed.json holds every figure.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from run import BASE, LATER, TEST, files, fit, judged, ordered

CHANGES = (
    ("width = 128", "width = 512"), ("layers = 4", "layers = 6"),
    ("feedforward = 256", "feedforward = 2048"), ("dropout = 0.2", "dropout = 0.3"),
    ("rate = 4e-3", "rate = 1e-3"), ("warmup = 500", "warmup = 800"),
    ("evaluate_every = 1000", "evaluate_every = 500"),
)  # fmt: skip
SHORT = (
    ("width = 128", "width = 32"), ("layers = 4", "layers = 2"), ("tokens = 4096", "tokens = 512"),
    ("evaluate_examples = 0", "evaluate_examples = 8"), ("vocabulary = 10000", "vocabulary = 500"),
)  # fmt: skip
SHORTER = ("batch.tokens=512", "train.evaluate_examples=8")
BENCH = Path(__file__).parents[2] / "bench" / "pruned.py"


def main() -> None:
    """Train, prune, train on, judge, time."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--short", action="store_true", help="a few steps, to see that all works")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    from regard.training import choose_device

    device = choose_device(options.device)
    found: dict[str, object] = {"device": str(device)}

    def tell(**more: object) -> None:
        found.update(more)
        (options.out / "speed.json").write_text(json.dumps(found, indent=1) + "\n")

    first(options, device)
    tell(whole=judged("whole", options, device))
    tell(heads=cut(options, device))
    for name, start in (("pruned", "cut"), ("on", "whole")):
        later(name, start, options, device)
        tell(**{name: judged(name, options, device)})
    for place in dict.fromkeys((device.type, "cpu")):
        timed = options.out / f"timed-{place}.json"
        command = [sys.executable, str(BENCH), "--runs"]
        command += [str(options.out / name) for name in ("on", "pruned")]
        command += ["--lines", str(options.data / f"{TEST}.lc.norm.tok.en"), "--json", str(timed)]
        command += ["--device", place, "--most", "8" if options.short else "256"]
        command += ["--rounds", "1" if options.short else "5" if place == "cuda" else "3"]
        subprocess.run(command, check=True)
        tell(**{f"timed on {place}": json.loads(timed.read_text())})
    print(json.dumps(found, indent=1))


def first(options: argparse.Namespace, device) -> None:
    """All heads, from scratch."""
    from regard.run.resolve import resolve

    on_gpu = device.type == "cuda"
    settings = BASE
    for old, new in SHORT if options.short else CHANGES:
        settings = settings.replace(old, new)
    config = options.out / "whole.toml"
    config.write_text(
        settings.format(
            steps=6 if options.short else options.steps,
            packed="packed = true" if on_gpu else "",
            compiled=('precision = "bfloat16"' + ("" if options.short else "\ncompile = true"))
            if on_gpu
            else "",
        )
    )
    with no_longer_than(options.seconds * 0.45):
        made = resolve(config=config, **files(options), task="translate")
        fit(made, options.out / "whole", device)


def cut(options: argparse.Namespace, device) -> dict[str, tuple[int, int]]:
    """Three quarters of the heads of self-attention removed, by gradient on validation text."""
    from regard.run.folder import Run
    from regard.traces.importance import counted, places, write_pruned

    run = Run.open(options.out / "whole")
    model = run.load_model(device)
    kinds = places(model)
    order = ordered("gradient", "all", run, model, options)
    gone = []
    for kind in ("encoder-self", "decoder-self"):
        own = [place for place in order if kinds[place] == kind]
        gone += own[: 3 * len(own) // 4]
    write_pruned(run, model, gone, options.out / "cut")
    return dict(counted(model, gone))


def later(name: str, start: str, options: argparse.Namespace, device) -> None:
    """Trained on from a run, a third as long."""
    from regard.run.resolve import resolve

    steps = 4 if options.short else options.steps * 3 // 10
    changes = [change.format(steps=steps).replace("out=0.2", "out=0.3") for change in LATER]
    changes.append("train.rate=3e-4")
    changes += SHORTER if options.short else ()
    if device.type == "cuda":
        changes.append("train.precision=bfloat16")
    with no_longer_than(options.seconds * 0.15):
        made = resolve(start=str(options.out / start), **files(options), changes=changes)
        fit(made, options.out / name, device)


class no_longer_than:  # noqa: N801
    """A training inside is asked politely to stop after so many seconds; it saves what it has."""

    def __init__(self, seconds: float) -> None:
        self.timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        self.timer.daemon = True

    def __enter__(self) -> None:
        self.began = time.monotonic()
        self.timer.start()

    def __exit__(self, *_exception: object) -> None:
        self.timer.cancel()
        print(f"{time.monotonic() - self.began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
