"""Pieces and words: what belongs together is together, and weights stay shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.tasks.axis import Tokens, axis_of, merge, typed
from regard.text import BEGIN, END, Codec, TextSettings

LINES = [
    "the cotton-grower's loading dock, near 3.14",
    "größer שלום עולם مرحبا",
    "東京に行く don't",
]


def codec(kind, vocabulary=300):
    return Codec.train(LINES, TextSettings(kind=kind, vocabulary=vocabulary))


CODECS = {kind: codec(kind) for kind in ("bpe", "unigram", "byte", "char", "word")}


@pytest.mark.parametrize("kind", ["bpe", "unigram", "byte", "char"])
@pytest.mark.parametrize("text", [*LINES, "a", " on  the dock ", "größe", "", "東 京", "東dock京"])
def test_words_are_those_the_codec_explains(kind, text):
    found = CODECS[kind].explain(text)
    axis = axis_of(CODECS[kind], found.ids)
    assert axis.pieces == found.pieces
    assert axis.words == found.words
    assert axis.word_ids == found.word_ids


@pytest.mark.parametrize("kind", ["bpe", "unigram", "byte", "char"])
def test_where_no_spaces_are_written_a_character_is_a_word(kind):
    own = CODECS[kind]
    axis = axis_of(own, own.encode(LINES[2]))
    assert axis.words[-1] == "don't"
    assert "".join(axis.words[:-1]) == "東京に行く"


@given(st.text(max_size=12), st.sampled_from(["bpe", "unigram", "byte", "char", "word"]))
def test_any_text_is_cut_into_words(text, kind):
    own = CODECS[kind]
    found, written = axis_of(own, [*own.encode(text), END]), typed(own, text, after=[END])
    assert found.pieces == written.pieces
    for axis in (found, written):
        assert len(axis.word_ids) == len(axis.pieces)
        assert set(axis.word_ids) == set(range(len(axis.words)))
        assert list(axis.word_ids) == sorted(axis.word_ids)
        assert all(axis.words)
        assert axis.words[-1] == "</s>"


@pytest.mark.parametrize("kind", ["char", "word"])
def test_what_the_vocabulary_does_not_know_is_shown_as_it_was_typed(kind):
    axis = typed(CODECS[kind], "the Ж", before=[BEGIN], after=[END])
    assert axis.words == ("<s>", "the", "Ж", "</s>")
    assert "<unk>" in axis.pieces


def test_specials_are_words_of_their_own():
    own = CODECS["bpe"]
    ids = own.encode("the dock")
    axis = axis_of(own, (BEGIN, *ids, END))
    assert axis.words == ("<s>", "the", "dock", "</s>")
    assert axis.word_ids[0] == 0
    assert axis.word_ids[-1] == 3


def test_one_step_late():
    axis = Tokens(("▁sleep", "ing", "▁cat", "</s>"), (0, 0, 1, 2), ("sleeping", "cat", "</s>"))
    late = axis.later("<s>")
    assert late.pieces == ("<s>", "▁sleep", "ing", "▁cat")
    assert late.word_ids == (0, 1, 1, 2)
    assert late.words == ("<s>", "sleeping", "cat")
    assert Tokens((), (), ()).later("<s>").words == ("<s>",)


def test_keys_are_summed_and_queries_averaged():
    queries = Tokens(("a", "b", "c"), (0, 0, 1), ("ab", "c"))
    keys = Tokens(("x", "y"), (0, 0), ("xy",))
    weights = np.array([[[0.25, 0.5], [0.125, 0.125], [0.0, 1.0]]], np.float32)
    assert merge(weights, queries, keys).tolist() == [[[0.5], [1.0]]]


def axes(lengths):
    ids = tuple(word for word, length in enumerate(lengths) for _ in range(length))
    names = tuple(map(str, range(len(ids))))
    return Tokens(names, ids, tuple(map(str, range(len(lengths)))))


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.integers(0, 2**32 - 1),
)
def test_rows_still_sum_to_one(asking, asked, seed):
    queries, keys = axes(asking), axes(asked)
    chance = np.random.default_rng(seed)
    weights = chance.dirichlet(np.ones(len(keys)), (3, len(queries))).astype(np.float32)
    merged = merge(weights, queries, keys)
    assert merged.shape == (3, len(asking), len(asked))
    np.testing.assert_allclose(merged.sum(-1), 1, atol=1e-5)
