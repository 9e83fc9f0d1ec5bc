"""Spelling to sound, every row of the table in README.md.

    python recipes/g2p/run.py DATA OUT [--only NAME ...] [--jobs 4] [--device auto]

DATA holds `cmudict/{train,valid,test}.nostress.tsv.xz` (word, sounds) and
`g2p_sigmorphon2021/eng_us_{train,dev,test}.tsv`.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from rows import Row, main

TEXT = """
[text]
kind = "word"
vocabulary = 200
shared = false
[batch]
tokens = 8192
max_length = 64
packed = {packed}
"""

TRAIN = """
[train]
steps = {steps}
rate = {rate}
schedule = "cosine"
warmup = 400
precision = "{precision}"
compile = {packed}
average = "ema"
ema_decay = 0.998
smoothing = 0.1
evaluate_every = 500
evaluate_examples = 300
checkpoint_every = 500
log_every = 100
[decode]
beam = 5
alpha = 1.0
penalty = "average"
max_length = 60
"""

TRANSFORMER = """
[model.encoder]
kind = "transformer"
width = 256
layers = 4
heads = 4
feedforward = 1024
dropout = 0.2
[model.reader]
kind = "transformer"
width = 256
layers = 4
heads = 4
feedforward = 1024
dropout = 0.2
"""

LSTM = """
[model.encoder]
kind = "rnn"
cell = "lstm"
width = 256
layers = 2
dropout = 0.3
[model.reader]
kind = "rnn"
cell = "lstm"
width = 256
layers = 2
score = "general"
input_feeding = true
dropout = 0.3
"""


def settings(model: str, steps: int, rate: float, packed: bool = False) -> str:
    """Packed rows, compiled, in bfloat16: what only Transformers can, and a GPU wants."""
    text = TEXT.format(packed=str(packed).lower())
    precision = "bfloat16" if packed else "float32"
    return (
        text
        + model
        + TRAIN.format(steps=steps, rate=rate, precision=precision, packed=str(packed).lower())
    )


ROWS = {
    "cmudict-transformer": Row(settings(TRANSFORMER, 5000, 1.5e-3, True), "cmudict", "about 31"),
    "cmudict-lstm": Row(settings(LSTM, 3000, 2e-3), "cmudict", "33.9 (WFST)"),
    "eng_us-transformer": Row(
        settings(TRANSFORMER, 2500, 1.5e-3, True), "eng_us", "41.94 (baseline)"
    ),
    "eng_us-lstm": Row(settings(LSTM, 2000, 2e-3), "eng_us", "37.4 (best)"),
}
FILES = {
    "cmudict": ("cmudict/{}.nostress.tsv.xz", ("train", "valid", "test")),
    "eng_us": ("g2p_sigmorphon2021/eng_us_{}.tsv", ("train", "dev", "test")),
}


def prepare(data: Path, out: Path, name: str) -> None:
    """Letters with spaces between them, so that a letter is a word of the source."""
    out.mkdir(parents=True, exist_ok=True)
    pattern, splits = FILES[name]
    for split, target in zip(splits, ("train", "valid", "test"), strict=True):
        path = data / pattern.format(split)
        content = path.read_bytes()
        text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8")
        pairs = (line.split("\t") for line in text.splitlines())
        rows = [f"{' '.join(word)}\t{sounds}\n" for word, sounds in pairs]
        (out / f"{target}.tsv").write_text("".join(rows), "utf-8")


def judge(questions: list[str], found: list[str], answers: list[str]) -> dict[str, float]:
    """Percent of words said wrongly, where any listed way to say one is right; and of sounds."""
    from regard.evaluate import edit_distance

    ways: dict[str, list[str]] = {}
    for question, answer in zip(questions, answers, strict=True):
        ways.setdefault(question, []).append(answer)
    said = dict(zip(questions, found, strict=True))
    wrong = sum(said[word] not in right for word, right in ways.items())
    errors = [
        min((edit_distance(said[word].split(), way.split()), len(way.split())) for way in right)
        for word, right in ways.items()
    ]
    sounds = sum(edits for edits, _ in errors) / sum(length for _, length in errors)
    return {
        "words": len(ways),
        "word error": round(100 * wrong / len(ways), 2),
        "phoneme error": round(100 * sounds, 2),
    }


if __name__ == "__main__":
    main(__doc__, ROWS, prepare, judge)
