"""One label a word, read at its first piece."""

from hypothesis import given
from hypothesis import strategies as st

from regard.data.example import Tagged
from regard.decode import DecodeSettings
from regard.tasks import IGNORE, TASKS
from regard.text import TextSettings
from regard.text.words import words_of
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


def test_a_prediction_shows_each_tag_beside_its_word():
    task, model = task_of("tag"), model_of("tag")
    (found,) = task.predict(model, ["She doesn't work."], SETTINGS)
    assert found.words == ("She", "does", "n't", "work", ".")
    pairs = [word.rpartition("/") for word in found.beside.split(" ")]
    assert [word for word, _, _ in pairs] == list(found.words)
    assert [tag for _, _, tag in pairs] == list(found.symbols)
    assert found.as_dict()["words"] == list(found.words)


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


def test_a_text_longer_than_any_learned_is_cut_between_sentences():
    task = letters()
    three = "she works . he sleeps . they sing ."
    assert task.cut(three, 99) == [three]
    parts = task.cut(three, 16)
    assert [words_of(part)[-1] for part in parts] == [".", ".", "."]
    assert [word for part in parts for word in words_of(part)] == words_of(three)
    assert [task.count(part) for part in task.cut(three, 20)] == [18, 9]
    row = "( ( ) ( ( ) ) ) " * 9  # what a bracket is may depend on all before it
    assert task.cut(row, 16) == [row]
    assert [words_of(part) for part in task.cut(f"{row}. ) ( .", 16)] == [
        [*words_of(row), "."],
        [")", "(", "."],
    ]


@given(st.lists(st.sampled_from(["she", "works", ".", "?", "I"])), st.integers(1, 20))
def test_nothing_is_lost_where_it_is_cut(said, most):
    task = letters()
    text = " ".join(said)
    parts = task.cut(text, most)
    assert [word for part in parts for word in words_of(part)] == said
    assert all("." in part or "?" in part for part in parts[:-1])
