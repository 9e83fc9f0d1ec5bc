"""On a GPU the kernels equal their formulas, and a recorded search finds what the generic beam finds."""

import pytest
import torch

from regard.accelerate.cuda_graph import RecordedSearch
from regard.accelerate.cuda_graph.operations import Plain, Stream
from regard.accelerate.cuda_graph.search_state import Shape, State, pack
from regard.accelerate.stack import Straight
from regard.decode import DecodeSettings, beam, search
from regard.models import (
    ModelSettings,
    Sizes,
    TransformerReaderSettings,
    TransformerSettings,
    build,
)
from regard.seams import using
from tests.laws.test_search_graph import drawn, same

pytestmark = [
    pytest.mark.slow,
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]


@pytest.mark.parametrize("seed", range(24))
def test_it_finds_what_the_beam_finds(seed):
    """Small beams go through the narrow kernels, large ones through the wide."""
    model, source, lengths, settings = drawn(seed, longest=23)
    model = model.cuda()
    with torch.inference_mode():
        encoded = model.encode(source.cuda(), lengths.cuda())
        assert RecordedSearch().takes(model.decoder, encoded, settings, None)
        expected = beam(model.decoder, encoded, settings)[0]
        for _ in range(2):  # the second time the step is recorded from the start
            same(expected, search(model.decoder, encoded, settings))


@pytest.mark.parametrize("seed", range(100, 104))
def test_it_grows_past_its_first_room_and_leaves_finished_rows_behind(seed):
    model, source, lengths, settings = drawn(seed, longest=40)
    model = model.cuda()
    with torch.inference_mode(), using(search=[RecordedSearch(positions=2, crowd=0)]):
        encoded = model.encode(source.cuda(), lengths.cuda())
        same(
            beam(model.decoder, encoded, settings)[0],
            search(model.decoder, encoded, settings),
        )


def test_it_follows_the_weights_as_they_change():
    model, source, lengths, settings = drawn(7, longest=23)
    model = model.cuda()
    for _round in range(3):
        with torch.inference_mode():
            encoded = model.encode(source.cuda(), lengths.cuda())
            expected = beam(model.decoder, encoded, settings)[0]
            same(expected, search(model.decoder, encoded, settings))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(-1.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("seed", range(200, 206))
def test_the_encoder_goes_straight_and_finds_what_its_modules_find(seed, dtype):
    model, source, lengths, _ = drawn(seed)
    model, source, lengths = model.to("cuda", dtype), source.cuda(), lengths.cuda()
    expected = model.encode(source, lengths)
    with torch.inference_mode():
        states = model.encoder.embed(source, expected.padding).states
        assert Straight().takes(model.encoder, states, expected.padding, ())
        found = model.encode(source, lengths)
    real = ~expected.padding.unseen(source.shape[1])
    close = 0.15 if dtype == torch.bfloat16 else 1e-4
    torch.testing.assert_close(found.states[real], expected.states[real], atol=close, rtol=close)


def base(norm, vocabulary=32768):
    """One layer of the base size."""
    sizes = {"width": 512, "heads": 8, "feedforward": 2048, "layers": 1, "norm": norm}
    settings = ModelSettings(
        encoder=TransformerSettings(**sizes), reader=TransformerReaderSettings(**sizes)
    )
    torch.manual_seed(23)
    return build(settings, Sizes(vocabulary, vocabulary)).cuda().eval()


def filled(weights, slots, rows=13, position=37):
    """A state in the middle of a search: random caches, lines of ancestors and totals."""
    state = State.room(weights, Shape(rows, slots, 64, 64))
    states = torch.randn(rows, 41, 512, device="cuda")
    lengths = torch.randint(0, 42, (rows,), device="cuda")
    settings = DecodeSettings(beam=slots, top_beams=1, max_length=60, min_length=0)
    state.begin(weights, states, lengths, settings)
    for cache in state.caches:
        cache.normal_()
    state.position.fill_(position)
    state.ancestors.random_(0, slots)
    state.tokens.random_(0, 30000)
    state.totals.copy_(-torch.rand(rows, slots, device="cuda").sort(descending=True).values)
    if slots > 1:
        state.finished[::2, 0] = -0.7
    return state


def close(found, expected, tolerance):
    gap = (found.double() - expected.double()).norm() / expected.double().norm()
    assert gap < tolerance, float(gap)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 1e-2)], ids=["f32", "bf16"]
)
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("slots", [1, 5])
@pytest.mark.parametrize("kind", ["Narrow", "Wide"])
@torch.inference_mode()
def test_each_kernel_equals_its_formula(kind, slots, norm, dtype, tolerance):
    from regard.accelerate.triton import decode_launch

    weights = pack(base(norm).decoder, dtype)
    state = filled(weights, slots, rows=1 if kind == "Narrow" else 13)
    do, plain = getattr(decode_launch, kind)(), Plain()
    stream, expected = do.embed(weights, state), plain.embed(weights, state)
    close(stream.base, expected.base, 1e-6)
    block, (first, second, third) = weights.blocks[0], weights.reads[:3]
    for norm_, linear, back, activation in (
        (first, block.within.into, block.within.out, None),
        (second, block.cross.into, block.cross.out, None),
        (third, block.widen, block.narrow, "relu"),
    ):
        found = do.read(weights, stream, norm_, linear, activation)
        wanted = plain.read(weights, expected, norm_, linear, activation)
        close(found, wanted, tolerance)
        inner = wanted[:, : back.weight.shape[1]].contiguous()
        do.write(stream, inner, back)
        plain.write(expected, inner, back)
        total = stream.base if stream.change is None else stream.base + stream.change
        close(total, expected.base, tolerance)
        stream = Stream(expected.base.clone())
    asked = torch.randn(len(expected.base), 1536, device="cuda").to(dtype)
    before = state.caches[0].clone()
    wanted = plain.recall(weights, state, 0, asked)
    written = state.caches[0].clone()
    state.caches[0].copy_(before)
    close(do.recall(weights, state, 0, asked), wanted, tolerance)
    assert torch.equal(state.caches[0], written)
    asked = asked[:, :512].contiguous()
    wanted = plain.consult(weights, state, 0, asked)
    close(do.consult(weights, state, 0, asked), wanted, tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("slots", [1, 5, 8])
@pytest.mark.parametrize("vocabulary", [7, 257, 32768])
@torch.inference_mode()
def test_choosing_equals_its_formula_ties_included(vocabulary, slots, dtype):
    from regard.accelerate.triton.decode_launch import Wide

    weights = pack(base("pre", vocabulary).decoder, dtype)
    state, other = filled(weights, slots), filled(weights, slots)
    for name in ("totals", "finished", "ancestors", "tokens"):
        getattr(other, name).copy_(getattr(state, name))
    logits = torch.randn(13 * slots, vocabulary, device="cuda").mul(2).to(dtype)
    logits[:, 1::2] = logits[:, ::2][:, : vocabulary // 2]  # every value twice, at least
    logits[3, 1] = torch.nan
    Plain().choose(weights, other, logits.clone())
    Wide().choose(weights, state, logits)
    at = int(other.position[0]) - 1
    for name in ("is_open", "position"):
        assert torch.equal(getattr(state, name), getattr(other, name)), name
    assert torch.equal(state.fate[at], other.fate[at])
    real = other.fate[at] > 0
    for name in ("parents", "chosen"):
        assert torch.equal(getattr(state, name)[at][real], getattr(other, name)[at][real]), name
    for name in ("reached", "added"):
        close(getattr(state, name)[at][real], getattr(other, name)[at][real], 1e-5)
    assert torch.equal(state.ancestors[:, :, : at + 1][real], other.ancestors[:, :, : at + 1][real])
    for name in ("totals", "finished"):
        torch.testing.assert_close(getattr(state, name), getattr(other, name))
