"""Handwritten formulas to LaTeX (CROHME): expression rate, a formula being right when every symbol is.

    python recipes/formulas/run.py DATA OUT [--steps N] [--pictures N] [--device auto]

DATA holds `index.tsv` (split, file, width, LaTeX) and the pictures in `png/`. It learns from `train`, is
watched by `test2013`, and is judged by `test2014` and `test2016`, as WAP was (Zhang 2017). No pretrained
network is used.
"""

from __future__ import annotations

import re
import sys
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import pictured

SETTINGS = """
[text]
kind = "word"

[picture]
height = 64
fit = "ragged"
longest = 640

[model.encoder]
kind = "front"
width = 256
dropout = 0.2
[model.encoder.front]
kind = "convolution"
channels = [32, 64, 128]
blocks = 2
warp = 0.1

[model.reader]
kind = "rnn"
cell = "gru"
width = 256
score = "coverage"
looks = "before"
dropout = 0.2

[batch]
tokens = 32768
max_length = 640

[train]
steps = 12000
rate = 1e-3
warmup = 500
evaluate_every = 500
checkpoint_every = 500
"""
SYMBOL = re.compile(r"\\[A-Za-z]+|\\.|[^\s]")
SAME = {
    r"\lt": "<",
    r"\gt": ">",
    r"\ldots": r"\dots",
    r"\cdots": r"\dots",
    r"\le": r"\leq",
    r"\ge": r"\geq",
}


def normalised(latex: str) -> str:
    """One way to write what looks the same: symbols apart, braces around scripts, what is below first."""
    symbols = [
        SAME.get(one, one) for one in SYMBOL.findall(latex) if one not in (r"\left", r"\right", "$")
    ]
    return " ".join(_scripts(symbols))


def _scripts(symbols: list[str]) -> list[str]:
    found: list[str] = []
    place = 0
    while place < len(symbols):
        scripts: dict[str, list[str]] = {}
        while place < len(symbols) and symbols[place] in "_^" and symbols[place] not in scripts:
            end = _group(symbols, place + 1)
            inside = symbols[place + 1 : end]
            inside = inside[1:-1] if inside[:1] == ["{"] else inside
            scripts[symbols[place]] = ["{", *_scripts(inside), "}"]
            place = end
        for mark in "_^":
            found += [mark, *scripts[mark]] if mark in scripts else []
        if not scripts:
            found.append(symbols[place])
            place += 1
    return found


def _group(symbols: list[str], start: int) -> int:
    """Where the group ends that begins here: behind its closing brace, or behind one symbol."""
    depth = 0
    for place in range(start, len(symbols)):
        depth += {"{": 1, "}": -1}.get(symbols[place], 0)
        if depth == 0:
            return place + 1
    return len(symbols)


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
        pictured.write(out / f"{names[split]}.tsv", found)


if __name__ == "__main__":
    pictured.main(__doc__ or "", SETTINGS, prepare, ("test2014", "test2016"))
