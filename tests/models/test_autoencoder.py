"""Autoencoders: what noise may do to a text, what a bottleneck lets through, and who cannot have them."""

from dataclasses import replace

import pytest
import torch

from regard.accelerate.cpu import lean
from regard.errors import UsageError
from regard.models import ModelSettings, Sizes, build
from regard.models.autoencoder import corrupted
from regard.settings.architecture import NoiseSettings
from tests.models.zoo import rnn, rnn_reader, transformer, transformer_reader

END, HIDDEN, LENGTH = 2, 3, 11
SIZES = Sizes(source=13, target=13)


def rows():
    source = torch.arange(4, 4 + LENGTH).repeat(400, 1)
    lengths = torch.tensor([LENGTH, 5, 1, 0] * 100)
    source[torch.arange(400), (lengths - 1).clamp(min=0)] = END
    return source, lengths


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(7)


def test_no_noise_changes_nothing():
    source, lengths = rows()
    found, after = corrupted(source, lengths, NoiseSettings(), HIDDEN)
    assert torch.equal(after, lengths)
    assert torch.equal(found, source)


def test_words_are_dropped_in_their_share_and_the_rest_keep_their_order():
    source, lengths = rows()
    found, after = corrupted(source, lengths, NoiseSettings(drop=0.3), HIDDEN)
    gone = (lengths - after).sum() / (lengths - 1).clamp(min=0).sum()
    assert 0.25 < float(gone) < 0.35
    for row, length, before in zip(found, after.tolist(), lengths.tolist(), strict=True):
        kept = row[:length].tolist()
        assert kept[:-1] == sorted(kept[:-1])
        assert not kept or kept[-1] == END
        assert length >= min(before, 2)  # a row that had words keeps one


def test_all_words_dropped_leave_the_first():
    source, lengths = rows()
    found, after = corrupted(source, lengths, NoiseSettings(drop=0.999999), HIDDEN)
    assert after.tolist() == [2, 2, 1, 0] * 100
    assert (found[lengths > 1][:, 0] == 4).all()
    assert (found[lengths > 1][:, 1] == END).all()


@pytest.mark.parametrize("reach", [1, 3])
def test_words_move_by_no_more_than_they_may(reach):
    source, lengths = rows()
    found, after = corrupted(source, lengths, NoiseSettings(shuffle=reach), HIDDEN)
    assert torch.equal(after, lengths)
    furthest = 0
    for row, length in zip(found, lengths.tolist(), strict=True):
        words = row[: max(0, length - 1)].tolist()
        assert sorted(words) == list(range(4, 3 + max(1, length)))
        furthest = max([furthest, *(abs(place - (word - 4)) for place, word in enumerate(words))])
        assert length == 0 or int(row[length - 1]) == END
    assert furthest == reach


def test_hidden_words_are_the_unknown_sign_and_never_the_end():
    source, lengths = rows()
    found, _ = corrupted(source, lengths, NoiseSettings(mask=0.5), HIDDEN)
    changed = found != source
    assert (found[changed] == HIDDEN).all()
    assert 0.4 < float(changed.sum() / (lengths - 1).clamp(min=0).sum()) < 0.6
    assert not changed[torch.arange(400), (lengths - 1).clamp(min=0)][lengths > 0].any()


def model_of(encoder=None, **more):
    settings = ModelSettings(encoder=encoder or rnn(), reader=rnn_reader(score="none"), **more)
    return build(settings, SIZES)


def test_noise_is_for_learning_alone():
    model = model_of(noise=NoiseSettings(drop=0.5, shuffle=2))
    source, inputs = torch.randint(4, 13, (5, 9)), torch.randint(4, 13, (5, 3))
    assert not torch.equal(model.train()(source, None, inputs), model(source, None, inputs))
    plain = model_of()
    plain.load_state_dict(model.state_dict())
    assert torch.equal(model.eval()(source, None, inputs), plain.eval()(source, None, inputs))


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("encoder", [rnn(), transformer()], ids=["rnn", "transformer"])
def test_nothing_of_the_source_leads_around_a_bottleneck(encoder, fed):
    """Two sources with one code have one answer, whatever their states are."""
    reader = rnn_reader(score="none", input_feeding=fed)
    settings = ModelSettings(encoder=encoder, reader=reader, bottleneck=2)
    model = build(settings, SIZES).eval()
    inputs = torch.randint(4, 13, (3, 4))
    encoded = model.encode(torch.randint(4, 13, (3, 7)))
    other = replace(encoded, states=torch.randn_like(encoded.states))
    assert torch.equal(model.reader(encoded, inputs), model.reader(other, inputs))
    code = torch.randn(1, 2)
    with torch.no_grad():
        same = replace(encoded, layers=(model.bottleneck.widen(code.expand(3, 2)),))
        logits = model.reader(same, inputs[:1].expand(3, 4))
    torch.testing.assert_close(logits[0], logits[1])
    assert model.bottleneck.code(encoded).shape == (3, 2)
    assert lean(model) is None


def test_what_would_be_pointless_is_refused():
    for reader in (rnn_reader(), transformer_reader(), {"kind": "tag"}):
        with pytest.raises(UsageError, match="lead around a bottleneck"):
            build(ModelSettings(encoder=rnn(), reader=reader, bottleneck=2), Sizes(13, 13, 3))
    settings = ModelSettings(encoder=rnn(), reader={"kind": "tag"}, noise={"drop": 0.1})
    with pytest.raises(UsageError, match="noise is for one text"):
        build(settings, Sizes(13, 13, 3))
