"""Pairs made by rule: the grammar is right where it was read by hand, and no test is ever trained on."""

import random
import re
from collections import Counter

import pytest
from exact import DIRECTIONS, Check, read, scores, table
from figures import clock, figures, said_clock, said_de, said_en, said_fr
from grammar import BY_NAME, de, en, fr
from made import (
    MOST,
    OWN_TESTS,
    SHARES,
    Kept,
    ate,
    blocks,
    hand,
    held_out,
    made,
    near,
    stuck,
    words_of_tests,
)
from rules import key

from tests.house.tree import ROOT

BOX = ROOT / "recipes" / "box"


@pytest.fixture(scope="module")
def some():
    kept = Kept(held_out(None))
    return [*hand(kept), *made(3000, kept)]


@pytest.mark.parametrize(
    ("number", "english", "german", "french"),
    [
        (16, "sixteen", "sechzehn", "seize"),
        (21, "twenty-one", "einundzwanzig", "vingt et un"),
        (71, "seventy-one", "einundsiebzig", "soixante et onze"),
        (80, "eighty", "achtzig", "quatre-vingts"),
        (81, "eighty-one", "einundachtzig", "quatre-vingt-un"),
        (97, "ninety-seven", "siebenundneunzig", "quatre-vingt-dix-sept"),
        (100, "one hundred", "einhundert", "cent"),
        (200, "two hundred", "zweihundert", "deux cents"),
        (
            342,
            "three hundred and forty-two",
            "dreihundertzweiundvierzig",
            "trois cent quarante-deux",
        ),
    ],
)
def test_numbers_are_said(number, english, german, french):
    assert (said_en(number), said_de(number), said_fr(number)) == (english, german, french)


def test_figures_change_their_marks_and_keep_their_value():
    assert figures(1299.99, 2) == ("1,299.99", "1.299,99", "1 299,99")
    assert figures(1_250_000) == ("1,250,000", "1.250.000", "1 250 000")


def test_the_hour_is_the_same_hour():
    dice = random.Random(7)
    for _ in range(500):
        english, german, french = clock(dice)
        hour = int(re.match(r"\d+", german)[0])
        assert int(re.match(r"\d+", french)[0]) == hour
        if re.search("[ap]", english.lower()):
            afternoon = "p" in english.lower()
            assert int(re.match(r"\d+", english)[0]) % 12 + 12 * afternoon == hour


def test_half_seven_in_german_is_half_past_six():
    dice = random.Random(7)
    found = {said_clock(dice) for _ in range(2000)}
    assert {
        ("half past six", "halb sieben", "six heures et demie"),
        ("a quarter to three", "Viertel vor drei", "trois heures moins le quart"),
        ("half past one", "halb zwei", "une heure et demie"),
        ("twenty past one", "zwanzig nach eins", "une heure vingt"),
        ("ten to eleven", "zehn vor elf", "onze heures moins dix"),
    } <= found
    assert not any("ein " in f"{german} " for _, german, _ in found)


def test_what_got_stuck_agrees_with_what_is_meant():
    dice = random.Random(3)
    found = {stuck(dice)[1] for _ in range(4000)}
    assert (
        "The caravan got stuck in the tunnel because it was too low.",
        "Der Wohnwagen blieb im Tunnel stecken, weil er zu niedrig war.",
        "La caravane est restée coincée dans le tunnel parce qu'il était trop bas.",
    ) in found
    assert (
        "The caravan got stuck in the tunnel because it was too wide.",
        "Der Wohnwagen blieb im Tunnel stecken, weil er zu breit war.",
        "La caravane est restée coincée dans le tunnel parce qu'elle était trop large.",
    ) in found


@pytest.mark.parametrize(
    ("noun", "det", "accusative", "french"),
    [
        ("dog", "the", "den Hund", "le chien"),
        ("hare", "a", "einen Hasen", "un lièvre"),
        ("hedgehog", "the", "den Igel", "le hérisson"),
        ("school", "my", "meine Schule", "mon école"),
        ("tree", "this", "diesen Baum", "cet arbre"),
        ("knife", "our", "unser Messer", "notre couteau"),
        ("ladder", "our", "unsere Leiter", "notre échelle"),
    ],
)
def test_articles_agree(noun, det, accusative, french):
    assert de(BY_NAME[noun], "acc", det) == accusative
    assert fr(BY_NAME[noun], det) == french


def test_english_says_an_before_a_vowel():
    assert (en(BY_NAME["apple"], "a"), en(BY_NAME["pear"], "a")) == ("an apple", "a pear")


def test_the_same_every_time(some):
    kept = Kept(held_out(None))
    assert [*hand(kept), *made(3000, kept)] == some


def test_every_kind_is_there_and_nothing_twice(some):
    assert {kind for kind, _ in some if not kind.startswith("hand-")} == {*SHARES}
    assert len({triple[0] for _, triple in some}) == len(some)
    assert all(text and "{" not in text for _, triple in some for text in triple)


def test_no_more_than_so_many_of_one_template(monkeypatch):
    def same(dice):
        number = str(dice.random())
        return "the same", (number, number, number)

    monkeypatch.setattr("made.makers", lambda kind: [same])
    found = Counter(kind for kind, _ in made(3000, Kept(set())))
    assert found == dict.fromkeys(SHARES, MOST)


def test_targets_are_written_as_the_house_writes_them(some):
    for _, (_, german, french) in some:
        assert "’" not in german + french
        assert not re.search(r"\s[?!]", german)
        assert not re.search(r"\w[?!]", french)


def test_nothing_of_a_test_is_made(some):
    tested = {key(check.source) for name in OWN_TESTS for check in read(BOX / name)}
    assert not tested & {key(text) for _, triple in some for text in triple}


def test_what_is_written_by_hand_is_no_near_copy_of_a_test(some):
    tests = words_of_tests()
    assert near("Get well soon, Grandma!", tests)
    assert near("Enjoy your meal, gentlemen!", tests)
    assert not near("Get well soon!", tests)  # a phrase alone is not the sentence that it stands in
    assert not near("The ducks swim on the pond.", tests)
    written = [triple for kind, triple in some if kind.startswith("hand-")]
    assert not any(near(text, tests) for triple in written for text in triple)


def test_the_lectures_own_pair_is_never_made():
    dice = random.Random(3)
    made_by = [ate(dice)[1][0] for _ in range(4000)]
    assert any(text.startswith("The black cat") for text in made_by)
    assert not any("cat" in text.split()[:4] and "mouse" in text for text in made_by)


def test_hand_written_lines_are_whole():
    rows = [row for _, rows in blocks("hand.txt") for row in rows]
    assert len(rows) >= 400
    assert all(text == text.strip() and text for row in rows for text in row)


class TestChecks:
    def test_two_hundred_a_language_pair(self):
        ways = [check.direction for check in read(BOX / "phrases_test.tsv")]
        assert [ways.count(way) for way in DIRECTIONS] == [111, 89, 111, 89]

    @pytest.mark.parametrize("name", OWN_TESTS)
    def test_patterns_are_patterns(self, name):
        for check in read(BOX / name):
            assert check.wanted
            assert not check.passes("")
            if check.unwanted:
                re.compile(check.unwanted)

    def test_all_that_is_wanted_and_nothing_unwanted(self):
        check = Check("en-de", "money", "", r"1\.?299,99 ?\$ & Mantel", "Jacke")
        assert check.passes("Der Mantel kostet 1.299,99\u00a0$.")
        assert not check.passes("Der Mantel kostet 1,299.99 $.")
        assert not check.passes("Die Jacke: ein Mantel für 1299,99 $.")
        assert "| money | 1 of 1 |" in table([check], [True])
        told = scores([check, check], [True, False], "exact checks")
        assert [(row["direction"], row["value"], row["signature"]) for row in told] == [
            ("en-de", 50.0, "n:2")
        ]
