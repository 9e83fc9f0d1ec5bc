"""Words are what a person would write under a heat map, and no label hides anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.words import piece_label, splitter, visible, word_label

text = st.text(st.characters(exclude_categories=["Cs"]))
WORDS = {
    "The fox's den.": ["The", "fox's", "den", "."],
    "l’eau n'est-elle pas?": ["l’eau", "n'est", "-", "elle", "pas", "?"],
    "paid $1,000.50 at 10:30, not 12.": [
        "paid",
        "$",
        "1,000.50",
        "at",
        "10:30",
        ",",
        "not",
        "12",
        ".",
    ],
    '("so") ... wow!!!': ["(", '"', "so", '"', ")", "...", "wow", "!!!"],
    "سلام، می‌خواهم؟": ["سلام", "،", "می‌خواهم", "؟"],
    "שלום צה״ל": ["שלום", "צה״ל"],
    "हिन्दी भाषा": ["हिन्दी", "भाषा"],
    "e\u0301te\u0301": ["e\u0301te\u0301"],
    "👩‍🚀🇩🇪🇫🇷 👍🏽": ["👩‍🚀", "🇩🇪", "🇫🇷", "👍🏽"],
    "</s> <0x41>": ["<", "/", "s", ">", "<", "0x41", ">"],
    "a  b": ["a", "▁", "b"],
    "a\tb": ["a", "␉", "b"],
}


@pytest.mark.parametrize(("written", "words"), WORDS.items())
def test_words_as_a_person_would_cut_them(written, words):
    assert [word_label(word) for word, _ in splitter().pre_tokenize_str(written)] == words


@given(text)
def test_joined_again_the_words_are_the_text(written):
    assert "".join(word for word, _ in splitter().pre_tokenize_str(written)) == written


def test_many_flags_take_linear_time():
    flags = "🇩" * 60_001
    assert len(splitter().pre_tokenize_str(flags)) == 30_001


def test_labels():
    assert visible(" the") == "▁the"
    assert visible("\x00\t\n\x7f") == "␀␉␊␡"
    assert visible("a\u202eb\u2028") == "a<U+202E>b<U+2028>"
    assert visible("می‌خواهم 👩‍🚀") == "می‌خواهم▁👩‍🚀"
    assert visible("\u200d") == "<U+200D>"
    assert piece_label(" é".encode()) == "▁é"
    assert piece_label("é".encode()[:1]) == "<0xC3>"


@given(text)
def test_no_label_hides_a_control(written):
    shown = visible(written)
    assert bool(shown) == bool(written)
    assert not any(ord(character) < 0x20 or character in "\x7f \u202e\u2066" for character in shown)
