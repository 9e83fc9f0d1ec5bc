"""Tours: exact ones by every subset, whole ones by what may be pointed at, and how long they are."""

from itertools import permutations
from random import Random

import pytest
import torch
from torch.testing import assert_close

from regard.data.toys import toy
from regard.data.toys.tours import held_karp, one_way, problem, repaired, shortest_tour, tour_length
from regard.decode import DecodeSettings
from regard.errors import DataError
from regard.evaluate.tour import tour_length as length_of
from regard.evaluate.tour import tour_scores
from regard.models import ModelSettings, PointSettings
from regard.tasks import Point
from tests.tasks.kit import BLOCKS, RNN, moved

TASK = Point(2)
SQUARE = ((0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0))


def test_held_karp_is_as_short_as_the_best_of_all_permutations():
    random = Random(3)
    for count in (4, 5, 6, 7, 8):
        points = problem(random, count, count).items
        tours = ((0, *rest) for rest in permutations(range(1, count)))
        best = min(tour_length(points, tour) for tour in tours)
        assert tour_length(points, held_karp(points)) == pytest.approx(best)


def test_many_repairs_find_the_exact_tour_of_twelve_points():
    random = Random(5)
    for _ in range(5):
        points = problem(random, 12, 12).items
        exact, found = (tour_length(points, way(points)) for way in (held_karp, repaired))
        assert exact <= found + 1e-12
        assert found <= 1.01 * exact


def test_a_tour_has_one_way_to_be_written():
    assert shortest_tour(SQUARE) == (0, 2, 1, 3)
    assert one_way([2, 1, 3, 0]) == (0, 2, 1, 3) == one_way([3, 1, 2, 0])
    for example, _ in zip(toy("tour").examples("test"), range(30), strict=False):
        assert example.positions[0] == 0
        assert sorted(example.positions) == list(range(len(example.items)))


def test_scores_of_tours():
    whole, length, longer = tour_scores(
        [SQUARE, SQUARE], [[0, 1, 2, 3], [0, 2]], [[0, 2, 1, 3]] * 2
    )
    assert whole.value == 50.0
    assert length.value == pytest.approx(2 + 2 * 2**0.5)
    assert longer.value == pytest.approx(100 * ((2 + 2 * 2**0.5) / 4 - 1))
    assert length_of(SQUARE, [0, 1, 1, 2]) == float("inf")
    answers = ["0 2 1 3"]
    assert TASK.beside(["0,0 1,1 1,0 0,1"], answers, answers)[0].name == "whole tours"
    assert TASK.beside(["0,0 1,1 1,0 0,1"], ["0 2"], ["0 2 1"]) == []


@pytest.mark.parametrize("encoder", [RNN, BLOCKS])
def test_who_visits_all_leaves_nothing_out(encoder):
    model = moved(ModelSettings(encoder=encoder, reader=PointSettings(width=8, visits="all")), TASK)
    texts = [TASK.question(problem(Random(seed), 1, 9)) for seed in range(6)]
    for settings in (DecodeSettings(beam=1), DecodeSettings(beam=4, top_beams=3)):
        for text, answer in zip(texts, TASK.predict(model, texts, settings), strict=True):
            places = [answer.text, *(other for other, _ in answer.alternatives)]
            for one in places:
                assert sorted(map(int, one.split())) == list(range(len(text.split())))


def test_forced_equals_stepped_and_a_short_answer_is_refused():
    settings = ModelSettings(encoder=RNN, reader=PointSettings(width=8, visits="all"))
    model = moved(settings, TASK)
    example = problem(Random(1), 5, 5)
    (row,) = TASK.rows([example])
    batch = TASK.collate([row], 5, 6)
    with torch.no_grad():
        forced = model(batch.sources, None, batch.inputs)
        state = model.decoder.start(model.encode(batch.sources), 6)
        for place in range(6):
            logits, state = model.decoder.step(state, batch.inputs[:, place])
            assert_close(logits, forced[:, place])
    assert (forced[0, :5, 0] == -torch.inf).all()
    short = TASK.collate([{**row, "target": row["target"][[0, 1, 5]]}], 5, 3)
    with pytest.raises(DataError, match="leaves items out"):
        TASK.loss(model.eval(), short)
    assert torch.isfinite(TASK.loss(model.train(), short))
