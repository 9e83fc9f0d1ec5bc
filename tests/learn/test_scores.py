"""The six scores of the lectures all learn to say letters backwards, and looking shows the diagonals."""

import numpy as np
import pytest

from regard.traces.trace import look_inside
from tests.learn.kit import learned, score, unseen

pytestmark = pytest.mark.slow

SCORES = ("dot", "scaled-dot", "general", "additive", "location", "cosine")
LEAST = 90  # of 100 answers right to the letter


@pytest.mark.parametrize("name", SCORES)
def test_every_score_learns_to_reverse(name):
    run, model = learned("bahdanau2015", "model.reader.looks=after", f"model.reader.score={name}")
    assert score(run, model) >= LEAST


def on_the_line(run, model, place) -> tuple[float, float]:
    """The mean weight on the place where the answer's letter stands, and how often it is the largest."""
    greedy = run.settings.decode.model_copy(update={"beam": 1})
    weights, hits = [], []
    for example in unseen(run, 50):
        sight = look_inside(run.task, model, run.task.question(example), greedy)
        letters = len(sight.axes["source"]) - 1  # without the end
        if len(sight.answer.ids) != letters:
            continue
        map_ = sight.site().weights.mean(0)
        for step in range(letters):
            weights.append(map_[step, place(step, letters)])
            hits.append(map_[step].argmax() == place(step, letters))
    assert len(hits) > 200
    return float(np.mean(weights)), float(np.mean(hits))


def diagonal(step: int, _letters: int) -> int:
    return step


def other_diagonal(step: int, letters: int) -> int:
    return letters - 1 - step


@pytest.mark.parametrize(
    ("toy", "place", "elsewhere"),
    [("copy", diagonal, other_diagonal), ("reverse", other_diagonal, diagonal)],
)
def test_the_map_of_copying_is_a_diagonal_and_of_reversing_the_other_one(toy, place, elsewhere):
    run, model = learned("luong2015-general", f"data.toy={toy}")
    weight, hits = on_the_line(run, model, place)
    assert weight > 0.6
    assert hits > 0.9
    assert on_the_line(run, model, elsewhere)[1] < 0.3
