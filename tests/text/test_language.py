"""English, German and French are told apart by a few words; a text without a sign is in none."""

import pytest

from regard.errors import UsageError
from regard.text.languages import chosen, code_of, doubt, guess, stranger, target_of

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


STRANGE = {
    "Spanish": ["Hola, ¿qué tal estás hoy?", "Hola", "El gato negro se comió al ratón."],
    "Italian": ["Ciao, come stai oggi?", "Dove è la stazione?"],
    "Portuguese": ["Bom dia, como você está?", "Não sei."],
    "Dutch": ["Waar is het station?", "Ik weet het niet."],
    "Swedish": ["Hej, hur mår du?"],
    "Danish or Norwegian": ["Jeg ved det ikke."],
    "Polish": ["Dzień dobry"],
    "Czech": ["Dobrý den, jak se máte?"],
    "Finnish": ["Hyvää päivää, mitä kuuluu?"],
    "Hungarian": ["Nem tudom, hol van."],
    "Romanian": ["Bună ziua, ce mai faci?"],
    "Turkish": ["Merhaba, nasılsın?"],
    "Cyrillic script": ["Привет, как дела?"],
    "Chinese or Japanese script": ["你好世界"],
    "Korean script": ["안녕하세요"],
}
KNOWN = ("en", "fr", "de")


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in STRANGE.items() for t in texts])
def test_a_language_the_model_never_saw_is_named(name, text):
    assert stranger(text) == name
    assert doubt(text, "en", KNOWN) == (
        f"this looks like {name}, and the model knows English, French and German"
    )


@pytest.mark.parametrize("text", [text for texts in TEXTS.values() for text in texts])
def test_no_language_it_knows_is_strange(text):
    assert stranger(text) is None


@pytest.mark.parametrize("text", ["", "42", "https://a.org", "She said hola to me.", "Ho!", "Menu"])
def test_no_doubt_without_a_sign(text):
    assert doubt(text, "fr", KNOWN) is None


def test_a_text_in_the_language_asked_for_is_doubted():
    assert doubt("Bonjour le monde", "fr", KNOWN) == "this looks like French already"
    assert doubt("Bonjour le monde", "en", KNOWN) is None
    assert doubt("The cat sat on the mat.", "en", KNOWN) == "this looks like English already"
    assert doubt("A woman holding a tennis racket on a court.", "fr", KNOWN) is None


def test_languages_of_others_are_not_judged():
    assert doubt("Hola, ¿qué tal estás hoy?", "en", ("en", "es")) is None
    assert doubt("Hola, ¿qué tal estás hoy?", None, ()) is None


def test_addresses_and_hours_are_in_no_language():
    """`com` is a word of Portuguese, and `am` one of German: such lines were refused."""
    for text in (
        "Chris Abel Manager, Risk Controls chris.abel@example.com <mailto:c.abel@example.com> 713.853",
        "See www.example.com, https://example.com/das/und/com or mail.example.com",
        "09/08/2000 09:55 AM",
    ):
        assert doubt(text, None, ("en",)) is None
        assert doubt(text, "fr", KNOWN) is None


def test_the_languages_that_a_model_reads_are_named():
    assert doubt("Das ist ein schöner Tag.", None, ("en",)) == (
        "this looks like German, and the model knows English"
    )
    assert doubt("Das ist ein schöner Tag.", "fr", ("en", "fr")) == (
        "this looks like German, and the model knows English and French"
    )


@pytest.mark.parametrize(
    "name", ["fr", "FR", "French", "french", "français", "fra", "fr-CA", "fr_FR", " fr "]
)
def test_a_language_has_many_names(name):
    assert code_of(name, KNOWN) == "fr"
    assert target_of("The cat.", name, KNOWN) == "fr"


def test_codes_keep_the_spelling_of_the_model():
    assert code_of("zh-hans", ("zh-Hans", "en")) == "zh-Hans"
    assert code_of("italian", KNOWN) is None


def test_a_language_that_is_not_known_lists_those_that_are():
    with pytest.raises(UsageError) as caught:
        chosen("it", KNOWN)
    assert str(caught.value) == (
        "this model does not translate into 'it'\n"
        'to="it"\n'
        "it knows en (English), fr (French), de (German)"
    )
    with pytest.raises(UsageError, match="leave it out: it has one direction"):
        chosen("fr", (), "from")
