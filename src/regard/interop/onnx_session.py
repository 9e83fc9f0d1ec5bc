"""Graphs that `to_onnx` wrote, as onnxruntime has them: one step, and the shortest search over steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from regard.interop.outline import Outgoing
from regard.text import BEGIN, END

Arrays = Mapping[str, np.ndarray]


@final
class Opened:
    """The folder as onnxruntime has it, on one thread."""

    def __init__(self, folder: Path, out: Outgoing) -> None:
        from tokenizers import Tokenizer

        self.reads, self.writes = "encoder" in out.stacks, "reader" in out.stacks
        names = (["encoder"] if self.reads and self.writes else []) + [
            "step" if self.writes else "model"
        ]
        self.graphs = {name: _session(folder / f"{name}.onnx") for name in names}
        file = folder / "tokenizer.json"
        self.tokenizer = Tokenizer.from_file(str(file)) if file.is_file() else None

    def cut(self, text: str) -> list[int] | None:
        """By the tokenizer that lies beside the graphs."""
        return None if self.tokenizer is None else self.tokenizer.encode(text).ids

    def run(self, name: str, **given: np.ndarray) -> dict[str, np.ndarray]:
        """All outputs of a graph by name."""
        session = self.graphs[name]
        return dict(
            zip([one.name for one in session.get_outputs()], session.run(None, given), strict=True)
        )

    def encode(self, sources: Sequence[Sequence[int]]) -> dict[str, np.ndarray]:
        """What a step is told about these sources; all of `encoder.onnx`, or of `model.onnx`."""
        lengths = np.array([len(one) for one in sources], np.int64)
        rows = np.zeros((len(sources), max(lengths)), np.int64)
        for row, one in zip(rows, sources, strict=True):
            row[: len(one)] = one
        name = "encoder" if self.writes else "model"
        return {**self.run(name, source=rows, lengths=lengths), "lengths": lengths}

    def step(self, tokens: np.ndarray, cache: Arrays, source: Arrays) -> dict[str, np.ndarray]:
        """One step: `cache` is empty at first, then what the step before gave."""
        given: dict[str, np.ndarray] = {"tokens": tokens}
        for one in self.graphs["step"].get_inputs():
            if one.name.startswith("self."):
                empty = np.zeros((len(tokens), one.shape[1], 0, one.shape[3]), np.float32)
                given[one.name] = cache.get(f"next.{one.name}", empty)
            elif one.name != "tokens":
                given[one.name] = source[one.name]
        return self.run("step", **given)

    def answer(self, source: list[int], most: int) -> list[int]:
        """Greedy search over steps."""
        if not self.writes:
            return self.chances(source, []).argmax(-1).tolist()
        known = self.encode([source]) if self.reads else {}
        tokens = [BEGIN] if self.reads else [BEGIN, *source]
        outputs = self.step(np.array([tokens], np.int64), {}, known)
        ids: list[int] = []
        while len(ids) < most:
            ids.append(int(outputs["logits"][0, -1].argmax()))
            if ids[-1] == END or len(ids) == most:  # the table of positions may end here
                break
            outputs = self.step(np.array([ids[-1:]], np.int64), outputs, known)
        return ids

    def chances(self, source: list[int], said: list[int]) -> Tensor:
        """Forced in one step of many symbols."""
        return torch.from_numpy(self.forced(source, said)["logits"][0]).log_softmax(-1)

    def weights(self, source: list[int], said: list[int]) -> dict[str, Tensor]:
        """Of every attention, the encoder's under `encoder.`."""
        outputs = self.forced(source, said)
        return {
            name: torch.from_numpy(one) for name, one in outputs.items() if name.endswith("weights")
        }

    def forced(self, source: list[int], said: list[int]) -> dict[str, np.ndarray]:
        """Logits of all steps, and every attention weight by its name."""
        known = self.encode([source]) if self.reads else {}
        if not self.writes:
            rows = known["logits"]
            return {**known, "logits": rows.reshape(1, -1, rows.shape[-1])}
        before = [] if self.reads else source
        tokens = np.array([[BEGIN, *before, *said[:-1]]], np.int64)
        outputs = self.step(tokens, {}, known)
        own = {f"encoder.{name}": one for name, one in known.items() if name.endswith("weights")}
        return {**outputs, **own, "logits": outputs["logits"][:, len(before) :]}


def _session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
