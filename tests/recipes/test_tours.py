"""The search behind recipes/tours: as short as exact tours, and the same problem however it is turned."""

import importlib.util
import json

import pytest
import torch
from torch.testing import assert_close

from regard.data.toys.tours import shortest_tour, tour_length
from tests.house.tree import ROOT

spec = importlib.util.spec_from_file_location("tours", ROOT / "recipes" / "tours" / "run.py")
tours = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tours)


@pytest.fixture(scope="module")
def drawn():
    return tours.draw(13, 7, seed=3, device="cpu", starts=6)


def test_the_search_finds_the_shortest_tours(drawn):
    points, found = drawn
    exact = torch.tensor([tour_length(p, shortest_tour(p)) for p in points.tolist()])
    assert (found.sort(1).values == torch.arange(7)).all()
    assert_close(tours.lengths(points, found), exact, atol=1e-4, rtol=0)


def test_a_turned_problem_has_the_same_tour(drawn):
    points, found = drawn
    more, along = tours.turned(points, found, copies=4, seed=5)
    assert len(more) == 4 * len(points)
    assert (more >= 0).all()
    assert (more <= 1).all()
    assert not torch.equal(more[13:26], points)
    assert_close(tours.lengths(more, along), tours.lengths(points, found).repeat(4))


def test_files_are_what_a_pointer_learns_from(drawn, tmp_path):
    points, found = drawn
    tours.write(tmp_path / "some.jsonl", points, found)
    lines = (tmp_path / "some.jsonl").read_text().splitlines()
    for line, tour in zip(lines, found, strict=True):
        row = json.loads(line)
        assert row["positions"][0] == 0
        assert row["positions"][1] < row["positions"][-1]
        length = tours.lengths(
            torch.tensor(row["items"])[None], torch.tensor(row["positions"])[None]
        )
        own = tours.lengths(torch.tensor(row["items"])[None], tour[None])
        assert_close(length, own, atol=1e-4, rtol=0)
