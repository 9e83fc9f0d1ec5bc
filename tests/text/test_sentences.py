"""Sentences lie in the text as they are, in order; nothing between them is lost, and in doubt none is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.sentences import fitted, sentences, weave

CUT = {
    "Hello there. How are you? Fine!": ["Hello there.", "How are you?", "Fine!"],
    "Mr. Smith paid 3.14 dollars. He left at 5 p.m. He was tired.": [
        "Mr. Smith paid 3.14 dollars.",
        "He left at 5 p.m.",
        "He was tired.",
    ],
    "Use e.g. Python 3.12. It is in Fig. 4. The rest etc.": [
        "Use e.g. Python 3.12.",
        "It is in Fig. 4.",
        "The rest etc.",
    ],
    "The U.S. Army came. J. R. R. Tolkien wrote. So do I. Then": [
        "The U.S. Army came.",
        "J. R. R. Tolkien wrote.",
        "So do I.",
        "Then",
    ],
    "No. 5 is alive. No. He is.": ["No. 5 is alive.", "No.", "He is."],
    "He told me. Press Tab. Then art. The end.": [
        "He told me.",
        "Press Tab.",
        "Then art.",
        "The end.",
    ],
    "Am 3. Oktober kam er z. B. nach Hause. Er kam 1990. Danach ging er.": [
        "Am 3. Oktober kam er z. B. nach Hause.",
        "Er kam 1990.",
        "Danach ging er.",
    ],
    "Dr. Müller sagte: „Das geht d. h. nicht!“ Dann ging er.": [
        "Dr. Müller sagte: „Das geht d. h. nicht!“",
        "Dann ging er.",
    ],
    "« Bonjour ! » dit-il. Puis il partit… Et voilà. M. Dupont rit.": [
        "« Bonjour ! » dit-il.",
        "Puis il partit…",
        "Et voilà.",
        "M. Dupont rit.",
    ],
    "Hauptstr. 5. Er ist nett": ["Hauptstr. 5.", "Er ist nett"],
    "Sie wohnt Bahnhofstr. 12. Berlin ist schön. Tel.-Nr. 44. Haus-Nr. 7 ist alt.": [
        "Sie wohnt Bahnhofstr. 12.",
        "Berlin ist schön.",
        "Tel.-Nr. 44.",
        "Haus-Nr. 7 ist alt.",
    ],
    "Er wohnt in der Hauptstr. Die ist lang.": ["Er wohnt in der Hauptstr.", "Die ist lang."],
    "Voir p. 12. C'est clair.": ["Voir p. 12.", "C'est clair."],
    "Il a 12. J’ai 13. Qu'il vienne. Le XX. L'été. D'accord, etc. N'oubliez pas.": [
        "Il a 12.",
        "J’ai 13.",
        "Qu'il vienne.",
        "Le XX.",
        "L'été.",
        "D'accord, etc.",
        "N'oubliez pas.",
    ],
    "See Fig. 4. Paris is there. Am 12. Oktober, am 3. Mai.": [
        "See Fig. 4.",
        "Paris is there.",
        "Am 12. Oktober, am 3. Mai.",
    ],
    "Vraiment ? Oui, p. ex. ici.": ["Vraiment ?", "Oui, p. ex. ici."],
    '"Really?" she asked. "Yes!" The end.': ['"Really?" she asked.', '"Yes!"', "The end."],
    "Wait... what? Wait... What?!": ["Wait... what?", "Wait...", "What?!"],
    "See https://a.b/c.d?x=1. It works (mostly.) Mail a@b.org!": [
        "See https://a.b/c.d?x=1.",
        "It works (mostly.)",
        "Mail a@b.org!",
    ],
    "1. Open the file.\n2) Save it. Then quit.\n\n  - one\r\n# Title": [
        "Open the file.",
        "Save it.",
        "Then quit.",
        "one",
        "Title",
    ],
    "name\tvalue": ["name", "value"],
    "日本語です。これは「言葉。」です！": ["日本語です。", "これは「言葉。」", "です！"],
    "": [],
    " \n\t ": [],
}
text = st.text(
    st.one_of(
        st.sampled_from(".!?… \n\t\"'»(-1aBé。\u0301\u200d\u00a0"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=80,
)


@pytest.mark.parametrize(("written", "wanted"), CUT.items())
def test_sentences_as_a_person_would_cut_them(written, wanted):
    assert [written[start:stop] for start, stop in sentences(written)] == wanted


@given(text)
def test_nothing_is_lost_between_sentences(written):
    spans = sentences(written)
    places = [place for span in spans for place in span]
    assert places == sorted(places)
    parts = [written[start:stop] for start, stop in spans]
    assert all(part and part == part.strip() for part in parts)
    assert weave(written, spans, parts) == written
    between = weave(written, spans, [""] * len(spans))
    assert not any(c.isalpha() and not c.isascii() for c in between)  # at most a marker: `a)`


@given(text.map(str.strip).filter(bool), st.integers(1, 9))
def test_every_part_of_a_long_sentence_fits_and_only_spaces_lie_between(written, most):
    parts = fitted(written, (0, len(written)), lambda part: len(part) <= most)
    assert all(stop - start <= most for start, stop in parts)
    assert parts[0][0] == 0
    assert parts[-1][1] == len(written)
    rest = weave(written, parts, [""] * len(parts))
    assert not rest.strip()
    words = [written[start:stop] for start, stop in parts]
    assert weave(written, parts, words) == written


def test_long_sentences_are_cut_at_clauses_then_at_words():
    written = "when the sun had gone down at last, the black cat came home"
    parts = fitted(written, (0, len(written)), lambda part: len(part) <= 40)
    assert [written[slice(*part)] for part in parts] == [
        "when the sun had gone down at last,",
        "the black cat came home",
    ]
    bare = "one two three four five six"
    parts = fitted(bare, (0, len(bare)), lambda part: len(part) <= 14)
    assert [bare[slice(*part)] for part in parts] == ["one two three", "four five six"]


def test_no_cut_goes_through_what_must_stay_whole():
    written = "ab{c d}ef{g h}"
    whole = [(2, 7), (9, 14)]
    parts = fitted(written, (0, len(written)), lambda part: len(part) <= 3, whole)
    assert [written[slice(*part)] for part in parts] == ["ab", "{c d}", "ef", "{g h}"]


def test_a_letter_keeps_its_accent_and_an_emoji_its_joiners():
    written = "e\u0301" * 7 + "👩\u200d🚀" * 5
    parts = fitted(written, (0, len(written)), lambda part: len(part) <= 6)
    assert all(written[start] not in "\u0301\u200d\U0001f680" for start, _ in parts)


@pytest.mark.parametrize(
    "long", ["word " * 40_000, "x" * 200_000, ". " * 50_000, "." * 100_000, " " * 100_000 + "a"]
)
def test_time_grows_with_the_text_and_no_faster(long):
    spans = sentences(long)
    parts = [p for span in spans for p in fitted(long, span, lambda part: len(part) <= 400)]
    assert weave(long, parts, [long[slice(*part)] for part in parts]) == long
