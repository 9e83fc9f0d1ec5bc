"""The Transformer's decoder: caches with room, and a view of the source made once."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import watch
from regard.errors import UsageError
from tests.models.zoo import SOURCE, TARGET, example_of, model_of

NAME = "transformer-pre-sinusoidal"


def test_a_start_makes_room_and_reads_the_source_once():
    model, example = model_of(NAME), example_of(NAME)
    encoded = model.encode(example.source, example.lengths)
    state = model.decoder.start(encoded, 11)

    assert [cache.capacity for cache in state.caches] == [11, 11]
    assert [cache.filled for cache in state.caches] == [0, 0]
    assert state.position == 0
    for block, source in zip(model.decoder.blocks, state.sources, strict=True):
        remembered = block.cross.remember(encoded.states, encoded.padding)
        assert torch.equal(source.key, remembered.key)


def test_a_full_cache_refuses_another_symbol():
    model, example = model_of(NAME), example_of(NAME)
    state = model.decoder.start(model.encode(example.source, example.lengths), 1)
    _, state = model.decoder.step(state, example.inputs[:, 0])
    with pytest.raises(UsageError, match="room for 1 positions, and 2 were asked for"):
        model.decoder.step(state, example.inputs[:, 1])


def test_a_language_model_has_no_source_to_read():
    model, example = model_of("lm-pre-sinusoidal"), example_of("lm-pre-sinusoidal")
    state = model.decoder.start(model.encode(example.source), TARGET)

    assert state.sources == (None, None)
    assert not any("cross" in name for name, _ in model.named_parameters())


def test_self_attention_is_a_triangle_and_cross_attention_ends_with_the_source():
    model, example = model_of(NAME), example_of(NAME)
    with watch(model.decoder) as seen:
        example.logits(model)

    within, across = (seen.weights(f"blocks.1.{part}.attention") for part in ("attention", "cross"))
    assert torch.equal(within > 0, torch.ones(TARGET, TARGET).tril().bool().expand_as(within))
    real = torch.arange(SOURCE) < example.lengths[:, None, None, None]
    assert torch.equal(across > 0, real.expand_as(across))


def test_logits_are_the_output_layer_over_the_last_hidden_state():
    model, example = model_of("transformer-shared"), example_of("transformer-shared")
    encoded = model.encode(example.source, example.lengths)
    hidden = model.decoder.hidden(encoded, example.inputs)

    output = model.decoder.output
    assert_close(model.decoder(encoded, example.inputs), hidden @ output.weight.mT + output.bias)
