"""Ids and frames become states, with their positions added."""

import math

import torch
from torch.testing import assert_close

from regard.attention import Learned, Sinusoidal, sinusoid
from regard.layers import Embedding, Frames

IDS = torch.tensor([[4, 0, 2], [2, 2, 1]])


def test_an_id_is_its_row_of_the_table_scaled_by_the_root_of_the_width():
    embedding = Embedding(5, 7)

    assert_close(embedding(IDS), embedding.table.weight[IDS] * math.sqrt(7))
    # Of 6,979 numbers the standard deviation is known to 1%; of the few that IDS names it is not.
    spread = Embedding(997, 7, scale=False)(torch.arange(997)[None]).std()
    assert_close(spread, torch.tensor(7**-0.5), atol=0.02, rtol=0)


def test_positions_are_added_from_where_the_ids_stand():
    embedding = Embedding(5, 7, position=Sinusoidal(7), scale=False)
    words = embedding.table.weight[IDS]

    assert_close(embedding(IDS), words + sinusoid(3, 7))
    assert_close(embedding(IDS, first=11), words + sinusoid(3, 7, first=11))
    assert_close(embedding(IDS[:, 1:], first=1), embedding(IDS)[:, 1:])


def test_a_norm_comes_after_the_positions():
    embedding = Embedding(5, 7, position=Learned(7, 3), norm_eps=1e-3)
    bare = embedding.table.weight[IDS] * math.sqrt(7) + embedding.position.weight

    assert_close(embedding(IDS), torch.nn.functional.layer_norm(bare, (7,), eps=1e-3))


def test_frames_are_mapped_and_placed():
    frames, position = Frames(2, 7, position=Sinusoidal(7)), sinusoid(3, 7, first=5)
    given = torch.randn(2, 3, 2)

    expected = given @ frames.widen.weight.mT + frames.widen.bias + position

    assert_close(frames(given, first=5), expected)


def test_without_positions_every_place_is_alike():
    twice = torch.tensor([[3, 3]])
    first, second = Embedding(5, 7)(twice).unbind(1)

    assert torch.equal(first, second)
