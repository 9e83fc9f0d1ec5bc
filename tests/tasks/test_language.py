"""What comes next."""

from regard.attention.attention import TARGET
from regard.data.example import Line
from regard.decode import DecodeSettings
from regard.tasks import Prediction
from regard.text import BEGIN, END, UNKNOWN
from tests.tasks.kit import EXAMPLES, batch_of, model_of, task_of


def test_every_symbol_is_a_target_and_there_is_no_source():
    task = task_of("language")
    rows, batch = task.rows(EXAMPLES["language"]), batch_of("language")
    assert all(not len(row["source"]) and row["target"][-1] == END for row in rows)
    assert batch.source.shape == (3, 0)
    assert batch.count == sum(len(row["target"]) for row in rows)
    assert batch.inputs[:, 0].tolist() == [BEGIN] * 3


def test_the_question_is_the_first_half_and_the_answer_all_of_it():
    task = task_of("language")
    assert task.question(Line("where is it ?")) == "where is"
    assert task.question(Line("where")) == "where"
    assert task.answer(Line("where is it ?")) == "where is it ?"


def test_the_given_part_is_part_of_the_answer():
    task, model = task_of("language"), model_of("language")
    prompts = ["mia had", "where", "tom had a drum", ""]
    for settings in (DecodeSettings(beam=1, max_length=5), DecodeSettings(beam=3, max_length=5)):
        found = task.predict(model, prompts, settings)
        assert all(
            answer.text.startswith(prompt) for answer, prompt in zip(found, prompts, strict=True)
        )
        for answer, prompt in zip(found, prompts, strict=True):
            given = len(task.target.encode(prompt))
            assert len(answer.ids) <= given + 5
            assert len(answer.symbols) == len(answer.ids)


def test_words_that_were_typed_stay_whatever_the_vocabulary_knows():
    task, model = task_of("language"), model_of("language")
    text = "mia had a Zeppelin"
    assert UNKNOWN in task.prompt(text)
    for settings in (DecodeSettings(beam=1, max_length=5), DecodeSettings(beam=3, max_length=5)):
        (answer,) = task.predict(model, [text], settings)
        assert answer.text.startswith(text)
        assert all(other.startswith(text) for other, _ in answer.alternatives)
        shown = task.forced(text, answer).axes[TARGET]
        assert [w for w in shown.words if w != "</s>"][:4] == text.split()
        assert "▁Zeppelin" in answer.symbols


def test_an_answer_that_is_shorter_than_the_text_is_shown_as_it_is():
    task = task_of("language")
    shown = task.forced("mia had a Zeppelin", Prediction("", ids=(UNKNOWN,))).axes[TARGET]
    assert shown.pieces[0] == task.symbol(UNKNOWN)
