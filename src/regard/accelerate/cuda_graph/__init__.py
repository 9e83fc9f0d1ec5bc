"""Beam search over a plain Transformer decoder with every shape fixed, so that a step is one CUDA graph.

The generic search of `decode/beam.py` drives anything that takes steps. This is the same search, for the one
decoder that is used most, with nothing decided on the host: weights are packed (`weights.py`), all that
changes lies in tensors of fixed size (`state.py`), a step reads and writes only those (`plain.py`, or
`launch.py` on a GPU), and `session.py` records it once and replays it. The results are equal by law.
"""

from __future__ import annotations

from regard.accelerate.cuda_graph.recorded_search import search, takes

__all__ = ["search", "takes"]
