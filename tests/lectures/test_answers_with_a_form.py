"""L81 and L95: a round trip pointed out city by city, and a tree as a row of brackets."""

import pytest
import torch

from regard.errors import UsageError
from regard.worked import pointed_tour, tree_in_brackets


def test_the_nearest_free_city_has_the_largest_weight():  # L81
    worked = pointed_tour()
    cities = torch.tensor([[0, 0], [1, 0], [1.9, 0], [0, 2.2], [-0.8, 0]], dtype=torch.float64)
    assert worked["tour"] == ("A", "E", "B", "C", "D")
    near = -((cities - cities[4]) ** 2).sum(1)  # 2 times -|x_q - x_j|^2 / 2
    free = torch.tensor([False, True, True, True, False])
    weights = near.masked_fill(~free, -torch.inf).softmax(0)
    torch.testing.assert_close(torch.tensor(worked["weights from E"]).double(), weights)
    assert worked["length"] == pytest.approx(0.8 + 1.8 + 0.9 + (1.9**2 + 2.2**2) ** 0.5 + 2.2)
    assert worked["shortest length"] == pytest.approx(
        1.9 + (1.9**2 + 2.2**2) ** 0.5 + (0.8**2 + 2.2**2) ** 0.5 + 0.8
    )
    assert worked["longer by"] > 8
    square = pointed_tour(cities={"a": (0, 0), "b": (1, 0), "c": (1, 1.1)})
    assert square["longer by"] == pytest.approx(0)


@pytest.mark.parametrize("cities", [{"a": (0, 0)}, {str(n): (n, n) for n in range(9)}])
def test_too_few_and_too_many_cities(cities):
    with pytest.raises(UsageError, match="3 to 8"):
        pointed_tour(cities=cities)


def test_a_tree_is_a_row_of_symbols_and_has_an_f1():  # L95
    worked = tree_in_brackets()
    assert worked["symbols"] == "(S (NP XX XX ) (VP XX (NP (NP XX XX ) (PP XX (NP XX ) ) ) ) )"
    assert worked["counts"] == (
        6,
        6,
        7,
    )  # counted by hand: only the NP over `a dog in town` is missing
    assert worked["F1"] == pytest.approx(2 * 6 / (6 + 7))
    assert tree_in_brackets(guess=worked["symbols"])["F1"] == pytest.approx(1)
    with pytest.raises(UsageError, match="no tree over 7 words"):
        tree_in_brackets(guess="(S XX XX")
