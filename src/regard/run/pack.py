"""A run made small enough to carry: only what answering needs, with weights in one or two bytes each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from regard.errors import UsageError
from regard.models.compress import Weights, narrowed
from regard.run import files
from regard.run.find import folder_of, read_bounded
from regard.run.folder import Run
from regard.run.weights import Layout, lay_out

CARRIED = ("config.toml", "tokenizer.json", "README.md")
_LONGEST = 1 << 28  # bytes


@final
@dataclass(frozen=True)
class Packed:
    """What a packed folder takes on disk, and what the run's weights took."""

    folder: Path
    before: int
    after: int


def pack(run_folder: Path, out_folder: Path, weights: Weights = "int8") -> Packed:
    """Write a new folder with a run's settings, tokenizer, card and narrowed weights.

    `regard.load` takes it like the run itself. Of int8 every matrix has one scale a row; float16 rounds every
    number to eleven bits.
    """
    if out_folder.exists():
        raise UsageError(
            f"{out_folder.name} is there already", str(out_folder), "choose a new folder"
        )
    with folder_of(run_folder) as folder:
        run = Run.open(folder)
        layout = _layout(run, weights)
        carried = {
            name: read_bounded(folder / name, "file of a run", _LONGEST)
            for name in CARRIED
            if (folder / name).is_file()
        }
        before = (folder / "model.safetensors").stat().st_size
        needed = layout.size + sum(map(len, carried.values()))
        with files.new_folder(out_folder, out_folder.name, needed) as temporary:
            for name, content in carried.items():
                files.write_new(temporary / name, content)
            files.write_new(temporary / "model.safetensors", layout.pieces(), layout.size)
    return Packed(out_folder, before, layout.size)


def _layout(run: Run, kind: Weights) -> Layout:
    state = run.load_model("cpu").state_dict()
    return lay_out(narrowed(state, kind), {"weights": kind})
