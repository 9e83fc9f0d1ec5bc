import re
from dataclasses import replace

import numpy as np
import pytest
from rich.cells import cell_len

from regard.evaluate import Metric
from regard.show.dashboard import Dashboard
from regard.show.moment import Moment
from regard.tasks import Prediction
from regard.tasks.axis import Tokens
from regard.training.events import Evaluated, Stepped
from tests.show.conftest import site_of


def evaluated(step, value, is_best):
    score = Metric("BLEU", value, "a signature")
    return Evaluated(step, 0, 1 / step, 2.0, (score,), is_best)


def stepped(step, seconds=3.0):
    return Stepped(step, 2, 1.25, 0.004, 0.5, 12_345.6, seconds)


@pytest.fixture
def moment(seen):
    """A run of 100 steps at its 30th."""
    return Moment(
        steps=100,
        first=10,
        bounded=False,
        question="the cat sleeping",
        right="le chat dort",
        opening=(10, 0.0),
        latest=(30, 40.0),
        report=stepped(30, seconds=40.0),
        losses=[6.0, 4.0, 3.0, 2.5],
        evaluations=[evaluated(n, 10.0 * n, n != 4) for n in (1, 2, 3, 4)],
        trace=seen,
    )


def test_a_moment_says_how_far_how_good_and_where_it_looks(printed, moment):
    shown = printed(Dashboard(moment), width=120)
    assert "step 30 of 100" in shown
    assert "2:20 left" in shown  # 20 steps took 40 seconds, 70 are left
    assert "loss 1.250   12,346 tokens/s   rate 0.004   epoch 3" in shown
    assert "question  the cat sleeping" in shown
    assert re.search("answer    le chat *\n", shown)
    assert "expected  le chat dort" in shown
    assert "where it looks" in shown
    assert "6.00 █" in shown


def test_two_losses_that_are_not_the_same_quantity_are_told_apart(printed, moment):
    """A training loss of 0.976 stood beside a held-out loss of 0.095, and nothing said why."""
    plain = printed(Dashboard(moment), width=120)
    assert "smooth" not in plain
    moment.smoothing = 0.1
    shown = printed(Dashboard(moment), width=120)
    assert "smoothed loss 1.250" in shown
    assert "loss in training, with label smoothing 0.1" in shown
    assert "held out, without smoothing" in shown


def test_an_evaluation_is_seen_to_move(printed, moment):
    moment.judging = (640, 2_200)
    shown = printed(Dashboard(moment), width=120)
    assert "trying the model on held-out examples: 640 of 2,200" in shown
    moment.advance(31, 42.0)
    assert "trying" not in printed(Dashboard(moment), width=120)


def test_a_right_answer_is_ticked(printed, moment):
    moment.right = "le chat"
    assert "answer    le chat ✓" in printed(Dashboard(moment))


def test_the_best_evaluation_is_marked_and_never_scrolls_away(printed, moment):
    moment.trace = None
    lines = printed(Dashboard(moment)).split("\n")
    assert [line.split()[0] for line in lines if line.rstrip().endswith("best")] == ["3"]
    moment.evaluations += [evaluated(n, 0.0, False) for n in range(5, 20)]
    shown = printed(Dashboard(moment))
    assert "30.0  best" in shown
    assert [line.split()[0] for line in shown.split("\n")[-6:-1]] == ["3", "16", "17", "18", "19"]


@pytest.mark.parametrize("width", [30, 60, 80, 100, 160])
@pytest.mark.parametrize("height", [12, 16, 20, 24, 40])
def test_it_fits_the_window(printed, moment, width, height):
    many = np.full((1, 40, 5), 0.2, np.float32)
    axes = {**moment.trace.axes, "target": Tokens.whole(f"▁word{n}" for n in range(40))}
    sites = (site_of("r", "target", "source", many),)
    moment.trace = replace(moment.trace, answer=Prediction("x " * 300), axes=axes, sites=sites)
    for one in (moment, replace(moment, report=None, evaluations=[], losses=[])):
        lines = printed(Dashboard(one), width=width, height=height).rstrip("\n").split("\n")
        assert len(lines) <= height
        assert all(cell_len(line) <= width for line in lines)


def test_the_map_stands_beside_the_numbers_where_there_is_room(printed, moment):
    wide = printed(Dashboard(moment), width=100).split("\n")
    assert any("loss in training" in line and "where it looks" in line for line in wide)
    narrow = printed(Dashboard(moment), width=50).split("\n")
    order = [n for n, line in enumerate(narrow) if "where it looks" in line or "held out" in line]
    assert len(order) == 2


def test_a_low_window_says_that_it_is(printed, moment):
    assert "a taller window shows where it looks" in printed(Dashboard(moment), height=12)


def test_a_model_without_attention_still_answers(printed, moment):
    moment.trace = replace(moment.trace, sites=())
    shown = printed(Dashboard(moment))
    assert "answer    le chat" in shown
    assert "this model has no attention to look at" in shown
