import math
from dataclasses import replace

import pytest

from regard.evaluate import Metric
from regard.run.folder import Run
from regard.show.moment import Moment, duration, judged, recall, told
from regard.training.events import Evaluated, Stepped

SCORE = Metric("BLEU", 41.26, "a signature", (40.0, 42.5))


def stepped(step, seconds=3.0):
    return Stepped(step, 2, 1.25, 0.004, 0.5, 12_345.6, seconds)


def test_time_left_is_what_the_steps_so_far_would_take():
    moment = Moment(steps=100, first=10, bounded=False)
    assert (moment.step, moment.time_left()) == (10, "")
    moment.advance(11, 30.0)
    assert (moment.step, moment.time_left()) == (11, ""), "a first step may be a compiler's"
    moment.advance(12, 32.0)
    assert moment.time_left() == "2:56 left"  # the second step took 2 seconds, 88 are left
    moment.advance(31, 40.0)
    assert moment.time_left() == "0:34 left"  # 20 steps took 10 seconds, 69 are left
    assert replace(moment, bounded=True).time_left() == "at most 0:34 left"
    moment.advance(100, 65.0)
    assert moment.time_left() == "done in 1:05"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0:00"), (7, "0:07"), (725.2, "12:05"), (10_800, "3:00:00")]
)
def test_a_duration_is_hours_minutes_and_seconds(seconds, shown):
    assert duration(float(seconds)) == shown


def test_reports_are_a_line_each():
    assert told(stepped(3)) == "loss 1.250   12,346 tokens/s   rate 0.004   epoch 3"
    assert told(stepped(3), 0.1).startswith("smoothed loss 1.250   ")
    assert judged(Evaluated(5, 0, 0.5, 1.65, (SCORE,), True)) == "loss 0.500   BLEU 41.3"


def test_the_best_is_the_last_that_was_better():
    found = [Evaluated(step, 0, 1.0, 2.7, (), step != 3) for step in (1, 2, 3)]
    assert Moment(9, 0, False, evaluations=found).best is found[1]
    assert Moment(9, 0, False).best is None


def test_an_interrupted_run_tells_again_what_it_told(run_settings, tmp_path):
    run = Run.create(tmp_path / "run", run_settings)
    good = Evaluated(2, 0, 0.5, 1.65, (SCORE,), is_best=True)
    broken = Evaluated(3, 1, math.inf, math.inf, (), is_best=False)
    run.record("metrics", stepped(1).as_dict())
    run.record("metrics", good.as_dict())
    run.record("metrics", {"kind": "spike", "step": 3, "loss": 9.0})
    run.record("metrics", {**broken.as_dict(), "loss": None, "perplexity": None})
    moment = Moment(steps=9, first=3, bounded=False)
    recall(moment, run)
    assert moment.losses == [1.25]
    assert moment.best == replace(good, metrics=(replace(SCORE, interval=None),))
    assert math.isnan(moment.evaluations[1].loss)
