"""One label a text."""

import math
from dataclasses import replace

import pytest

from regard.data.example import Labelled
from regard.decode import DecodeSettings
from regard.tasks import IGNORE, Prediction
from regard.text import BEGIN
from tests.tasks.kit import EXAMPLES, batch_of, model_of, task_of

SETTINGS = DecodeSettings(beam=1)


def test_a_begin_symbol_stands_in_front():
    for row in task_of("classify").rows(EXAMPLES["classify"]):
        assert row["source"][0] == BEGIN
        assert len(row["target"]) == 1


def test_all_labels_are_ranked_and_their_probabilities_sum_to_one():
    task, model = task_of("classify"), model_of("classify")
    for found in task.predict(model, ["not bad", "", "soup soup soup"], SETTINGS):
        assert {name for name, _ in found.alternatives} == set(task.labels.names)
        values = [value for _, value in found.alternatives]
        assert values == sorted(values, reverse=True)
        assert math.fsum(map(math.exp, values)) == pytest.approx(1, abs=1e-6)
        assert found.text == found.alternatives[0][0]


def test_a_label_never_seen_in_training_is_not_judged_by_the_loss():
    batch = batch_of("classify", [Labelled("bad", "boredom"), Labelled("bad", "praise")])
    assert batch.targets.tolist()[0] == IGNORE
    assert batch.count == 1


def test_a_label_that_is_too_improbable_is_not_told_and_all_else_stays():
    task, model = task_of("classify"), model_of("classify")
    (found,) = task.predict(model, ["not bad"], SETTINGS)
    probability = math.exp(found.score)
    below = SETTINGS.model_copy(update={"sure": probability - 1e-6, "unsure": "neutral"})
    above = below.model_copy(update={"sure": probability + 1e-6})
    assert task.worded(found, SETTINGS) is found  # by default every label is told
    assert task.worded(found, below) is found
    assert task.worded(found, above) == replace(found, text="neutral")
    assert task.predict(model, ["not bad"], above) == [found]  # what is judged is the label


def test_nothing_is_said_of_an_empty_text():
    sure = SETTINGS.model_copy(update={"sure": 0.9})
    assert task_of("classify").worded(Prediction(""), sure).text == ""
