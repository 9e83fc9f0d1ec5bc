"""What is doubtful about translations is told once for each reason, with the first place."""

from regard.answer.passage import Doubts

KNOWN = ("en", "fr", "de")


def test_each_reason_is_told_once_with_the_place_of_the_first():
    doubts = Doubts("fr", KNOWN, "line")
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


def test_a_model_of_one_pair_is_never_doubted():
    doubts = Doubts(None, ())
    doubts.add(1, "a b c d", "a b c d")
    assert doubts.told() == []
