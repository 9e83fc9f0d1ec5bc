"""Pointing: place 0 stops, place j + 1 is input j, and no place is pointed at twice."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import watch
from tests.models.zoo import SOURCE, example_of, model_of

NAME = "point-lstm"


@pytest.fixture
def begun():
    model, example = model_of(NAME), example_of(NAME, lengths=(SOURCE, 3))
    return model.decoder, model.decoder.start(model.encode(example.source, example.lengths), 9)


def test_there_is_a_place_for_every_input_and_one_to_stop(begun):
    pointer, state = begun
    logits, _ = pointer.step(state, torch.tensor([0, 0]))

    assert logits.shape == (2, SOURCE + 1)
    assert logits[0].isfinite().all()
    assert logits[1].isfinite().tolist() == [True] * 4 + [False] * 4


def test_a_place_is_pointed_at_once_and_stop_is_always_open(begun):
    pointer, state = begun
    for number, place in enumerate((0, 3, 1, 2)):
        logits, state = pointer.step(state, torch.tensor([place, place]))
        assert logits[0].isfinite().sum() == SOURCE + 1 - number
        assert logits[1].isfinite().sum() == 4 - number
        assert logits[:, 0].isfinite().all()
    assert logits[1].isfinite().tolist() == [True] + [False] * SOURCE


def test_forcing_forbids_what_was_pointed_at(begun):
    model, example = model_of(NAME), example_of(NAME, lengths=(SOURCE, SOURCE))
    inputs = torch.tensor([[0, 2, 4], [0, 0, 1]])

    logits = model(example.source, example.lengths, inputs)

    closed = [[(~row.isfinite()).nonzero().flatten().tolist() for row in rows] for rows in logits]
    assert closed == [[[], [2], [2, 4]], [[], [], [1]]]


def test_the_output_is_where_it_looks(begun):
    pointer, state = begun
    with watch(pointer) as seen:
        logits, _ = pointer.step(state, torch.tensor([0, 0]))
    weights = seen.weights("attention")[:, 0, 0]

    assert_close(logits.softmax(-1), weights)


def test_it_also_is_after_some_places_were_taken():
    """The map must not show weight on what can no longer be answered."""
    model, example = model_of(NAME), example_of(NAME, lengths=(SOURCE, 3))
    inputs = torch.tensor([[0, 2, 4, 1], [0, 3, 1, 2]])
    with watch(model) as seen:
        logits = model(example.source, example.lengths, inputs)
    weights = seen.weights("reader.attention")[:, 0]
    assert_close(logits.softmax(-1), weights)
    assert weights[0, 3, [1, 2, 4]].tolist() == [0.0, 0.0, 0.0]
    assert weights[1, 3, 0] == 1.0


def test_one_that_visits_all_shows_no_weight_on_a_stop_that_it_cannot_say():
    """Its map had nearly all weight on `stop` while it pointed on."""
    name = "point-visits-all"
    model, example = model_of(name), example_of(name, lengths=(3, 3))
    inputs = torch.tensor([[0, 2, 3, 1], [0, 3, 1, 2]])
    with watch(model) as seen:
        logits = model(example.source, example.lengths, inputs)
    weights = seen.weights("reader.attention")[:, 0]
    assert_close(logits.softmax(-1), weights)
    assert weights[:, :3, 0].eq(0).all()
    assert weights[:, 3, 0].eq(1).all()
    model.train()
    assert model(example.source, example.lengths, inputs).softmax(-1)[:, :3, 0].lt(1e-6).all()


def test_the_next_step_reads_the_state_of_the_place_pointed_at(begun):
    pointer, state = begun
    _, after = pointer.step(state, torch.tensor([4, 2]))
    inputs = torch.stack([state.places[0, 4], state.places[1, 2]])

    for found, expected in zip(after.cell, pointer.cell.step(inputs, state.cell), strict=True):
        assert_close(found, expected)


def test_void_places_hold_zeros(begun):
    _, state = begun

    assert not state.places[1, 4:].any()
    assert state.places[0].ne(0).any(-1).all()
