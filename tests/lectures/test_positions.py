"""L42-L51: where a word stands."""

import math

import pytest
import torch

from regard.attention import Attention, Dot, Heads, Learned, Sinusoidal, Softmax, sinusoid, watch
from regard.attention.position import period
from regard.layers import Embedding
from regard.worked import position_periods, position_picture, position_table, word_order


def test_sinusoid_by_its_formula():  # L42
    table = sinusoid(7, 10)
    for position in range(7):
        for i in range(5):
            angle = position / 10000 ** (2 * i / 10)
            pair = table[position, 2 * i : 2 * i + 2].tolist()
            assert pair == pytest.approx((math.sin(angle), math.cos(angle)), abs=1e-6)
    assert table.abs().max() <= 1


PRINTED = (
    (0, 1, 0, 1),
    (0.84, 0.54, 0.10, 1.0),
    (0.91, -0.42, 0.20, 0.98),
    (0.14, -0.99, 0.30, 0.96),
)
EXACT = (
    (0, 1, 0, 1),
    (0.8415, 0.5403, 0.0998, 0.9950),
    (0.9093, -0.4161, 0.1987, 0.9801),
    (0.1411, -0.9900, 0.2955, 0.9553),
)


def test_i_am_a_robot():  # L43
    table = position_table()["interleaved"]
    for row, printed, exact in zip(table, PRINTED, EXACT, strict=True):
        assert row == pytest.approx(exact, abs=5e-5)
        assert [round(cell, 2) for cell in row] == list(printed)


def test_halves_are_the_same_columns():  # L44
    interleaved = torch.tensor(position_table(width=6)["interleaved"])
    halves = torch.tensor(position_table(width=6)["halves"])
    assert torch.equal(halves, torch.cat([interleaved[:, 0::2], interleaved[:, 1::2]], 1))
    assert sinusoid(20, 512, layout="halves").shape == (20, 512)


def test_counting_exponents_from_one_loses_the_fastest_wave():  # L45
    worked = position_table()
    assert worked["frequencies"] == pytest.approx((1, 1 / 10))
    shifted = worked["one step on"]
    assert shifted[1] == pytest.approx(
        [f(a) for a in (1 / 10, 1 / 100) for f in (math.sin, math.cos)]
    )
    assert "L45" in [slip.lecture for slip in worked.slips]


def test_learned_positions_are_n_by_d():  # L46
    assert Learned(width=6, max_length=11).weight.shape == (11, 6)
    worked = position_table(words=("a", "b", "c"), width=6)
    assert worked["learned"] == (3, 6)
    slip = next(slip for slip in worked.slips if slip.lecture == "L46")
    assert (slip.printed, slip.right) == ("E_pos of shape 1 x N", "E_pos of shape N x d")


def test_positions_added_to_query_key_and_value():  # L47
    torch.manual_seed(3)
    placed = Heads(4, 1, Attention(Dot(), Softmax()), position=Sinusoidal(4))
    x, p = torch.randn(1, 5, 4), sinusoid(5, 4)
    with watch(placed) as seen:
        placed(x, placed.remember(x))
    (aligned,) = seen["attention"]
    for found, projection in (
        (aligned.query, placed.query),
        (aligned.memory.key, placed.key),
        (aligned.memory.value, placed.value),
    ):
        assert torch.allclose(found[0, 0], projection(x)[0] + p)


def test_positions_added_to_the_input_are_unique():  # L48
    embedding = Embedding(3, 8, position=Sinusoidal(8), scale=False)
    states = embedding(torch.zeros(1, 100, dtype=torch.long))[0]
    assert torch.allclose(states - embedding.table.weight[0], sinusoid(100, 8), atol=1e-6)
    apart = torch.cdist(states, states) + torch.eye(100)
    assert apart.min() > 0.1


def test_period_of_index_48():  # L49
    worked = position_periods()
    assert worked["power"] == pytest.approx(6918.3, abs=0.05)
    assert worked["period"] == pytest.approx(43469, abs=0.5)
    slip = next(slip for slip in worked.slips if slip.lecture == "L49")
    assert slip.printed == round(20000 * math.pi)
    assert slip.right == round(worked["period"])


def test_periods_by_width():  # L49
    periods = torch.tensor(position_periods()["by width"])
    assert torch.equal(periods[:, 0], torch.full((4,), 2 * math.pi))
    assert (periods.diff(dim=1) > 0).all()  # longer as i grows
    assert (periods[:, 1:].diff(dim=0) < 0).all()  # and as d falls
    # The table itself repeats with that period: here pair 1 of width 4 and base 100, every 20 pi.
    assert period(1, 4, 100.0) == pytest.approx(20 * math.pi)
    table = sinusoid(400, 4, base=100.0)
    assert torch.allclose(table[377, 2:], table[0, 2:], atol=2e-2)  # 377 = 6 times 20 pi, nearly


ROWS = (
    (0.818, -0.061, -0.635, 0.991),
    (0.576, 0.998, -0.773, 0.134),
    (0.615, -0.918, 0.473, 0.838),
    (0.789, -0.396, -0.881, 0.546),
)


def test_rows_of_the_fifty_wide_table():  # L50
    worked = position_periods()
    for row, printed in zip(worked["rows"], ROWS, strict=True):
        assert row == pytest.approx(printed, abs=5e-4)
    slip = next(slip for slip in worked.slips if slip.lecture == "L50")
    assert (slip.printed, slip.right) == ("i = 3, 4, 5, 6", "dimensions 2, 3, 4, 5")


@pytest.mark.parametrize("order", [(3, 4, 2, 0, 1), (4, 3, 2, 1, 0), (1, 0, 2, 3, 4)])
def test_without_positions_order_is_invisible(order):  # L51
    worked = word_order(order=order)
    assert worked["difference"] < 1e-12
    assert worked["difference with positions"] > 0.1
    both_the = worked["as written"][0], worked["as written"][3]
    assert both_the[0] == pytest.approx(both_the[1])


def test_the_picture_is_the_formula_cell_by_cell():  # L44
    worked = position_picture()
    table = torch.tensor(worked["table"])
    assert table.shape == (20, 512)
    for position in (0, 1, 7, 19):
        for i in (0, 1, 100, 255):
            angle = position / 10000 ** (2 * i / 512)
            assert float(table[position, i]) == pytest.approx(math.sin(angle), abs=1e-5)
            assert float(table[position, 256 + i]) == pytest.approx(math.cos(angle), abs=1e-5)
    assert "left half: sin" in worked.formula
    assert "sines left, cosines right" in worked.result.formula
    other = position_picture(layout="interleaved")
    assert "even columns: sin" in other.formula
    assert other["table"][7][2] == pytest.approx(worked["table"][7][1])
    # |p_k - p_0|^2 = sum over pairs of 2 (1 - cos(k w_i)), since each pair is a point of a circle.
    for position, distance in enumerate(worked["distance"]):
        angles = [position / 10000 ** (2 * i / 512) for i in range(256)]
        expected = math.sqrt(sum(2 * (1 - math.cos(angle)) for angle in angles))
        assert distance == pytest.approx(expected, abs=1e-4)
