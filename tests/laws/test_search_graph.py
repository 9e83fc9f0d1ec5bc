"""The search with fixed shapes finds what the generic beam finds: here step by step, without a GPU."""

import random

import pytest
import torch

from regard.accelerate.cuda_graph import RecordedSearch
from regard.accelerate.cuda_graph.search_state import packs
from regard.attention import watch
from regard.decode import DecodeSettings, beam, greedy, search
from regard.models import (
    ModelSettings,
    Sizes,
    TransformerReaderSettings,
    TransformerSettings,
    build,
    heads_by_site,
)
from regard.seams import reference, using
from tests.models.zoo import DECODERS, model_of

BLOCKS = {"width": 12, "heads": 3, "feedforward": 17, "max_length": 97}


def drawn(seed, *, longest=9):
    """A small random model, every weight shaken, a ragged batch and settings; sizes are mostly primes."""
    chance = random.Random(seed)
    torch.manual_seed(seed)
    reader = TransformerReaderSettings(
        **BLOCKS,
        layers=chance.choice([1, 2]),
        norm=chance.choice(["pre", "post"]),
        position=chance.choice(["sinusoidal", "learned", "none"]),
        activation=chance.choice(["relu", "gelu", "swiglu"]),
        score=chance.choice(["dot", "scaled-dot"]),
        tied=chance.random() < 0.5,
        output_bias=chance.random() < 0.5,
    )
    encoder = TransformerSettings(**BLOCKS, layers=1)
    model = build(ModelSettings(encoder=encoder, reader=reader), Sizes(source=11, target=13)).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.3)
    if seed % 2:  # some heads are half closed, and layers have other numbers of them
        for number, heads in enumerate(heads_by_site(model).values()):
            heads.gate = torch.tensor([0.5, 1.0, 0.0])
            heads.keep([[0, 1, 2], [2, 0], [1]][number % 3])
    batch, length = chance.choice([1, 3, 7, 20]), chance.randint(1, 7)
    width, last = chance.choice([1, 2, 3, 5]), chance.randint(1, longest)
    settings = DecodeSettings(
        beam=width,
        top_beams=chance.randint(1, width),
        penalty=chance.choice(["none", "average", "gnmt"]),
        alpha=chance.choice([0.0, 0.6, 1.0]),
        min_length=chance.choice([0, 0, min(2, last), last]),
        max_length=last,
    )
    source = torch.randint(11, (batch, length))
    return model, source, torch.randint(0, length + 1, (batch,)), settings


def same(expected, found):
    for row, others in zip(expected, found, strict=True):
        assert [h.tokens for h in row] == [h.tokens for h in others]
        assert [h.finish for h in row] == [h.finish for h in others]
        for hypothesis, other in zip(row, others, strict=True):
            assert other.score == pytest.approx(hypothesis.score, rel=1e-5, abs=1e-5)
            assert other.log_probabilities == pytest.approx(
                hypothesis.log_probabilities, rel=1e-4, abs=1e-5
            )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("seed", range(20))
def test_it_finds_what_the_beam_finds(seed, dtype):
    model, source, lengths, settings = drawn(seed)
    model = model.to(dtype)
    with torch.inference_mode():
        encoded = model.encode(source, lengths)
        same(
            beam(model.decoder, encoded, settings)[0],
            RecordedSearch().search(model.decoder, encoded, settings),
        )


@pytest.mark.parametrize("seed", range(100, 104))
def test_it_grows_past_its_first_room_and_leaves_finished_rows_behind(seed):
    small = RecordedSearch(positions=2, crowd=0)
    model, source, lengths, settings = drawn(seed, longest=40)
    with torch.inference_mode():
        encoded = model.encode(source, lengths)
        same(
            beam(model.decoder, encoded, settings)[0],
            small.search(model.decoder, encoded, settings),
        )


def test_it_follows_the_weights_as_they_change():
    model, source, lengths, settings = drawn(7)
    form = RecordedSearch()
    for round_ in range(2):
        with torch.inference_mode():
            encoded = model.encode(source, lengths)
            same(
                beam(model.decoder, encoded, settings)[0],
                form.search(model.decoder, encoded, settings),
            )
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(-1.0 - round_)


def test_where_numbers_were_not_there_is_no_output():
    model, source, lengths, settings = drawn(3)
    with torch.no_grad():
        model.decoder.output.weight[4] = torch.nan
        encoded = model.encode(source.clamp(max=3), lengths)
        assert (
            RecordedSearch().search(model.decoder, encoded, settings)
            == (beam(model.decoder, encoded, settings)[0])
        )


@pytest.mark.parametrize("name", DECODERS)
def test_it_takes_only_the_plain_kind(name):
    decoder = model_of(name).decoder
    plain = {
        f"transformer-{norm}-{position}"
        for norm in ("pre", "post")
        for position in ("none", "sinusoidal", "sinusoidal-halves", "learned")
    }
    plain |= {"transformer-score-dot", "transformer-shared", "sound-transformer"}
    plain |= {"transformer-reach-causal"}  # which every decoder is
    assert packs(decoder) == (name in plain)


def test_who_looks_gets_the_generic_search():
    model = drawn(5)[0]
    assert packs(model.decoder)
    with watch(model):
        assert not packs(model.decoder)
    model.train()
    assert not packs(model.decoder)


def test_on_a_cpu_the_generic_search_runs():
    model, source, lengths, settings = drawn(11)
    encoded, form = model.encode(source, lengths), RecordedSearch()
    plain = settings.model_copy(update={"beam": 1, "top_beams": 1})
    with using(search=[form]):
        assert search(model.decoder, encoded, plain) == greedy(model.decoder, encoded, plain)
    assert not form.engines


def test_the_seam_hands_it_what_it_takes():
    model, source, lengths, settings = drawn(11)
    form = RecordedSearch(devices=("cpu",))
    with torch.inference_mode(), using(search=[form]):
        encoded = model.encode(source, lengths)
        same(beam(model.decoder, encoded, settings)[0], search(model.decoder, encoded, settings))
        assert len(form.engines) == 1
        with reference():
            search(model.decoder, encoded, settings)
