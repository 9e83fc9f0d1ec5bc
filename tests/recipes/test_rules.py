"""Which pairs are worth learning from: each rule by examples on both of its sides."""

from collections import Counter

import pytest
from rules import HeldOut, Languages, fault, key, normalise
from sources import SOURCES, source

GOOD = [
    ("The cat sleeps.", "Die Katze schläft.", "tatoeba"),
    ("OK", "OK", "gettext"),
    ("PNG image", "PNG image", "gettext"),
    ("Could not open %s: %s", "%s konnte nicht geöffnet werden: %s", "gettext"),
    ("Copied 1,000 files", "1.000 Dateien kopiert", "gettext"),
    ("Ireland (en_IE)", "Irland (en_IE)", "gettext"),
    ("kernel version and configuration", "Kernelversion und -konfiguration", "msdotnet"),
    ("50% of the space", "50 % des Platzes", "gettext"),
    ("He came at 6:30.", "Er kam um 6.30 Uhr.", "tatoeba"),
    ("He came at 2:30.", "Il est venu à 2h30.", "tatoeba"),
    ("Twelve people came in 1990.", "12 Menschen kamen 1990.", "tatoeba"),
    ("See https://example.org/a.", "Siehe https://example.org/a", "gettext"),
    ("Use <b>bold</b> text", "<b>Fetten</b> Text benutzen", "gettext"),
    (r"The file C:\Users\name is missing", r"Die Datei C:\Users\name fehlt", "msdotnet"),
]
BAD = [
    ("broken", "Window Ops", "OpÃ©rations sur les fenÃªtres", "gettext"),
    ("broken", "already", "déj\ufffd", "europarl"),
    ("broken", "100 %", "100 %", "gettext"),
    ("length", "word " * 121, "Wort " * 121, "europarl"),
    ("length", "a " + "x" * 101, "ein " + "x" * 101, "gettext"),
    ("ratio", "Or use", "Um es mit einem anderen Programm Ihrer Wahl zu öffnen", "gettext"),
    ("marks", "Could not open %s", "Die Datei konnte nicht geöffnet werden", "gettext"),
    ("marks", "%s: file", "%d: Datei", "gettext"),
    ("marks", "Open {0} now", "Öffne {1} jetzt", "msdyn"),
    ("marks", "at 127.0.0.1", "auf diesem Rechner", "gettext"),
    ("marks", "S_ave the file", "Datei _speichern", "gettext"),
    ("marks", "See https://example.org/a", "Siehe Handbuch", "msdyn"),
    ("marks", r"Type '\' must be public", r"Typ '\' muss öffentlich sein", "msdotnet"),
    ("marks", "Use !INCLUDE[prod_short] now", "Nutzen Sie !INCLUDE[prod_short]", "mssmb"),
    ("marks", "In 1990 he left.", "Er ging 1995.", "tatoeba"),
    ("marks", "Mr President, thank you.", "Verfasser. – Herr Präsident, danke.", "europarl"),
]


@pytest.mark.parametrize(("english", "foreign", "name"), GOOD)
def test_what_is_kept(english, foreign, name):
    assert fault(english, foreign, name) is None


@pytest.mark.parametrize(("rule", "english", "foreign", "name"), BAD)
def test_what_is_dropped(rule, english, foreign, name):
    assert fault(english, foreign, name) == rule


def test_only_software_text_is_read_strictly():
    assert fault("He owes me $50 for 12 days.", "Il me doit 50 dollars.", "tatoeba") is None
    assert fault("See page 12", "Voir la page suivante", "gettext") == "marks"


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("  two   spaces\u00a0here\t", "two spaces here"),
        ("cafe\u0301", "café"),
        ("soft\u00adhyphen \u200bzero", "softhyphen zero"),
        ("a\x07b\x85c", "a b c"),
        ("« l’été » \u201equotes\u201c stay", "« l’été » \u201equotes\u201c stay"),
    ],
)
def test_normalising(written, wanted):
    assert normalise(written) == wanted
    assert normalise(normalise(written)) == normalise(written)


def test_who_speaks_is_no_part_of_what_is_said():
    assert normalise("(DE) Mr President", "europarl") == "Mr President"
    said = normalise("au nom du groupe PSE . – Monsieur le Président", "europarl")
    assert said == "Monsieur le Président"
    assert normalise("(DE) plates", "gettext") == "(DE) plates"


def test_a_key_hears_words_alone():
    assert key("Of course!") == key("of  course") == key("“OF COURSE”") != key("off course")
    assert key("ﬁle") == key("file")
    assert key("...") == "..."


@pytest.fixture(scope="module")
def languages():
    said = {
        "en": "the cat and the dog are in the house of my father",
        "de": "die katze und der hund sind in dem haus von meinem vater",
        "fr": "le chat et le chien sont dans la maison de mon père",
    }
    return Languages({name: Counter(text.split() * 9) for name, text in said.items()})


def test_a_line_in_another_language_is_found_out(languages):
    assert not languages.is_wrong("The cat and the dog", "en")
    assert languages.is_wrong("The cat and the dog", "de")
    assert languages.is_wrong("Le chat et le chien", "en")
    assert not languages.is_wrong("der hund von Firefox xyzzy qwerty", "de")


def test_a_short_line_has_the_benefit_of_the_doubt(languages):
    assert not languages.is_wrong("the cat", "de")
    assert not languages.is_wrong("Firefox 3.6 xyzzy", "fr")


def test_both_sides_of_a_test_set_are_held(tmp_path):
    (tmp_path / "test.eng").write_text("Of course!\nI was shy.\n", "utf-8")
    (tmp_path / "test.deu").write_text("Natürlich!\nIch war schüchtern.\n", "utf-8")
    (tmp_path / "test.fra").write_text("Bien sûr !\n", "utf-8")
    tests = HeldOut(sorted(tmp_path.iterdir()), ("de", "deu"))
    assert tests.hold(key("of course"), key("klar"))
    assert tests.hold(key("sure"), key("NATÜRLICH"))
    assert not tests.hold(key("sure"), key("Bien sûr"))


def test_what_nobody_listed_does_not_ship():
    assert not source("found-in-the-attic").ships
    assert source("tatoeba").ships
    for name, one in SOURCES.items():
        doubtful = any(word in one.licence for word in ("NC", "not stated", "non-comm", "owners"))
        assert not (one.ships and doubtful), name


def test_news_for_research_is_learned_from_and_never_held_out():
    for name in ("wmt-newstest2099", "newsdev", "mlqe-pe"):
        assert source(name).ships
        assert source(name).later
    research = {name for name, one in SOURCES.items() if one.ships and "research" in one.licence}
    assert research == {"newsdev", "mlqe-pe"}


def test_half_past_three_in_the_afternoon_is_told_by_our_own_pairs_alone():
    pair = "The train leaves at 3:30 p.m.", "Der Zug fährt um 15:30 Uhr."
    assert fault(*pair, "tatoeba") == "marks"
    assert fault(*pair, "made") is None
