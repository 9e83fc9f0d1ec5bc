"""An LSTM with a tape against the formulas of the paper, one word at a time (Cheng 2016)."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import watch
from regard.attention.attention import Site
from regard.errors import UsageError
from regard.layers import Lstm, Lstmn, Recurrent, make_cell

INPUT, WIDTH, LENGTH = 3, 5, 7


@pytest.fixture
def cell():
    torch.manual_seed(5)
    made = Lstmn(INPUT, WIDTH, Site("self", "source", "source")).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return made


def by_hand(cell, inputs, hidden, memory):
    """Equations 4 to 8 of the paper for one row: every h and c is kept, and read before the next word."""
    score = cell.attention.score
    value, query, key = score.value_weight[0], score.query_weight[0], score.key_weight[0]
    into, back, *biases = cell.weights
    tape, before, outputs, weights = [], hidden, [], []
    for x in inputs:
        row = torch.zeros(0, dtype=x.dtype)
        if tape:
            asked = x @ query[:INPUT] + before @ query[INPUT:]
            row = torch.stack([value @ torch.tanh(h @ key + asked) for h, _ in tape]).softmax(0)
            hidden = sum(share * h for share, (h, _) in zip(row, tape, strict=True))
            memory = sum(share * c for share, (_, c) in zip(row, tape, strict=True))
        weights.append(row)
        before = hidden
        gates = into @ x + back @ hidden + sum(biases)
        enter, forget, new, leave = gates.split(WIDTH)
        memory = forget.sigmoid() * memory + enter.sigmoid() * new.tanh()
        hidden = leave.sigmoid() * memory.tanh()
        tape.append((hidden, memory))
        outputs.append(hidden)
    return torch.stack(outputs), weights


def test_a_run_is_the_papers_formulas(cell):
    inputs = torch.randn(2, LENGTH, INPUT, dtype=torch.float64)
    start = tuple(torch.randn(2, WIDTH, dtype=torch.float64) for _ in range(2))
    with watch(cell) as seen:
        found = cell.run(inputs, start)
    weights = seen.weights("attention")[:, 0]
    for row in range(2):
        expected, looked = by_hand(cell, inputs[row], start[0][row], start[1][row])
        assert_close(found[row], expected)
        for step, shares in enumerate(looked):
            assert_close(weights[row, step, :step], shares)
            assert not weights[row, step, step:].any()


def test_a_run_is_its_steps_and_every_row_of_weights_but_the_first_sums_to_one(cell):
    inputs = torch.randn(3, LENGTH, INPUT, dtype=torch.float64)
    bare = cell.run(inputs, cell.zeros(inputs))
    state = cell.zeros(inputs)
    with watch(cell) as seen:
        for number, moment in enumerate(inputs.unbind(1)):
            state = cell.step(moment, state)
            assert_close(bare[:, number], state[0])
    sums = seen.weights("attention")[:, 0].sum(-1)
    assert_close(sums[:, 1:], torch.ones_like(sums[:, 1:]))
    assert not sums[:, 0].any()  # nothing was read before the first word
    assert seen.weights("attention").shape == (3, 1, LENGTH, LENGTH - 1)


def test_who_only_looks_at_the_last_state_is_an_lstm(cell):
    """All weight on the newest state of the tape: r = h_{t-1} and m = c_{t-1}."""
    plain = Lstm(INPUT, WIDTH).double()
    plain.load_state_dict({k: v for k, v in cell.state_dict().items() if k.startswith("fused")})
    inputs = torch.randn(2, LENGTH, INPUT, dtype=torch.float64)
    start = tuple(torch.randn(2, WIDTH, dtype=torch.float64) for _ in range(2))

    def newest(_, aligned):
        weights = torch.zeros_like(aligned.weights)
        weights[..., -1:] = 1.0
        return weights

    with watch(cell, newest):
        found = cell.run(inputs, start)
    assert_close(found, plain.run(inputs, start))
    assert not torch.allclose(cell.run(inputs, start), found)


def test_gradients_are_those_of_finite_differences(cell):
    """Of every tensor that is learned, where its gradient is largest."""
    inputs = torch.randn(2, LENGTH, INPUT, dtype=torch.float64)
    mix = torch.randn(2, LENGTH, WIDTH, dtype=torch.float64)

    def loss():
        return (cell.run(inputs, cell.zeros(inputs)) * mix).sum()

    loss().backward()
    for path, parameter in cell.named_parameters():
        place, flat = int(parameter.grad.abs().argmax()), parameter.detach().view(-1)
        with torch.no_grad():
            ends = []
            for sign in (1, -2):
                flat[place] += sign * 1e-6
                ends.append(loss())
            flat[place] += 1e-6
        slope = (ends[0] - ends[1]) / 2e-6
        assert_close(parameter.grad.view(-1)[place], slope, rtol=1e-5, atol=1e-7)
        assert slope.abs() > 1e-4, path


def test_batches_do_not_mix(cell):
    inputs = torch.randn(3, LENGTH, INPUT, dtype=torch.float64)
    together = cell.run(inputs, cell.zeros(inputs))
    for row in range(3):
        alone = inputs[row : row + 1, : LENGTH - row]
        assert_close(cell.run(alone, cell.zeros(alone))[0], together[row, : LENGTH - row])


def test_each_layer_says_which_it_is_and_two_directions_are_refused():
    stack = Recurrent("lstmn", INPUT, WIDTH, 2, axis="anna")
    sites = [cell.attention.site for cell in stack.forward_cells]
    assert sites == [Site("self", "anna", "anna", 0), Site("self", "anna", "anna", 1)]
    with pytest.raises(UsageError, match="from left to right"):
        Recurrent("lstmn", INPUT, 6, 1, bidirectional=True)
    assert isinstance(make_cell("lstmn", INPUT, WIDTH), Lstmn)
