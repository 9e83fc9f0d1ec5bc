"""SCAN (Lake and Baroni 2018): commands to actions, every row of the table in README.md.

    python recipes/scan/run.py DATA OUT [--only NAME ...] [--jobs 8] [--device auto]

DATA holds `scan/tasks_{train,test}_{simple,length,addprim_jump,addprim_turn_left}.txt.xz`.
"""

from __future__ import annotations

import lzma
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from rows import Row, main

COMMON = """
[text]
kind = "word"
vocabulary = 64
shared = false
[batch]
tokens = {tokens}
max_length = 64
[train]
steps = {steps}
rate = 1e-3
schedule = "cosine"
warmup = 100
smoothing = 0.0
evaluate_every = {every}
evaluate_examples = 200
checkpoint_every = {every}
log_every = 100
[decode]
beam = 1
max_length = 60
"""

# The best of the paper over all splits: two layers of 200 LSTM units, dropout 0.5, no attention.
LSTM = """
[model.encoder]
kind = "rnn"
cell = "lstm"
width = 200
layers = 2
bidirectional = false
dropout = 0.5
[model.reader]
kind = "rnn"
cell = "lstm"
width = 200
layers = 2
score = "{score}"
dropout = 0.5
"""

GRU = """
[model.encoder]
kind = "rnn"
cell = "gru"
width = 100
layers = 1
dropout = 0.1
[model.reader]
kind = "rnn"
cell = "gru"
width = 100
layers = 1
score = "additive"
looks = "before"
dropout = 0.1
"""

TRANSFORMER = """
[model.encoder]
kind = "transformer"
width = 128
layers = 3
heads = 8
feedforward = 256
dropout = 0.1
[model.reader]
kind = "transformer"
width = 128
layers = 3
heads = 8
feedforward = 256
dropout = 0.1
"""


def common(tokens: int, steps: int) -> str:
    return COMMON.format(tokens=tokens, steps=steps, every=2000 if steps > 10_000 else 500)


SPLITS = {
    "simple": ("simple", "99.8"),
    "length": ("length", "13.8 (20.8 best)"),
    "jump": ("addprim_jump", "0.08 (1.2 best)"),
    "turn-left": ("addprim_turn_left", "90.0 (90.3 best)"),
}
MODELS = {
    "lstm": LSTM.format(score="none") + common(tokens=128, steps=40_000),
    "lstm-attention": LSTM.format(score="dot") + common(tokens=4096, steps=2500),
    "gru-attention": GRU + common(tokens=1024, steps=5000),
    "transformer": TRANSFORMER + common(tokens=4096, steps=2000),
}
ROWS = {
    f"{split}-{model}": Row(settings, split, published)
    for split, (_, published) in SPLITS.items()
    for model, settings in MODELS.items()
}
WATCHED = 500  # of the training commands, looked at while learning


def prepare(data: Path, out: Path, name: str) -> None:
    """Commands and actions; `I_TURN_LEFT` becomes one word, `ITURNLEFT`."""
    out.mkdir(parents=True, exist_ok=True)
    file, _ = SPLITS[name]
    rows = {}
    for part in ("train", "test"):
        content = lzma.decompress((data / "scan" / f"tasks_{part}_{file}.txt.xz").read_bytes())
        sides = (line[len("IN: ") :].split(" OUT: ") for line in content.decode().splitlines())
        rows[part] = [f"{command}\t{actions.replace('_', '')}\n" for command, actions in sides]
    random.Random(1).shuffle(rows["train"])
    rows["valid"] = rows["train"][:WATCHED]
    for part, lines in rows.items():
        (out / f"{part}.tsv").write_text("".join(lines))


def judge(questions: list[str], found: list[str], answers: list[str]) -> dict[str, float]:
    """Percent of commands whose every action is right."""
    right = sum(one == other for one, other in zip(found, answers, strict=True))
    return {"commands": len(questions), "exact match": round(100 * right / len(answers), 2)}


if __name__ == "__main__":
    main(__doc__, ROWS, prepare, judge)
