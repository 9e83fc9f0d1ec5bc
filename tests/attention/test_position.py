import math

import pytest
import torch

from regard.attention import Added, Alibi, Learned, Rotary, Sinusoidal, sinusoid
from regard.attention.position import period, slopes


def printed(*rows):
    return torch.tensor(rows)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
@pytest.mark.parametrize("width", [1, 2, 5, 6, 11])
@pytest.mark.parametrize("base", [10000.0, 100.0])
def test_sinusoid_is_its_formula(layout, width, base):
    """PE(pos, 2i) = sin(pos / base^(2i/width)), PE(pos, 2i+1) = cos(same), in both orders (L42, L44)."""
    table = sinusoid(7, width, base=base, layout=layout)
    sines = (width + 1) // 2
    for position in range(7):
        for pair in range(sines):
            angle = position / base ** (2 * pair / width)
            sine = 2 * pair if layout == "interleaved" else pair
            cosine = 2 * pair + 1 if layout == "interleaved" else sines + pair
            assert table[position, sine] == pytest.approx(math.sin(angle), abs=1e-6)
            if cosine < width:
                assert table[position, cosine] == pytest.approx(math.cos(angle), abs=1e-6)
    assert table.shape == (7, width)


def test_both_layouts_hold_the_same_numbers():
    interleaved, halves = (sinusoid(13, 10, layout=layout) for layout in ("interleaved", "halves"))
    assert torch.equal(halves, torch.cat([interleaved[:, 0::2], interleaved[:, 1::2]], 1))


def test_the_table_of_i_am_a_robot():
    """All 16 cells of the slide, d = 4 and n = 100 (L43)."""
    expected = printed(
        [0.0, 1.0, 0.0, 1.0],
        [0.8415, 0.5403, 0.0998, 0.9950],
        [0.9093, -0.4161, 0.1987, 0.9801],
        [0.1411, -0.9900, 0.2955, 0.9553],
    )
    assert torch.equal(sinusoid(4, 4, base=100.0).mul(1e4).round(), expected.mul(1e4).round())


def test_the_first_frequency_is_one():
    """One slide starts its exponents at 2 * 1 / d, which skips the unit frequency (L45); we start at 0."""
    ours = sinusoid(2, 4, base=100.0)[1, [0, 2]].asin()
    torch.testing.assert_close(ours, printed(1.0, 1 / 10))
    shifted = [100.0 ** (-2 * pair / 4) for pair in (1, 2)]
    assert shifted == pytest.approx([1 / 10, 1 / 100])


def test_periods_grow_with_the_pair_and_shrink_with_the_width():
    """2 pi n^(2i/d) (L49); the slide calls that of index 48 in 50 20000 pi, and it is 43,469."""
    assert round(period(24, 50)) == 43_469
    assert round(10000**0.96, 1) == 6918.3
    assert period(0, 50) == period(0, 6) == 2 * math.pi
    assert period(1, 50) < period(2, 50)
    assert period(1, 50) < period(1, 6)


@pytest.mark.parametrize("pair", [0, 1, 2])
def test_a_pair_repeats_after_its_period(pair):
    base = 2.0 ** (6 / 2)  # n^(2i/6) = 2^i: a pair turns once in 2 pi 2^i positions
    turns = 710 * 2**pair  # 710 is very nearly 113 whole turns of 2 pi
    pairs = sinusoid(1, 6, base=base), sinusoid(1, 6, base=base, first=turns)
    columns = slice(2 * pair, 2 * pair + 2)
    torch.testing.assert_close(pairs[0][:, columns], pairs[1][:, columns], atol=1e-4, rtol=0)
    assert turns / period(pair, 6, base) == pytest.approx(113, abs=1e-4)


def test_the_rows_of_the_slide_are_dimensions_2_to_5():
    """The printed labels sit one row off; the positions are 1.384, 8.994, 5.535, 2.076 (L50)."""
    rows = printed(
        [0.818, -0.061, -0.635, 0.991],
        [0.576, 0.998, -0.773, 0.134],
        [0.615, -0.918, 0.473, 0.838],
        [0.789, -0.396, -0.881, 0.546],
    )
    positions = torch.tensor([1.384, 8.994, 5.535, 2.076])
    angles = [2 * math.pi * positions / period(pair, 50) for pair in (1, 2)]
    found = torch.stack([wave(angle) for angle in angles for wave in (torch.sin, torch.cos)])
    torch.testing.assert_close(found, rows, atol=1.1e-3, rtol=0)


def test_later_rows_of_the_table_can_be_had_alone():
    assert torch.equal(sinusoid(3, 5, first=4), sinusoid(7, 5)[4:])


def test_far_positions_are_exact():
    """Angles are worked out in double precision: far along, a float32 angle would be off by hundredths."""
    found = sinusoid(1, 2, first=1_000_003)[0]
    expected = printed(math.sin(1_000_003), math.cos(1_000_003))
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_sinusoidal_adds_its_table_and_grows(layout):
    position = Sinusoidal(5, base=50.0, layout=layout)
    states = torch.randn(2, 3, 7, 5)
    table = sinusoid(1200, 5, base=50.0, layout=layout)
    assert torch.equal(position(states), states + table[:7])
    assert torch.equal(position(states, first=1100), states + table[1100:1107])
    assert position.state_dict() == {}


def test_positions_take_the_type_of_the_states():
    states = torch.zeros(1, 3, 4, dtype=torch.bfloat16)
    for position in (Sinusoidal(4), Learned(4, 5)):
        assert position(states).dtype == torch.bfloat16
    assert Rotary(4)(states[None]).dtype == torch.bfloat16
    grown = Sinusoidal(4).bfloat16()
    assert grown(states, first=2000).dtype == torch.bfloat16


def test_learned_positions_are_rows_of_a_table_and_learn():
    position = Learned(5, 7)
    states = torch.randn(2, 3, 5)
    added = position(states, first=2)
    torch.testing.assert_close(added, states + position.weight[2:5])
    added.sum().backward()
    assert position.weight.grad.sum(1).tolist() == [0, 0, 10, 10, 10, 0, 0]


@pytest.mark.parametrize(("length", "first", "asked"), [(8, 0, 8), (1, 7, 8), (3, 6, 9)])
def test_learned_positions_end(length, first, asked, refuses):
    position = Learned(5, 7)
    assert len(position.table(7)) == 7
    with refuses(
        f"learned positions end at 7, and {asked} were asked for",
        "Learned.max_length",
        "shorten the input, raise max_length before training, or use sinusoidal",
    ):
        position.table(length, first)


def test_rotated_products_depend_on_the_distance_alone():
    rotary = Rotary(6).double()
    query, key = torch.randn(2, 1, 1, 1, 6, dtype=torch.float64)

    def product(i, j):
        return (rotary(query, first=i) * rotary(key, first=j)).sum().item()

    for i, j, shift in [(0, 0, 11), (5, 2, 7), (2, 5, 301), (0, 3, 600)]:
        assert product(i, j) == pytest.approx(product(i + shift, j + shift), abs=1e-6)
    assert product(5, 2) != pytest.approx(product(2, 5), abs=1e-3)


def test_rotation_keeps_lengths_and_position_zero():
    rotary, states = Rotary(6), torch.randn(2, 3, 5, 6)
    turned = rotary(states)
    torch.testing.assert_close(turned.norm(dim=-1), states.norm(dim=-1))
    torch.testing.assert_close(turned[:, :, 0], states[:, :, 0])


def test_rotation_turns_a_pair_by_its_angle():
    """The pair (n, n + width / 2) by position / base^(2n / width)."""
    states = torch.zeros(1, 1, 4, 4)
    states[..., 1] = 1.0
    turned = Rotary(4, base=100.0)(states)
    for position in range(4):
        angle = position / 10
        expected = printed(0.0, math.cos(angle), 0.0, math.sin(angle))
        torch.testing.assert_close(turned[0, 0, position], expected)


def test_an_odd_rotation_is_refused(refuses):
    with refuses(
        "rotary positions turn pairs of neurons; a head of width 7 has one left over",
        "Rotary.width",
        "choose an even head width",
    ):
        Rotary(7)


def published_slopes(heads):
    """The rule of the ALiBi paper, by recursion on the power of two below."""
    if heads & (heads - 1) == 0:
        start = 2 ** (-8 / heads)
        return [start**power for power in range(1, heads + 1)]
    below = 2 ** (heads.bit_length() - 1)
    return published_slopes(below) + published_slopes(2 * below)[0::2][: heads - below]


@pytest.mark.parametrize("heads", [1, 2, 3, 5, 8, 12, 16, 20])
def test_alibi_has_the_published_slopes(heads):
    assert slopes(heads) == pytest.approx(published_slopes(heads))


def test_the_slopes_of_eight_heads_are_powers_of_a_half():
    assert slopes(8) == [2.0**-power for power in range(1, 9)]
    assert slopes(12)[8:] == pytest.approx([2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5])


def test_alibi_is_minus_slope_times_distance():
    bias = Alibi(3)(2, 5, first=1)
    assert bias.shape == (1, 3, 2, 5)
    for head, slope in enumerate(slopes(3)):
        for row, i in enumerate((1, 2)):
            for j in range(5):
                assert bias[0, head, row, j] == pytest.approx(-slope * abs(i - j))


def test_alibi_keeps_slopes_by_head():
    bias = Alibi(8)
    bias.keep([6, 1])
    assert bias.slope.tolist() == [2**-7, 2**-2]


def test_added_is_abstract():
    with pytest.raises(TypeError):
        Added(3)
