"""Few labels, with and without pre-training: parts of speech (UD EWT) and good or bad (SST-2).

    python recipes/few-labels/run.py DATA OUT [--text FILE] [--only PART ...] [--seconds N] [--device auto]

PART is `masked` or `next` (pre-train an encoder on plain English text by masked words, as Devlin 2019, or by
the next word, as Radford 2018), then `labels`: for 100, 500 and 2,000 tagged sentences, 100 and 1,000 rated
ones and all of them, train the same encoder from nothing and from each of the two, and judge on the whole
test. DATA holds `ud_english_ewt/` and `sst/`; FILE has a line of English text a line (`.xz` or plain;
recipes/box/english.py writes one). Who learns from nothing has an encoder of the same size, a vocabulary
learned from the labelled text alone, and twice the steps. The best step is chosen on the whole
development set, for everybody alike. There is no row for named entities: no set of them lies here under a
licence that allows it (L101).
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from timed import learn_for

import regard
from regard.answer.test_set import Exam, judge

STACK = {
    **{"kind": "transformer", "width": 256, "layers": 4, "heads": 4, "feedforward": 1024},
    **{"position": "rotary", "activation": "gelu", "dropout": 0.1},
}
TEXT = {"text.kind": "bpe", "text.vocabulary": 8000, "text.symbols": ["<mask>"]}
TASKS = {
    "masked": {"task": "fill", "model.encoder": STACK, "model.reader.kind": "tag"},
    "next": {"task": "language", "model.reader": STACK},
}
COUNTS = {"tag": (100, 500, 2000, None), "classify": (100, 1000, None)}
STEPS = {100: 200, 500: 400, 1000: 400, 2000: 600, None: 1200}


def opened(path: Path):
    return (
        lzma.open(path, "rt", encoding="utf-8")
        if path.suffix == ".xz"
        else path.open(encoding="utf-8")
    )


def prepare(options: argparse.Namespace) -> None:
    """Plain text for everybody; tagged sentences as CoNLL-U, rated ones as label and text, in their order."""
    out = options.out
    if options.text is not None and not (out / "text.txt").is_file():
        with opened(options.text) as file:
            lines = [line for line in file if line.strip()][: options.lines]
        (out / "text.valid.txt").write_text("".join(lines[:500]), encoding="utf-8")
        (out / "text.txt").write_text("".join(lines[500:]), encoding="utf-8")
    for part in ("train", "dev", "test"):
        with opened(options.data / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu.xz") as file:
            sentences = file.read().strip().split("\n\n")
        rated = (options.data / "sst" / f"{part}.binary.tsv").read_text("utf-8").splitlines()
        if part != "train":
            (out / f"tag.{part}.conllu").write_text(
                "\n\n".join(sentences) + "\n\n", encoding="utf-8"
            )
            (out / f"classify.{part}.tsv").write_text("\n".join(rated) + "\n", encoding="utf-8")
            continue
        for count in COUNTS["tag"]:
            some = spread(sentences, count)
            (out / f"tag.{count}.conllu").write_text("\n\n".join(some) + "\n\n", encoding="utf-8")
        for count in COUNTS["classify"]:
            some = spread(rated, count)
            (out / f"classify.{count}.tsv").write_text("\n".join(some) + "\n", encoding="utf-8")


def spread(rows: list[str], count: int | None) -> list[str]:
    """So many, evenly from the whole: neighbours come from one text."""
    return rows if count is None else [rows[n * len(rows) // count] for n in range(count)]


def pretrain(name: str, options: argparse.Namespace) -> None:
    settings = {
        **{**TEXT, **TASKS[name]},
        **{"batch.tokens": options.tokens, "batch.max_length": 128, "objective.smoothing": 0.0},
        **{"train.rate": 1e-3, "train.warmup": 500, "train.average": "ema", "train.decay": 0.01},
        **{"train.steps": options.steps, "train.evaluate_examples": 0, "train.log_every": 100},
        **{"train.evaluate_every": options.every, "train.checkpoint_every": options.every},
        **({"train.precision": "bfloat16"} if options.device != "cpu" else {}),
    }
    where = {"out": options.out / name, "valid": options.out / "text.valid.txt"}
    learn_for(
        options.seconds, options.out / "text.txt", settings=settings, device=options.device, **where
    )


def labelled(task: str, count: int | None, start: str, options: argparse.Namespace) -> dict | None:
    """One model with few labels; `nothing` starts from no weights, with the vocabulary learned from text."""
    kind = "conllu" if task == "tag" else "tsv"
    out = options.out / f"{task}-{count}-{start}-{options.seed}"
    if (out / "found.json").is_file():
        return json.loads((out / "found.json").read_text())
    steps = min(STEPS[count], options.most_steps)
    settings = {
        **{
            "batch.tokens": 2048,
            "objective.smoothing": 0.1,
            "train.steps": steps,
            "seed": options.seed,
        },
        **{"train.warmup": steps // 5, "train.schedule": "cosine", "train.average": "ema"},
        **{
            "train.ema_decay": 0.98,
            "train.decay": 0.01,
            "train.rate": 3e-4,
            "train.log_every": 100,
        },
        **{
            "train.evaluate_every": max(1, steps // 8),
            "train.checkpoint_every": steps,
            "train.keep": 1,
        },
        **{"train.evaluate_examples": 0, "model.encoder.dropout": 0.2, "model.reader.dropout": 0.2},
    }
    how: dict[str, object] = {"start_from": options.out / start}
    if start == "nothing":
        # Twice the steps and a higher rate: nothing is known that a high rate could destroy.
        settings |= {**TEXT, "model.encoder": {**STACK, "dropout": 0.2}, "train.rate": 1e-3}
        settings |= {"train.steps": 2 * steps, "model.reader.kind": task}
        how = {}
    began = time.monotonic()
    files = {"out": out, "valid": options.out / f"{task}.dev.{kind}", "task": task}
    listener = regard.Listener()
    train = options.out / f"{task}.{count}.{kind}"
    if not learn_for(
        None, train, settings=settings, device=options.device, listener=listener, **files, **how
    ):
        return None
    model = regard.load(out, device=options.device)
    exam = Exam.read([options.out / f"{task}.test.{kind}"], model.run.settings, options.test)
    said = [answer.text for answer in model.predict(exam.questions(model.learned))]
    metric = judge(model.learned, said, exam.answers(model.learned))[0]
    found = {
        **{"task": task, "labels": count or "all", "start": start, "seed": options.seed},
        **{metric.name: round(metric.value, 2), "seconds": round(time.monotonic() - began, 1)},
    }
    (out / "found.json").write_text(json.dumps(found))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--lines", type=int, help="of the text, at most")
    parser.add_argument("--only", nargs="*", default=["masked", "next", "labels"])
    parser.add_argument("--starts", nargs="*", default=["nothing", "masked", "next"])
    parser.add_argument("--counts", nargs="*", type=int, help="of labels; 0 is all")
    parser.add_argument("--tokens", type=int, default=32768)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=200)
    parser.add_argument("--most-steps", type=int, default=10**6, help="for a trial")
    parser.add_argument("--test", type=int, help="rows of the tests, for a trial")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="for each pre-training")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--width", type=int, default=256, help="of the encoder, which has 4 layers")
    options = parser.parse_args()
    STACK.update(width=options.width, feedforward=4 * options.width)
    options.out.mkdir(parents=True, exist_ok=True)
    prepare(options)
    for name in ("masked", "next"):
        if name in options.only:
            pretrain(name, options)
    if "labels" not in options.only:
        return
    chosen = None if options.counts is None else [count or None for count in options.counts]
    found = []
    for task, counts in COUNTS.items():
        for count in counts:
            for start in options.starts if chosen is None or count in chosen else ():
                if (one := labelled(task, count, start, options)) is not None:
                    found.append(one)
                    print(json.dumps(one), flush=True)
                    name = f"labels-{options.seed}.json"
                    (options.out / name).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
