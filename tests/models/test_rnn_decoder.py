"""The lecture's decoder step, with the order of looking as a choice."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import Attention, watch
from tests.models.zoo import DECODERS, example_of, model_of


def begun(name):
    model, example = model_of(name), example_of(name, lengths=(7, 3, 1))
    encoded = model.encode(example.source, example.lengths)
    return model.decoder, model.decoder.start(encoded, 5), example.inputs[:, 0]


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("rnn-none", "none"),
        ("rnn-none-fed", "source"),
        ("rnn-additive-after", "none"),
        ("rnn-additive-after-fed", "readout"),
        ("rnn-additive-before", "source"),
        ("lm-rnn-gru", "none"),
    ],
)
def test_what_stands_beside_the_word(name, extra):
    assert model_of(name).decoder.extra == extra


def test_one_step_is_the_lectures_step():
    """L13: new h; context by h; feed-forward over [h; c]; word."""
    decoder, state, tokens = begun("rnn-dot-after")
    word = decoder.embedding(tokens.unsqueeze(1)).squeeze(1)
    (hidden,) = next(iter(decoder.cells)).step(word, state.cells[0])
    keys = state.memory.key[:, 0]
    void = state.memory.mask.unseen(keys.shape[1])
    scores = (keys @ hidden.unsqueeze(-1)).squeeze(-1).masked_fill(void, -torch.inf)
    context = (scores.softmax(-1).unsqueeze(1) @ state.memory.value[:, 0]).squeeze(1)
    readout = torch.tanh(decoder.readout(torch.cat([hidden, context], -1)))

    logits, after = decoder.step(state, tokens)

    assert_close(logits, decoder.output(readout))
    assert_close(after.cells[0][0], hidden)
    assert_close(after.fed, readout)


@pytest.mark.parametrize("name", ["rnn-additive-{}", "rnn-gru-{}-2"])
def test_after_looks_with_the_new_top_state_and_before_with_the_old(name):
    for looks in ("after", "before"):
        decoder, state, tokens = begun(name.format(looks))
        with watch(decoder) as seen:
            _, after = decoder.step(state, tokens)
        (aligned,) = seen["attention"]
        asking = after if looks == "after" else state
        assert torch.equal(aligned.query[:, 0, 0], asking.cells[-1][0])


def test_each_layer_begins_from_a_bridge_of_the_encoders_layer():
    model, example = model_of("rnn-lstm-after-2"), example_of("rnn-lstm-after-2")
    encoded = model.encode(example.source, example.lengths)
    state = model.decoder.start(encoded, 1)
    for bridge, layer, cell in zip(model.decoder.bridge, encoded.layers, state.cells, strict=True):
        assert_close(torch.cat(cell, -1), torch.tanh(bridge(layer)))


def test_without_attention_the_source_comes_through_the_summary_alone():
    model, example = model_of("rnn-none"), example_of("rnn-none")
    assert not any(isinstance(part, Attention) for part in model.modules())
    encoded = model.encode(example.source, example.lengths)
    blind = type(encoded)(torch.zeros_like(encoded.states), encoded.padding, encoded.layers)

    assert torch.equal(model.decoder(encoded, example.inputs), model.decoder(blind, example.inputs))


@pytest.mark.parametrize("name", [n for n in DECODERS if n.startswith("rnn-") and "none" not in n])
def test_a_source_of_padding_leaves_the_context_empty(name):
    model, example = model_of(name), example_of(name, lengths=(3, 0))
    with watch(getattr(model.decoder, "decoder", model.decoder)) as seen:
        example.logits(model)

    assert not seen.weights("attention")[1].any()
    assert seen.weights("attention")[0].any()
