"""Pointer sentinels against the formula of the paper, one word at a time (Merity 2016)."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import watch
from regard.errors import UsageError
from regard.models import ModelSettings, Sizes, build, select
from regard.models.readers import IGNORE
from tests.models.zoo import WORDS, fresh, model_of, rnn, rnn_reader

NAME, WINDOW, VOCABULARY = "lm-sentinel-gru", 3, WORDS.target
every = pytest.mark.parametrize("name", [NAME, "lm-sentinel-lstmn"])
# 1 is the begin symbol. Word 5 comes again inside the window and outside of it.
INPUTS = torch.tensor([[1, 5, 7, 5, 5, 8, 9, 4], [1, 6, 6, 2, 6, 3, 1, 6]])
NOTHING = torch.zeros(2, 0, dtype=torch.long)


def by_hand(model, row):
    """p(w) of every step of one row: softmax over sentinel and last words, then the sums of a word."""
    reader = model.reader
    hidden = reader.decoder.hidden(model.encode(NOTHING[:1]), INPUTS[row : row + 1])[0]
    for step, state in enumerate(hidden):
        query = torch.tanh(reader.query.weight @ state + reader.query.bias)
        near = [i for i in range(max(0, step - WINDOW + 1), step + 1) if INPUTS[row, i] != 1]
        scores = [query @ reader.sentinel, *(query @ hidden[i] for i in near)]
        gate, *shares = torch.stack(scores).softmax(0)
        p = gate * reader.decoder.output(state).softmax(0)
        for i, share in zip(near, shares, strict=True):
            p[INPUTS[row, i]] += share
        yield p, gate, dict(zip(near, shares, strict=True))


@every
def test_the_mixture_is_the_papers(name):
    model = model_of(name)
    with watch(model) as seen:
        found = model(NOTHING, None, INPUTS)
    weights, gates = seen.weights("reader.attention")[:, 0], seen.shown("reader.gate")
    assert_close(found.exp().sum(-1), torch.ones(2, 8))
    for row in range(2):
        for step, (p, gate, shares) in enumerate(by_hand(model, row)):
            assert_close(found[row, step].exp(), p, atol=1e-6, rtol=1e-4)
            assert_close(gates[row, step], gate)
            assert_close(weights[row, step, 0], gate)
            for place in range(8):
                share = shares.get(place, torch.tensor(0.0))
                assert_close(weights[row, step, place + 1], share)
    assert torch.equal(model(NOTHING, None, INPUTS), found)  # watched as unwatched


@every
def test_forced_is_stepped_and_rows_can_be_reordered(name):
    model = model_of(name)
    forced = model(NOTHING, None, INPUTS)
    state = model.decoder.start(model.encode(NOTHING), 8)
    for step in range(8):
        found, state = model.decoder.step(state, INPUTS[:, step])
        assert_close(found, forced[:, step], atol=1e-5, rtol=1e-4)
        if step == 4:
            order = torch.tensor([1, 0])
            turned, _ = model.decoder.step(select(state, order), INPUTS[order, 5])
            assert_close(turned, forced[order, 5], atol=1e-5, rtol=1e-4)


def test_the_loss_is_minus_the_logarithm_of_the_mixture():
    model = fresh(NAME).double()
    targets = INPUTS.roll(-1, 1).clone()
    targets[:, -1] = IGNORE

    def loss():
        return model.reader.loss(model(NOTHING, None, INPUTS), targets)

    found = model(NOTHING, None, INPUTS)
    own = [found[r, s, t] for r, row in enumerate(targets) for s, t in enumerate(row) if t >= 0]
    assert_close(loss(), -torch.stack(own).sum())
    loss().backward()
    for path in ("query.weight", "query.bias", "sentinel", "decoder.output.weight"):
        parameter = model.reader.get_parameter(path)
        place, flat = int(parameter.grad.abs().argmax()), parameter.detach().view(-1)
        with torch.no_grad():
            ends = []
            for sign in (1, -2):
                flat[place] += sign * 1e-6
                ends.append(loss())
            flat[place] += 1e-6
        slope = (ends[0] - ends[1]) / 2e-6
        assert_close(parameter.grad.view(-1)[place], slope, rtol=1e-5, atol=1e-7)
        assert slope.abs() > 1e-4, path
    assert model.reader.loss(found, targets, 0.1) > 0


def test_a_word_that_the_vocabulary_rules_out_can_still_be_pointed_at():
    """A bias of -1000 makes p_vocabulary of word 5 exactly 0 in single precision: the pointer remains."""
    model = fresh(NAME)
    with torch.no_grad():
        model.reader.decoder.output.bias[5] = -1000.0
    found = model(NOTHING, None, INPUTS)
    assert (found[0, 1:4, 5] > -20).all()
    assert found.isfinite().all()
    model.reader.loss(found, INPUTS).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_only_a_language_model_points_back():
    with pytest.raises(UsageError, match="its own earlier words"):
        build(ModelSettings(encoder=rnn(), reader=rnn_reader(points_back=3)), Sizes(11, 13))
