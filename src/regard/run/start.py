"""A run that starts from another model: its vocabulary and weights are copied, and it needs it no more."""

from __future__ import annotations

from pathlib import Path

from regard.errors import UsageError
from regard.run import files, weights
from regard.run.find import folder_of, read_bounded, read_settings
from regard.run.load import outline
from regard.run.settings import RunSettings
from regard.run.task import LONGEST, read_task


def weights_of(folder: Path) -> Path:
    """The weights that a run in this folder starts from."""
    return folder / "data" / "start.safetensors"


def fetch(folder: Path, settings: RunSettings) -> None:
    """Copy what the run starts from, once. A model that does not fit is refused before any text is read."""
    tokenizer = folder / "tokenizer.json"
    if settings.start is None or tokenizer.is_file():
        return
    with folder_of(Path(settings.start)) as origin:
        _refuse_other_text(settings, read_settings(origin / "config.toml"))
        task = read_task(origin / "tokenizer.json", settings.task)
        _, stored = outline(origin / "model.safetensors", settings.model, task.sizes)
        files.make_folder(weights_of(folder).parent)
        weights.write(weights_of(folder), stored)
        # Last, for where it lies nothing is copied again.
        files.write_atomic(tokenizer, read_bounded(origin / "tokenizer.json", "tokenizer", LONGEST))


def _refuse_other_text(settings: RunSettings, earlier: RunSettings) -> None:
    if settings.text != earlier.text:
        raise UsageError(
            f"{settings.start} cuts text in its own way, which its weights belong to",
            where="text",
            remedy="leave the settings of `text` out, or start from nothing",
        )
