"""Word links: planted alignments are found at their site and head, and symmetrisation does what it says."""

import numpy as np
import pytest

from regard.errors import UsageError
from regard.evaluate.error_rate import Links
from regard.tasks.axis import Tokens
from regard.traces.links import (
    Choice,
    Seen,
    agreement,
    by_columns,
    by_rows,
    choose,
    error,
    grown,
    linked,
    owners,
    pharaoh,
    seen,
    turned,
)
from tests.traces import planted
from tests.traces.test_alignment import seen as crossed


def test_the_planted_site_and_head_are_found():
    task, model = planted.planted({word: 1 + n for n, word in enumerate(planted.WORDS)})
    look = planted.looker(task, model)
    pairs = [(s.text, s.target) for s in planted.sentences(6)]
    read = [seen(look, *pair) for pair in pairs]
    found = choose(read, None)
    assert found.score == 1
    assert not found.forward.shifted
    right = {"reader.blocks.0.cross.attention": 0, "reader.blocks.1.cross.attention": 1}
    assert right[found.forward.site] in (found.forward.heads or range(4))
    for (text, _), one in zip(pairs, read, strict=True):
        straight = " ".join(f"{n}-{n}" for n in range(len(text.split())))
        assert pharaoh(linked(found, one, None)) == straight
    both = choose(read, read)
    assert both.score == 1
    gold = [Links(*[frozenset((n, n) for n in range(len(text.split())))] * 2) for text, _ in pairs]
    assert choose(read, None, gold).score == 1


def test_words_read_one_step_later():
    weights = np.zeros((1, 6, 6), np.float32)
    weights[0, [1, 2, 3, 4, 5], [1, 2, 3, 4, 4]] = (
        1  # each row looks where the row before it should
    )
    trace = crossed(weights)
    words = ["Anna", "saw", "7", "cats"], ["Anna", "a", "vu", "7", "chats"]
    one = Seen(trace, *words)
    straight = one.matrix(Choice("site.0"))
    late = one.matrix(Choice("site.0", shifted=True))
    np.testing.assert_array_equal(late[:-1], straight[1:])


def test_weights_are_summed_over_pieces_of_keys_and_averaged_over_those_of_queries():
    from dataclasses import replace

    trace = crossed(np.arange(36, dtype=np.float32).reshape(1, 6, 6) / 36)
    axes = {
        "source": Tokens(tuple("abcdef"), (0, 0, 1, 2, 3, 4), ("ab", "c", "d", "e", "</s>")),
        "target": Tokens(tuple("uvwxyz"), (0, 1, 1, 2, 3, 4), ("u", "vw", "x", "y", "</s>")),
    }
    one = Seen(replace(trace, axes=axes), ["ab", "cd", "e"], ["u", "vwx", "y"])
    weights = trace.sites[0].weights[0]
    found = one.matrix(Choice("site.0"))
    assert found.shape == (3, 3)
    assert found[0, 0] == pytest.approx(weights[0, 0] + weights[0, 1])
    assert found[1, 1] == pytest.approx(weights[1:4, 2:4].sum() / 3)


def test_owners_are_matched_by_letters():
    axis = Tokens.whole([">>fr<<", "It", "is", "ok", ".", "</s>"])
    assert owners(axis, ["It", "is", "ok."]) == [-1, 0, 1, 2, 2, -1]
    assert owners(axis, ["It", "was", "ok."]) is None
    with pytest.raises(UsageError, match="not those that the model read"):
        Seen(crossed(np.zeros((1, 6, 6), np.float32)), ["a"], ["b"])


def test_growing_adds_neighbours_that_link_new_words():
    one = frozenset({(0, 0), (1, 1), (3, 3)})
    other = frozenset({(0, 0), (1, 1), (2, 1), (5, 5)})
    # (2, 1) stands beside (1, 1) and links a new source word, then (3, 3) none of whose neighbours is there.
    assert grown(one, other) == {(0, 0), (1, 1), (2, 1)}
    assert grown(one, one) == one
    assert grown(frozenset(), one) == frozenset()


def test_agreement_and_error_have_their_closed_forms():
    one, other = frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (2, 2), (3, 3)})
    assert agreement([(one, other)]) == pytest.approx(2 * 1 / 5)
    gold = Links(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))
    assert error([(one, gold)]) == pytest.approx(1 - (1 + 2) / (2 + 1))
    matrix = np.array([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3]])
    assert by_rows(matrix) == {(1, 0), (1, 1), (0, 2)}
    assert by_columns(matrix) == {(0, 2), (1, 0)}
    assert turned(frozenset({(1, 0)})) == {(0, 1)}
