"""English and German to French on Multi30k: both sources against each alone, and what damage to one does.

    python recipes/multisource/run.py DATA OUT [--only NAME ...] [--jobs 3] [--steps 6000] [--minutes N]
                                      [--width 128] [--layers 4] [--tokens 4096] [--vocabulary 10000]

DATA holds `train.lc.norm.tok.en`, `.de` and `.fr`, and the same of `val` and the tests. Typed again, every
run goes on where it was. OUT/results.json has the scores and their paired intervals; answers are beside it.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import pictured

from regard.evaluate import bleu, paired

SIDE = {"kind": "transformer", "heads": 4, "dropout": 0.3, "activation_dropout": 0.3}
COMBINATIONS = ("flat", "parallel", "serial", "hierarchical")
ALONE = {"en": ("en",), "de": ("de",)}
RUNS = {**ALONE, **dict.fromkeys(COMBINATIONS, ("en", "de"))}
TEST = "test_2016_flickr"


def path(data: Path, split: str, language: str) -> Path:
    return data / f"{split}.lc.norm.tok.{language}"


def learn(name: str, options: argparse.Namespace) -> None:
    """One run, and its answers to the whole test and to every damaged one."""
    sources = RUNS[name]
    side = {
        **SIDE,
        "width": options.width,
        "feedforward": 2 * options.width,
        "layers": options.layers,
    }
    reader = {**side, **({"combine": name} if name in COMBINATIONS else {})}
    model = {"encoder": side, "reader": reader}
    model |= {"source_dropout": 0.1} if len(sources) > 1 else {}
    settings = {
        "model": model,
        "text": {"kind": "bpe", "vocabulary": options.vocabulary},
        "batch.tokens": options.tokens,
        **{"train.steps": options.steps, "train.rate": 3e-3, "train.schedule": "cosine"},
        **{"train.warmup": options.steps // 5, "train.ema_decay": 0.995},
        **{"train.evaluate_every": 500, "train.checkpoint_every": 500, "train.log_every": 100},
        **{"train.evaluate_examples": 100, "train.average": "ema", "train.keep": 1},
        **{"decode.beam": 5, "decode.penalty": "average", "decode.alpha": 1.0},
    }
    files = [path(options.data, "train", side) for side in sources]
    valid = [path(options.data, "val", side) for side in (*sources, "fr")]
    target, several = path(options.data, "train", "fr"), len(sources) > 1
    given = {"to": target, "task": "multisource"} if several else {}
    trained = pictured.train(
        *(files if several else (*files, target)),
        minutes=options.minutes,
        out=options.out / name,
        valid=valid,
        settings=settings,
        device=options.device,
        **given,
    )
    lines = {side: path(options.data, TEST, side).read_text().splitlines() for side in sources}
    for damage, asked in damaged(lines).items():
        if not several and damage != "whole":
            continue
        rows = [
            {side: one[side] for side in sources if one[side]} if several else one[sources[0]]
            for one in asked
        ]
        answers = [" ".join(answer.text.split()) for answer in trained.predict(rows)]
        (options.out / f"{name}.{damage}.txt").write_text("".join(f"{one}\n" for one in answers))


def damaged(lines: dict[str, list[str]]) -> dict[str, list[dict[str, str]]]:
    """The test as it is, and with one source shuffled, of another sentence, or left out."""
    draw = random.Random(7)
    rows = zip(*lines.values(), strict=True)
    whole = [dict(zip(lines, row, strict=True)) for row in rows]
    found = {"whole": whole}
    for side, own in lines.items():
        shuffled = [" ".join(draw.sample(line.split(), len(line.split()))) for line in own]
        other = own[1:] + own[:1]
        for name, replaced in (("shuffled", shuffled), ("other", other), ("gone", [""] * len(own))):
            pairs = zip(whole, replaced, strict=True)
            found[f"{side}-{name}"] = [{**row, side: line} for row, line in pairs]
    return found


def judge(options: argparse.Namespace) -> None:
    """BLEU of every file of answers, and how sure the gain over the better single source is."""
    right = path(options.data, TEST, "fr").read_text().splitlines()
    answers = {
        file.stem: file.read_text().split("\n")[:-1] for file in sorted(options.out.glob("*.*.txt"))
    }
    scores = {name: bleu(some, right, tokenize="none") for name, some in answers.items()}
    known = [f"{name}.whole" for name in ALONE if f"{name}.whole" in scores]
    alone = max(known, key=lambda name: scores[name].value, default="")
    results = {"scores": {name: one.value for name, one in scores.items()}, "against": alone}
    results["gains"] = {
        name: str(paired(answers[alone], answers[f"{name}.whole"], right, tokenize="none"))
        for name in COMBINATIONS
        if alone and f"{name}.whole" in answers
    }
    (options.out / "results.json").write_text(json.dumps(results, indent=1))
    print(json.dumps(results, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=list(RUNS))
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--minutes", type=float, help="of each training")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4, help="of each encoder and of the decoder")
    parser.add_argument("--tokens", type=int, default=4096, help="of a batch")
    parser.add_argument("--vocabulary", type=int, default=10000)
    parser.add_argument("--one")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.one:
        learn(options.one, options)
        return
    waiting, running = list(options.only), []
    while waiting or running:
        while waiting and len(running) < options.jobs:
            name = waiting.pop(0)
            log = (options.out / f"{name}.log").open("ab")
            command = [sys.executable, *sys.argv, "--one", name]
            running.append(subprocess.Popen(command, stdout=log, stderr=log))
        running.pop(0).wait()
    judge(options)


if __name__ == "__main__":
    main()
