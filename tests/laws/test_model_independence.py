"""What a model's output must not depend on: who watches, padding, neighbours in the batch, the future."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from regard.attention import Attention, watch
from regard.models import PointSettings, RnnEncoderSettings, build
from tests.models.zoo import (
    COPIED,
    DECODERS,
    ENCODERS,
    MODELS,
    POINTS,
    POSITIONS,
    SOURCE,
    TARGET,
    example_of,
    model_of,
)

every_model = pytest.mark.parametrize("name", MODELS)
every_decoder = pytest.mark.parametrize("name", DECODERS)


@every_model
def test_watched_is_unwatched(name):
    model, example = model_of(name), example_of(name)
    unwatched = example.logits(model)
    with watch(model) as seen:
        watched = example.logits(model)

    assert torch.equal(watched, unwatched)
    attending = {path for path, part in model.named_modules() if isinstance(part, Attention)}
    assert set(seen) == attending


@every_model
def test_the_content_of_padding_changes_nothing(name):
    model, example = model_of(name), example_of(name)
    void = torch.arange(SOURCE) >= example.lengths.unsqueeze(1)
    logits = example.logits(model)
    contents = (float("nan"), 1e30) if example.source.is_floating_point() else (1, 7)
    for content in contents:
        source = example.source.clone()
        source[void] = content
        assert torch.equal(replace(example, source=source).logits(model), logits)


@pytest.mark.parametrize("name", ENCODERS)
def test_the_content_of_padding_frames_changes_nothing(name):
    model = build(MODELS[f"{name}-tag"], POINTS).eval()
    frames, lengths = torch.randn(3, SOURCE, POINTS.features), torch.tensor([SOURCE, 2, 0])
    logits = model(frames, lengths)
    assert logits.isfinite().all()
    for content in (float("nan"), float("inf"), 1e30):
        frames[1, 2:], frames[2] = content, content
        assert torch.equal(model(frames, lengths), logits)


@every_model
def test_a_batch_is_its_rows(name):
    model, example = model_of(name), example_of(name)
    together = example.logits(model)
    for row, length in enumerate(example.lengths.tolist()):
        alone = example.row(row).logits(model)[0]
        real = together[row]
        if name.endswith("-tag"):
            real = real[:length]
        elif isinstance(MODELS[name].reader, PointSettings):
            assert (real[:, length + 1 :] == -torch.inf).all()
            real = real[:, : length + 1]
        elif name.startswith("copies-"):  # behind the vocabulary, a number for each source position
            assert (real[:, COPIED.target + length :] == -torch.inf).all()
            real = real[:, : COPIED.target + length]
        assert_close(alone, real, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in DECODERS])
def test_lengths_that_fill_the_batch_are_no_lengths(name):
    model, example = model_of(name), example_of(name, lengths=(SOURCE, SOURCE))
    bare = model(example.source, None, example.inputs)

    assert_close(example.logits(model), bare, atol=1e-6, rtol=1e-5)


@every_decoder
def test_a_symbol_changes_nothing_before_it(name):
    model, example = model_of(name), example_of(name, lengths=(SOURCE, SOURCE, 4))
    before = example.logits(model)
    for place in (1, TARGET - 2):
        inputs = example.inputs.clone()
        inputs[:, place] = (inputs[:, place] + 1) % 5
        after = replace(example, inputs=inputs).logits(model)

        assert_close(after[:, :place], before[:, :place], atol=1e-6, rtol=0)
        assert (after[:, place] != before[:, place]).any(-1).all()


def one_way(name):
    encoder = ENCODERS[name]
    if isinstance(encoder, RnnEncoderSettings):
        return not encoder.bidirectional
    return encoder.reach == "causal"


@pytest.mark.parametrize("name", ENCODERS)
def test_only_a_one_way_encoder_is_blind_to_what_comes(name):
    model, example = model_of(f"{name}-tag"), example_of(f"{name}-tag", lengths=(SOURCE, SOURCE))
    changed = example.source.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 11

    before, after = example.logits(model), model(changed, example.lengths)
    early = after[:, : SOURCE - 1] == before[:, : SOURCE - 1]

    assert early.all() == one_way(name)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("position", POSITIONS)
def test_only_without_positions_is_a_transformer_blind_to_order(position, norm):
    """L51: the states of shuffled words are the shuffled states."""
    name = f"transformer-{norm}-{position}-tag"
    model, example = model_of(name), example_of(name, lengths=(SOURCE, SOURCE))
    shuffled = torch.tensor([3, 1, 6, 0, 5, 2, 4])
    before = example.logits(model)[:, shuffled]
    after = model(example.source[:, shuffled], example.lengths)

    assert torch.allclose(after, before, atol=1e-5) == (position == "none")
