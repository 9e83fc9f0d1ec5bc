"""What every folder of Hugging Face's needs that is brought in: its files, its tensors, and its clauses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from regard.errors import ModelFileError
from regard.interop.layouts import LAYOUTS, taken_apart
from regard.models import Model
from regard.run.find import read_bounded
from regard.run.settings import RunSettings
from regard.settings.architecture import Activation
from regard.tasks import Task

ACTIVATIONS: dict[str, Activation] = {
    "swish": "swish",
    "silu": "swish",
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
}
UNSAID = -1e4  # the bias of a symbol that may not be said


@runtime_checkable
class Incoming(Protocol):
    """A folder that is understood: what it becomes here, and how its own model is asked."""

    @property
    def opener(self) -> str:
        """The class of transformers that opens it."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Which row of the folder's table each of our ids has."""

    @property
    def columns(self) -> tuple[int, ...]:
        """Which of the folder's outputs each of our choices has."""

    @property
    def said(self) -> frozenset[int]:
        """Our choices that may be said."""

    def task(self) -> Task:
        """What is learned, with the folder's vocabulary."""

    def settings(self) -> RunSettings:
        """What our modules need to be the same model."""

    def fill(self, model: Model, weights: Mapping[str, Tensor]) -> None:
        """The folder's numbers in our modules."""

    def source(self, task: Task, text: str) -> list[int]:
        """Our ids of a text that is read or continued."""

    def forced(self, theirs: Any, source: Tensor, said: Tensor) -> Tensor:
        """Logits of the folder's own model, (steps, their ids); both are given in its own ids."""


def refused(folder: Path, kind: str, clause: str) -> ModelFileError:
    """What is not held here, by its clause."""
    return ModelFileError(
        f"this {kind} model cannot be held here: {clause}",
        where=str(folder),
        remedy="look into it as it is: regard look FOLDER 'text'",
    )


def refuse_where(folder: Path, kind: str, clauses: Mapping[str, bool]) -> None:
    """The first clause that holds is the reason."""
    for clause, holds in clauses.items():
        if holds:
            raise refused(folder, kind, clause)


def json_of(path: Path, missing: dict[str, Any] | None = None) -> dict[str, Any]:
    """A file that holds one JSON object; `missing` stands for one that is not there."""
    if missing is not None and not path.is_file():
        return missing
    if not path.is_file():
        raise ModelFileError(f"{path.name} is missing", str(path), "get it again")
    try:
        tree = json.loads(read_bounded(path, "file of a model", 1 << 26))
    except (json.JSONDecodeError, UnicodeDecodeError):
        tree = None
    if not isinstance(tree, dict):
        raise ModelFileError(f"{path.name} is not what it should be", str(path), "get it again")
    return tree


def lines_of(path: Path) -> list[str]:
    """The lines of a text file of a model."""
    content = read_bounded(path, "file of a model", 1 << 26).decode("utf-8", "replace")
    return content.split("\n")


def stack_of(config: Mapping[str, Any], side: str) -> dict[str, Any]:
    """What a translator's configuration says of one side, but for where its norms and positions are."""
    return {
        "width": config["d_model"],
        "layers": config[f"{side}_layers"],
        "heads": config[f"{side}_attention_heads"],
        "feedforward": config[f"{side}_ffn_dim"],
        "activation": ACTIVATIONS[config["activation_function"]],
        "max_length": config["max_position_embeddings"],
        "scale_embedding": config.get("scale_embedding", False),
        "dropout": config.get("dropout", 0.1),
        "attention_dropout": config.get("attention_dropout", 0.0),
        "activation_dropout": config.get("activation_dropout", 0.0),
    }


@torch.no_grad()
def fill_blocks(
    kind: str,
    own: Mapping[str, Tensor],
    weights: Mapping[str, Tensor],
    *,
    side: str,
    layers: int,
    heads: int,
    folder: Path,
    theirs: str = "",
) -> None:
    """The numbers of a stack of blocks, by the table of names that exports use; `theirs` is their side."""
    for pair in LAYOUTS[kind].pairs(side, layers, theirs):
        parts = taken_apart(pair.form, tensor_of(weights, pair.theirs, kind, folder), heads)
        put(own, zip(pair.ours, parts, strict=True), pair.theirs, kind, folder)


def tensor_of(weights: Mapping[str, Tensor], name: str, kind: str, folder: Path) -> Tensor:
    """One tensor of the folder, or the clause."""
    if name not in weights:
        raise refused(folder, kind, f"its weights lack '{name}'")
    return weights[name]


@torch.no_grad()
def put(
    own: Mapping[str, Tensor],
    parts: Iterator[tuple[str, Tensor]] | Sequence[tuple[str, Tensor]],
    theirs: str,
    kind: str,
    folder: Path,
) -> None:
    """Numbers in our tensors; another size is the clause."""
    for name, part in parts:
        if part.shape != own[name].shape:
            clause = f"'{theirs}' has another size than its configuration says"
            raise refused(folder, kind, clause)
        own[name].copy_(part)
