import itertools
from functools import reduce
from operator import and_

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import Both, Causal, Given, GlobalWindow, Mask, Padding, Strided, Window
from regard.attention.mask import as_mask

BATCH, HEADS, LONGEST = 3, 2, 11
small = st.integers(0, LONGEST)


def written(mask, queries, keys, first=0, batch=BATCH):
    """The mask at its full shape."""
    allowed = mask.to_bool(queries, keys, batch=batch, heads=HEADS, first=first)
    return allowed.expand(batch, HEADS, queries, keys)


def joined(parts):
    """One mask, or the conjunction of several."""
    return reduce(and_, parts)


@st.composite
def given_masks(draw):
    sizes = (BATCH, HEADS, LONGEST, LONGEST)
    shape = [draw(st.sampled_from([1, size])) for size in sizes]
    chance = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    return Given(torch.rand(shape, generator=chance) > 0.4)


plain_masks = st.one_of(
    st.builds(Causal),
    st.builds(Window, small, small),
    st.builds(Strided, st.integers(1, 5)),
    st.builds(GlobalWindow, small, st.integers(0, 3)),
    st.lists(small, min_size=BATCH, max_size=BATCH).map(torch.tensor).map(Padding),
    given_masks(),
)
masks = st.lists(plain_masks, min_size=1, max_size=3)
shapes = st.tuples(st.integers(1, 6), st.integers(1, LONGEST), st.integers(0, 5))
quickly = settings(max_examples=60, derandomize=True, deadline=None)

DEFINITIONS = {
    Causal(): lambda i, j: j <= i,
    Window(2, 1): lambda i, j: -2 <= j - i <= 1,
    Window(0, 0): lambda i, j: i == j,
    Strided(3): lambda i, j: j - i in (-2, -1, 0, 1, 2) or (j - i) % 3 == 0,
    GlobalWindow(1, globals=2): lambda i, j: abs(i - j) <= 1 or i < 2 or j < 2,
}


@pytest.mark.parametrize("mask", DEFINITIONS, ids=str)
def test_a_mask_is_its_definition(mask):
    for i, j in itertools.product(range(5), range(7)):
        assert mask.to_bool(5, 7)[0, 0, i, j] == DEFINITIONS[mask](i, j), (i, j)


def test_padding_ends_each_row():
    allowed = Padding(torch.tensor([2, 0, 5])).to_bool(3, 5, batch=3)
    assert allowed.shape == (3, 1, 3, 5)
    assert allowed.sum(-1).squeeze(1).tolist() == [[2, 2, 2], [0, 0, 0], [5, 5, 5]]
    assert allowed[0, 0, 0].tolist() == [True, True, False, False, False]


def test_given_is_what_was_given():
    pattern = torch.rand(BATCH, 1, 5, 7) > 0.5
    assert torch.equal(written(Given(pattern), 5, 7), pattern.expand(-1, HEADS, -1, -1))


@given(one=masks, other=masks, shape=shapes)
@quickly
def test_and_is_conjunction(one, other, shape):
    one, other = joined(one), joined(other)
    together = written(one & other, *shape)
    assert torch.equal(together, written(one, *shape) & written(other, *shape))
    assert torch.equal(together, written(other & one, *shape))
    assert all(not isinstance(part, Both) for part in (one & other).parts)


@given(mask=masks)
@quickly
def test_and_with_nothing_is_itself(mask):
    mask = joined(mask)
    assert (mask & None) is mask
    assert (None & mask) is mask


def test_and_takes_a_bool_tensor():
    pattern = torch.rand(5, 7) > 0.5
    assert torch.equal((Causal() & pattern).to_bool(5, 7)[0, 0], pattern.tril())


@given(mask=masks, shape=shapes)
@quickly
def test_reduce_never_changes_what_is_allowed(mask, shape):
    mask, (queries, keys, first) = joined(mask), shape
    full, reduced = written(mask, *shape), mask.reduce(queries, keys, first)
    if reduced is None:
        assert full.all()
    else:
        assert torch.equal(full, written(reduced, *shape))


def test_reduce_sees_what_forbids_nothing():
    assert Causal().reduce(1, 7, first=6) is None
    assert Causal().reduce(2, 7, first=5) == Causal()
    assert Window(6, 6).reduce(7, 7, 0) is None
    assert Window(5, 6).reduce(7, 7, 0) == Window(5, 6)
    assert Window(6, 5).reduce(7, 7, 0) == Window(6, 5)
    assert Window(2, 0).reduce(1, 3, first=2) is None
    assert Strided(1).reduce(7, 7, 0) is None
    assert (Causal() & Strided(1)).reduce(7, 7, 0) == Causal()
    assert (Causal() & Window(6, 6)).reduce(1, 7, first=6) is None


@given(mask=masks, shape=shapes)
@quickly
def test_later_queries_are_the_later_rows(mask, shape):
    mask, (queries, keys, first) = joined(mask), shape
    whole = written(mask, first + queries, keys)
    assert torch.equal(written(mask, queries, keys, first), whole[:, :, first:])


@given(mask=masks, shape=shapes, rows=st.lists(st.integers(0, BATCH - 1), min_size=1, max_size=4))
@quickly
def test_select_permutes(mask, shape, rows):
    mask, chosen = joined(mask), torch.tensor(rows)
    selected = written(mask.select(chosen), *shape, batch=len(rows))
    assert torch.equal(selected, written(mask, *shape)[chosen])


@given(mask=masks, keys=st.integers(1, LONGEST))
@quickly
def test_unseen_keys_are_seen_by_no_query(mask, keys):
    mask = joined(mask)
    unseen = mask.unseen(keys)
    if unseen is not None:
        seen = written(mask, LONGEST, keys).any(dim=(1, 2))
        assert not (seen & unseen.expand(BATCH, keys)).any()


def test_padding_and_patterns_know_what_is_unseen():
    padding = Padding(torch.tensor([1, 3]))
    expected = torch.tensor([[False, True, True], [False, False, False]])
    assert torch.equal(padding.unseen(3), expected)
    assert torch.equal((Causal() & padding).unseen(3), expected)
    column = torch.tensor([[True, False, True], [True, False, False]])
    assert as_mask(column).unseen(3).tolist() == [[False, True, False]]
    assert as_mask(column).unseen(2).tolist() == [[False, True]]
    assert (Causal() & Window(1, 1)).unseen(3) is None


@pytest.mark.parametrize(
    ("shape", "four"),
    [((5, 7), (1, 1, 5, 7)), ((3, 5, 7), (3, 1, 5, 7)), ((3, 2, 5, 7), (3, 2, 5, 7))],
)
def test_a_bool_tensor_becomes_a_mask(shape, four):
    pattern = torch.rand(shape) > 0.5
    mask = as_mask(pattern)
    assert mask.allowed.shape == four
    assert torch.equal(mask.allowed.flatten(), pattern.flatten())
    assert as_mask(None) is None
    assert as_mask(mask) is mask


def test_a_mask_of_another_kind_is_refused(refuses):
    remedy = "True = may attend; write `scores_mask == 0` or `mask.bool()`"
    with refuses(
        "a mask is a bool tensor of 2 to 4 axes, not torch.float32 of (5, 7)", "mask", remedy
    ):
        as_mask(torch.zeros(5, 7))
    with refuses("a mask is a bool tensor of 2 to 4 axes, not torch.bool of (7,)", "mask", remedy):
        as_mask(torch.zeros(7, dtype=torch.bool))
    remedy = "for example regard.Causal(), or Padding(lengths) & Window(3, 3)"
    with refuses("a mask is a regard mask or a bool tensor, not dict", "mask", remedy):
        as_mask({})
    with refuses("a mask is a regard mask or a bool tensor, not str", "mask", remedy):
        as_mask("causal")


@pytest.mark.parametrize("mask", [Causal(), Window(1, 1), Strided(2), GlobalWindow(1)], ids=str)
def test_rules_fit_every_shape(mask):
    mask.fit(3, 2, 7, 5)
    (mask & Causal()).fit(3, 2, 7)


def test_a_mask_for_another_batch_is_refused(refuses):
    what = "padding has 2 lengths for a batch of 3"
    remedy = "give one length a row: how many of its keys are real"
    for mask in (Padding(torch.tensor([1, 2])), Causal() & Padding(torch.tensor([1, 2]))):
        with refuses(what, "mask", remedy):
            mask.fit(3, 2, 7, 5)


@pytest.mark.parametrize("shape", [(2, 2, 5, 7), (3, 3, 5, 7), (3, 2, 4, 7), (3, 2, 5, 8)])
def test_a_pattern_of_another_shape_is_refused(refuses, shape):
    mask = Given(torch.ones(shape, dtype=torch.bool))
    with refuses(
        f"a mask of {shape} does not broadcast to scores of (3, 2, 5, 7)",
        "mask",
        "its axes are (batch, heads, query, key), each of the scores' size or 1",
    ):
        mask.fit(3, 2, 7, 5)


def test_a_pattern_may_reach_further_than_a_cache_but_not_less(refuses):
    mask = Given(torch.ones(3, 1, 5, 7, dtype=torch.bool))
    assert mask.reduce(2, 6, first=3) is mask
    remedy = "its axes are (batch, heads, query, key), each of the scores' size or 1"
    for queries, keys, first in ((2, 6, 4), (1, 8, 0)):
        needed = (3, 1, first + queries, keys)
        what = f"a mask of (3, 1, 5, 7) does not broadcast to scores of {needed}"
        with refuses(what, "mask", remedy):
            mask.reduce(queries, keys, first)


def test_impossible_rules_are_refused(refuses):
    with refuses(
        "a window reaches 0 or more positions, not Window(before=-1, after=2)",
        "Window",
        "Window(before=2, after=0) sees itself and the two positions before it",
    ):
        Window(-1, 2)
    with refuses(
        "a stride is at least 1, not 0", "Strided", "Strided(4) sees every fourth position"
    ):
        Strided(0)
    with refuses(
        "radius and globals are 0 or more, not GlobalWindow(radius=1, globals=-2)",
        "GlobalWindow",
        "GlobalWindow(radius=4, globals=1) sees four positions on each side and the first",
    ):
        GlobalWindow(1, -2)


def test_a_mask_is_abstract():
    with pytest.raises(TypeError):
        Mask()
