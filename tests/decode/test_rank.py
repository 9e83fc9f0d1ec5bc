"""The best candidates, highest first, with ties to the lower index on every device."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decode.candidates import BLOCK, best, best_continuations, first, top

FEW = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, -2.5, 1e-40, -1e-40, float("-inf"), float("inf"), 3e38]
)
ANY = st.floats(width=32, allow_nan=False)


@given(st.lists(FEW | ANY, min_size=1, max_size=23), st.integers(1, 30))
def test_it_is_a_stable_sort(row, count):
    expected = sorted(range(len(row)), key=lambda index: (-row[index], index))[:count]
    for dtype in (torch.float32, torch.float64):
        values, index = best(torch.tensor([row], dtype=dtype), count)
        assert index[0].tolist() == expected
        assert torch.equal(values, torch.tensor([[row[i] for i in expected]], dtype=dtype))


def test_rows_are_ranked_apart():
    values, index = best(torch.tensor([[1.0, 3.0, 3.0], [2.0, 0.0, 2.0]]), 2)

    assert index.tolist() == [[1, 2], [0, 2]]
    assert values.tolist() == [[3.0, 3.0], [2.0, 2.0]]


def test_more_than_there_are_is_all_there_are():
    assert best(torch.zeros(2, 3), 7)[1].tolist() == [[0, 1, 2], [0, 1, 2]]


@given(
    rows=st.integers(1, 4),
    slots=st.integers(1, 5),
    vocabulary=st.integers(1, 9),
    levels=st.integers(1, 30),
    seed=st.integers(0, 999),
    most=st.integers(1, 10),
)
def test_the_short_way_to_the_best_continuations_is_the_long_way_or_says_so(
    rows, slots, vocabulary, levels, seed, most
):
    """Few levels make ties; where a tie could matter the short way gives up."""
    chance = torch.Generator().manual_seed(seed)
    found = -torch.randint(0, levels, (rows * slots, vocabulary), generator=chance).float()
    totals = -torch.randint(0, levels, (rows, slots), generator=chance).float()
    short = best_continuations(found, totals, most)
    sums = (totals.unsqueeze(-1) + found.view(rows, slots, vocabulary)).flatten(1)
    values, index = best(sums, most)
    if short is not None:
        assert torch.equal(short[0], values)
        assert torch.equal(short[1], index)
    found[0, 0] = torch.nan
    assert best_continuations(found, totals, most) is None


@given(
    rows=st.integers(1, 3),
    size=st.integers(1, 13 * BLOCK),
    levels=st.sampled_from([1, 7, 10**6]),
    count=st.integers(1, 5),
    broken=st.booleans(),
    seed=st.integers(0, 999),
)
def test_by_blocks_the_highest_are_the_highest(rows, size, levels, count, broken, seed):
    """The first of the highest is the first; of several the values are the same, wherever ties stand."""
    chance = torch.Generator().manual_seed(seed)
    scores = torch.randint(0, levels, (rows, size), generator=chance).float()
    if broken:
        scores[0, seed % size] = torch.nan
    count = min(count, size)
    expected = scores.sort(dim=1, descending=True, stable=True)
    assert torch.equal(first(scores), expected.indices[:, 0])
    values, index = top(scores, count)
    assert torch.equal(values.nan_to_num(-1), expected.values[:, :count].nan_to_num(-1))
    assert torch.equal(scores.gather(1, index).nan_to_num(-1), values.nan_to_num(-1))
    assert all(len(set(row)) == count for row in index.tolist())
