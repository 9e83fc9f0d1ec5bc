"""What every task keeps to: rows, batches and losses agree, and a task survives being written down."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from regard.data.example import Line, Pair
from regard.decode import DecodeSettings
from regard.errors import DataError
from regard.models.readers import summed_loss
from regard.tasks import IGNORE, TASKS, Prediction
from tests.tasks.kit import EXAMPLES, NAMES, WORDS, batch_of, kind_of, model_of, task_of

GREEDY = DecodeSettings(beam=1, max_length=12)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_every_task_is_listed_under_its_own_name(name):
    assert TASKS[name].name == name
    assert set(TASKS) == {*NAMES, "multisource", "reconstruct"}  # which are tested by themselves


def test_a_block_is_the_rows_end_to_end(name):
    task = task_of(name)
    rows, block = task.rows(EXAMPLES[name]), task.block(EXAMPLES[name])
    for side in ("source", "target"):
        assert block[side].lengths.tolist() == [len(row[side]) for row in rows]
        assert block[side].values.tolist() == [one for row in rows for one in row[side].tolist()]


def test_a_task_written_down_and_read_again_makes_the_same_rows(name):
    task = task_of(name)
    again = TASKS[name].from_dict(task.to_dict())
    for mine, theirs in zip(task.rows(EXAMPLES[name]), again.rows(EXAMPLES[name]), strict=True):
        assert mine.keys() == theirs.keys() == {"source", "target"}
        for side in mine:
            assert mine[side].dtype == theirs[side].dtype
            assert mine[side].tolist() == theirs[side].tolist()
    assert again.sizes == task.sizes
    assert again.to_dict() == task.to_dict()


def test_examples_of_another_kind_are_refused(name):
    other = Pair("x", "y") if isinstance(EXAMPLES[name][0], Line) else Line("x")
    with pytest.raises(DataError, match=r"this task learns from .* examples, and was given"):
        task_of(name).rows([other])


def test_the_count_is_how_many_targets_are_judged(name):
    batch = batch_of(name)
    assert batch.count == int((batch.targets != IGNORE).sum())
    assert len(batch) == len(EXAMPLES[name])


def test_the_loss_is_the_sum_over_rows_and_padding_adds_nothing(name):
    task, model = task_of(name), model_of(kind_of(name))
    together = task.loss(model, batch_of(name, more=5))
    alone = [task.loss(model, batch_of(name, [example])) for example in EXAMPLES[name]]
    assert_close(together, torch.stack(alone).sum())


def test_the_loss_is_minus_the_log_probability_of_the_targets(name):
    task, model, batch = task_of(name), model_of(kind_of(name)), batch_of(name)
    known = task.logits(model, batch).log_softmax(-1)
    judged = batch.targets != IGNORE
    expected = -known[judged].gather(-1, batch.targets[judged].unsqueeze(-1)).sum()
    assert_close(task.loss(model, batch), expected)


def test_nothing_to_judge_is_a_loss_and_a_gradient_of_zero(name):  # T20
    task, model, batch = task_of(name), model_of(kind_of(name)), batch_of(name)
    batch.targets.fill_(IGNORE)
    for smoothing in (0.0, 0.1):
        model.zero_grad()
        loss = task.loss(model, batch, smoothing)
        loss.backward()
        assert loss.item() == 0.0
        assert all(not p.grad.any() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
def test_smoothing_spreads_its_mass_over_all_symbols(smoothing):
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(1))
    targets = torch.tensor([[0, 4, IGNORE], [2, IGNORE, 1]])
    known = F.log_softmax(logits, -1)
    expected = 0.0
    for row, column in (targets != IGNORE).nonzero().tolist():
        wanted = torch.full((5,), smoothing / 5)
        wanted[targets[row, column]] += 1 - smoothing
        expected -= (wanted * known[row, column]).sum()
    assert_close(summed_loss(logits, targets, smoothing), expected)


def test_predictions_come_one_an_input_in_order_and_advance_counts_them(name):
    task, model = task_of(name), model_of(kind_of(name))
    questions = [task.question(example) for example in EXAMPLES[name]] * 7
    counted: list[int] = []
    found = task.predict(model, questions, GREEDY, tokens=64, advance=counted.append)
    assert sum(counted) == len(questions) == len(found)
    again = [task.predict(model, [question], GREEDY)[0] for question in questions]
    assert [one.text for one in found] == [one.text for one in again]
    assert [one.score for one in found] == [one.score for one in again]  # to the last bit (D1)


def test_perfect_answers_are_judged_perfect_and_wrong_ones_not(name):
    task = task_of(name)
    answers = [task.answer(example) for example in EXAMPLES[name]]
    best, *_ = task.judge(answers, answers)
    assert best.value == pytest.approx(100.0 if best.higher_is_better else 0.0)
    wrong = [answers[1], *answers[1:]] if name != "tag" else [answers[0].lower(), *answers[1:]]
    worse, *_ = task.judge(wrong, answers)
    assert worse.value != best.value
    assert (worse.value < best.value) == best.higher_is_better


def test_an_empty_list_of_inputs_gives_an_empty_list(name):
    assert task_of(name).predict(model_of(kind_of(name)), [], GREEDY) == []


@pytest.mark.parametrize("name", ["translate", "tag", "point"])
def test_nothing_in_is_nothing_out(name):  # D4
    task, model = task_of(name), model_of(kind_of(name))
    some = task.question(EXAMPLES[name][0])
    found = task.predict(model, ["", some, "  "], GREEDY)
    assert [one.text for one in found[::2]] == ["", ""]
    assert [one.score for one in found[::2]] == [0.0, 0.0]
    assert found[1] == task.predict(model, [some], GREEDY)[0]


def test_learning_hears_how_far_it_is():
    heard: list[int] = []
    TASKS["translate"].learn(lambda: iter(EXAMPLES["translate"]), WORDS, heard.append)
    assert heard[-1] == 2 * len(EXAMPLES["translate"])


def test_numbers_that_are_not_finite_are_null_in_json():  # D12
    prediction = Prediction(
        "x", -math.inf, ("x",), (3,), (math.nan,), alternatives=(("y", math.inf),)
    )
    document = prediction.as_dict()
    assert document["score"] is None
    assert document["log_probabilities"] == [None]
    assert document["alternatives"] == [{"text": "y", "score": None}]
