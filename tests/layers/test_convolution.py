"""A picture's states depend on the picture alone: on no neighbour in its batch, on nothing in padding."""

import pytest
import torch
from torch import nn

from regard.attention import Padding
from regard.layers import Convolution, Patches
from regard.layers.convolution import displaced, warped
from regard.models import Sizes, build
from regard.models.encoder import FrontEncoder
from regard.settings.architecture import ModelSettings

ROWS, CHANNELS, WIDTH = 13, 3, 10
FRONTS = {
    "convolution": lambda: Convolution(ROWS, ROWS * CHANNELS, WIDTH, channels=(5, 7)),
    "with blocks": lambda: Convolution(ROWS, ROWS * CHANNELS, WIDTH, channels=(5, 7, 6), blocks=2),
    "patches": lambda: Patches(ROWS, ROWS * CHANNELS, WIDTH, size=13),
    "cells": lambda: Patches(ROWS, ROWS * CHANNELS, WIDTH, size=1),
}


def pictures(*widths):
    torch.manual_seed(3)
    return [torch.rand(width, ROWS * CHANNELS) for width in widths]


@pytest.mark.parametrize("name", FRONTS)
def test_a_batch_of_n_is_n_of_one(name):
    torch.manual_seed(1)
    encoder = FrontEncoder(FRONTS[name](), WIDTH).eval()
    several = pictures(1, 19, 8, 31, 32)
    lengths = torch.tensor([len(one) for one in several])
    padded = nn.utils.rnn.pad_sequence(several, batch_first=True, padding_value=float("nan"))
    together = encoder(padded, Padding(lengths))
    assert together.padding is not None
    for number, picture in enumerate(several):
        alone = encoder(picture[None])
        count = encoder.embedding.states_of(len(picture))
        assert alone.states.shape == (1, count, WIDTH)
        assert together.padding.lengths[number] == count
        assert alone.rows == together.rows
        # Rounding differs with the size of a batch: by 1.1e-6, 2.2e-6 and 1.4e-6 with AVX-512, AVX2 and SSE.
        assert torch.allclose(together.states[number, :count], alone.states[0], atol=1e-5)


def test_a_region_sees_what_the_docstring_says():
    """Without blocks, 2^(stages + 1) - 1 pixels across, its own square in the middle of them."""
    torch.manual_seed(1)
    front = Convolution(32, 32, WIDTH, channels=(5, 5, 5)).double().eval()
    picture = torch.rand(1, 64, 32, dtype=torch.double, requires_grad=True)
    states = front.read(picture, None).states.reshape(8, 4, WIDTH)  # columns of 8 pixels, 4 rows
    states[4, 2].sum().backward()
    seen = picture.grad[0].abs() > 0
    columns, rows = (side.nonzero().flatten().tolist() for side in (seen.any(1), seen.any(0)))
    assert columns == list(range(32 - 3, 32 + 8 + 4))
    assert rows == list(range(16 - 3, 16 + 8 + 4))


def test_the_gradient_is_that_of_finite_differences():
    torch.manual_seed(2)
    front = Convolution(5, 10, 4, channels=(3, 3), blocks=1).double().eval()
    picture = torch.rand(2, 6, 10, dtype=torch.double, requires_grad=True)
    padding = Padding(torch.tensor([6, 3]))
    assert torch.autograd.gradcheck(lambda one: front.read(one, padding).states, (picture,))


def test_bytes_are_shares_of_255():
    encoder = FrontEncoder(FRONTS["convolution"](), WIDTH).eval()
    pixels = torch.randint(0, 256, (2, 9, ROWS * CHANNELS), dtype=torch.uint8)
    assert torch.equal(encoder(pixels).states, encoder(pixels / 255).states)


def test_warping_is_for_learning_alone_and_stays_inside_the_picture():
    front = Convolution(ROWS, ROWS * CHANNELS, WIDTH, channels=(5,), warp=0.2, mirror=True)
    picture = pictures(20)[0][None]
    first, second = (front.train().read(picture, None).states for _ in range(2))
    assert not torch.allclose(first, second)
    front.eval()
    assert torch.equal(front.read(picture, None).states, front.read(picture, None).states)
    maps = torch.ones(4, 1, 8, 30)
    drawn = warped(maps, torch.tensor([30, 20, 10, 1]), 0.2, False)
    assert drawn.shape == maps.shape
    assert drawn[1, :, :, 20:].abs().max() == 0
    assert torch.allclose(warped(maps, None, 0.0, False), maps)  # nothing to warp by
    ramp = torch.arange(30.0).expand(1, 1, 8, 30)
    turned = {  # seen in a mirror, or not
        tuple(warped(ramp, None, 0.0, True)[0, 0, 0].round().int().tolist()) for _ in range(20)
    }
    assert turned == {tuple(range(30)), tuple(range(29, -1, -1))}


def test_elastic_distortion_moves_parts_by_about_as_much_as_asked_and_neighbours_alike():
    torch.manual_seed(5)
    maps = torch.zeros(40, 1, 64, 150)
    aside = displaced(maps, 1.3)
    assert aside.shape == (40, 2, 64, 150)
    assert 0.5 < aside.std() < 1.3  # between the drawn points it is less than there
    steps = [aside.diff(dim=axis).abs().max() for axis in (2, 3)]
    assert max(steps) < 1.3  # neighbouring pixels stay neighbours
    front = Convolution(ROWS, ROWS * CHANNELS, WIDTH, channels=(5,), elastic=0.1)
    picture = pictures(20)[0][None]
    first, second = (front.train().read(picture, None).states for _ in range(2))
    assert not torch.allclose(first, second)
    front.eval()
    assert torch.equal(front.read(picture, None).states, front.read(picture, None).states)


@pytest.mark.parametrize("front", [{"kind": "convolution"}, {"kind": "patches", "size": 4}])
def test_settings_build_a_model_whose_encoder_is_its_front_end(front):
    settings = ModelSettings.model_validate(
        {
            "encoder": {"kind": "front", "width": 12, "front": front},
            "reader": {"kind": "rnn", "width": 8},
        }
    )
    model = build(settings, Sizes(target=9, features=16, rows=16))
    assert isinstance(model.encoder, FrontEncoder)
    logits = model(
        torch.rand(2, 17, 16), torch.tensor([17, 4]), torch.zeros(2, 5, dtype=torch.long)
    )
    assert logits.shape == (2, 5, 9)
