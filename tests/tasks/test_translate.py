"""Sequence to sequence: both sides end with the end symbol, one vocabulary or two."""

import pytest

from regard.data.example import Pair
from regard.decode import DecodeSettings
from regard.tasks import Translate
from regard.text import BEGIN, END, TextSettings
from tests.tasks.kit import EXAMPLES, WORDS, batch_of, model_of, task_of

APART = TextSettings(kind="word", shared=False)


@pytest.mark.parametrize("text", [WORDS, APART], ids=["shared", "apart"])
def test_rows_say_what_was_written_and_then_the_end(text):
    task = task_of("translate", text)
    for row, pair in zip(task.rows(EXAMPLES["translate"]), EXAMPLES["translate"], strict=True):
        assert row["source"][-1] == row["target"][-1] == END
        assert task.source.decode(row["source"].tolist()) == pair.source
        assert task.target.decode(row["target"].tolist()) == pair.target


def test_a_shared_vocabulary_is_one_and_stays_one():
    task = task_of("translate", WORDS)
    again = Translate.from_dict(task.to_dict())
    assert task.source is task.target
    assert again.source is again.target
    assert task.sizes.shared
    assert set(task.to_dict()) == {"shared"}


def test_two_vocabularies_know_their_own_side_only():
    task = task_of("translate", APART)
    assert not task.sizes.shared
    assert set(task.to_dict()) == {"source", "target"}
    assert "cat" in task.source.decode(task.source.encode("cat"))
    assert "cat" not in task.target.decode(task.target.encode("cat"))
    assert (task.sizes.source, task.sizes.target) == (task.source.size, task.target.size)


def test_inputs_are_the_targets_one_step_late():
    batch = batch_of("translate")
    assert batch.inputs[:, 0].tolist() == [BEGIN] * len(batch)
    for inputs, targets in zip(batch.inputs, batch.targets, strict=True):
        real = targets[targets >= 0]
        assert inputs[1 : len(real)].tolist() == real[:-1].tolist()


def test_questions_and_answers_are_the_two_sides():
    task = task_of("translate")
    assert task.question(Pair("a", "b")) == "a"
    assert task.answer(Pair("a", "b")) == "b"


def test_runners_up_come_with_falling_scores_and_the_best_first():
    task, model = task_of("translate"), model_of("rnn")
    settings = DecodeSettings(beam=5, top_beams=5, max_length=6)
    (found,) = task.predict(model, ["the red cat"], settings)
    scores = [score for _, score in found.alternatives]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert found.alternatives[0] == (found.text, found.score)
    assert len(set(found.alternatives)) == 5
