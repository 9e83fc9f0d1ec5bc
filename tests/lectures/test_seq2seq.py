"""L11-L16: encoder and decoder, without attention and with it."""

from dataclasses import replace

import pytest
import torch

from regard.attention import watch
from regard.models import ModelSettings, RnnEncoderSettings, RnnReaderSettings, Sizes, build
from regard.worked import decoder_step
from regard.worked.likeness import TABLES
from regard.worked.walk import tiny_model

SIZES = Sizes(source=7, target=11)


@pytest.fixture
def make():
    def make(score):
        torch.manual_seed(5)
        settings = ModelSettings(
            encoder=RnnEncoderSettings(cell="elman", width=6, bidirectional=False, dropout=0.0),
            reader=RnnReaderSettings(cell="elman", width=6, score=score, dropout=0.0),
        )
        return build(settings, SIZES).eval()

    return make


SOURCE = torch.tensor([[3, 4, 5, 6]])
INPUTS = torch.tensor([[1, 8, 9]])


def test_without_attention_only_the_last_state_counts(make):  # L11
    model = make("none")
    encoded = model.encode(SOURCE)
    assert torch.equal(encoded.layers[-1], encoded.states[:, -1])
    other = replace(encoded, states=torch.randn_like(encoded.states))
    assert torch.equal(model.decoder(encoded, INPUTS), model.decoder(other, INPUTS))


def test_with_attention_all_states_count(make):  # L12
    model = make("dot")
    encoded = model.encode(SOURCE)
    before = model.decoder(encoded, INPUTS)
    for place in range(4):
        states = encoded.states.clone()
        states[:, place] += 1.0
        after = model.decoder(replace(encoded, states=states), INPUTS)
        assert not torch.allclose(before, after)


def test_the_decoder_step_follows_the_lecture():  # L13
    worked = decoder_step()
    states = torch.tensor(worked["encoder states"])
    hidden = torch.tensor(worked["new hidden state"])
    scores = states @ hidden
    assert torch.allclose(torch.tensor(worked["scores"]), scores)
    weights = torch.tensor(worked["weights"])
    assert torch.allclose(weights, scores.softmax(0))
    context = torch.tensor(worked["context"])
    assert torch.allclose(context, weights @ states)
    assert worked["concatenated"] == (*worked["new hidden state"], *worked["context"])
    decoder = tiny_model(torch.tensor(list(TABLES["four cells (L4)"].values())), 1).decoder
    both = torch.tensor(worked["concatenated"])
    fed = torch.tanh(decoder.readout(both))
    assert torch.allclose(fed, torch.tensor(worked["feed-forward"]))
    assert torch.allclose(decoder.output(fed), torch.tensor(worked["logits"]))
    (slip,) = worked.slips
    assert slip.lecture == "L13"
    assert slip.step == "concatenated"


def test_each_step_looks_once(make):  # L13
    model = make("dot")
    encoded = model.encode(SOURCE)
    with watch(model) as seen:
        state = model.decoder.start(encoded, 3)
        for token in INPUTS[0]:
            _, state = model.decoder.step(state, token[None])
    (path,) = seen
    assert seen.weights(path).shape == (1, 1, 3, 4)


def test_encoder_and_decoder_learn_together(make):  # L16
    model = make("additive")
    model(SOURCE, inputs=INPUTS).logsumexp(-1).sum().backward()
    for name, parameter in model.named_parameters():
        # The hidden bias of an Elman cell and its input bias are one sum; both have a gradient.
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name
