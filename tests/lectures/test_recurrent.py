"""L6-L10: the recurrent step, its gradient, and how far that gradient reaches."""

import pytest
import torch

from regard.attention import Softmax, attend
from regard.worked import backpropagation, fading_gradient, rnn_step
from regard.worked.recurrence import BIAS, INPUT_WEIGHT, RECURRENT_WEIGHT, elman


def test_same_weights_at_each_step():  # L6
    cell = elman(*(torch.tensor(w) for w in (RECURRENT_WEIGHT, INPUT_WEIGHT, BIAS)))
    words = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    hidden = (0.5, -0.5)
    by_hand = []
    for word in words.tolist():
        hidden = rnn_step(x=word, hidden=hidden)["hidden state"]
        by_hand.append(hidden)
    start = (torch.tensor([[0.5, -0.5]]),)
    assert torch.allclose(cell.run(words[None], start)[0], torch.tensor(by_hand))


def test_output_bias_and_softmax():  # L7
    outputs = [
        rnn_step(output_weight=row, output_bias=c)["output"]
        for row, c in (((0.8, 0.9), 0.1), ((-0.3, 0.2), 0.0), ((0.0, 0.0), -0.4))
    ]
    assert outputs[0] == pytest.approx(0.82086 + 0.1, abs=5e-6)
    assert outputs[2] == -0.4
    share = Softmax()(torch.tensor(outputs)[None, None, None])
    assert share.sum().item() == pytest.approx(1.0)
    assert share.argmax() == 0


def test_the_step():  # L8
    worked = rnn_step()
    assert worked["products"] == (
        pytest.approx((0.05, -0.1)),
        pytest.approx((-0.05, -0.15)),
    )
    assert worked["the past"] == pytest.approx((-0.05, -0.20))
    assert worked["the input"] == pytest.approx((0.4, 0.6))
    assert worked["sum"] == pytest.approx((0.45, 0.60))
    assert worked["hidden state"] == pytest.approx((0.42190, 0.53705), abs=5e-6)
    assert worked["output terms"] == pytest.approx((0.33752, 0.48334), abs=5e-6)
    assert worked["output"] == pytest.approx(0.82086, abs=5e-6)
    assert [slip.printed for slip in worked.slips] == [
        ((0.05, -0.1), (-0.05, -0.15)),
        (0.4228, 0.5370),
        (0.3382, 0.4833),
        0.8215,
    ]


RIGHT_ROADS = "by delta of h", "by delta of a", "by nudging", "by autograd"


@pytest.mark.parametrize("road", RIGHT_ROADS)
def test_every_right_road_to_the_gradient(road):  # L9
    gradient = torch.tensor(backpropagation()[road])
    assert gradient[0, 0].item() == pytest.approx(0.61348, abs=5e-6)
    assert torch.allclose(gradient, torch.tensor(backpropagation()["by autograd"]), atol=1e-8)


def test_the_printed_road_leads_elsewhere():  # L9
    worked = backpropagation()
    assert worked["as printed"][0][0] == pytest.approx(1.17778, abs=5e-6)
    assert [slip.lecture for slip in worked.slips] == ["L9", "L9"]
    assert "0.61348" in worked.slips[1].why
    assert "1.17778" in worked.slips[1].why


def test_roads_agree_on_a_readers_numbers():  # L9
    chance = torch.Generator().manual_seed(3)

    def draw(*shape):
        return torch.randn(*shape, generator=chance).tolist()

    worked = backpropagation(
        inputs=draw(5, 3),
        targets=draw(5),
        hidden=draw(2),
        recurrent_weight=draw(2, 2),
        input_weight=draw(2, 3),
        bias=draw(2),
        output_weight=draw(2),
    )
    expected = torch.tensor(worked["by autograd"])
    for road in RIGHT_ROADS:
        assert torch.allclose(torch.tensor(worked[road]), expected, atol=1e-7), road
    assert not torch.allclose(torch.tensor(worked["as printed"]), expected, atol=1e-3)


def test_gradients_fade_and_explode():  # L10
    scales, distances = (0.5, 1.0, 1.5), (1, 3, 20)
    left = fading_gradient(scales, distances)["what is left"]
    for row, scale in zip(left, scales, strict=True):
        assert row == pytest.approx([scale**distance for distance in distances])


@pytest.mark.parametrize("distance", [1, 10, 100])
def test_attention_reaches_any_distance_in_one_step(distance):  # L15
    states = torch.zeros(distance + 1, 2, dtype=torch.float64)
    states[0, 0] = 40.0  # the one that the query asks for
    states.requires_grad_()
    query = torch.tensor([[1.0, 0.0]])
    (gradient,) = torch.autograd.grad(attend(query, states, states)[0, 1], states)
    assert gradient[0, 1].item() == pytest.approx(1.0, abs=1e-6)
