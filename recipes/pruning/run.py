"""How few heads a translator needs: Multi30k English-German, pruned in five ways, and what two more terms do.

    python recipes/pruning/run.py DATA OUT [--jobs 4] [--device auto] [--only NAME ...] [--short]

DATA holds `train.lc.norm.tok.en` and so on. First a Transformer is trained (`base`), then, from it and side
by side, models with a price for open heads (`objective.l0`, Voita 2019), models that were pruned and trained
on, and models with terms about attention; then heads of `base` are closed in five orders without training.
Run again, it goes on where it was. OUT/results.jsonl holds every figure, OUT/*.svg draw them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

BASE = """
task = "translate"
[text]
kind = "bpe"
vocabulary = 10000
[batch]
tokens = 4096
{packed}
[model.encoder]
kind = "transformer"
width = 128
layers = 4
heads = 8
feedforward = 256
dropout = 0.2
[model.reader]
kind = "transformer"
width = 128
layers = 4
heads = 8
feedforward = 256
dropout = 0.2
[train]
steps = {steps}
rate = 4e-3
schedule = "cosine"
warmup = 500
{compiled}
average = "ema"
ema_decay = 0.999
evaluate_every = 1000
evaluate_examples = 0
checkpoint_every = 1000
log_every = 100
[decode]
beam = 5
alpha = 1.0
penalty = "average"
max_length = 100
"""
LATER = (
    "train.steps={steps}", "train.rate=1e-3", "train.schedule=cosine", "train.warmup=100",
    "train.evaluate_every=500", "train.evaluate_examples=0", "train.checkpoint_every=500",
    "train.log_every=50", "batch.tokens=4096", "model.encoder.dropout=0.2",
    "model.reader.dropout=0.2",
)  # fmt: skip
ENCODER = ("model.encoder.gates=learned",)
# Trained on from `base`: what is changed, and which part of its heads is removed before, by which order.
LATERS: dict[str, tuple[tuple[str, ...], tuple[str, int] | None]] = {
    "on": ((), None),
    **{f"encoder-{price}": ((*ENCODER, f"objective.l0={price}"), None)
       for price in ("0.002", "0.005", "0.01", "0.03")},
    **{f"all-{price}": ((f"objective.l0={price}",), None)
       for price in ("0.002", "0.005", "0.01", "0.03")},
    "gradient-half": ((), ("gradient", 16)),
    "random-half": ((), ("random", 16)),
    "sharper": (("objective.entropy=0.1",), None),
    "broader": (("objective.entropy=-0.1",), None),
    "apart": (("objective.disagreement=1",), None),
}  # fmt: skip
ORDERS = ("importance", "gradient", "random", "random-2", "worst-first")
PARTS = ("encoder", "cross", "all")
CURVES = tuple(f"{order}:{part}" for part in PARTS for order in ORDERS)
TEST = "test_2016_flickr"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    names = ("base", *LATERS, *CURVES)
    parser.add_argument("--only", nargs="*", default=list(names), choices=list(names))
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--device", default="auto")
    parser.add_argument(
        "--short", action="store_true", help="a few steps, to see that all of it works"
    )
    parser.add_argument("--one", choices=list(names), help="this one, here, and nothing else")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.one:
        one(options.one, options)
        return
    done = {row["name"] for row in results(options.out)}
    for group in (("base",), (*LATERS, *CURVES)):
        side_by_side([name for name in group if name in options.only and name not in done], options)
    draw(options.out)


def draw(out: Path) -> None:
    """BLEU against heads left, for each part of the model."""
    from regard.show.plot import curves
    from regard.show.svg_png import written

    rows = results(out)
    for part in PARTS:
        lines = {row["order"]: row["curve"] for row in rows if row.get("part") == part}
        kinds = {"encoder": ["encoder-self"], "cross": ["cross"]}.get(part, [])
        priced = [row for row in rows if "left" in row and row["name"].startswith(part)]
        points = [
            (
                sum(now for kind, (now, _) in row["left"].items() if kind in kinds or not kinds),
                row["bleu"],
            )
            for row in priced
        ]
        if points:
            lines["l0, trained"] = sorted(points)
        if lines:
            title = f"Multi30k English-German: {part} heads left, and BLEU on test2016 (greedy)"
            drawn = curves(lines, title, "heads left", "BLEU")
            (out / f"pruning-{part}.svg").write_text(written(drawn))


def results(out: Path) -> list[dict]:
    path = out / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def side_by_side(names: Sequence[str], options: argparse.Namespace) -> None:
    waiting, running, began = list(names), {}, time.monotonic()
    while waiting or running:
        while waiting and len(running) < options.jobs:
            name = waiting.pop(0)
            command = [
                sys.executable,
                sys.argv[0],
                str(options.data),
                str(options.out),
                "--one",
                name,
            ]
            command += ["--device", options.device, *(["--short"] if options.short else [])]
            log = (options.out / f"{name.replace(':', '-')}.log").open("ab")
            running[name] = subprocess.Popen(command, stdout=log, stderr=log)
        for name, process in list(running.items()):
            if process.poll() is not None:
                del running[name]
                said = f"exit code {process.returncode}" if process.returncode else "done"
                print(f"{(time.monotonic() - began) / 60:5.1f} min  {name}: {said}", flush=True)
        time.sleep(0.3)


def one(name: str, options: argparse.Namespace) -> None:
    from regard.training import choose_device

    device = choose_device(options.device)
    began = time.monotonic()
    if name == "base":
        found = base(options, device)
    elif name in LATERS:
        found = later(name, options, device)
    else:
        found = closing(name, options, device)
    found = {"name": name, **found, "seconds": time.monotonic() - began}
    with (options.out / "results.jsonl").open("a") as file:
        file.write(json.dumps(found) + "\n")


def files(options: argparse.Namespace) -> dict[str, list[Path]]:
    return {
        part: [options.data / f"{split}.lc.norm.tok.{side}" for side in ("en", "de")]
        for part, split in (("train", "train"), ("valid", "val"))
    }


def base(options: argparse.Namespace, device) -> dict:
    from regard.run.resolve import resolve

    on_gpu = device.type == "cuda"
    config = options.out / "base.toml"
    settings = BASE.format(
        steps=20 if options.short else 6000,
        packed="packed = true" if on_gpu else "",
        compiled='compile = true\nprecision = "bfloat16"' if on_gpu else "",
    )
    config.write_text(settings)
    fit(resolve(config=config, **files(options), task="translate"), options.out / "base", device)
    return judged("base", options, device)


def later(name: str, options: argparse.Namespace, device) -> dict:
    from regard.run.folder import Run
    from regard.run.resolve import resolve
    from regard.traces.importance import by_gates, counted, write_pruned

    changes, pruned = LATERS[name]
    start = options.out / "base"
    if pruned is not None:
        start = options.out / f"{name}-start"
        if not start.exists():
            run = Run.open(options.out / "base")
            model = run.load_model(device)
            order = ordered(pruned[0], "encoder", run, model, options)
            write_pruned(run, model, order[: pruned[1]], start)
    steps = 6 if options.short else 1500
    own = [change.format(steps=steps) for change in LATER]
    if device.type == "cuda":
        own.append("train.precision=bfloat16")
    settings = resolve(start=str(start), **files(options), changes=[*own, *changes])
    fit(settings, options.out / name, device)
    if not settings.objective.l0:
        return judged(name, options, device)
    run = Run.open(options.out / name)
    model = run.load_model(device)
    chances = by_gates(model)
    remove = [place for place, chance in chances.items() if chance == 0]
    left = counted(model, remove)
    shutil.rmtree(options.out / f"{name}-pruned", ignore_errors=True)
    write_pruned(run, model, remove, options.out / f"{name}-pruned")
    whole = judged(name, options, device)
    return {**judged(f"{name}-pruned", options, device), "left": left, "gated": whole}


def closing(name: str, options: argparse.Namespace, device) -> dict:
    """BLEU with heads of `base` closed in some order, and nothing trained."""
    from regard.run.folder import Run
    from regard.traces.importance import curve, places

    order, part = name.split(":")
    run = Run.open(options.out / "base")
    model = run.load_model(device)
    chosen = ordered(order, part, run, model, options)
    rest = [place for place in places(model) if place not in set(chosen)]
    shares = (0, 4, 8) if options.short else (0, 1, 2, 3, 4, 5, 6, 7, 8)
    gone = [len(chosen) * share // 8 for share in shares]
    total = len(chosen) + len(rest)

    def measure() -> float:
        return bleu_of(run, model, options, beam=1)

    points = curve(model, measure, [*chosen, *rest], [total - count for count in gone])
    points = [(len(chosen) - count, point.value) for count, point in zip(gone, points, strict=True)]
    return {"curve": points, "order": order, "part": part}


def ordered(order: str, part: str, run, model, options: argparse.Namespace) -> list:
    """The heads of a part, those to be closed first first; what says so is worked out on validation text."""
    from regard.answer.test_set import Exam
    from regard.traces.importance import batches, by_ablation, by_gradient, loss_of, orders, places

    kinds = places(model)
    own = [
        place
        for place, kind in kinds.items()
        if part == "all" or kind == {"encoder": "encoder-self", "cross": "cross"}[part]
    ]
    if order.startswith("random"):
        return orders(dict.fromkeys(own, 0.0), len(order))["random order"]
    exam = Exam.read(files(options)["valid"], run.settings, 20 if options.short else 300)
    if order == "gradient":
        worth = by_gradient(run.task, model, exam.examples)
    else:
        some = batches(run.task, exam.examples, 8192)
        worth = by_ablation(model, lambda: loss_of(run.task, model, some))
    rising = orders({place: worth[place] for place in own})["least important first"]
    return rising[::-1] if order == "worst-first" else rising


def fit(settings, folder: Path, device) -> None:
    from regard.training import Listener, train

    class Log(Listener):
        def noted(self, message):
            print(message, flush=True)

        def stepped(self, report):
            print(json.dumps(report.as_dict()), flush=True)

        def evaluated(self, report):
            print(json.dumps(report.as_dict()), flush=True)

    train(folder, settings, Log(), str(device))


def lines(options: argparse.Namespace, split: str) -> tuple[list[str], list[str]]:
    most = 20 if options.short else None
    return tuple(
        (options.data / f"{split}.lc.norm.tok.{side}").read_text("utf-8").split("\n")[:-1][:most]
        for side in ("en", "de")
    )


def bleu_of(run, model, options: argparse.Namespace, beam: int) -> float:
    from regard.evaluate import bleu

    questions, answers = lines(options, TEST)
    decode = run.settings.decode.model_copy(update={"beam": beam})
    found = run.task.predict(model.eval(), questions, decode, tokens=16384)
    return bleu([answer.text for answer in found], answers, tokenize="none").value


def judged(name: str, options: argparse.Namespace, device) -> dict:
    """BLEU, loss a symbol on validation text, entropy of rows of attention, cosine of two heads."""
    from regard.answer.test_set import Exam
    from regard.models import count_parameters
    from regard.run.folder import Run
    from regard.traces.importance import batches, loss_of

    run = Run.open(options.out / name)
    model = run.load_model(device)
    exam = Exam.read(files(options)["valid"], run.settings, 20 if options.short else 1014)
    some = batches(run.task, exam.examples, 8192)
    return {
        "bleu": bleu_of(run, model, options, beam=1),
        "bleu_beam5": bleu_of(run, model, options, beam=5),
        "loss": loss_of(run.task, model, some),
        "parameters": count_parameters(model),
        **habits(run.task, model, some, device),
    }


def habits(task, model, some, device) -> dict[str, float]:
    import torch

    from regard.attention import watch
    from regard.errors import UsageError
    from regard.tasks.objective import Disagreement, Entropy, Pass

    sums = {"entropy": 0.0, "likeness": 0.0}
    with torch.no_grad():
        for batch in some:
            moved = batch.to(device)
            with watch(model) as seen:
                task.loss(model, moved)
            forward = Pass(task, model, moved, seen)
            sums["entropy"] += Entropy(1.0).value(forward).item()
            try:
                sums["likeness"] += Disagreement(1.0).value(forward).item()
            except UsageError:  # no attention has two heads any more
                sums["likeness"] = float("nan")
    count = sum(batch.count for batch in some)
    return {name: value / count for name, value in sums.items() if value == value}


if __name__ == "__main__":
    main()
