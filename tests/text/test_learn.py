"""Vocabularies: small or large, the same lines always give the same one, within its bound."""

import math
import subprocess
import sys
from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import parse
from regard.errors import DataError, UsageError
from regard.text import UNKNOWN, Codec, TextSettings
from regard.text import learn as counting
from regard.text.learn import unigram
from tests.text.samples import KINDS, learned

ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.text.samples import KINDS, learned
import hashlib
print([hashlib.sha256(learned(kind).to_json().encode()).hexdigest() for kind in KINDS])
assert "torch" not in sys.modules
"""


def test_the_same_lines_give_the_same_file_in_every_process(request):
    def run() -> str:
        command = [sys.executable, "-c", ALONE, str(request.config.rootpath)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert run() == run()


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_lines_does_not_matter(lines, kind):
    settings = TextSettings(kind=kind, vocabulary=400)
    backwards = Codec.train(reversed(lines), settings)
    assert backwards.to_json() == learned(kind).to_json()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lines", [["a"], ["a b", "b a"], ["é"], ["  ", "\t"], ["x", ""], ["日本"]])
def test_tiny_corpora(kind, lines):
    codec = Codec.train(lines, TextSettings(kind=kind))
    again = Codec.from_json(codec.to_json())
    for line in lines:
        assert again.encode(line) == codec.encode(line)
        if kind != "word" and "\t" not in line:
            assert codec.decode(codec.encode(line)) == line


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None)
@given(lines=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_any_lines_can_be_learned(kind, lines):
    codec = Codec.train(iter(lines), TextSettings(kind=kind, vocabulary=300))
    assert codec.size <= 300
    assert Codec.from_json(codec.to_json()).to_json() == codec.to_json()
    if kind in ("bpe", "unigram", "byte"):
        assert [codec.decode(ids) for ids in codec.encode_batch(lines)] == lines


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "char"])
def test_vocabulary_is_an_upper_bound_and_is_used(lines, kind):
    small, large = learned(kind, 310), learned(kind, 340)
    assert small.size <= 310
    assert large.size <= 340
    if kind in ("bpe", "unigram"):
        assert small.size == 310 < large.size
        assert len(large.encode(lines[0])) <= len(small.encode(lines[0]))


def test_bpe_merges_the_most_frequent_pair_first():
    codec = Codec.train(["xyz xyz xyw"] * 3, TextSettings(vocabulary=300))
    # " xyz" and " xyw": " x" and "xy" tie at 9; the earlier letter wins, then " xy", then " xyz".
    learned_pieces = [codec.piece(number) for number in range(265, codec.size)]
    assert learned_pieces == ["▁x", "▁xy", "▁xyz", "▁xyw"]
    assert codec.explain("xyz").pieces == ("▁xyz",)


def test_rare_letters_leave_room_for_merges():
    many = "".join(chr(0x4E00 + number) for number in range(500))
    codec = Codec.train([many, *["the cat sat on the mat"] * 9], TextSettings(vocabulary=320))
    assert codec.explain("the cat").pieces == ("▁the", "▁cat")
    assert codec.decode(codec.encode(many)) == many


def test_what_is_seen_once_is_no_pattern():
    codec = Codec.train(["unique words here"], TextSettings())
    assert codec.explain("here").pieces == ("▁", "h", "e", "r", "e")


def test_min_count_makes_rare_words_unknown():
    lines = ["often often rare"]
    assert Codec.train(lines, TextSettings(kind="word")).encode("rare") != [UNKNOWN]
    strict = Codec.train(lines, TextSettings(kind="word", min_count=2))
    assert strict.encode("rare") == [UNKNOWN]
    assert strict.explain("often").pieces == ("▁often",)


def test_lines_are_read_once_and_progress_is_told():
    told: list[int] = []
    stream = (f"line number {number}" for number in range(2500))
    Codec.train(stream, TextSettings(), told.append)
    assert told == [1000, 2000, 2500]
    assert next(stream, None) is None


def test_memory_is_bounded_by_the_words_already_met(monkeypatch):
    monkeypatch.setattr(counting, "MOST_WORDS", 2)
    monkeypatch.setattr(counting, "_FOLD_AT", 1)
    words = counting.count_words(["a b c", "a d a"], TextSettings())
    assert words == {" a": 3, " b": 1}


@given(st.lists(st.text("ab .'\t日", max_size=20), min_size=1).filter(any))
def test_words_counted_in_chunks_are_the_words_of_the_lines(lines):
    split = counting.splitter().pre_tokenize_str
    expected = Counter(word for line in lines if line for word, _ in split(" " + line))
    assert counting.count_words(lines, TextSettings()) == expected


def test_no_text_is_an_error():
    with pytest.raises(DataError) as fault:
        Codec.train(["", ""], TextSettings())
    assert fault.value.what == "there is no text to learn a vocabulary from"
    assert fault.value.where == "2 lines"


def test_half_a_character_is_named_by_its_line():
    with pytest.raises(DataError) as fault:
        Codec.train(["fine", "ba\ud800d"], TextSettings())
    assert fault.value.where == "line 2"


def test_a_vocabulary_too_small_for_bytes_is_refused():
    with pytest.raises(UsageError, match="a bpe vocabulary needs room for at least 300 pieces"):
        parse(TextSettings, {"vocabulary": 299})
    assert TextSettings(kind="word", vocabulary=5).vocabulary == 5


def likelihood(word: str, scores: dict[str, float]) -> float:
    """The best segmentation, by trying every one."""
    best = -math.inf
    inner = range(1, len(word))
    for count in range(len(word)):
        for cuts in combinations(inner, count):
            edges = (0, *cuts, len(word))
            parts = [word[a:b] for a, b in pairwise(edges)]
            best = max(best, sum(scores.get(part, -math.inf) for part in parts))
    return best


def test_unigram_scores_are_probabilities_and_better_than_letters():
    words = Counter({" banana": 7, " bandana": 5, " band": 3, " an": 11})
    alphabet = tuple(" abdn")
    scores = unigram(words, alphabet, wanted=4, least=2, longest=20)
    assert set(alphabet) <= set(scores)
    assert len(scores) <= len(alphabet) + 4
    assert math.isclose(sum(map(math.exp, scores.values())), 1.0, abs_tol=1e-4)
    letters = Counter(letter for word, n in words.items() for letter in word * n)
    spelled = {letter: math.log(n / letters.total()) for letter, n in letters.items()}
    by_pieces = sum(n * likelihood(word, scores) for word, n in words.items())
    by_letters = sum(n * likelihood(word, spelled) for word, n in words.items())
    assert by_pieces > by_letters / 2


def test_unigram_encodes_by_the_best_segmentation(codecs):
    codec = codecs["unigram"]
    vocabulary = codec._vocabulary
    scores = dict(zip(vocabulary.pieces[260:], vocabulary.scores[260:], strict=True))
    for word in ("quick", "doesn", "Fuchs", "natürlich", "really"):
        pieces = [vocabulary.pieces[number] for number in codec.encode(word)]
        assert "".join(pieces) == " " + word
        found = sum(scores[piece] for piece in pieces)
        assert math.isclose(found, likelihood(" " + word, scores), abs_tol=1e-4)


def test_the_first_lines_are_enough():
    lines = ["a b c a b c", "the dog the dog", "zebra zebra zebra"]
    some = Codec.train(iter(lines), TextSettings(vocabulary=400, lines=2))
    assert some.to_json() == Codec.train(lines[:2], some.settings).to_json()
    assert "▁zebra" not in {some.piece(number) for number in range(some.size)}
