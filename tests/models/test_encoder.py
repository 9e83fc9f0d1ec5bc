"""Encoded states, what sums them up, and what an encoder makes of padding."""

import torch
from torch.testing import assert_close

from regard.attention import Padding, watch
from regard.models import Encoded
from regard.models.encoder import mean_state, padding_of
from tests.models.zoo import example_of, model_of

STATES = torch.arange(12.0).view(2, 3, 2)


def test_the_mean_is_over_real_positions():
    assert_close(mean_state(STATES, None), STATES.mean(1))
    short = mean_state(STATES, Padding(torch.tensor([2, 0])))
    assert short.tolist() == [[1.0, 2.0], [0.0, 0.0]]


def test_nan_in_the_void_stays_out_of_the_mean():
    states = STATES.clone()
    states[0, 2] = torch.nan

    assert mean_state(states, Padding(torch.tensor([2, 3])))[0].tolist() == [1.0, 2.0]


def test_nothing_has_no_states_and_a_mean_of_zero():
    nothing = Encoded.nothing(3, torch.ones(1, dtype=torch.float64))

    assert nothing.states.shape == (3, 0, 1)
    assert nothing.states.dtype == torch.float64
    assert nothing.summaries(2)[1].tolist() == [[0.0]] * 3


def test_a_summary_a_layer_where_layers_agree_else_the_last_else_the_mean():
    low, high = torch.zeros(2, 2), torch.ones(2, 2)
    recurrent = Encoded(STATES, None, (low, high))

    assert recurrent.summaries(2) == (low, high)
    assert all(summary is high for summary in recurrent.summaries(3))
    assert all(torch.equal(s, STATES.mean(1)) for s in Encoded(STATES).summaries(2))


def test_padding_of_a_batch():
    source = torch.zeros(2, 3, dtype=torch.long)

    assert padding_of(source, None) is None
    made = padding_of(source, torch.tensor([3, 1], dtype=torch.int32))
    assert made.lengths.tolist() == [3, 1]
    assert made.lengths.dtype == torch.long


def test_an_rnn_encoder_gives_each_layers_last_state():
    model, example = model_of("rnn-lstm-bi-2-tag"), example_of("rnn-lstm-bi-2-tag")
    encoded = model.encode(example.source, example.lengths)

    assert [layer.shape for layer in encoded.layers] == [(4, 6), (4, 6)]
    assert encoded.padding.lengths.tolist() == example.lengths.tolist()


def test_a_mask_bounds_how_far_a_word_sees():
    name = "transformer-reach-window-tag"
    model, example = model_of(name), example_of(name)
    with watch(model) as seen:
        model.encode(example.source, example.lengths)
    (weights,) = (seen.weights(path) for path in seen)

    position = torch.arange(weights.shape[-1])
    near = (position[:, None] - position).abs() <= 2
    real = position < example.lengths[:, None]
    allowed = (near & real[:, None]).unsqueeze(1).expand_as(weights)
    assert ((weights > 0) == allowed).all()
