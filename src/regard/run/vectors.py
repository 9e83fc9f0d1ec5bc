"""Vectors of words that somebody else learned, as a beginning for the tables of a model (L98).

Read are the text forms of word2vec and GloVe: a word and its numbers in each line; word2vec has a first line
with two numbers, how many words and how many numbers. Only the pieces of the vocabulary are kept. All vectors
are multiplied by one factor, so that their mean square length is 1, as that of a table drawn by chance:
angles, and which of them is longer, stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard.data.lines import read_lines
from regard.errors import DataError, UsageError
from regard.layers import Embedding
from regard.models import Model
from regard.run import files, weights
from regard.run.settings import RunSettings
from regard.tasks import Task
from regard.text import Codec

WIDEST = 4096  # numbers in a line that is believed


def read_vectors(path: Path, wanted: Mapping[str, int]) -> tuple[int, dict[int, np.ndarray]]:
    """How many numbers a vector has, and those of these words by their ids, each from its first line."""
    width, vectors = 0, dict[int, np.ndarray]()
    for number, fields in _fields(path):
        if number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields):
            width = int(fields[1])
            _refuse_width(width, f"{path}:1")
            continue
        width = width or len(fields) - 1
        _refuse_width(width, f"{path}:{number}")
        word = " ".join(fields[: len(fields) - width])
        if not word:
            raise _unlike(f"{len(fields)} fields, not a word and {width} numbers", path, number)
        place = wanted.get(word)
        if place is None or place in vectors:
            continue
        try:
            vector = np.array(fields[-width:], dtype=np.float32)
        except ValueError:
            raise _unlike(
                f"something that is no number behind '{word[:40]}'", path, number
            ) from None
        if not np.isfinite(vector).all():
            raise _unlike(f"a number that is not finite behind '{word[:40]}'", path, number)
        vectors[place] = vector
    return width, vectors


def _fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    for line in read_lines(path):
        if line.fault:
            raise _unlike(f"a line that is {line.fault}", path, line.number)
        fields = line.text.rstrip().split(" ")
        if fields != [""]:
            yield line.number, fields


def _refuse_width(width: int, where: str) -> None:
    if not 1 < width <= WIDEST:
        raise DataError(
            f"a vector of {width:,} numbers",
            where=where,
            remedy="give a file of word2vec or GloVe in their text form: a word and its numbers a line",
        )


def _unlike(what: str, path: Path, number: int) -> DataError:
    remedy = "give a file of word2vec or GloVe in their text form: a word and its numbers a line"
    return DataError(f"the vectors have {what}", where=f"{path}:{number}", remedy=remedy)


def stored_vectors(folder: Path) -> Path:
    """The vectors that a run in this folder begins with."""
    return folder / "data" / "vectors.safetensors"


def fetch_vectors(folder: Path, settings: RunSettings, task: Task) -> str | None:
    """Read the file once, and keep what the vocabulary has of it; what to tell a person about it."""
    path = settings.data.vectors
    if path is None or stored_vectors(folder).is_file():
        return None
    if settings.start is not None:
        raise UsageError(
            "a run begins with another model or with vectors, not both",
            where="data.vectors",
            remedy="leave out one of them",
        )
    tables, lines = {}, []
    for side, codec in sorted(codecs_of(task).items()):
        width, vectors = read_vectors(Path(path), _words_of(codec))
        own = _width_of(settings, side)
        if own != width:
            lines.append(f"{side} is {own} wide")
            continue
        tables[side] = _table(vectors, codec.size, width)
        lines.append(f"{side}: {len(vectors):,} of {codec.size:,} pieces have a vector")
    name = Path(path).name
    if not tables:
        raise UsageError(
            f"the vectors of {name} have {width} numbers, and " + " and ".join(lines),
            where="data.vectors",
            remedy=f"make the model as wide as they are: model.encoder.width={width}",
        )
    files.make_folder(stored_vectors(folder).parent)
    weights.write(stored_vectors(folder), tables)
    return f"{name}: " + "; ".join(lines)


def codecs_of(task: Task) -> dict[str, Codec]:
    """The vocabulary of what is read, and of what is written, where they are of text."""
    sides = {"encoder": "source", "reader": "target"}
    codecs = {
        side: one
        for side, name in sides.items()
        if isinstance(one := getattr(task, name, None), Codec)
    }
    if not codecs:
        raise UsageError(
            f"the task {task.name} reads and writes no text of one vocabulary",
            where="data.vectors",
            remedy="leave data.vectors out",
        )
    return codecs


def _words_of(codec: Codec) -> dict[str, int]:
    """Every piece that is a whole word, by how it is written."""
    pieces = codec.pieces(range(codec.size))
    spaced = any(piece.startswith("▁") for piece in pieces)
    whole = {
        piece.removeprefix("▁"): number
        for number, piece in reversed(list(enumerate(pieces)))
        if piece.startswith("▁") or not spaced
    }
    whole.pop("", None)
    return whole


def _width_of(settings: RunSettings, side: str) -> int:
    group = settings.model.encoder if side == "encoder" else settings.model.reader
    return int(getattr(group, "width", 0))


def _table(vectors: Mapping[int, np.ndarray], size: int, width: int) -> Tensor:
    """One row a piece, with zeros for those that have no vector; together of mean square length 1."""
    table = torch.zeros(size, width)
    if vectors:
        rows = torch.from_numpy(np.stack(list(vectors.values())))
        length = rows.pow(2).sum(1).mean().sqrt().clamp(min=1e-12)
        table[torch.tensor(list(vectors))] = rows / length
    return table


@torch.no_grad()
def begin_with_vectors(folder: Path, model: Model) -> Model:
    """The model with the rows of its tables replaced for which there is a vector."""
    if not stored_vectors(folder).is_file():
        return model
    tables = weights.read(stored_vectors(folder))
    reader = getattr(model.reader, "decoder", model.reader)  # one that copies has a decoder inside
    for side, part in (("encoder", model.encoder), ("reader", reader)):
        own = getattr(part, "embedding", None)
        if side in tables and isinstance(own, Embedding):
            known = tables[side].any(1)
            own.table.weight[known] = tables[side][known].to(own.table.weight)
    return model
