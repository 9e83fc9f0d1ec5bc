"""Sub-sampled frames depend on their sound alone, and what is hidden while learning is hidden as it says."""

import pytest
import torch
from torch import nn

from regard.attention import Padding, Sinusoidal
from regard.errors import UsageError
from regard.layers import Recurrent, Subsampling
from regard.layers.recurrent import paired
from regard.layers.subsampling import hidden_at_random
from regard.models import ModelSettings, RnnReaderSettings, Sizes, TransformerSettings, build
from regard.models.encoder import FrontEncoder, RnnEncoder
from regard.settings.architecture import RnnEncoderSettings, SubsamplingFrontSettings

BANDS, WIDTH = 7, 10


def sounds(*lengths):
    torch.manual_seed(3)
    return [torch.rand(length, BANDS) for length in lengths]


def encoder(kind):
    torch.manual_seed(1)
    front = Subsampling(BANDS, WIDTH, channels=(3, 5), position=Sinusoidal(WIDTH))
    if kind == "front":
        return FrontEncoder(front, WIDTH).eval()
    recurrent = Recurrent("lstm", WIDTH, WIDTH, 3, bidirectional=True, pyramid=2)
    return RnnEncoder(front, recurrent, WIDTH).eval()


@pytest.mark.parametrize("kind", ["front", "pyramid"])
def test_a_batch_of_n_is_n_of_one_whatever_stands_in_padding(kind):
    own, several = encoder(kind), sounds(1, 19, 8, 31, 32, 17)
    lengths = torch.tensor([len(one) for one in several])
    padded = nn.utils.rnn.pad_sequence(several, batch_first=True, padding_value=float("nan"))
    together = own(padded, Padding(lengths))
    for number, sound in enumerate(several):
        alone = own(sound[None])
        count = own.states_of(len(sound))
        assert alone.states.shape == (1, count, WIDTH)
        assert together.padding.lengths[number] == count
        torch.testing.assert_close(together.states[number, :count], alone.states[0])
        for one, other in zip(together.layers, alone.layers, strict=True):
            torch.testing.assert_close(one[number], other[0])


def test_a_pyramid_is_layers_that_read_pairs():
    """h_i of a layer reads [h_2i; h_2i+1] of the layer below (Chan 2016), by plain loops over its cells."""
    torch.manual_seed(2)
    own = Recurrent("gru", 3, 4, 3, bidirectional=True, pyramid=2).double()
    frames = torch.randn(11, 3, dtype=torch.double)
    states = list(frames)
    for number in range(3):
        if number:
            states += [torch.zeros(4, dtype=torch.double)] * (len(states) % 2)
            states = [torch.cat(states[n : n + 2]) for n in range(0, len(states), 2)]
        rows = []
        for cells, order in ((own.forward_cells, 1), (own.backward_cells, -1)):
            state, found = cells[number].zeros(states[0][None]), []
            for one in states[::order]:
                state = cells[number].step(one[None], state)
                found.append(state[0][0])
            rows.append(found[::order])
        states = [torch.cat(both) for both in zip(*rows, strict=True)]
    outputs, _ = own(frames[None])
    assert outputs.shape == (1, 3, 4)
    assert own.states_of(11) == 3
    torch.testing.assert_close(outputs[0], torch.stack(states))


def test_pairs_have_zeros_behind_the_end():
    states = torch.arange(1.0, 11).reshape(1, 5, 2)
    found = paired(states, torch.tensor([3]))
    assert found.tolist() == [[[1, 2, 3, 4], [5, 6, 0, 0], [0, 0, 0, 0]]]


def test_a_pyramid_stands_on_a_layer():
    with pytest.raises(
        UsageError, match="a pyramid of 2 layers stands on one more, and there are 2"
    ):
        Recurrent("lstm", 4, 4, 2, pyramid=2)


def test_the_gradient_is_that_of_finite_differences():
    torch.manual_seed(2)
    front = Subsampling(5, 3, channels=(2, 2)).double().eval()
    recurrent = Recurrent("lstm", 3, 4, 2, bidirectional=True, pyramid=1).double()
    lengths = torch.tensor([9, 4])

    def states(frames):
        embedded = front.read(frames, Padding(lengths))
        found, last = recurrent(embedded.states, embedded.padding.lengths)
        return found[0], found[1, :1], last[-1]

    frames = torch.randn(2, 9, 5, dtype=torch.double)
    frames[1, 4:] = 0
    assert torch.autograd.gradcheck(states, frames.requires_grad_())


def test_hidden_bands_and_frames_are_stretches_within_the_sound():
    torch.manual_seed(5)
    sound, lengths = torch.ones(200, 30, 20), torch.full((200,), 12)
    found = hidden_at_random(sound, lengths, bands=6, frames=50)
    gone = (found == 0).all(1)  # bands that are hidden at every frame
    still = (found == 0).all(2)
    for row in range(200):
        for places, most in ((gone[row], 6), (still[row], 4)):
            where = places.nonzero().flatten()
            assert len(where) <= most  # of frames a third of the 12
            assert not len(where) or where[-1] - where[0] == len(where) - 1
        assert not still[row, 12:].any()
    assert gone.sum(1).max() == 6
    assert still.sum(1).max() == 4
    assert torch.equal(hidden_at_random(sound, None, 0, 0), sound)


def test_nothing_is_hidden_from_a_trained_model():
    torch.manual_seed(1)
    front = Subsampling(BANDS, WIDTH, channels=(3,), mask_bands=5, mask_frames=5)
    frames = torch.rand(4, 16, BANDS)
    learning = front.read(frames, None).states
    front.eval()
    same = front.read(frames, None).states
    assert torch.equal(same, front.read(frames, None).states)
    assert not torch.equal(learning, same)


def test_settings_build_it_and_text_is_refused():
    front = SubsamplingFrontSettings(channels=(4, 4))
    for encoder in (
        TransformerSettings(width=8, layers=1, heads=2, feedforward=8, front=front),
        RnnEncoderSettings(width=8, layers=2, pyramid=1, front=front),
    ):
        settings = ModelSettings(encoder=encoder, reader=RnnReaderSettings(width=8))
        assert build(settings, Sizes(features=13, target=5)).encoders["source"].states_of(100) <= 25
        with pytest.raises(UsageError, match="a sound is sub-sampled"):
            build(settings, Sizes(source=9, target=5))
