"""Perplexity on the Penn Treebank: an LSTM, an LSTMN (Cheng 2016), a pointer sentinel (Merity 2016).

    python recipes/ptb/run.py DATA OUT [--smoke] [--only NAME ...] [--width 650] [--layers 2] [--device auto]

DATA holds `ptb.{train,valid,test}.txt.xz`, one sentence a line. Sentences are put one behind the other, each
with a word for its end, and cut into rows of 70 words; each row is read with an empty memory. Perplexity is
that of all words and ends of sentences, as in published figures; the end of a row is not counted. `--smoke`
takes a part of the text, the 2,000 most frequent words and small models: about two minutes a model on a core.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import torch

import regard
from regard.answer.predictor import Predictor
from regard.data.example import Line
from regard.models import count_parameters
from regard.models.readers import IGNORE
from regard.text import END, UNKNOWN

ROW = 70  # words
ROWS = {
    "lstm": ({"model.reader.cell": "lstm"}, "115 (Cheng 2016), 80.6 (Merity 2016)"),
    "lstmn": ({"model.reader.cell": "lstmn"}, "102, three layers of 300"),
    "sentinel": (
        {"model.reader.cell": "lstm", "model.reader.points_back": 100},
        "70.9, two layers of 650",
    ),
}
FULL = {"sentences": None, "vocabulary": 10_003, "steps": 20_000, "tokens": 4096, "rate": 2e-3}
SMOKE = {"sentences": 4_000, "vocabulary": 2_000, "steps": 300, "tokens": 1024, "rate": 5e-3}
# Signs as letters that no word of the corpus has, so that each word of the corpus is one word here.
SIGNS = {".": "\ua78f", "'": "\u02bc", "-": "\u02d1", "&": "\u02e4", "$": "\u02e2", "/": "\u02e1"}


def word(token: str) -> str:
    """A word of the corpus, written with letters and digits alone; `<unk>` is a word like any other."""
    if token in ("<unk>", "<eos>"):
        return token[1:-1]
    return "".join(c if c.isalnum() else SIGNS.get(c, "\u02b0") for c in token)


def rows(lines: Iterable[str]) -> Iterator[list[str]]:
    """Sentences end to end, so many words at a time."""
    words = iter([word(token) for line in lines for token in (*line.split(), "<eos>")])
    while row := list(islice(words, ROW)):
        yield row


def prepare(data: Path, out: Path, sentences: int | None) -> None:
    """A row a line; of the held-out parts, a tenth as many sentences where there is a limit."""
    for part in ("train", "valid", "test"):
        most = sentences if part == "train" or sentences is None else sentences // 10
        with lzma.open(data / f"ptb.{part}.txt.xz", "rt", encoding="utf-8") as lines:
            made = [" ".join(row) + "\n" for row in rows(islice(lines, most))]
        (out / f"{part}.txt").write_text("".join(made), encoding="utf-8")


def learn(name: str, options: argparse.Namespace, size: dict) -> None:
    """Everything but the memory is the same for each row."""
    settings = {
        **{"task": "language", "text.kind": "word", "text.vocabulary": size["vocabulary"]},
        **{"model.reader.width": options.width, "model.reader.layers": options.layers},
        **{"model.reader.dropout": options.dropout, "batch.tokens": size["tokens"]},
        **{"train.steps": size["steps"], "train.rate": size["rate"], "train.warmup": 50},
        **{"train.evaluate_every": max(50, size["steps"] // 20), "train.evaluate_examples": 1},
        **ROWS[name][0],
    }
    regard.train(
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
    task, model = predictor.run.task, predictor.model.eval()
    lines = (options.out / "test.txt").read_text("utf-8").splitlines()
    total, count, unknown = 0.0, 0, 0
    for start in range(0, len(lines), 16):
        some = task.rows([Line(line) for line in lines[start : start + 16]])
        batch = task.collate(some, 1, max(len(row["target"]) for row in some))
        batch = batch.to(next(model.parameters()).device)
        targets = batch.targets.masked_fill(batch.targets == END, IGNORE)
        total += float(model.reader.loss(task.logits(model, batch), targets))
        count += int((targets != IGNORE).sum())
        unknown += int((targets == UNKNOWN).sum())
    assert count == sum(len(line.split()) for line in lines), "each word is one symbol"
    return {
        "perplexity": round(math.exp(total / count), 2),
        "words": count,
        "outside the vocabulary": unknown,
        "parameters": count_parameters(model),
        "published": ROWS[name][1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--only", nargs="*", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--width", type=int)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    options.width = options.width or (64 if options.smoke else 650)
    options.layers = options.layers or (1 if options.smoke else 2)
    size = SMOKE if options.smoke else FULL
    options.out.mkdir(parents=True, exist_ok=True)
    prepare(options.data, options.out, size["sentences"])
    found = {}
    for name in options.only:
        learn(name, options, size)
        found[name] = judge(name, options)
        print(name, json.dumps(found[name]), flush=True)
    (options.out / "results.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
