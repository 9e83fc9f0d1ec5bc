"""Groups for prediction: what an input is padded to depends on that input alone."""

from hypothesis import given
from hypothesis import strategies as st

from regard.data.batches import key_bucket
from regard.tasks.batch import ALONE, ROWS, groups

lengths = st.lists(st.integers(1, 700), max_size=200)
budgets = st.integers(1, 20_000)


@given(lengths, budgets)
def test_each_input_is_in_one_group(lengths, tokens):
    members = [member for group in groups(lengths, tokens) for member in group.members]
    assert sorted(members) == list(range(len(lengths)))


@given(lengths, budgets)
def test_rows_come_in_eights_and_repeat_only_members(lengths, tokens):
    for group in groups(lengths, tokens):
        assert len(group.filled) % ROWS == 0
        assert group.filled[: len(group.members)] == group.members
        assert set(group.filled) == set(group.members)
        assert len(group.filled) - len(group.members) < ROWS


@given(lengths, budgets)
def test_an_input_alone_decides_its_padded_length(lengths, tokens):
    for group in groups(lengths, tokens):
        for member in group.members:
            (alone,) = groups([lengths[member]], tokens=1)
            assert group.length == alone.length == key_bucket(lengths[member])
            assert group.length >= lengths[member]


@given(lengths, budgets)
def test_the_budget_holds_where_eight_rows_fit_and_the_longest_come_first(lengths, tokens):
    found = list(groups(lengths, tokens))
    for group in found:
        assert len(group.filled) <= max(ROWS, tokens // group.length)
    padded = [group.length for group in found]
    assert padded == sorted(padded, reverse=True)


@given(lengths)
def test_an_input_that_is_alone_has_no_neighbours(lengths):
    found = list(groups(lengths, ALONE))
    assert sorted(group.filled[0] for group in found) == list(range(len(lengths)))
    assert all(len(group.filled) == 1 for group in found)
