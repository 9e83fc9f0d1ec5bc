"""Whatever a model answers, what it must not touch comes back, once, and spaced as it was."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.keep import foreign, hide, keeps, languages, tag

SYMBOLS = (">>fr<<", ">>de<<", "<keep0>", "<keep1>", "<keep2>", "<keep3>")
LETTERS = frozenset(string.printable) | frozenset("éèàçßäöüÄÖÜ«»…’")

FOREIGN = {
    "I love 😀 and 👩‍🚀!": ["😀", "👩‍🚀"],
    "Say Привет, мир to Dvořák.": ["Привет, мир", "Dvořák"],
    "cafe\u0301 and é": [],
    "see https://a.org/x?y=1, mail me@b.de.": ["https://a.org/x?y=1", "me@b.de"],
    "Open %s of %d, %1$s and %(name)s: 50 % des, 50%": ["%s", "%d", "%1$s", "%(name)s"],
    "Hello {name}, {0} ${HOME} $PATH &amp; <b>you</b>": [
        "{name}",
        "{0}",
        "${HOME}",
        "$PATH",
        "&amp;",
        "<b>",
        "</b>",
    ],
    "a typed <keep0> and >>fr<<": ["<keep0>", ">>fr<<"],
    "run `make test` now": ["`make test`"],
    "a < b > c and 1 € at 3pm": ["€"],
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿 won": ["🏴󠁧󠁢󠁥󠁮󠁧󠁿"],
    "🇩🇪🇫🇷 1️⃣x": ["🇩🇪🇫🇷 1️⃣"],
    "a\u00adb\u200bc\u00a0d": [],
}


@pytest.mark.parametrize(("written", "wanted"), FOREIGN.items())
def test_what_is_hidden(written, wanted):
    assert [written[slice(*span)] for span in foreign(written, LETTERS, SYMBOLS)] == wanted


def hidden(written):
    return hide(written, foreign(written, LETTERS, SYMBOLS), SYMBOLS)


@pytest.mark.parametrize(
    ("written", "read", "answer", "restored"),
    [
        ("I like 😀.", "I like <keep0>.", "J'aime <keep0>.", "J'aime 😀."),
        ("Hello😀", "Hello <keep0>", "Bonjour <keep0>", "Bonjour😀"),
        ("(😀) yes", "(<keep0>) yes", "( <keep0> ) oui", "(😀) oui"),
        ("Open %s now", "Open <keep0> now", "Ouvrir<keep0>maintenant", "Ouvrir %s maintenant"),
        ("Open %s now", "Open <keep0> now", "Ouvrez maintenant", "Ouvrez maintenant %s"),
        ("%s: go", "<keep0>: go", "aller", "%s aller"),
        ("Nice!😀", "Nice!<keep0>", "Schön!", "Schön!😀"),
        ("no %s", "no <keep0>", "<keep0> non <keep0> <keep2>", "%s non"),
        ("no %s", "no <keep0>", ">>fr<< non %s", "non %s"),
        ("%s\u00a0of  %d", "<keep0> of <keep1>", "<keep1> de <keep0>", "%d de %s"),
        ("x %s", "x <keep0>", "", "%s"),
        ("😀Ж a Ж", "<keep0> a <keep1>", "😀<keep1> b <keep0>", "😀Ж 😀  b Ж"),
        ("cafe\u0301\u00ad!", "café!", "Kaffee!", "Kaffee!"),
    ],
)
def test_hidden_and_restored(written, read, answer, restored):
    found = hidden(written)
    assert (found.text, found.restored(answer)) == (read, restored)


def test_labels_show_a_persons_own_words():
    found = hidden("see 😀 now")
    assert found.named("▁<keep0>") == "▁😀"


def test_nothing_is_asked_where_nothing_is_said():
    assert not hidden("😀 %s 12.5 !").says_something
    assert hidden("😀 a").says_something


def test_symbols_by_what_they_are_for():
    assert keeps(SYMBOLS) == SYMBOLS[2:]
    assert languages(SYMBOLS) == ("fr", "de")
    assert tag("fr") == ">>fr<<"


stretch = st.sampled_from(["😀", "Ж", "{a}", "%s", "%d", "https://a.b/c", "日本"])
piece = st.one_of(stretch, st.text(st.sampled_from("ab .,()>"), max_size=4))
said = st.lists(
    st.one_of(
        st.sampled_from(SYMBOLS), st.text(st.sampled_from("xy .<>keep0"), max_size=5), stretch
    )
).map("".join)


@given(st.lists(piece, max_size=9).map("".join), said)
def test_every_kept_stretch_comes_back_once_whatever_is_answered(written, answer):
    found = hidden(written)
    restored = found.restored(answer)
    for text in {kept.text for kept in found.kept}:
        alike = [kept.text.count(text) for kept in found.kept]
        assert restored.count(text) == sum(alike)
    assert (
        not any(symbol in restored for symbol in SYMBOLS if symbol not in written) or "<" in answer
    )


@pytest.mark.parametrize("unit", ["日本語", "a 日 ", "a@", "{a", "😀", "http://", "%(", "<a"])
def test_time_grows_with_the_text_and_no_faster(unit):
    long = unit * (15_000 // len(unit))
    spans = foreign(long, LETTERS, SYMBOLS)
    assert spans == sorted(spans)
    assert hide(long, spans[:4], SYMBOLS).text
