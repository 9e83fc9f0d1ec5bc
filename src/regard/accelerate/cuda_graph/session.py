"""One shape of search, ready to run: its state, and the step recorded as a CUDA graph once that pays."""

from __future__ import annotations

from typing import final

import torch
from jaxtyping import Int
from torch import Tensor

from regard.accelerate.cuda_graph.decoder_weights import Weights
from regard.accelerate.cuda_graph.operations import Operations, step
from regard.accelerate.cuda_graph.read_back import Stretch
from regard.accelerate.cuda_graph.search_state import Shape, State

WARM = 3  # steps taken as they come, so that every kernel is built before the step is recorded


@final
class Session:
    """Takes steps in a state of one shape. A short search never pays for a recording."""

    def __init__(self, weights: Weights, shape: Shape, operations: Operations) -> None:
        self.weights, self.operations = weights, operations
        self.state = State.room(weights, shape)
        self.recording: torch.cuda.CUDAGraph | None = None
        self.taken = 0

    def step(self) -> None:
        """One symbol for every row; nothing waits for it to be done."""
        if self.recording is not None:
            self.recording.replay()
            return
        if self.taken >= WARM and self.state.totals.is_cuda:
            self._record()
            self.step()
            return
        step(self.weights, self.state, self.operations)
        self.taken += 1

    def stretch(self, rows: Int[Tensor, " rows"], first: int, last: int) -> Stretch:
        """What steps first .. last - 1 decided for these rows of the batch, which lie in front."""
        state = self.state
        columns = (state.parents, state.chosen, state.reached, state.added, state.fate)
        return Stretch(rows, *(column[first:last, : len(rows)].clone() for column in columns))

    def _record(self) -> None:
        """Record the step without running it."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        recording = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            recording.capture_begin(capture_error_mode="thread_local")
            try:
                step(self.weights, self.state, self.operations)
            finally:
                recording.capture_end()
        torch.cuda.current_stream().wait_stream(stream)
        self.recording = recording
