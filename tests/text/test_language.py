"""English, German and French are told apart by a few words; a text without a sign is in none."""

import pytest

from regard.text.language import guess

TEXTS = {
    "en": [
        "The black cat ate the mouse.",
        "Where is the station?",
        "Could not open file",
        "Good morning, everything is fine.",
        "two dogs run",
        "I don't know.",
    ],
    "de": [
        "Die schwarze Katze fraß die Maus.",
        "Wo ist der Bahnhof?",
        "Datei konnte nicht geöffnet werden",
        "Guten Morgen, alles ist gut.",
        "zwei Hunde laufen",
        "Ich weiß nicht.",
    ],
    "fr": [
        "Le chat noir a mangé la souris.",
        "Où est la gare ?",
        "Impossible d’ouvrir le fichier",
        "Bonjour, tout va bien.",
        "deux chiens courent",
        "Je ne sais pas.",
    ],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in TEXTS.items() for t in texts])
def test_a_sentence_is_enough(name, text):
    assert guess(text) == name


@pytest.mark.parametrize("text", ["", "42", "😀", "日本語です", "xyz"])
def test_no_sign_no_language(text):
    assert guess(text) is None
