"""L75-L77: greedy search, a beam of two, and where to stop."""

import math
from itertools import product

import pytest
import torch

from regard.decode import DecodeSettings, greedy
from regard.models import Encoded
from regard.worked import beam_of_two
from regard.worked.six_words import OUTPUTS, VOCABULARY, TableDecoder


def test_greedy_takes_the_best_word_each_time():  # L75
    assert beam_of_two()["greedy"] == "I am a student <eos>"
    assert [max(zip(row, VOCABULARY, strict=True))[1] for row in OUTPUTS] == [
        "I",
        "am",
        "a",
        "student",
        "<eos>",
    ]


def test_the_beam_of_two():  # L76
    best, second = beam_of_two()["hypotheses"]
    assert best[0] == "I am a student <eos>"
    assert best[1] == pytest.approx(0.678519, abs=5e-7)
    assert best[2] == pytest.approx(-0.38784, abs=5e-6)
    assert second[0] == "I I a student <eos>"
    assert second[1] == pytest.approx(0.084815, abs=5e-7)
    assert second[2] == pytest.approx(-2.46728, abs=5e-6)


def test_two_beginnings_are_kept_at_each_step():  # L76
    worked = beam_of_two()
    for number in range(1, 6):
        candidates = worked[f"step {number}"]
        fates = [fate for *_, fate in candidates]
        assert fates[:2] == (["kept"] * 2 if number < 5 else ["ended"] * 2)
        assert set(fates[2:]) == {"dropped"}
        chances = [chance for _, _, chance, _ in candidates]
        assert chances == sorted(chances, reverse=True)
    assert worked["step 2"][0] == ("I am", pytest.approx(0.8), pytest.approx(0.744), "kept")


def test_a_wide_beam_finds_what_trying_everything_finds():  # L76
    end = VOCABULARY.index("<eos>")
    found = {}
    for length in range(1, 6):
        for words in product(range(6), repeat=length):
            stops = end in words[:-1] or (words[-1] != end and length < 5)
            if not stops:
                text = " ".join(VOCABULARY[word] for word in words)
                found[text] = math.prod(row[w] for row, w in zip(OUTPUTS, words, strict=False))
    shares = {}  # ranked as the search ranks, each row divided by its sum
    for text, chance in found.items():
        shares[text] = chance / math.prod(sum(row) for row in OUTPUTS[: len(text.split())])
    top = sorted(shares, key=lambda text: -shares[text])[:5]
    hypotheses = beam_of_two(beam_size=50, top_beams=5)["hypotheses"]
    assert [text for text, *_ in hypotheses] == top
    for text, chance, _ in hypotheses:
        assert chance == pytest.approx(found[text])


def test_search_stops_at_the_end_symbol():  # L77
    rows = torch.tensor(OUTPUTS, dtype=torch.float64).log()[[0, 4, 1, 2, 3]]  # the end comes second
    decoder = TableDecoder(rows, VOCABULARY.index("<eos>"))
    ((found,),) = greedy(decoder, Encoded.nothing(1, rows), DecodeSettings(max_length=5))
    assert found.tokens == (VOCABULARY.index("I"),)
    assert found.finish == "end"


def test_the_table_speaks_alike_forced_and_stepped():
    rows = torch.tensor(OUTPUTS).log()
    decoder = TableDecoder(rows, 5)
    forced = decoder(Encoded.nothing(2, rows), torch.zeros(2, 3, dtype=torch.long))
    assert torch.equal(forced, rows[:3].expand(2, 3, 6))
