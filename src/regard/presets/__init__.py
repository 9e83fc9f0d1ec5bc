"""Ready-made settings, one TOML a paper or task: what each leaves out is the default."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from regard.config import read_toml
from regard.errors import UsageError, nearest
from regard.question import Image, Sound

# What a task is learned with when nothing else is said.
DEFAULT_OF = {
    "translate": "vaswani2017-small",
    "tag": "tagger",
    "classify": "classifier",
    "point": "vinyals2015-sort",
    "language": "language",
    "fill": "devlin2019",
    "reconstruct": "hill2016",
    "multisource": "libovicky2017",
    "parse": "vinyals2015-parse",
    "caption": "captioner",
    "summarise": "see2017",
    "transcribe": "chan2016",
}
FEW_EXAMPLES = 10_000  # up to so many examples to train on, the smaller model of a family
SMALLER = {"vaswani2017-small": "vaswani2017-tiny"}
# How a picture or a sound is encoded that stands among other sources.
ENCODER_OF: dict[type[Image | Sound], dict[str, Any]] = {
    Image: {"kind": "front", "front": {"kind": "convolution"}},
    Sound: {"kind": "rnn", "cell": "lstm", "layers": 3, "pyramid": 2},
}


def names() -> list[str]:
    """All presets."""
    entries = (item.name for item in files(__name__).iterdir())
    return sorted(name.removesuffix(".toml") for name in entries if name.endswith(".toml"))


def default_for(task: str, examples: int) -> str:
    """The preset that a task is learned with by default, from so many training examples."""
    usual = DEFAULT_OF[task]
    return SMALLER.get(usual, usual) if examples <= FEW_EXAMPLES else usual


def preset(name: str) -> dict[str, Any]:
    """One preset as a tree of settings."""
    if name not in names():
        where = f'preset="{name}"'
        raise UsageError(f"no preset '{name}'", where=where, remedy=nearest(str(name), names()))
    return read_toml(files(__name__) / f"{name}.toml")  # type: ignore[arg-type]


def with_encoders(tree: dict[str, Any], media: Mapping[str, type[Image | Sound]]) -> dict[str, Any]:
    """A preset for pictures and sounds among other sources: encoders for them, unless some are chosen."""
    if not media:
        return tree
    model, batch = tree["model"], tree.get("batch", {})
    width = model.get("encoder", {}).get("width", 256)
    own = {name: {**ENCODER_OF[kind], "width": width} for name, kind in media.items()}
    if Sound in media.values():  # a sound has a hundred frames a second
        batch = {"max_length": batch.get("tokens", 4096), **batch}
    encoders = {**own, **model.get("encoders", {})}
    return {**tree, "model": {**model, "encoders": encoders}, "batch": batch}


def about(name: str) -> str:
    """The first comment line of a preset: what it is."""
    text = (files(__name__) / f"{name}.toml").read_text("utf-8")
    return text.split("\n", 1)[0].removeprefix("#").strip()
