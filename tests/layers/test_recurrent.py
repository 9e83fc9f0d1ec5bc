"""Cells step by step and all at once, and stacks of them in one direction or two."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from regard.errors import UsageError
from regard.layers import Elman, Lstm, Recurrent, make_cell
from regard.layers.recurrent import flipped, take

CELLS = ["elman", "gru", "lstm"]
every_cell = pytest.mark.parametrize("name", CELLS)


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(5)


def shaken(module):
    """The module with weights, biases too, away from their first values."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return module


def test_one_elman_step_is_the_lectures_worked_example():
    """L8: h = tanh(W_hh h + W_xh x + b)."""
    cell = Elman(2, 2)
    with torch.no_grad():
        cell.weights[0].copy_(torch.tensor([[0.4, 0.5], [0.6, 0.7]]))
        cell.weights[1].copy_(torch.tensor([[0.1, 0.2], [-0.1, 0.3]]))
        cell.weights[2].copy_(torch.tensor([0.1, 0.2]))

    (hidden,) = cell.step(torch.tensor([[1.0, 0.0]]), (torch.tensor([[0.5, -0.5]]),))

    assert_close(hidden, torch.tensor([[0.42190, 0.53705]]), atol=5e-6, rtol=0)


@every_cell
def test_a_run_is_its_steps(name):
    cell, inputs = shaken(make_cell(name, 3, 5)), torch.randn(2, 7, 3)
    state = tuple(torch.randn(2, 5) for _ in range(cell.num_states))
    run = cell.run(inputs, state)
    for number, moment in enumerate(inputs.unbind(1)):
        state = cell.step(moment, state)
        assert_close(run[:, number], state[0], atol=1e-6, rtol=1e-5)


@every_cell
def test_a_state_begins_at_zero(name):
    cell = make_cell(name, 3, 5)
    state = cell.zeros(torch.randn(2, 7, 3))

    assert len(state) == cell.num_states == (2 if name == "lstm" else 1)
    assert all(part.shape == (2, 5) and not part.any() for part in state)


@every_cell
def test_hidden_weights_begin_orthogonal_gate_by_gate(name):
    for gate in make_cell(name, 3, 5).weights[1].split(5):
        assert_close(gate @ gate.mT, torch.eye(5), atol=1e-5, rtol=0)


def test_an_lstm_begins_by_remembering():
    _, _, bias, other = Lstm(3, 5).weights

    assert bias.tolist() == [0.0] * 5 + [1.0] * 5 + [0.0] * 10
    assert not other.any()


@every_cell
@pytest.mark.parametrize("both", [False, True], ids=["uni", "bi"])
def test_the_last_state_of_a_layer_is_that_of_the_last_real_word(name, both):
    stack = shaken(Recurrent(name, 3, 6, 2, bidirectional=both))
    inputs, lengths = torch.randn(3, 7, 3), torch.tensor([7, 4, 1])
    outputs, summaries = stack(inputs, lengths)
    half = 3 if both else 6
    for row, length in enumerate(lengths.tolist()):
        assert_close(summaries[-1][row, :half], outputs[row, length - 1, :half])
        assert_close(summaries[-1][row, half:], outputs[row, 0, half:])


@every_cell
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("both", [False, True], ids=["uni", "bi"])
def test_padded_rows_are_read_as_packed_ones(name, layers, both):
    """Torch's packed sequences ask the host for lengths; rows that are flipped by them do not."""
    lengths = torch.tensor([1, 7, 3, 5, 1])
    stack = shaken(Recurrent(name, 3, 10, layers, bidirectional=both)).double()
    inputs, others = (torch.randn(5, 7, 3, dtype=torch.float64) for _ in range(2))
    real = torch.arange(7) < lengths[:, None]
    inputs = torch.where(real.unsqueeze(-1), inputs, others).requires_grad_()
    outputs, summaries = stack(inputs, lengths)
    expected, last = as_packed(stack, inputs, lengths)
    outputs = outputs * real.unsqueeze(-1)
    assert_close(outputs, expected)
    assert_close(torch.stack(summaries), last)
    learned = [inputs, *stack.parameters()]
    weights = torch.randn_like(outputs), torch.randn_like(last)
    own, theirs = (
        torch.autograd.grad((states * weights[0]).sum() + (ends * weights[1]).sum(), learned)
        for states, ends in ((outputs, torch.stack(summaries)), (expected, last))
    )
    assert not own[0][~real].any()
    for one, other in zip(own, theirs, strict=True):
        assert_close(one, other)


def as_packed(stack, inputs, lengths):
    """The same cells' weights in torch's own layers, over packed rows."""
    rows, ends = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False), []
    for number, cell in enumerate(stack.forward_cells):
        fused, both = cell.fused, len(stack.backward_cells) > 0
        whole = type(fused)(
            fused.input_size, fused.hidden_size, batch_first=True, bidirectional=both
        ).double()
        given = dict(fused.named_parameters())
        if both:
            back = stack.backward_cells[number].fused.named_parameters()
            given |= {f"{key}_reverse": weight for key, weight in back}
        rows, end = torch.func.functional_call(whole, given, (rows,))
        end = end[0] if isinstance(end, tuple) else end
        ends.append(torch.cat(end.unbind(), -1))
    return pad_packed_sequence(rows, batch_first=True, total_length=7)[0], torch.stack(ends)


def test_where_nothing_was_read_the_last_state_is_the_first():
    stack = shaken(Recurrent("lstm", 3, 6, 2, bidirectional=True))
    inputs = torch.randn(2, 5, 3)
    _, (low, high) = stack(inputs, torch.tensor([5, 0]))
    nothing, alone = stack(inputs[1:, :0], torch.tensor([0]))

    assert not low[1].any()
    assert not high[1].any()
    assert high[0].all()
    assert nothing.shape == (1, 0, 6)
    assert [layer.tolist() for layer in alone] == [[[0.0] * 6]] * 2


def test_without_lengths_every_row_is_full():
    stack, inputs = Recurrent("gru", 3, 6, 2, bidirectional=True), torch.randn(2, 5, 3)
    bare, _ = stack(inputs)
    full, _ = stack(inputs, torch.tensor([5, 5]))

    assert torch.equal(bare, full)


def test_reading_backwards_leaves_padding_in_place():
    positions = flipped(torch.tensor([4, 2, 0]), 4)

    assert positions.tolist() == [[3, 2, 1, 0], [1, 0, 2, 3], [0, 1, 2, 3]]
    letters = torch.arange(12.0).view(3, 4, 1)
    assert torch.equal(take(take(letters, positions), positions), letters)


def test_two_directions_need_an_even_width():
    with pytest.raises(UsageError) as fault:
        Recurrent("gru", 3, 7, 1, bidirectional=True)

    assert str(fault.value) == (
        "two directions share the width half and half; 7 is odd\nwidth\nchoose an even width"
    )


def test_an_unknown_cell_is_refused_with_the_nearest_known_one():
    with pytest.raises(UsageError) as fault:
        make_cell("ltsm", 3, 5)

    assert str(fault.value) == "no cell 'ltsm'\ncell\ndid you mean 'lstm'?"
