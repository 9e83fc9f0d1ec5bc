"""Anything that generates takes steps, and stepping is teacher forcing one symbol at a time."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import watch
from regard.models import TransformerReaderSettings, select
from tests.models.zoo import DECODERS, SOURCE, TARGET, example_of, model_of

every_decoder = pytest.mark.parametrize("name", DECODERS)
every_transformer = pytest.mark.parametrize(
    "name", [n for n, s in DECODERS.items() if isinstance(s.reader, TransformerReaderSettings)]
)


def stepped(decoder, encoded, inputs):
    """The logits of each step, side by side."""
    state = decoder.start(encoded, inputs.shape[1])
    found = []
    for tokens in inputs.unbind(1):
        logits, state = decoder.step(state, tokens)
        found.append(logits)
    return torch.stack(found, 1)


@every_decoder
def test_forced_is_stepped_in_logits_and_in_every_weight(name):
    model, example = model_of(name), example_of(name)
    encoded = model.encode(example.source, example.lengths)
    with watch(model.decoder) as forced_seen:
        forced = model.decoder(encoded, example.inputs)
    with watch(model.decoder) as stepped_seen:
        by_steps = stepped(model.decoder, encoded, example.inputs)

    assert torch.equal(by_steps, stepped(model.decoder, encoded, example.inputs))
    assert_close(by_steps, forced, atol=1e-5, rtol=1e-5)
    assert set(forced_seen) == set(stepped_seen)
    for path in forced_seen:
        forced_weights = forced_seen.weights(path)
        assert forced_weights.shape[2] == TARGET
        assert_close(stepped_seen.weights(path), forced_weights, atol=1e-5, rtol=1e-5)
        assert_close(stepped_seen.scores(path), forced_seen.scores(path), atol=1e-4, rtol=1e-5)


@every_decoder
def test_select_permutes_and_repeats(name):
    model, example = model_of(name), example_of(name)
    rows = torch.tensor([2, 0, 0, 1])
    encoded = model.encode(example.source, example.lengths)
    state = model.decoder.start(encoded, TARGET)
    _, state = model.decoder.step(state, example.inputs[:, 0])
    chosen = select(state, rows)
    for tokens in example.inputs[:, 1:].unbind(1):
        logits, state = model.decoder.step(state, tokens)
        chosen_logits, chosen = model.decoder.step(chosen, tokens[rows])
        assert_close(chosen_logits, logits[rows], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "name", ["rnn-additive-after-fed", "transformer-pre-rotary", "point-lstm", "lm-post-learned"]
)
def test_selected_copies_go_their_own_ways(name):
    model, example = model_of(name), example_of(name, lengths=(SOURCE,))
    encoded = model.encode(example.source, example.lengths)
    state = model.decoder.start(encoded, TARGET)
    _, state = model.decoder.step(state, example.inputs[:, 0])
    twice = select(state, torch.tensor([0, 0]))
    first, second = torch.tensor([1, 2]), torch.tensor([3, 3])
    _, twice = model.decoder.step(twice, first)
    parted, _ = model.decoder.step(twice, second)

    for row in (0, 1):
        alone = select(state, torch.tensor([0]))
        _, alone = model.decoder.step(alone, first[row : row + 1])
        logits, _ = model.decoder.step(alone, second[row : row + 1])
        assert_close(parted[row : row + 1], logits, atol=1e-5, rtol=1e-5)
    assert (parted[0] != parted[1]).any()


def caches_of(state):
    """Of a decoder, or of the one inside a decoder that copies."""
    return getattr(state, "inner", state).caches


@every_transformer
def test_cached_is_uncached_in_a_cache_that_keeps_its_shape(name):
    model, example = model_of(name), example_of(name)
    encoded = model.encode(example.source, example.lengths)
    state = model.decoder.start(encoded, TARGET + 23)
    shapes = [(cache.key.shape, cache.value.shape) for cache in caches_of(state)]
    for length, tokens in enumerate(example.inputs.unbind(1), start=1):
        cached, state = model.decoder.step(state, tokens)
        uncached = model.decoder(encoded, example.inputs[:, :length])[:, -1]

        assert_close(cached, uncached, atol=1e-5, rtol=1e-5)
        assert [(cache.key.shape, cache.value.shape) for cache in caches_of(state)] == shapes
        assert all(cache.filled == length for cache in caches_of(state))
