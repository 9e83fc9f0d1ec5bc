"""Handwritten formulas to LaTeX (CROHME): expression rate, a formula being right when every symbol is.

    python recipes/formulas/run.py DATA OUT [--form both-ways] [--minutes N] [--device auto]

DATA holds `index.tsv` (split, file, width, LaTeX) and the pictures in `png/`. It learns from `train`, is
watched by `test2013`, and is judged by `test2014` and `test2016`, as WAP was (Zhang 2017). LaTeX is brought
to one form first (`latex.py`). No pretrained network is used. The forms:

    both-ways   a convolutional network and a Transformer decoder, which learns to write each formula from
                both ends (Zhao 2021); its beam follows both directions, and the likelier formula wins
    one-way     the same, from left to right alone
    coverage    the same network and a GRU whose attention sees what was read before (WAP, Zhang 2017)
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
import pictured  # noqa: E402
from latex import normalised  # noqa: E402

SEEN = """
[text]
kind = "word"

[picture]
height = 64
fit = "ragged"
longest = 512
invert = "yes"

[model.encoder]
kind = "front"
width = 256
dropout = 0.2
[model.encoder.front]
kind = "convolution"
channels = [32, 96, 256]
blocks = 3
warp = 0.15
elastic = 0.02

[objective]
smoothing = 0.1

[train]
steps = 60000
rate = 1e-3
warmup = 2000
decay = 0.01
average = "ema"
ema_decay = 0.9995
best_by = "score"
evaluate_every = 1000
evaluate_examples = 300
checkpoint_every = 1000
log_every = 100
keep = 1

[decode]
beam = 10
penalty = "average"
alpha = 1.0
max_length = 120

[batch]
tokens = 14336
max_length = 512
buckets = 24
"""
TRANSFORMER = """
[model.reader]
kind = "transformer"
width = 256
layers = 3
heads = 8
feedforward = 1024
dropout = 0.3
"""
RECURRENT = """
[model.reader]
kind = "rnn"
cell = "gru"
width = 256
score = "coverage"
looks = "before"
dropout = 0.3
"""
FROM_LEFT, FROM_RIGHT = "→", "←"


def both_ways(latex: str) -> tuple[str, str]:
    """A formula from both ends; the first symbol says from which."""
    return f"{FROM_LEFT} {latex}", " ".join([FROM_RIGHT, *reversed(latex.split())])


def from_left(said: str) -> str:
    """What was said, from left to right, without the symbol of its direction."""
    first, *symbols = said.split() or [""]
    match first:
        case "→":
            return " ".join(symbols)
        case "←":
            return " ".join(reversed(symbols))
    return said


FORMS = {
    "both-ways": pictured.Form(SEEN + TRANSFORMER, ("train2", "valid2"), from_left),
    "one-way": pictured.Form(SEEN + TRANSFORMER),
    "coverage": pictured.Form(SEEN + RECURRENT),
}


def prepare(data: Path, out: Path, most: int | None) -> None:
    """Tables of picture and formula; what is in a test set, byte for byte, is not learned from."""
    rows = [line.split("\t") for line in (data / "index.tsv").read_text("utf-8").splitlines()]
    pictures = out / "png"
    pictures.mkdir(exist_ok=True)
    kept: dict[str, list[tuple[str, str]]] = {}
    tested: set[str] = set()
    for split, name, _, latex in sorted(
        rows, key=lambda row: row[0] == "train"
    ):  # tests come first
        if most is not None and len(kept.get(split, [])) >= most:
            continue
        content = (data / "png" / name).read_bytes()
        digest = sha256(content).hexdigest()
        if split != "train":
            tested.add(digest)
        elif digest in tested:
            print(f"left out: {name} is in a test set, too")
            continue
        (pictures / name).write_bytes(content)
        kept.setdefault(split, []).append((f"png/{name}", normalised(latex)))
    names = {"train": "train", "test2013": "valid", "test2014": "test2014", "test2016": "test2016"}
    for split, found in kept.items():
        if split in ("train", "test2013"):
            twice = [(name, text) for name, latex in found for text in both_ways(latex)]
            pictured.write(out / f"{names[split]}2.tsv", twice)
        pictured.write(out / f"{names[split]}.tsv", found)


if __name__ == "__main__":
    pictured.main(__doc__ or "", FORMS, prepare, ("test2014", "test2016"))
