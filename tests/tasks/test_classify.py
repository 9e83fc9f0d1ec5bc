"""One label a text."""

import math

import pytest

from regard.data.example import Labelled
from regard.decode import DecodeSettings
from regard.tasks import IGNORE
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
