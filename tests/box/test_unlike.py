"""Questions unlike all that a model of the box learned are answered with a note, never in silence."""

import pytest

import regard
from regard import box
from regard.cli.main import status
from regard.run.folder import Run

if "sorter" not in box.names():
    pytest.skip("no models come with this copy", allow_module_level=True)

SORTER = "it learned from numbers between 0 and 0.999: this is a guess"
ROWS = "it learned from rows of 3 to 10 items: this is a guess"


def strange(language):
    return f"this looks like {language}, and the model knows English"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("sorter", "0.3 0.1 0.2", None),
        ("sorter", "4 2 9 1", SORTER),
        ("sorter", "0.3 -0.1 0.2", SORTER),
        ("sorter", "0.3 0.1", ROWS),
        ("sorter", " ".join(f"0.{n}" for n in range(10, 21)), ROWS),
        ("sorter", "", None),
        ("sorter", "a b", None),  # refused elsewhere, or skipped
        ("sentiment", "What a lovely film.", None),
        ("sentiment", "Das ist ein schrecklicher Film.", strange("German")),
        ("tagger", "Le chat noir a mangé la souris.", strange("French")),
        ("tagger", "Write to chris@example.com, or see www.example.com at 10 am.", None),
        ("writer", "これは本です", strange("Japanese script")),
    ],
)
def test_a_model_of_the_box_says_what_it_never_learned(name, text, why):
    """`regard point "4 2 9 1"` printed nothing at all, and `40 20 90 10` the wrong order, without a word."""
    run, card = Run.open(box.folder(name)), box.card(name)
    assert run.task.unlike(text, card.languages) == why


def test_answers_to_strange_questions_come_with_a_note(told):
    assert told("point", "sorter", "4 2 9 1", "0.3 0.1 0.2") == (
        0, f"note: line 1: {SORTER}\n"
    )  # fmt: skip
    assert told("classify", "sentiment", "so good", "Das ist ein schrecklicher Film.") == (
        0, f"note: line 2: {strange('German')}\n"
    )  # fmt: skip


@pytest.fixture
def told(capsys):
    """How a command ended, and what it said beside its answers."""

    def tell(*words):
        code = status(list(words))
        return code, capsys.readouterr().err

    return tell


def test_a_look_says_it_too(told):
    assert told("look", "sorter", "4 2 9 1")[1].endswith(f"note: {SORTER}\n")
    assert regard.look("sorter", "0.3 0.1 0.2").doubt == ""


def test_in_python_the_note_is_a_warning():
    model = regard.load("sorter", device="cpu")
    with pytest.warns(UserWarning, match="numbers between 0 and 0.999"):
        model.point([4.0, 2.0, 9.0, 1.0])
    assert model.point([0.4, 0.2, 0.9, 0.1]) == [3, 1, 0, 2]
