"""Perplexity on the Penn Treebank: an LSTM, an LSTMN (Cheng 2016), a pointer sentinel (Merity 2016).

    python recipes/ptb/run.py DATA OUT [--smoke] [--only NAME ...] [--width 650] [--layers 2] [--device auto]
                              [--row 70] [--tokens 4096] [--dropout 0.5] [--rate 2e-3] [--seconds N]

DATA holds `ptb.{train,valid,test}.txt.xz`, one sentence a line. Sentences are put one behind the other, each
with a word for its end, and cut into rows; each row is read with an empty memory. Perplexity is that of all
words and ends of sentences, as in published figures; the end of a row is not counted. It is told twice: with
rows that begin with nothing, as in training, and with words of the second half of a row alone, which stands
in for the state that published models carry along. No row is longer than in training: all rows end there,
and a network may have learned to count. `--smoke` takes a part of the text, the 2,000 most
frequent words and small models: about two minutes a model on a core. `--seconds` ends a training by the
clock; typed again, it goes on.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parents[1]))
from timed import learn_for

from regard.answer.predictor import Predictor
from regard.data.example import Line
from regard.models import count_parameters
from regard.models.readers import IGNORE
from regard.text import END, UNKNOWN

ROWS = {
    "lstm": ({"model.reader.cell": "lstm"}, "115 (Cheng 2016), 80.6 (Merity 2016)"),
    "lstmn": ({"model.reader.cell": "lstmn"}, "108 with one layer of 300, 102 with three"),
    "sentinel": (
        {"model.reader.cell": "lstm", "model.reader.points_back": 100},
        "70.9, two layers of 650",
    ),
}
FULL = {"sentences": None, "vocabulary": 10_003, "steps": 40_000, "evaluate": 500}
SMOKE = {"sentences": 4_000, "vocabulary": 2_000, "steps": 300, "evaluate": 50}
# Signs as letters that no word of the corpus has, so that each word of the corpus is one word here.
SIGNS = {".": "\ua78f", "'": "\u02bc", "-": "\u02d1", "&": "\u02e4", "$": "\u02e2", "/": "\u02e1"}


def word(token: str) -> str:
    """A word of the corpus, written with letters and digits alone; `<unk>` is a word like any other."""
    if token in ("<unk>", "<eos>"):
        return token[1:-1]
    return "".join(c if c.isalnum() else SIGNS.get(c, "\u02b0") for c in token)


def rows(words: Iterable[str], length: int) -> Iterator[list[str]]:
    """So many words at a time."""
    left = iter(words)
    while row := list(islice(left, length)):
        yield row


def end_to_end(lines: Iterable[str]) -> Iterator[str]:
    """Sentences one behind the other, with a word for the end of each."""
    return (word(token) for line in lines for token in (*line.split(), "<eos>"))


def prepare(data: Path, out: Path, sentences: int | None, length: int) -> None:
    """A row a line; of the held-out parts, a tenth as many sentences where there is a limit."""
    for part in ("train", "valid", "test"):
        most = sentences if part == "train" or sentences is None else sentences // 10
        with lzma.open(data / f"ptb.{part}.txt.xz", "rt", encoding="utf-8") as lines:
            made = [" ".join(row) + "\n" for row in rows(end_to_end(islice(lines, most)), length)]
        (out / f"{part}.txt").write_text("".join(made), encoding="utf-8")


def learn(name: str, options: argparse.Namespace, size: dict) -> bool:
    """Everything but the memory is the same for each row."""
    settings = {
        **{"task": "language", "text.kind": "word", "text.vocabulary": size["vocabulary"]},
        **{"model.reader.width": options.width, "model.reader.layers": options.layers},
        **{"model.reader.dropout": options.dropout, "batch.tokens": options.tokens},
        **{"train.steps": options.steps or size["steps"], "train.rate": options.rate},
        **{"train.warmup": 50 if options.smoke else 400, "train.average": options.average},
        **{"train.evaluate_every": size["evaluate"], "train.checkpoint_every": size["evaluate"]},
        **{"train.evaluate_examples": 1, "train.log_every": 100, "seed": options.seed},
        **ROWS[name][0],
    }
    return learn_for(
        options.seconds,
        options.out / "train.txt",
        out=options.out / name,
        valid=options.out / "valid.txt",
        preset="cheng2016",
        settings=settings,
        device=options.device,
    )


@torch.no_grad()
def judge(name: str, options: argparse.Namespace) -> dict:
    """exp of the mean loss of every word and end of sentence of the test."""
    predictor = Predictor.load(options.out / name, options.device)
    model = predictor.model.eval()
    lines = (options.out / "test.txt").read_text("utf-8").splitlines()
    bare, count, unknown = _loss(predictor, [("", line) for line in lines])
    halves = [" ".join(half) for half in rows(" ".join(lines).split(), options.row // 2)]
    after, same, _ = _loss(predictor, list(zip(["", *halves], halves, strict=False)))
    assert count == same == sum(len(line.split()) for line in lines), "each word is one symbol"
    return {
        "perplexity, each row from nothing": round(math.exp(bare / count), 2),
        "perplexity, in the second half of a row": round(math.exp(after / count), 2),
        "words": count,
        "outside the vocabulary": unknown,
        "parameters": count_parameters(model),
        "width": options.width,
        "layers": options.layers,
        "row": options.row,
        "seed": options.seed,
        "published": ROWS[name][1],
    }


def _loss(predictor: Predictor, pairs: list[tuple[str, str]]) -> tuple[float, int, int]:
    """The loss of the second of each pair, summed; how many words they have; how many are unknown."""
    task, model = predictor.run.task, predictor.model
    total, count, unknown = 0.0, 0, 0
    for start in range(0, len(pairs), 16):
        some = pairs[start : start + 16]
        found = task.rows([Line(f"{before} {line}".strip()) for before, line in some])
        batch = task.collate(found, 1, max(len(row["target"]) for row in found))
        batch = batch.to(next(model.parameters()).device)
        targets = batch.targets.masked_fill(batch.targets == END, IGNORE)
        for number, (before, _) in enumerate(some):
            targets[number, : len(before.split())] = IGNORE
        total += float(model.reader.loss(task.logits(model, batch), targets))
        count += int((targets != IGNORE).sum())
        unknown += int((targets == UNKNOWN).sum())
    return total, count, unknown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--only", nargs="*", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--width", type=int)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--row", type=int, default=70)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--average", default=None, choices=("none", "ema"))
    parser.add_argument("--dropout", type=float)
    parser.add_argument("--seconds", type=float, help="for each model")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    usual = {"width": 64, "layers": 1, "tokens": 1024, "rate": 5e-3, "dropout": 0.2}
    if not options.smoke:
        usual = {"width": 650, "layers": 2, "tokens": 4096, "rate": 2e-3, "dropout": 0.5}
    for key, value in {**usual, "average": "none" if options.smoke else "ema"}.items():
        setattr(options, key, value if getattr(options, key) is None else getattr(options, key))
    size = SMOKE if options.smoke else FULL
    options.out.mkdir(parents=True, exist_ok=True)
    prepare(options.data, options.out, size["sentences"], options.row)
    found = {}
    for name in options.only:
        if learn(name, options, size):
            found[name] = judge(name, options)
            print(name, json.dumps(found[name]), flush=True)
            (options.out / "results.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
