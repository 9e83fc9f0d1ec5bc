"""Work with every shape fixed, so that it is one CUDA graph: recorded once, and replayed.

The generic search of `decode/beam.py` drives anything that takes steps. This is the same search, for the
one decoder that is used most, with nothing decided on the host: weights are packed (`decoder_weights.py`),
all that changes lies in tensors of fixed size (`search_state.py`), a step reads and writes only those
(`operations.py`, or `triton/decode_launch.py` on a GPU), and `session.py` records it once and replays it.
The results are equal by law. Steps of training are recorded in `training_step.py`.
"""

from __future__ import annotations

from regard.accelerate.cuda_graph.recorded_search import RecordedSearch
from regard.decode import SearchForm

__all__ = ["FORMS", "RecordedSearch"]

FORMS: tuple[SearchForm, ...] = (RecordedSearch(),)
