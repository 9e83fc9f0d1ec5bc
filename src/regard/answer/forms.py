"""The two forms of a loaded model: as it is, to look into, and lean, to answer quickly on a CPU.

Each is made when it is first needed. A model that somebody watches, prunes or changes answers as it is: the
lean form would not know.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, final, get_args

import torch

from regard.accelerate.cpu import LeanWeights, lean, multiplies_whole
from regard.attention import Attention, Heads
from regard.errors import UsageError
from regard.models import Model
from regard.run import weights
from regard.run.folder import Run
from regard.run.load import outline
from regard.seams import is_reference

Choice = Literal["stored", "float32", "int8"]


@final
class Forms:
    """A model and its lean form; `weights` is what the lean one multiplies."""

    def __init__(
        self,
        plain: Model | Callable[[], Model],
        weights: LeanWeights = "float32",
        made: Model | None = None,
    ) -> None:
        self.weights, self._made, self._tried = weights, made, made is not None
        self._plain = plain if isinstance(plain, Model) else None
        self._load = None if isinstance(plain, Model) else plain
        self._stamp = None if self._plain is None else _stamp(self._plain)

    @classmethod
    def load(cls, run: Run, device: torch.device, choice: Choice, *, lasting: bool) -> Forms:
        """The forms of a run: whole-number weights become lean at once, without a float of them in between.

        Where the folder will not last, the plain model is read now.
        """
        path = run.weights_file
        if _chosen(path, choice, device) == "float32":
            return cls(run.load_model(device))
        model, state = outline(path, run.settings.model, run.task.sizes)
        made = lean(model, "int8", state)
        if made is None or not lasting:
            return cls(run.load_model(device), "int8", made)
        return cls(partial(run.load_model, device), "int8", made)

    @property
    def plain(self) -> Model:
        """The model that can be watched."""
        if self._plain is None:
            assert self._load is not None
            self._plain = self._load()
            self._stamp = _stamp(self._plain)
        return self._plain

    @property
    def device(self) -> torch.device:
        """Where it works."""
        model = self._plain or self._made
        return torch.device("cpu") if model is None else next(model.parameters()).device

    def answering(self) -> Model:
        """The CPU form, where there is one and it is still the same model; the model itself, by reference."""
        if is_reference():
            return self.plain
        if self._plain is not None and _stamp(self._plain) != self._stamp:
            return self._plain
        if not self._tried:
            self._tried = True
            self._made = lean(self.plain, self.weights) if self.device.type == "cpu" else None
        return self._made or self.plain


def _chosen(path: Path, choice: Choice, device: torch.device) -> LeanWeights:
    """Integers where they are asked for, or stored and nothing else is asked for."""
    if choice not in get_args(Choice):
        what, where = f"no weights '{choice}'", f'weights="{choice}"'
        raise UsageError(what, where, "stored, float32 or int8")
    if choice == "int8" and device.type != "cpu":
        remedy = 'leave it out, or add device="cpu"'
        raise UsageError("int8 works on a CPU", 'weights="int8"', remedy)
    if choice == "float32" or device.type != "cpu" or not multiplies_whole():
        return "float32"
    if choice == "int8":
        return "int8"
    stored = weights.read_header(path).metadata.get("weights") == "int8"
    return "int8" if stored else "float32"


def _stamp(model: Model) -> tuple[object, ...]:
    """What changes when anybody touches the model."""
    gates = [part.gate for part in model.modules() if isinstance(part, Heads)]
    weights = tuple((id(one), one._version) for one in (*model.parameters(), *gates))
    watched = any(m.watcher is not None for m in model.modules() if isinstance(m, Attention))
    return (weights, watched)
