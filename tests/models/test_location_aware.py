"""A decoder that sees what its last step looked at (Chorowski 2015)."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.attention import LocationAware, watch
from regard.models import ModelSettings, Sizes, build, select
from regard.tasks.axis import Tokens
from regard.traces.site import observe
from tests.models.zoo import example_of, model_of, rnn, rnn_reader

AWARE = ("rnn-location-aware-after-fed", "rnn-location-aware-before", "sound-pyramid")


def by_hand(decoder, encoded, inputs):
    """e_j = v . tanh(W s + U h_j + F f_j), f_j = sum_k Q_k a_{j+k}; one row, step and position at a time."""
    score, rows = decoder.attention.score, []
    value, query, key = score.value_weight[0], score.query_weight[0], score.key_weight[0]
    filters, notice = score.filter_weight[0], score.feature_weight[0]
    reach = filters.shape[1] // 2
    for row in range(len(inputs)):
        length = int(encoded.padding.lengths[row])
        one = encoded.states[row, :length]
        state = select(decoder.start(encoded, inputs.shape[1]), torch.tensor([row]))
        before, weights = torch.zeros(length), []
        for symbol in inputs[row]:
            old = state.cells[-1][0][0]
            _, state = decoder.step(state, symbol[None])
            hidden = old if decoder.looks == "before" else state.cells[-1][0][0]
            scores = []
            for j in range(length):
                near = [k for k in range(-reach, reach + 1) if 0 <= j + k < length]
                seen = sum((filters[:, reach + k] * before[j + k] for k in near), torch.zeros(10))
                scores.append(value @ torch.tanh(hidden @ query + one[j] @ key + seen @ notice))
            before = torch.stack(scores).softmax(0) if scores else torch.zeros(0)
            weights.append(before)
        rows.append(torch.stack(weights))
    return rows


@pytest.mark.parametrize("name", AWARE)
def test_each_step_sees_what_the_last_one_gave(name):
    model, example = model_of(name), example_of(name)
    encoded = model.encode(example.source, example.lengths)
    with watch(model) as seen:
        model.decoder(encoded, example.inputs)
    weights = seen.weights("reader.attention")[:, 0]
    for row, expected in enumerate(by_hand(model.decoder, encoded, example.inputs)):
        length = expected.shape[1]
        assert_close(weights[row, :, :length], expected)
        assert not weights[row, :, length:].any()


def test_without_filters_it_is_the_additive_score():
    torch.manual_seed(4)
    score = LocationAware(5, 7, 3, filters=2, reach=3)
    with torch.no_grad():
        score.filter_weight.zero_()
    key = score.prepare(torch.randn(2, 1, 11, 7))
    seen = score.see(key, {"previous": torch.rand(2, 1, 11)})
    assert_close(seen, key)


def test_every_head_has_filters_of_its_own():
    torch.manual_seed(4)
    score = LocationAware(5, 7, 3, num_heads=2, filters=2, reach=3)
    previous = torch.rand(3, 2, 11)
    found = score.features({"previous": previous})
    for head in range(2):
        one = LocationAware(5, 7, 3, filters=2, reach=3)
        with torch.no_grad():
            one.filter_weight.copy_(score.filter_weight[head : head + 1])
        assert_close(found[:, head : head + 1], one.features({"previous": previous[:, head, None]}))


@pytest.mark.parametrize("looks", ["after", "before"])
def test_gradients_are_those_of_finite_differences(looks):
    torch.manual_seed(3)
    reader = rnn_reader(score="location-aware", looks=looks)
    model = build(ModelSettings(encoder=rnn(), reader=reader), Sizes(11, 13)).double().eval()
    example = example_of(AWARE[0])

    def loss():
        return model(example.source, example.lengths, example.inputs).square().sum()

    loss().backward()
    score, step = model.reader.attention.score, 1e-6
    for weight, place in ((score.filter_weight, (0, 3, 14)), (score.feature_weight, (0, 2, 1))):
        with torch.no_grad():
            found = []
            for sign in (1, -1):
                weight[place] += sign * step
                found.append(loss())
                weight[place] -= sign * step
        slope = (found[0] - found[1]) / (2 * step)
        assert_close(weight.grad[place], slope, rtol=1e-4, atol=1e-7)
        assert slope.abs() > 0


def test_a_trace_works_its_scores_out_again():
    model, example = model_of(AWARE[0]), example_of(AWARE[0], lengths=(7,))
    with watch(model) as seen:
        model(example.source, example.lengths, example.inputs)
    axes = {"source": Tokens.whole("abcdefg"), "target": Tokens.whole("12345")}
    site = observe(seen, "reader.attention", axes)
    assert site.describe()["features"] == 10
    for query in range(5):
        again = site.contributions_of(0, query).sum(-1)
        np.testing.assert_allclose(again, site.scores[0, query], atol=1e-5)
