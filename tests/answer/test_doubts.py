"""What is doubtful about answers is told once for each reason, with the first place."""

from functools import partial

import pytest

from regard.answer.passage import Doubts, doubtful, lost_number

KNOWN = ("en", "fr", "de")


def doubts_of(**manner):
    return Doubts(partial(doubtful, to="fr", reads=KNOWN, **manner), "line")


def test_each_reason_is_told_once_with_the_place_of_the_first():
    doubts = doubts_of()
    doubts.add(1, "Two dogs run.", "Deux chiens courent.")
    for number in (2, 5, 7):
        doubts.add(number, "Bonjour le monde", "Bonjour au monde")
    doubts.add(6, "Hola, ¿qué tal estás hoy?", "Hola, ¿qué tal estás hoy?")
    doubts.add(8, "Xanadu Zyx Quux", "Xanadu Zyx Quux")
    doubts.add(9, "New York", "New York")
    assert doubts.told() == [
        "line 2 and 2 more: this looks like French already",
        "line 6: this looks like Spanish, and the model knows English, French and German",
        "line 8: this came back as it was",
    ]


def test_what_a_model_without_a_card_reads_is_not_known():
    """One that goes from Spanish into French and German was said to know these two, and refused Spanish."""
    spanish = "Hola, ¿qué tal estás hoy?"
    assert doubtful(spanish, "Bonjour !", "fr", ()) is None
    assert doubtful("Bonjour le monde", "Bonjour", "fr", ()) == "this looks like French already"


@pytest.mark.parametrize(
    ("text", "answer", "lost"),
    [
        ("It costs $1,299.99.", "Ça coûte 1 2199,99 $.", "1,299.99"),
        ("It costs $1,299.99.", "Ça coûte 1 299,99 $.", None),
        ("It costs $1,299.99.", "Es kostet 1.299,99 $.", None),
        ("Prague had 1.3 million people in 2019.", "Prag hatte 2009 1,3 Millionen.", "2019"),
        ("It was $879.00 and is $1,099.00 now.", "Es war 879 $ und ist jetzt 1099 $.", None),
        ("Meet at 3:30 p.m. on 17.10.1987.", "Rendez-vous à 15 h 30 le 17 octobre 1987.", None),
        ("Il y a 12 345 personnes.", "There are 12,345 people.", None),
        ("Il y a 12\u202f345 personnes.", "There are 12,435 people.", "12\u202f345"),
        ("Take 250 g.", "Nimm zweihundertfünfzig Gramm.", None),
        ("", "", None),
    ],
)
def test_a_long_number_that_the_answer_does_not_have(text, answer, lost):
    assert lost_number(text, answer) == lost


def test_a_lost_number_is_told_also_where_the_language_was_named():
    doubts = doubts_of(is_spoken_named=True)
    doubts.add(1, "Hola, ¿qué tal estás hoy?", "Hola, ¿qué tal estás hoy?")
    doubts.add(2, "It costs $1,299.99.", "Ça coûte 1 2199,99 $.")
    assert doubts.told() == ["line 2: the number 1,299.99 is not in the answer"]
