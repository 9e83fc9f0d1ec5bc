"""Whatever a translator answers, a text keeps its shape: as many sentences, every gap, every kept stretch."""

from hypothesis import given, settings
from hypothesis import strategies as st

from regard.answer.passage import Passages
from regard.tasks import Prediction
from regard.text import Codec, TextSettings

SYMBOLS = (">>fr<<", ">>en<<", "<keep0>", "<keep1>", "<keep2>", "<keep3>")
LINES = [
    "The black cat ate the mouse, and She left.",
    "Le chat noir a mangé !",
    "1234567890 (a) b: c?",
]
CODEC = Codec.train(LINES * 3, TextSettings(kind="bpe", vocabulary=350, symbols=SYMBOLS))
PASSAGES = Passages(CODEC, most=20)


def echo(reads, numbers):
    """A model that answers with what it read."""
    assert len(reads) == len(numbers) == len({*numbers})
    return [Prediction(read.removeprefix(">>fr<< "), -1.0) for read in reads]


def answered(text, model=echo):
    (found,) = PASSAGES.answer([text], [0], "fr", model)
    return found.text


@given(st.text(st.sampled_from("The cat, ate. é!? \n\t 1"), max_size=200))
@settings(max_examples=60, deadline=None)
def test_a_model_that_echoes_gives_the_text_again(text):
    assert answered(text).split() == text.split()
    assert [c for c in answered(text) if c in "\n\t"] == [c for c in text if c in "\n\t"]


def test_gaps_stay_as_they_are():
    text = "  The cat.   The mouse!\n\n\t- She left  \n"
    assert answered(text) == text
    silent = answered(text, lambda reads, numbers: [Prediction("X") for _ in reads])
    assert silent == "  X   X\n\n\t- X  \n"


@given(
    st.lists(
        st.sampled_from(["😀", "%s", "{x}", "Ж", " the ", " cat. ", " a ", "\n"]), max_size=30
    ),
    st.sampled_from(["", "x", "<keep0>", "<keep3> <keep0> <keep0>", ">>en<<"]),
)
@settings(max_examples=60, deadline=None)
def test_what_is_kept_comes_back_whatever_is_answered(words, answer):
    text = "".join(words)
    found = answered(text, lambda reads, numbers: [Prediction(answer) for _ in reads])
    for kept in ("😀", "%s", "{x}", "Ж"):
        assert found.count(kept) == text.count(kept)


def test_no_sentence_is_longer_than_the_model_reads():
    text = "the black cat and " * 500 + "x" * 2_000 + " 😀" * 90
    parts = PASSAGES.parts(text, "fr")
    assert len(parts) > 100
    assert all(len(CODEC.encode(part.read)) < 20 for part in parts)


def test_what_says_nothing_is_not_asked():
    assert answered("😀 42 ... %s", lambda reads, numbers: 1 / 0 if reads else []) == "😀 42 ... %s"


def test_the_first_sentence_is_numbered_as_its_text():
    heard = []

    def model(reads, numbers):
        heard.extend(numbers)
        return echo(reads, numbers)

    PASSAGES.answer(["The cat. The mouse.", "The cat."], [5, 6], "fr", model)
    assert (heard[0], heard[2]) == (5, 6)
    assert len({*heard}) == 3


def test_alternatives_are_joined_by_rank():
    def model(reads, numbers):
        return [
            Prediction("a", -1.0, alternatives=(("a", -1.0), ("b", -2.0))),
            Prediction("c", -3.0, alternatives=(("c", -3.0),)),
        ]

    (found,) = PASSAGES.answer(["the cat. The mouse."], [0], "fr", model)
    assert found.alternatives == (("a c", -4.0), ("b c", -5.0))
    assert (found.text, found.score) == ("a c", -4.0)


def test_a_sentence_does_not_end_within_what_is_kept():
    text = "the `cat. The` mouse. The cat."
    found = answered(text, lambda reads, numbers: [Prediction("x <keep0>") for _ in reads])
    assert found == "x `cat. The` x"
