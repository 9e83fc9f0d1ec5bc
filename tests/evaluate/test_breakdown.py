"""Tests taken apart: groups by size, words by distance, and the faults of translations (L14)."""

import pytest

from regard.evaluate import never_said, said_twice
from regard.evaluate.breakdown import by_distance, grouped, same_words


class TestGroups:
    def test_each_size_by_itself_while_there_are_few(self):
        found = grouped([5, 3, 5, 8])
        assert [(one.name, one.members) for one in found] == [
            ("3", (1,)), ("5", (0, 2)), ("8", (3,)),
        ]  # fmt: skip

    def test_ranges_of_one_round_width_when_there_are_many(self):
        found = grouped(range(1, 98), most=12)
        assert [one.name for one in found][:2] == ["1 to 10", "11 to 20"]
        assert {one.high - one.low for one in found} == {9}
        assert sorted(number for one in found for number in one.members) == list(range(97))

    @pytest.mark.parametrize("most", [1, 2, 7])
    def test_never_more_than_asked_for_and_nobody_is_lost(self, most):
        sizes = [(number * 7919) % 613 + 1 for number in range(200)]
        found = grouped(sizes, most)
        assert len(found) <= most
        for one in found:
            assert all(one.low <= sizes[member] <= one.high for member in one.members)
        assert sum(len(one.members) for one in found) == len(sizes)

    def test_nothing_has_no_groups(self):
        assert grouped([]) == []

    def test_a_group_takes_its_members_from_any_list(self):
        (one,) = grouped([4, 4])
        assert one.of("ab") == ["a", "b"]
        assert one.middle == 4


class TestDistance:
    def test_only_words_that_stand_once_on_both_sides_are_linked(self):
        # `b` is there twice, `d` only in the question.
        assert same_words("a b c b d", "c a") == [(0, 1), (2, 0)]
        assert same_words("a b", "b a a") == [(1, 0)]

    def test_how_many_words_lie_between_reading_and_writing(self):
        """Letters turned round: the last one read is the first one written, one step later."""
        links = [same_words("a b c", "c b a")]
        found = by_distance(links, ["a b c"], ["c x a"], ["c b a"])
        assert [one.distance for one in found] == [1, 3, 5]
        assert [one.placed for one in found] == [1, 0, 1]

    def test_a_copy_has_one_distance_and_a_swap_is_said_but_not_in_its_place(self):
        (only,) = by_distance([same_words("a b c", "a b c")], ["a b c"], ["b a c"], ["a b c"])
        assert (only.distance, only.placed, only.said, only.wanted) == (3, 1, 3, 3)
        placed, said = only.metrics
        assert placed.value == pytest.approx(100 / 3)
        assert said.value == 100
        assert placed.interval[0] < placed.value < placed.interval[1]

    def test_an_answer_that_is_too_short_has_nothing_in_its_place(self):
        (only,) = by_distance([[(0, 1)]], ["a"], [""], ["b a"])
        assert (only.distance, only.placed, only.said) == (2, 0, 0)


class TestTwiceAndNever:
    def test_said_twice_counts_what_is_one_too_many(self):
        # `the` is meant twice and said four times: 2 too many. `dog` is wrong, said twice: 1 too many.
        metric = said_twice(["the the the the dog dog"], ["the cat saw the mouse"])
        assert metric.value == pytest.approx(100 * 3 / 6)
        assert not metric.higher_is_better

    def test_a_word_that_is_meant_twice_may_be_said_twice(self):
        assert said_twice(["a b a"], ["a b a"]).value == 0
        assert said_twice([""], ["a"]).value == 0

    def test_never_said_counts_words_that_are_missing_altogether(self):
        # `the`, meant twice, is said once: not missing. `cat` and `mouse` are; `saw` is said.
        metric = never_said(["the saw"], ["the cat saw the mouse"])
        assert metric.value == pytest.approx(100 * 2 / 5)
        assert never_said(["a"], [""]).value == 0
