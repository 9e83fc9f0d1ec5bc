"""A model for the box that is made at once: untrained weights behind a vocabulary with tags and keeps."""

from pathlib import Path

from regard.box.card import CARD
from regard.run.folder import Run
from regard.run.pack import pack
from regard.run.resolve import resolve

LINES = {
    ">>fr<< the black cat ate the mouse .": "le chat noir a mangé la souris .",
    ">>de<< the black cat ate the mouse .": "die schwarze Katze fraß die Maus .",
    ">>en<< le chat noir a mangé la souris .": "the black cat ate the mouse .",
    ">>en<< die schwarze Katze fraß die Maus .": "the black cat ate the mouse .",
    ">>fr<< see <keep0> and <keep1> , Anna !": "voir <keep0> et <keep1> , Anna !",
}
SYMBOLS = (">>en<<", ">>fr<<", ">>de<<", "<keep0>", "<keep1>", "<keep2>", "<keep3>")
BLOCKS = {"kind": "transformer", "width": 12, "layers": 2, "heads": 3, "feedforward": 17}
CARDS = {
    "translate": 'languages = ["en", "fr", "de"]\ndirections = ["en-fr", "en-de", "fr-en", "de-en"]\n',
    "tag": 'languages = ["en"]\n',
    "classify": 'languages = ["en"]\n',
}
TOYS = {"tag": ("parts", {"kind": "tag"}), "classify": ("feelings", {"kind": "classify"})}


def make(place: Path, name: str, task: str, scratch: Path) -> Path:
    """A packed model with its card, as it would lie in the box."""
    run = translator(scratch) if task == "translate" else _reader(scratch, task)
    run.save_model(run.build_model().state_dict())
    folder = pack(run.folder, place / name, "int8").folder
    look = '[look]\nsite = "reader.blocks.0.cross.attention"\nheads = [1]\n'
    (folder / CARD).write_text(card(name, task) + (look if task == "translate" else ""), "utf-8")
    (folder / "README.md").write_text(f"# {name}\n", "utf-8")
    return folder


def card(name: str, task: str) -> str:
    """All that a card must say."""
    return f"""
name = "{name}"
title = "A stand-in"
task = "{task}"
{CARDS[task]}
licence = "CC0-1.0"
date = 2026-11-16
parameters = 1
weights = "int8"
command = "regard train"
example = "the black cat ate the mouse ."
limits = ["it knows nothing"]
sources = [{{ name = "five lines", licence = "CC0-1.0" }}]
scores = [{{ test = "small", metric = "BLEU", value = 0.0, signature = "none" }}]
"""


def translator(folder: Path) -> Run:
    """A run of it, whose model is not saved yet."""
    folder.mkdir()
    sides = [(folder / f"train.{side}") for side in ("source", "target")]
    for path, lines in zip(sides, (LINES, LINES.values()), strict=True):
        path.write_text("\n".join([*lines] * 4) + "\n", "utf-8")
    more = {
        "model": {"encoder": BLOCKS, "reader": BLOCKS},
        "text": {"kind": "bpe", "vocabulary": 350, "symbols": SYMBOLS},
        "batch": {"max_length": 32, "tokens": 256},
        "decode": {"beam": 2, "max_length": 9},
    }
    settings = resolve(train=sides, valid=sides, task="translate", more=more)
    return Run.create(folder / "run", settings)


def _reader(folder: Path, task: str) -> Run:
    toy, reader = TOYS[task]
    more = {"model": {"encoder": BLOCKS, "reader": reader}, "data": {"examples": 40}}
    return Run.create(folder / "run", resolve(toy=toy, more=more))
