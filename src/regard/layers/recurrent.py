"""Recurrent cells: h_t = f(h_{t-1}, x_t), the same weights at each step (L6).

A cell knows two equal ways: `step`, the formula for one time step, and `run`, a whole sequence through
torch's fused kernels (cuDNN on a GPU).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeVar, final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Attention, Memory, Softmax, make_score
from regard.attention.attention import Site
from regard.errors import UsageError, nearest
from regard.layers.block import Stack
from regard.settings.architecture import CellName, TapeCellName

State = tuple[Tensor, ...]  # (hidden,) or, for an LSTM, (hidden, cell); each (batch, width)
Inputs = Float[Tensor, "batch length input_width"]
Outputs = Float[Tensor, "batch length width"]
_Length = TypeVar("_Length", int, Tensor)


class Cell(nn.Module, ABC):
    """One recurrent layer, one direction; weights lie as torch's fused kernels want them."""

    num_states: ClassVar[int] = 1
    is_fused: ClassVar[bool] = True  # whether one kernel runs all steps

    def __init__(self, fused: nn.RNNBase) -> None:
        super().__init__()
        self.fused = fused
        self.width = fused.hidden_size
        nn.init.xavier_uniform_(self.weights[0])
        for gate in self.weights[1].detach().split(self.width):
            nn.init.orthogonal_(gate)
        nn.init.zeros_(self.weights[2])
        nn.init.zeros_(self.weights[3])

    @property
    def weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """W_xh, W_hh and their two biases, gate under gate, as torch lays them out."""
        fused: Any = self.fused
        return fused.weight_ih_l0, fused.weight_hh_l0, fused.bias_ih_l0, fused.bias_hh_l0

    @abstractmethod
    def step(self, inputs: Float[Tensor, "batch input_width"], state: State) -> State:
        """The state after one time step; its first tensor is the output h_t."""

    def run(self, inputs: Inputs, state: State) -> Outputs:
        """The output h_t of every time step."""
        start = tuple(part.unsqueeze(0).contiguous() for part in state)
        outputs, _ = self.fused(inputs, start if self.num_states > 1 else start[0])
        return outputs

    def begin(self, parts: State) -> State:
        """The state before the first step, from the `num_states` tensors that it begins with."""
        return parts

    def zeros(self, like: Tensor) -> State:
        """The state before anything was read."""
        return self.begin((like.new_zeros(like.shape[0], self.width),) * self.num_states)

    def _input_part(self, inputs: Tensor) -> Tensor:
        return F.linear(inputs, self.weights[0], self.weights[2])

    def _hidden_part(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.weights[1], self.weights[3])


@final
class Elman(Cell):
    """h_t = tanh(W_hh h_{t-1} + W_xh x_t + b) (Elman 1990; L6)."""

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(nn.RNN(input_width, width, batch_first=True))

    def step(self, inputs: Float[Tensor, "batch input_width"], state: State) -> State:
        """One tanh."""
        return (torch.tanh(self._input_part(inputs) + self._hidden_part(state[0])),)


@final
class Gru(Cell):
    """h_t = (1 - z) n + z h_{t-1}: update gate z, and n, which a reset gate lets see the past (Cho 2014)."""

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(nn.GRU(input_width, width, batch_first=True))

    def step(self, inputs: Float[Tensor, "batch input_width"], state: State) -> State:
        """n = tanh(W_n x + r * U_n h)."""
        reset_x, update_x, new_x = self._input_part(inputs).chunk(3, -1)
        reset_h, update_h, new_h = self._hidden_part(state[0]).chunk(3, -1)
        reset = torch.sigmoid(reset_x + reset_h)
        update = torch.sigmoid(update_x + update_h)
        new = torch.tanh(new_x + reset * new_h)
        return ((1 - update) * new + update * state[0],)


@final
class Lstm(Cell):
    """c_t = f c_{t-1} + i g, h_t = o tanh(c_t): a cell that forgets on purpose (Hochreiter 1997)."""

    num_states = 2

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(nn.LSTM(input_width, width, batch_first=True))
        _begin_open(self)

    def step(self, inputs: Float[Tensor, "batch input_width"], state: State) -> State:
        """The gates see the input and the last hidden state."""
        hidden, cell = state
        return _lstm(self._input_part(inputs) + self._hidden_part(hidden), cell)


def _begin_open(cell: Cell) -> None:
    """A forget gate that starts open: gradients reach far back from the first day."""
    nn.init.ones_(cell.weights[2].detach()[cell.width : 2 * cell.width])


def _lstm(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """h_t and c_t; gates in torch's order: input, forget, cell, output."""
    enter, forget, new, leave = gates.chunk(4, -1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(leave) * torch.tanh(cell), cell


@final
class Lstmn(Cell):
    """An LSTM that keeps every state on a tape, and reads the tape before each step (Cheng 2016; L31).

    a_i = v . tanh(W_h h_i + W_x x_t + W_r r_{t-1}),  s = softmax(a)  over all i < t
    r_t = sum_i s_i h_i,  m_t = sum_i s_i c_i;  then an LSTM's step from r_t and m_t in place of h and c

    The paper writes r and m as h and c with a tilde. Before the first step the tape is empty, and the step is
    an LSTM's own. A state is (h, c, r, keys, values): the tape is its last two, ready to be attended to.
    """

    num_states = 2
    is_fused = False

    def __init__(self, input_width: int, width: int, site: Site | None = None) -> None:
        super().__init__(nn.LSTM(input_width, width, batch_first=True))
        _begin_open(self)
        score = make_score("additive", query_width=input_width + width, key_width=width)
        self.attention = Attention(score, Softmax(), site=site)

    def begin(self, parts: State) -> State:
        """An empty tape."""
        hidden, cell = parts
        nothing = torch.cat(parts, -1)[:, None, None][:, :, :0]
        tape = self.attention.remember(nothing[..., : self.width], nothing)
        return hidden, cell, hidden, tape.key, tape.value

    def step(self, inputs: Float[Tensor, "batch input_width"], state: State) -> State:
        """Read the tape, take an LSTM's step from what was read, and write the new state on the tape."""
        hidden, cell, before, keys, values = state
        query = torch.cat([inputs, before], -1)[:, None, None]
        read = self.attention(query, Memory(keys, values))[:, 0, 0]
        if keys.shape[2]:  # else nothing was written yet, and what there is was there at the start
            hidden, cell = read.chunk(2, -1)
        after = _lstm(self._input_part(inputs) + self._hidden_part(hidden), cell)
        value = torch.cat(after, -1)[:, None, None]
        written = self.attention.remember(value[..., : self.width], value)
        keys, values = torch.cat([keys, written.key], 2), torch.cat([values, written.value], 2)
        return *after, hidden, keys, values

    def run(self, inputs: Inputs, state: State) -> Outputs:
        """Step by step: what is read next depends on what was read."""
        if len(state) == self.num_states:
            state = self.begin(state)
        outputs = []
        for moment in inputs.unbind(1):
            state = self.step(moment, state)
            outputs.append(state[0])
        return torch.stack(outputs, 1)


def make_cell(name: str, input_width: int, width: int, site: Site | None = None) -> Cell:
    """A cell by its name; `site` is what the attention of a cell that has one says of itself."""
    match name:
        case "elman":
            return Elman(input_width, width)
        case "gru":
            return Gru(input_width, width)
        case "lstm":
            return Lstm(input_width, width)
        case "lstmn":
            return Lstmn(input_width, width, site)
        case _:
            known = ["elman", "gru", "lstm", "lstmn"]
            raise UsageError(f"no cell '{name}'", where="cell", remedy=nearest(name, known))


def _refuse_one_way(cell: str, width: int) -> None:
    """Two directions need a cell that can read from right to left, and half of the width each."""
    if cell == "lstmn":
        raise UsageError(
            "an lstmn reads from left to right, and remembers what it has read",
            where="model.encoder.bidirectional",
            remedy="set bidirectional = false, or choose another cell",
        )
    if width % 2:
        raise UsageError(
            f"two directions share the width half and half; {width} is odd",
            where="width",
            remedy="choose an even width",
        )


@final
class Recurrent(nn.Module):
    """Layers of cells over whole sequences; two directions share the width half and half.

    The upper `pyramid` layers read two states at a time, [h_2i; h_2i+1], so that each halves the length (Chan
    2016): far fewer states to attend to, each about a longer stretch. An odd last state has zeros beside it.
    """

    def __init__(
        self,
        cell: CellName | TapeCellName,
        input_width: int,
        width: int,
        num_layers: int,
        *,
        bidirectional: bool = False,
        pyramid: int = 0,
        dropout: float = 0.0,
        axis: str = "source",
    ) -> None:
        super().__init__()
        if bidirectional:
            _refuse_one_way(cell, width)
        if pyramid >= num_layers:
            raise UsageError(
                f"a pyramid of {pyramid} layers stands on one more, and there are {num_layers}",
                where="model.encoder.pyramid",
                remedy=f"choose model.encoder.layers = {pyramid + 1}, or a lower pyramid",
            )
        self.width, self.pyramid = width, pyramid
        half = width // 2 if bidirectional else width
        plain = num_layers - pyramid
        widths = [input_width] + [width] * (plain - 1) + [2 * width] * pyramid
        self.forward_cells = Stack(
            make_cell(cell, w, half, Site("self", axis, axis, number))
            for number, w in enumerate(widths)
        )
        self.backward_cells = Stack(make_cell(cell, w, half) for w in widths if bidirectional)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, inputs: Inputs, lengths: Int[Tensor, " batch"] | None = None
    ) -> tuple[Float[Tensor, "batch states width"], tuple[Float[Tensor, "batch width"], ...]]:
        """The top layer's outputs, `states_of` the length many, and each layer's last hidden state."""
        if lengths is None:
            lengths = torch.full((len(inputs),), inputs.shape[1], device=inputs.device)
        if inputs.shape[1] == 0:  # torch's kernels refuse to read nothing
            nothing = inputs.new_zeros(len(inputs), self.width)
            return nothing.unsqueeze(1)[:, :0], (nothing,) * len(self.forward_cells)
        flip = flipped(lengths, inputs.shape[1])
        summaries = []
        for number, cell in enumerate(self.forward_cells):
            if number >= len(self.forward_cells) - self.pyramid:
                inputs, lengths = paired(inputs, lengths), (lengths + 1) // 2
                flip = flipped(lengths, inputs.shape[1])
            states = inputs if number == 0 else self.dropout(inputs)
            inputs = cell.run(states, cell.zeros(states))
            summary = last(inputs, lengths)
            if len(self.backward_cells):
                back_cell = self.backward_cells[number]
                assert isinstance(back_cell, Cell)
                back = back_cell.run(take(states, flip), back_cell.zeros(states))
                summary = torch.cat([summary, last(back, lengths)], -1)
                inputs = torch.cat([inputs, take(back, flip)], -1)
            summaries.append(summary)
        return inputs, tuple(summaries)

    def states_of(self, length: _Length) -> _Length:
        """How many states there are on top of so many inputs."""
        for _ in range(self.pyramid):
            length = (length + 1) // 2
        return length


def paired(
    states: Outputs, lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch half double_width"]:
    """Two neighbours as one; what lies behind the end of a row is 0, so that padding is never read."""
    behind = torch.arange(states.shape[1], device=lengths.device) >= lengths[:, None]
    states = F.pad(states.masked_fill(behind.unsqueeze(-1), 0.0), (0, 0, 0, states.shape[1] % 2))
    return states.unflatten(1, (-1, 2)).flatten(2)


def last(outputs: Outputs, lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch width"]:
    """The output of each row's last real step; zeros, as at the start, where nothing was read."""
    place = (lengths - 1).clamp(min=0).unsqueeze(1)
    return take(outputs, place).squeeze(1).masked_fill((lengths == 0).unsqueeze(1), 0.0)


def flipped(lengths: Int[Tensor, " batch"], length: int) -> Int[Tensor, "batch length"]:
    """Positions that read each row's real part backwards and leave its padding in place.

    So the backward direction needs no packing, and never sees padding before text.
    """
    position = torch.arange(length, device=lengths.device)
    mirrored = lengths[:, None] - 1 - position
    return torch.where(mirrored >= 0, mirrored, position)


def take(states: Tensor, positions: Int[Tensor, "batch length"]) -> Tensor:
    """states[b, positions[b]]."""
    return states.gather(1, positions.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
