"""A decoder that sees how much attention each source position has had (Tu 2016, See 2017)."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.attention import watch
from regard.errors import UsageError
from regard.models import ModelSettings, Sizes, SourceSize, build, select
from regard.tasks.axis import Tokens
from regard.traces.site import observe
from tests.models.zoo import example_of, model_of, rnn, rnn_reader

COVERED = ("rnn-coverage-after-fed", "rnn-coverage-before")


def by_hand(decoder, encoded, inputs):
    """v . tanh(W s + U h + w c) with c_t = a_1 + .. + a_{t-1}, one row and one position at a time."""
    score, rows = decoder.attention.score, []
    value, query, key = score.value_weight[0], score.query_weight[0], score.key_weight[0]
    notice = score.feature_weight[0, 0]
    for row in range(len(inputs)):
        length = int(encoded.padding.lengths[row])
        one = encoded.states[row, :length]
        state = select(decoder.start(encoded, inputs.shape[1]), torch.tensor([row]))
        coverage, weights = torch.zeros(length), []
        for symbol in inputs[row]:
            before = state.cells[-1][0][0]
            _, state = decoder.step(state, symbol[None])
            hidden = before if decoder.looks == "before" else state.cells[-1][0][0]
            scores = [
                value @ torch.tanh(hidden @ query + h @ key + notice * c)
                for h, c in zip(one, coverage, strict=True)
            ]
            now = torch.stack(scores).softmax(0) if scores else torch.zeros(0)
            weights.append(now)
            coverage = coverage + now
        rows.append((torch.stack(weights), coverage))
    return rows


@pytest.mark.parametrize("name", COVERED)
def test_coverage_is_what_earlier_steps_gave(name):
    model, example = model_of(name), example_of(name)
    encoded = model.encode(example.source, example.lengths)
    with watch(model) as seen:
        model.decoder(encoded, example.inputs)
    weights = seen.weights("reader.attention")[:, 0]
    for row, (expected, coverage) in enumerate(by_hand(model.decoder, encoded, example.inputs)):
        length = expected.shape[1]
        assert_close(weights[row, :, :length], expected)
        assert not weights[row, :, length:].any()
        assert_close(weights[row, :, :length].sum(0), coverage)


@pytest.mark.parametrize("name", COVERED)
def test_gradients_reach_what_was_noticed(name):
    torch.manual_seed(3)
    model, example = build(model_settings(name), Sizes(11, 13)), example_of(name)
    model = model.double()

    def loss():
        return model(example.source, example.lengths, example.inputs).square().sum()

    model.eval()
    loss().backward()
    weight, step = model.reader.attention.score.feature_weight, 1e-6
    for place in ((0, 0, 0), (0, 0, 3)):
        with torch.no_grad():
            found = []
            for sign in (1, -1):
                weight[place] += sign * step
                found.append(loss())
                weight[place] -= sign * step
        slope = (found[0] - found[1]) / (2 * step)
        assert_close(weight.grad[place], slope, rtol=1e-5, atol=1e-6)
        assert slope.abs() > 0


def model_settings(name):
    looks = "before" if "before" in name else "after"
    reader = rnn_reader(score="coverage", looks=looks, input_feeding="fed" in name)
    return ModelSettings(encoder=rnn(), reader=reader)


def test_a_trace_works_its_scores_out_again():
    model, example = model_of(COVERED[0]), example_of(COVERED[0], lengths=(7,))
    with watch(model) as seen:
        model(example.source, example.lengths, example.inputs)
    axes = {"source": Tokens.whole("abcdefg"), "target": Tokens.whole("12345")}
    site = observe(seen, "reader.attention", axes)
    assert site.describe()["features"] == 1
    for query in range(5):
        again = site.contributions_of(0, query).sum(-1)
        np.testing.assert_allclose(again, site.scores[0, query], atol=1e-5)
    np.testing.assert_allclose(site.noticed[0, 3, :, 0], site.weights[0, :3].sum(0), atol=1e-6)


def test_what_it_cannot_follow_is_refused():
    several = Sizes(target=13, sources={"one": SourceSize(11), "two": SourceSize(11)})
    settings = ModelSettings(encoder=rnn(), reader=rnn_reader(score="coverage"))
    with pytest.raises(UsageError, match="follows the reading of one source"):
        build(settings, several)
