"""What tagging and classifying share: pieces in, labels out, and nothing to search for."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.models import Model, Sizes
from regard.tasks.batch import padded
from regard.tasks.groups import groups
from regard.tasks.task import Progress, Row, Task, device_of
from regard.text import PAD, Codec, Labels


@dataclass(frozen=True, eq=False)
class Labelling(Task, ABC):
    """A task whose answers are labels from a list."""

    source: Codec
    labels: Labels
    sides = "source"
    searches = False

    def to_dict(self) -> dict[str, str]:
        """Pieces and labels."""
        return {"source": self.source.to_json(), "labels": self.labels.to_json()}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Labelling:
        """Pieces and labels."""
        return cls(Codec.from_json(documents["source"]), Labels.from_json(documents["labels"]))

    def symbol(self, number: int) -> str:
        """A label."""
        return self.labels.decode(number)

    def pieces_of(self, row: Row) -> dict[str, tuple[str, ...]]:
        """The text; labels are whole."""
        return {"source": self.source.pieces(row["source"])}

    @property
    def sizes(self) -> Sizes:
        """Pieces in, labels out."""
        return Sizes(source=self.source.size, labels=self.labels.size)


@torch.inference_mode()
def known(
    model: Model, inputs: Sequence[np.ndarray], tokens: int, advance: Progress | None
) -> Iterator[tuple[int, Tensor]]:
    """The number of each input, and the log-probabilities that the model gives its labels."""
    model.eval()
    for group in groups([len(row) for row in inputs], tokens):
        rows = [inputs[member] for member in group.filled]
        lengths = torch.tensor([len(row) for row in rows])
        source = padded(rows, group.length, PAD).to(device_of(model))
        found = model(source, lengths.to(source.device)).log_softmax(-1).cpu()
        yield from zip(group.members, found, strict=False)
        if advance is not None:
            advance(len(group.members))
