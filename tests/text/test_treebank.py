"""Words are cut as the English Universal Dependencies cut them, and nothing but spaces is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.words import words_in, words_of

# What people write, and the same with its words set apart.
SENTENCES = {
    "I don't know where Smith's dog is.": "I do n't know where Smith 's dog is .",
    "Write to john@example.com at 5:30pm.": "Write to john@example.com at 5:30 pm .",
    "Dr. Smith lives in the U.S. now.": "Dr. Smith lives in the U.S. now .",
    "George W. Bush can't; I cannot.": "George W. Bush ca n't ; I can not .",
    '"Well-known" e-mails, aren\'t they?': '" Well - known " e-mails , are n\'t they ?',
    "It cost $5.30 (50%) :-)": "It cost $ 5.30 ( 50 % ) :-)",
    "He's gonna call 713-853-3989 on 10/2/2001.": "He 's gon na call 713-853-3989 on 10/2/2001 .",
    "the '90s, 1980's and the 3rd O'Reilly's": "the '90s , 1980's and the 3rd O'Reilly 's",
    "10am-5pm, 24/7, and/or AT&T...": "10 am - 5 pm , 24/7 , and / or AT&T ...",
    "Visit http://a.org/c?d=e. Now!!!": "Visit http://a.org/c?d=e . Now !!!",
    "“Yes,” she said: the parents' house.": "“ Yes , ” she said : the parents ' house .",
    "dont worry, im fine": "do nt worry , i m fine",
    "3.14 is 1,000 times .5, etc.": "3.14 is 1,000 times .5 , etc.",
    "anti-war, non-stop, mid-July": "anti-war , non-stop , mid-July",
    "They’ll say it’s Ann’s": "They ’ll say it ’s Ann ’s",
    "vitamin C.": "vitamin C .",
    "l'eau, aujourd'hui": "l'eau , aujourd'hui",
    "日本語です。": "日本語です 。",
}


@pytest.mark.parametrize(("text", "apart"), SENTENCES.items())
def test_running_text_is_cut_into_words(text, apart):
    assert words_in(text) == apart.split()
    assert words_of(text) == apart.split()


@pytest.mark.parametrize("apart", SENTENCES.values())
def test_what_is_set_apart_stays_so(apart):
    assert words_of(apart) == apart.split()


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("they light it", ["they", "light", "it"]),
        ("Hello - it's me.", ["Hello", "-", "it", "'s", "me", "."]),
        ("Well ! That is it.", ["Well", "!", "That", "is", "it", "."]),
        # Set apart already: a treebank may well keep its hyphens.
        ("it 's well-known", ["it", "'s", "well-known"]),
        ("\tU.S.\t10 000\ttroops", ["U.S.", "10 000", "troops"]),
        ("  ", []),
    ],
)
def test_a_tagger_reads_words_as_they_were_meant(text, cut):
    assert words_of(text) == cut


@given(st.text(max_size=40) | st.text("ab'.,-@/:$1 n\t_", max_size=40))
def test_nothing_but_spaces_is_lost(text):
    found = words_in(text)
    assert "".join(found) == "".join(text.split())
    assert all(word and not any(map(str.isspace, word)) for word in found)


@pytest.mark.parametrize("piece", ["a.", "a@", "-", "a-", "'", "a.b@", "1-", "x.com/", "http://."])
def test_a_text_without_spaces_is_cut_however_long(piece):
    assert "".join(words_in(piece * 3_000)) == piece * 3_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cafe\u0301 is nai\u0308ve.", ["The", "caf\u00e9", "is", "na\u00efve", "."]),
        ("नमस्ते दुनिया!", ["नमस्ते", "दुनिया", "!"]),
        (
            "Great \u2714\ufe0f \U0001f44d\U0001f3fd",
            ["Great", "\u2714\ufe0f", "\U0001f44d\U0001f3fd"],
        ),
        (
            "\U0001f468\u200d\U0001f469\u200d\U0001f467!",
            ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "!"],
        ),
    ],
)
def test_accents_and_joined_signs_belong_to_what_they_stand_on(text, words):
    """Text as a Mac writes it, an accent behind its letter, was cut into `cafe` and an accent."""
    assert words_of(text) == words
