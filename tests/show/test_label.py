import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.show.label import (
    END_ISOLATE,
    ISOLATE,
    in_ascii,
    isolated,
    letters,
    one_line,
    padded,
    piece_names,
    shortened,
)

unhurried = settings(deadline=None)
TEXTS = st.text(st.characters(codec=None), max_size=12)  # lone surrogates too


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("\x1b[31mred", "␛[31mred"),
        ("two\nlines\r", "two␊lines␍"),
        ("a\u202eb", "a<U+202E>b"),  # an override, which would turn the rest around
        ("\u2067a\u2069", "<U+2067>a<U+2069>"),
        ("a\u2028b", "a<U+2028>b"),
        ("\ud800", "<U+D800>"),
        ("e\u0301", "é"),
        ("\u0301x", "◌\u0301x"),  # an accent with nothing to stand on
        ("x" + "\u0301" * 9, "x\u0301\u0301\u0301"),
        ("\u1112\u1161\u11ab", "한"),
        ("\u11ab", "<U+11AB>"),  # a Korean ending by itself has no width
        ("❤\ufe0f", "❤"),
        ("👩\u200d🚀", "👩🚀"),
        ("👍\U0001f3fd", "👍<U+1F3FD>"),
        ("می\u200cروم", "می\u200cروم"),  # "I go": joined, it is no word
        ("pay\u200cpal", "paypal"),
        ("\u200d", "<U+200D>"),
        ("co\u00adop", "coop"),
        ("", ""),
    ],
)
def test_nothing_hides_and_nothing_moves_the_cursor(text, shown):
    assert one_line(text) == shown


@given(TEXTS)
@unhurried
@example("\u0600\u06dd")
def test_a_label_is_made_of_visible_characters_only(text):
    shown = one_line(text)
    shown.encode()
    for character in shown:
        assert unicodedata.category(character) not in ("Cc", "Zl", "Zp", "Cs", "Cn")
        assert unicodedata.bidirectional(character) not in (
            *("LRE", "RLE", "LRO", "RLO", "PDF"),
            *("LRI", "RLI", "FSI", "PDI"),
        )


@given(TEXTS, TEXTS)
@unhurried
def test_the_width_of_a_line_is_the_sum_of_its_letters(first, second):
    line = one_line(first) + one_line(second)
    assert cell_len(line) == sum(map(cell_len, [*letters(first), *letters(second)]))
    assert all(cell_len(letter) in (1, 2) for letter in letters(first))


@given(TEXTS, st.integers(1, 15))
@unhurried
def test_what_is_too_long_ends_in_an_ellipsis(text, width):
    whole = one_line(text)
    short = shortened(whole, width)
    assert cell_len(short) <= width
    if cell_len(whole) <= width:
        assert short == whole
    else:
        assert short.endswith("…")
        assert whole.startswith(short[:-1])
        # As much as fits: one letter more would not have left room for the ellipsis.
        assert cell_len(short) >= width - 1


@given(TEXTS, st.integers(0, 5), st.booleans())
@unhurried
def test_padding_is_exact(text, more, right):
    label = one_line(text)
    width = cell_len(label) + more
    shown = padded(label, width, right=right)
    assert cell_len(shown) == width
    assert shown.count(ISOLATE) == shown.count(END_ISOLATE) <= 1


@pytest.mark.parametrize("text", ["שלום", "مرحبا", "abc שלום", "٣٤"])
def test_text_from_right_to_left_is_isolated(text):
    assert isolated(text) == f"\u2068{text}\u2069"


@pytest.mark.parametrize("text", ["hello", "日本語", "123", "é", ""])
def test_other_text_is_left_alone(text):
    assert isolated(text) == text


@given(TEXTS)
@unhurried
def test_ascii_is_as_wide(text):
    label = one_line(text)
    assert in_ascii(isolated(label)).isascii()
    assert cell_len(in_ascii(isolated(label))) == cell_len(label)


def test_a_word_start_is_bare_and_a_continuation_has_a_dot():
    pieces = ("<s>", "▁sleep", "ing", ".", "▁", "<0xC3>", "▁▁x", "</s>")
    shown = ("<s>", "sleep", "·ing", "·.", "▁", "<0xC3>", "▁x", "</s>")
    assert piece_names(pieces) == shown


@pytest.mark.parametrize("names", [("h", "i", "▁", "y"), ("B-PER", "O"), ("0.3,0.1", "stop"), ()])
def test_names_without_word_starts_stay_as_they_are(names):
    assert piece_names(names) == names
