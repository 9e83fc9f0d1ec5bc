"""Models of Hugging Face's that no run of ours can hold: looked into and studied as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.run.find import read_bounded
from regard.studio.refusal import Refusal
from regard.studio.settings import Limits
from regard.studio.work_queue import go_on

if TYPE_CHECKING:
    from regard.interop.bring import Brought
    from regard.studio.schema import TraceAsked

HEADS = ("num_attention_heads", "n_heads", "n_head", "num_heads", "encoder_attention_heads")
LAYERS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers", "encoder_layers")


def settings_of(folder: Path) -> dict[str, Any]:
    """What its configuration says; nothing, where it cannot be read."""
    try:
        config = json.loads(read_bounded(folder / "config.json", "configuration", 1 << 22))
    except (RegardError, OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def described(folder: Path) -> dict[str, Any]:
    """The folder in a few words, as a page lists it."""
    from regard.interop.bring import task_of

    known = settings_of(folder)
    architecture = str((known.get("architectures") or [known.get("model_type", "")])[0])
    return {
        "task": task_of(architecture),
        "summary": f"{architecture} of Hugging Face's, to be looked into: it cannot be trained here",
        "languages": {},
        "example": "",
        "pieces": "",
        "learned": "",
        "scores": [],
    }


def opened(folder: Path) -> Brought:
    """The model and its tokenizer; what nobody waits for any more ends before its next module."""
    from regard.interop.bring import Brought

    brought = Brought.open(folder)
    for module in brought.model.modules():
        module.register_forward_pre_hook(lambda _module, _given: go_on())
    return brought


def check_brought(brought: Brought, asked: TraceAsked, limits: Limits) -> None:
    """Refuse what such a model cannot be asked for, and what would take too long."""
    if asked.prefix or asked.sample or asked.to:
        where = "prefix" if asked.prefix else "sample" if asked.sample else "to"
        what = "a model of Hugging Face's is looked into as it answers by itself"
        raise Refusal(422, what, where, f"leave `{where}` out")
    count = len(brought.axis(asked.text))
    _within("symbols", count, limits.symbols)
    written = min(asked.max_length or limits.written, 2 * count + 20) if brought.writes else 0
    known = getattr(brought.model, "config", None)
    heads, layers = (
        next((n for name in names if isinstance(n := getattr(known, name, None), int)), 1)
        for names in (HEADS, LAYERS)
    )
    _within("attention weights", 3 * heads * layers * (count + written) ** 2, limits.cells)


def _within(what: str, value: int, most: int) -> None:
    if value > most:
        message = f"this asks for {value:,} {what}; the limit is {most:,}"
        raise Refusal(422, message, "text", "ask for less")
