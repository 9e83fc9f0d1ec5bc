"""Memory by length is counted, not guessed: closed forms for what a forward pass keeps (L40)."""

import pytest
import torch

from regard.errors import UsageError
from regard.measure import length_cost
from regard.measure.figures import Bytes, Seconds, Table
from regard.measure.instruments import Timing
from regard.measure.length_cost import FORMULA, FUSED, RNN, kept_bytes, points, time_row
from regard.measure.scene import Scene
from regard.measure.suite import PARTS, parts

CPU = torch.device("cpu")


def test_what_is_kept_is_counted_once_and_inputs_are_left_out():
    x, y = (torch.ones(7, 11, requires_grad=True) for _ in range(2))
    assert kept_bytes(lambda: x * y, [x, y]) == 0, "a product keeps its factors, which are inputs"
    assert kept_bytes(lambda: x * y) == 2 * 7 * 11 * 4
    assert kept_bytes(lambda: x.exp(), [x]) == 7 * 11 * 4, "an exponential keeps its result"
    assert kept_bytes(lambda: x.exp() * y, [x, y]) == 7 * 11 * 4, "once, though kept by two"
    assert kept_bytes(lambda: x + y, [x, y]) == 0


@pytest.mark.parametrize(("name", "squares"), [(RNN, 0), (FORMULA, 1), (FUSED, 0)])
def test_only_attention_that_is_written_out_keeps_a_weight_a_pair(name, squares):
    """Of f(n) = a + b n + c n^2, f(3n) - 2 f(2n) + f(n) is 2 c n^2: c is 4 bytes a head, or nothing."""
    scene, n = Scene(CPU, quick=True), 96
    layer, run = length_cost._layers(scene)[name]

    def kept(length):
        states = torch.randn(1, length, scene.width, requires_grad=True)
        return kept_bytes(lambda: run(layer, states), [states, *layer.parameters()])

    curved = kept(3 * n) - 2 * kept(2 * n) + kept(n)
    assert curved == squares * 2 * n * n * scene.heads * 4


def test_a_row_of_times():
    found = {name: Timing(value, value, value, 3) for name, value in ((RNN, 6.0), (FUSED, 2.0))}
    assert time_row(5, found) == {"length": 5, RNN: 6.0, FUSED: 2.0, "x": 3.0}


def test_both_tables_and_the_lines_of_their_pictures(monkeypatch):
    def once(works, *_, **__):
        for work in works.values():
            work()
        return {name: Timing(1.0, 1.0, 1.0, 1) for name in works}

    monkeypatch.setattr(length_cost, "timed", once)
    time, memory = length_cost.length_cost(Scene(CPU, quick=True))
    assert [row["length"] for row in time.rows] == [64, 128, 256]
    assert (time.upward, memory.upward) == ("seconds", "MiB")
    assert list(points(time)) == list(points(memory)) == [RNN, FORMULA, FUSED]
    assert points(time)[RNN] == [(64, 1.0), (128, 1.0), (256, 1.0)]
    assert points(Table("", [{"length": 3, "a": Bytes(1 << 19), "x": 2.0}])) == {"a": [(3, 0.5)]}
    assert points(Table("", [{"length": 3, "a": Seconds(2)}])) == {"a": [(3, 2.0)]}


def test_one_part_comes_with_the_floor():
    assert parts("length") == ("floor", "length")
    assert parts("floor") == ("floor",)
    with pytest.raises(UsageError, match="there is no part 'lenght'"):
        parts("lenght")
    assert PARTS[-1] == "length"
