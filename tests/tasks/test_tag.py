"""One label a word, read at its first piece."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.example import Tagged
from regard.decode import DecodeSettings
from regard.tasks import IGNORE, TASKS
from regard.tasks.tag import words_of
from regard.text import TextSettings
from tests.tasks.kit import EXAMPLES, model_of, task_of

SETTINGS = DecodeSettings(beam=1)
words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Z")), min_size=1, max_size=6)


def letters():
    return task_of("tag", TextSettings(kind="char"))


def test_a_label_stands_under_the_first_piece_of_its_word():
    task = letters()
    (row,) = task.rows([Tagged(("she", "works"), ("PRON", "VERB"))])
    _, starts = task.pieces(("she", "works"))
    assert starts.tolist() == [0, 3]
    labels = [task.labels.decode(int(row["target"][start])) for start in starts]
    assert labels == ["PRON", "VERB"]
    assert (row["target"] != IGNORE).sum() == 2
    assert len(row["source"]) == len(row["target"]) == len("sheworks")


def test_a_prediction_has_one_label_a_word():
    task, model = task_of("tag"), model_of("tag")
    for example in EXAMPLES["tag"]:
        (found,) = task.predict(model, [task.question(example)], SETTINGS)
        assert len(found.symbols) == len(found.log_probabilities) == len(example.words)
        assert found.text.split(" ") == list(found.symbols)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("they light it", ["they", "light", "it"]),
        ("He can't stop, can he?", ["He", "can't", "stop", ",", "can", "he", "?"]),
        ("Mr. Li left .", ["Mr.", "Li", "left", "."]),
        ("\tU.S.\t10 000\ttroops", ["U.S.", "10 000", "troops"]),
        ("  ", []),
    ],
)
def test_words_are_cut_unless_they_stand_apart_already(text, cut):
    assert words_of(text) == cut


@given(st.lists(words, max_size=7))
def test_the_question_gives_the_very_words_of_the_example(sentence):
    example = Tagged(tuple(sentence), ("NOUN",) * len(sentence))
    assert words_of(task_of("tag").question(example)) == sentence


def test_words_that_spaces_would_cut_are_tagged_as_they_are():
    task, model = task_of("tag"), model_of("tag")
    example = Tagged(("U.S.", "light"), ("NOUN", "NOUN"))
    found = task.predict(model, [task.question(example)], SETTINGS)
    assert len(found[0].symbols) == 2
    assert task.judge([found[0].text], [task.answer(example)])


def test_a_label_never_seen_in_training_is_left_out_of_the_loss():
    (row,) = task_of("tag").rows([Tagged(("she", "works"), ("PRON", "INTJ"))])
    assert row["target"].tolist()[1] == IGNORE
    assert row["target"].tolist()[0] != IGNORE


def test_span_labels_are_judged_by_spans():
    spans = [Tagged(("in", "New", "York"), ("O", "B-LOC", "I-LOC"))]
    task = TASKS["tag"].learn(lambda: iter(spans), TextSettings(kind="word"))
    names = [metric.name for metric in task.judge(["O B-LOC O"], ["O B-LOC I-LOC"])]
    assert "F1" in names[0]
    assert names[1:] == ["token accuracy", "exact match"]
