import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.evaluate import Links, alignment_error, links


def test_links_are_read_in_all_three_notations():
    assert links("0-0 1?2 3p1 1-2") == Links(
        sure=frozenset({(0, 0), (1, 2)}), possible=frozenset({(0, 0), (1, 2), (3, 1)})
    )
    assert links("") == Links(frozenset(), frozenset())


def test_error_by_hand():
    # A = 3 links, S = 2, P = 3: A & S = 1, A & P = 2.
    metric = alignment_error(["0-0 1-2 5-5"], ["0-0 1?2 2-1"])
    assert metric.value == pytest.approx(100 * (1 - (1 + 2) / (3 + 2)))
    assert metric.signature == "format:pharaoh|n:1|bs:1000|seed:12345"
    assert not metric.higher_is_better


pairs = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1)


def pharaoh(sentence):
    return " ".join(f"{source}-{target}" for source, target in sorted(sentence))


@given(pairs, pairs)
def test_with_sure_links_only_it_is_one_minus_f1(drawn, sure):
    right = len(drawn & sure)
    f1 = 2 * right / (len(drawn) + len(sure))
    assert alignment_error([pharaoh(drawn)], [pharaoh(sure)]).value == pytest.approx(100 - 100 * f1)


def test_a_possible_link_costs_nothing_drawn_or_not():
    assert alignment_error(["0-0 1-1"], ["0-0 1?1"]).value == 0
    assert alignment_error(["0-0"], ["0-0 1?1"]).value == 0


@pytest.mark.parametrize("odd", ["0", "0-", "a-b", "0--1", "-1-0", "0-1,", "٣-١"])
def test_what_is_no_link_is_refused_with_its_line(odd):
    with pytest.raises(DataError) as caught:
        alignment_error(["0-0", f"1-1 {odd}"], ["0-0", "1-1"])
    assert str(caught.value) == f"'{odd}' is not a link\nprediction 2\nwrite links as 0-0 1-2"


def test_counts_and_emptiness_are_checked():
    with pytest.raises(DataError, match="1 alignments, 2 references"):
        alignment_error(["0-0"], ["0-0", "1-1"])
    with pytest.raises(DataError, match="the 1 alignments hold no links"):
        alignment_error([""], [""])
