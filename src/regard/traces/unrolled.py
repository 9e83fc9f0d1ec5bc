"""A recurrent encoder and decoder, unrolled: one column a time step, with the hidden state it leaves (L11).

The encoder reads a word a step. Its last state is where the decoder begins, and without attention all that
the decoder ever knows of the source. The states are those of the answer that was given, forced once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import torch
from jaxtyping import Float

from regard.attention.attention import INPUTS
from regard.errors import UsageError
from regard.models import SOURCE, Model, RnnDecoder, RnnEncoder
from regard.tasks import Prediction, Task
from regard.tasks.task import device_of


@final
@dataclass(frozen=True, eq=False)
class UnrolledStep:
    """One time step: what was read, the hidden state after it, and what a decoder then said."""

    number: int
    side: Literal["encoder", "decoder"]
    read: str
    state: Float[np.ndarray, " width"]
    said: str = ""
    probability: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        own: dict[str, Any] = {"number": self.number, "side": self.side, "read": self.read}
        if self.side == "decoder":
            own |= {"said": self.said, "probability": self.probability}
        return {**own, "state": [float(one) for one in self.state]}


@final
@dataclass(frozen=True, eq=False)
class Unrolled:
    """Question and answer, and every time step between them."""

    question: str
    answer: str
    steps: tuple[UnrolledStep, ...]
    both_ways: bool  # whether half of an encoder's state was read from the end
    looks: bool  # whether the decoder also reads all states of the encoder

    def of(self, side: str) -> list[UnrolledStep]:
        """The steps of the encoder, or of the decoder."""
        return [step for step in self.steps if step.side == side]

    @property
    def note(self) -> str:
        """What a reader of the picture must know."""
        first = "the first half of an encoder's state reads forwards, the second backwards; "
        link = "the decoder begins with the encoder's last state"
        more = " and reads all others by attention" if self.looks else " and knows no other"
        return (first if self.both_ways else "") + link + more

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        about = {"question": str(self.question), "answer": self.answer, "note": self.note}
        return {**about, "steps": [step.as_dict() for step in self.steps]}


@torch.no_grad()
def unrolled(task: Task, model: Model, text: str, answer: Prediction) -> Unrolled:
    """The top layer's hidden state after each step of reading a text and of saying an answer to it."""
    if len(task.sources) > 1:
        raise UsageError(
            f"the sources {', '.join(task.sources)} are read side by side, and one is unrolled",
            where="unrolled",
            remedy="ask a recurrent model of one source, or look at the attention to each",
        )
    encoder, decoder = model.encoder, model.reader
    if not isinstance(encoder, RnnEncoder) or not isinstance(decoder, RnnDecoder):
        raise UsageError(
            "only recurrent encoders and decoders take time steps to unroll",
            where="unrolled",
            remedy="ask a run of the preset sutskever2014, bahdanau2015 or luong2015-dot",
        )
    forced = task.forced(text, answer)
    row = forced.row
    batch = task.collate([row], len(row["source"]), len(row["target"])).to(device_of(model))
    assert batch.inputs is not None
    encoded = model.eval().encode(batch.sources)
    name = task.namer(text)
    reads = forced.axes[SOURCE].pieces
    columns = [
        UnrolledStep(place + 1, "encoder", reads[place], state.float().cpu().numpy())
        for place, state in enumerate(encoded.states[0])
    ]
    state = decoder.start(encoded, len(forced.ids))
    for place, symbol in enumerate(forced.ids):
        logits, state = decoder.step(state, batch.inputs[:, place])
        hidden = state.cells[-1][0][0].float().cpu().numpy()
        likely = float(logits[0].double().softmax(-1)[symbol])
        step = len(columns) + 1
        read = forced.axes[INPUTS].pieces[place]
        columns.append(UnrolledStep(step, "decoder", read, hidden, name(symbol), likely))
    both = len(encoder.recurrent.backward_cells) > 0
    return Unrolled(text, answer.text, tuple(columns), both, decoder.attention is not None)
