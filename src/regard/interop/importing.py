"""A folder of Hugging Face's brought in as a run that our own engines execute, and proof that it is the same.

>>> regard models import FOLDER runs/mine
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

from regard import __version__
from regard.answer.capacity import Room
from regard.config import to_toml
from regard.errors import ModelFileError, UsageError, nearest
from regard.interop.bert import Bert
from regard.interop.bring import library_for, quiet
from regard.interop.exporting import LENGTHS, LIKELY, Ours, further
from regard.interop.gpt2 import Gpt2
from regard.interop.incoming import Incoming
from regard.interop.marian import Marian
from regard.interop.outline import Outgoing
from regard.interop.returned import Returned
from regard.models import build, count_parameters
from regard.run import files, weights
from regard.run.find import read_bounded
from regard.run.folder import Run
from regard.run.load import write_task
from regard.tasks import Task


def _translator(folder: Path, config: Mapping[str, Any]) -> Incoming:
    """Marian with the tokenizer of OPUS-MT, or with one of ours."""
    kind = Marian if (folder / "source.spm").is_file() else Returned
    return kind.open(folder, config)


KINDS: dict[str, Callable[[Path, Mapping[str, Any]], Incoming]] = {
    "marian": _translator,
    "bert": Bert.open,
    "gpt2": Gpt2.open,
    # What `regard export` wrote, with a tokenizer of ours.
    **dict.fromkeys(("pegasus", "mbart", "bart"), Returned.open),
    **dict.fromkeys(("megatron-bert", "esm"), Bert.open),
    "gpt_neox": Gpt2.open,
}
LONGEST = 24  # symbols of each answer that is compared


def bring_in(folder: Path, out: Path) -> Run:
    """Write a run folder with the model of this one: settings, tokenizer, weights and a card."""
    if out.exists():
        raise UsageError(f"{out.name} is there already", str(out), "choose a new folder")
    incoming = understood(folder)
    task, settings = incoming.task(), incoming.settings()
    model = build(settings.model, task.sizes)
    incoming.fill(model, _weights(folder, incoming.opener))
    notes = {"format": "pt", "regard": __version__}
    layout = weights.lay_out(model.state_dict(), notes)
    with files.new_folder(out, out.name, layout.size) as temporary:
        files.write_new(temporary / "config.toml", to_toml(settings).encode())
        write_task(temporary / "tokenizer.json", task, settings.task)
        card = _card(out.name, folder, task, count_parameters(model))
        files.write_new(temporary / "README.md", card.encode())
        files.write_new(temporary / "model.safetensors", layout.pieces(), layout.size)
    return Run.open(out)


def understood(folder: Path) -> Incoming:
    """The folder by the kind of its model; one that no run can be is refused."""
    config = _config(folder)
    kind = str(config.get("model_type"))
    if kind not in KINDS:
        raise ModelFileError(
            f"a model of kind '{kind}' cannot be brought in as a run: {nearest(kind, list(KINDS))}",
            where=str(folder),
            remedy=f"look into it as it is: regard look {folder} 'text'",
        )
    return KINDS[kind](folder, config)


def first_lines(path: Path, most: int) -> list[str]:
    """The first lines of a text file that say something."""
    content = read_bounded(path, "text file", 1 << 28).decode("utf-8", "replace")
    lines = [line for line in content.splitlines() if line.strip()][:most]
    if not lines:
        raise UsageError("this file has no text to compare", str(path), "name another")
    return lines


@final
@dataclass(frozen=True)
class Parity:
    """How far the run and the folder agree."""

    texts: int
    same_ids: int | None  # texts cut alike; None where the folder's tokenizer cannot be opened
    same_answers: int
    difference: float  # the largest between log-probabilities of the same steps

    def words(self) -> str:
        """The report in a line."""
        cut = "" if self.same_ids is None else f"{self.same_ids} of {self.texts} cut alike, "
        return (
            f"{cut}{self.same_answers} of {self.texts} greedy answers alike to the symbol, largest "
            f"difference of a log-probability {self.difference:.1e}"
        )


@torch.no_grad()
def compare(run: Run, folder: Path, texts: Sequence[str]) -> Parity:
    """Both models answer greedily, the same symbols are forced through both, and numbers are compared."""
    library = library_for(str(folder))
    incoming, ours, task = understood(folder), Ours(Outgoing.of(run)), run.task
    with quiet(library):
        kind = getattr(library, incoming.opener)
        theirs = kind.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = _tokenizer(library, folder)
    same_ids, same_answers, worst = 0, 0, 0.0
    rows, columns = torch.tensor(incoming.rows), torch.tensor(incoming.columns)
    room = Room.of(run.settings.model).written
    unsaid = torch.tensor([n not in incoming.said for n in range(len(columns))])
    for text in texts:
        source = incoming.source(task, text)
        given = rows[torch.tensor(source, dtype=torch.long)]
        if tokenizer is not None:
            framed = rows[torch.tensor(ours.framed(source), dtype=torch.long)].tolist()
            same_ids += tokenizer(text)["input_ids"] in (given.tolist(), framed)
        before = len(source) if ours.continues else 0
        written = ours.answer(source, min(LONGEST, (room or LENGTHS) - before))
        logits = incoming.forced(theirs, given, columns[torch.tensor(written)])
        expected = logits[:, columns].masked_fill(unsaid, -torch.inf).log_softmax(-1)
        same_answers += expected.argmax(-1).tolist() == written
        worst = further(worst, expected, ours.chances(source, written), expected > LIKELY)
    cut = None if tokenizer is None else same_ids
    return Parity(len(texts), cut, same_answers, worst)


def _tokenizer(library: Any, folder: Path) -> Any:
    """The folder's own tokenizer, if what it needs is installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it recommends a library that nothing here needs
            return library.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (ImportError, OSError, ValueError):
        return None


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.is_file():
        raise ModelFileError(
            "this is no folder of Hugging Face's: there is no config.json",
            where=str(folder),
            remedy="name a folder that save_pretrained wrote",
        )
    try:
        config = json.loads(read_bounded(path, "configuration", 1 << 22))
    except (json.JSONDecodeError, UnicodeDecodeError):
        config = None
    if not isinstance(config, dict):
        raise ModelFileError("config.json is damaged", str(path), "get it again")
    return config


def _weights(folder: Path, opener: str) -> Mapping[str, Tensor]:
    """All tensors by name. A pickle is not read here: transformers opens it, and takes tensors alone."""
    safe, pickled = folder / "model.safetensors", folder / "pytorch_model.bin"
    if safe.is_file():
        return weights.read(safe)
    if not pickled.is_file():
        raise ModelFileError(
            "there are no weights", str(folder), "model.safetensors or pytorch_model.bin lies there"
        )
    library = library_for(str(pickled))
    try:
        model = getattr(library, opener).from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, RuntimeError) as fault:
        what = f"these weights cannot be read: {' '.join(str(fault).split())[:200]}"
        raise ModelFileError(what, str(pickled), "get them again") from None
    return dict(model.state_dict())


def _card(name: str, folder: Path, task: Task, parameters: int) -> str:
    return f"""# {name}

A {task.name} model, brought in from the folder `{folder.name}` by `regard models import`. Its weights
are those of its makers, under their licence; nothing was trained here.

| | |
|---|---|
| task | {task.name} |
| brought in from | {folder.name} |
| parameters | {parameters:,} |

```
regard predict {name} < input.txt
regard look {name} "..."
```
"""
