"""The straight way through an encoder finds what its modules find, and is left where they must be called."""

import gc
import weakref

import pytest
import torch
from torch import nn

from regard.accelerate.plain import written
from regard.accelerate.stack import Straight
from regard.attention import watch
from regard.layers.block import stack_form
from regard.models import TransformerEncoder
from regard.seams import using
from tests.models.zoo import MODELS, example_of, fresh, model_of

TAGGERS = [name for name in MODELS if name.startswith("transformer-") and name.endswith("-tag")]
TAKEN = {
    f"transformer-{norm}-{position}-tag"
    for norm in ("pre", "post")
    for position in ("none", "sinusoidal", "sinusoidal-halves", "learned")
} | {"transformer-score-dot-tag", "transformer-embedding-norm-tag"}


@pytest.fixture
def here():
    """Straight on a CPU too."""
    form = Straight(devices=("cpu",))
    with using(stack=[form]):
        yield form


def real(encoded):
    """The states of real words."""
    void = encoded.padding.unseen(encoded.states.shape[1])
    return encoded.states[~void]


def taken(model, source):
    encoder = model.encoder
    assert isinstance(encoder, TransformerEncoder)
    with torch.no_grad():
        states = encoder.embed(source, None).states
        return isinstance(stack_form(encoder, states, encoder.mask), Straight)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", sorted(TAKEN))
def test_it_finds_what_the_modules_find(name, dtype, here):
    model, example = fresh(name).to(dtype), example_of(name)
    expected = real(model.encode(example.source, example.lengths))
    with torch.inference_mode():
        assert taken(model, example.source)
        found = real(model.encode(example.source, example.lengths))
        alone = model.encode(example.source).states
    close = {torch.bfloat16: 0.1, torch.float32: 1e-5, torch.float64: 1e-12}[dtype]
    torch.testing.assert_close(found, expected, atol=close, rtol=close)
    whole = model.encode(example.source).states
    torch.testing.assert_close(alone, whole, atol=close, rtol=close)


@pytest.mark.parametrize("name", TAGGERS)
def test_it_takes_only_the_plain_kind(name, here):
    assert taken(model_of(name), example_of(name).source) == (name in TAKEN)


def test_under_autocast_it_computes_in_that_type(here):
    model, example = fresh("transformer-pre-learned-tag"), example_of("transformer-pre-learned-tag")
    with torch.autocast("cpu", torch.bfloat16):
        expected = real(model.encode(example.source, example.lengths))
        with torch.inference_mode():
            found = real(model.encode(example.source, example.lengths))
    assert found.dtype == expected.dtype == torch.bfloat16
    torch.testing.assert_close(found, expected, atol=0.1, rtol=0.1)


def change(model):
    with torch.no_grad():
        model.encoder.blocks[0].attention.query.weight.mul_(-1.0)


def replace(model):
    layer = model.encoder.blocks[1].feedforward.widen
    layer.weight = nn.Parameter(layer.weight.detach() * 2)


def rebuild(model):
    narrow = model.encoder.blocks[1].feedforward.narrow
    other = nn.Linear(narrow.in_features, narrow.out_features)
    model.encoder.blocks[1].feedforward.narrow = other


def prune(model):
    model.encoder.blocks[0].attention.keep([2])


def gate(model):
    model.encoder.blocks[0].attention.gate = torch.tensor([0.5, 0.0, -1.0])


def gate_in_place(model):
    model.encoder.blocks[1].attention.gate[1] = 0.0


@pytest.mark.parametrize("what", [change, replace, rebuild, prune, gate, gate_in_place])
def test_it_follows_the_weights_as_they_change(what, here):
    name = "transformer-pre-sinusoidal-tag"
    model, example = fresh(name), example_of(name)
    with torch.no_grad():
        before = model.encode(example.source).states
        what(model)
        assert here.takes(model.encoder, before, None, ())
        after = model.encode(example.source).states
    expected = model.encode(example.source).states
    torch.testing.assert_close(after, expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(before, after, atol=1e-3)


def test_who_must_be_called_is_called(here):
    name = "transformer-pre-sinusoidal-tag"
    model, source = fresh(name), example_of(name).source
    assert taken(model, source)
    with watch(model):
        assert not taken(model, source)
    called = []
    hook = model.encoder.blocks[1].feedforward.register_forward_hook(lambda *_: called.append(1))
    assert not taken(model, source)
    with torch.no_grad():
        model.encode(source)
    assert called == [1]
    hook.remove()
    model.encoder.blocks[1].feedforward.narrow = nn.Identity()
    assert not taken(model, source)
    assert not taken(model.train(), source)


def test_on_a_cpu_the_modules_are_called():
    name = "transformer-pre-sinusoidal-tag"
    assert not taken(model_of(name), example_of(name).source)


def test_what_is_learned_goes_through_the_modules(here):
    name = "transformer-pre-sinusoidal-tag"
    model, source = model_of(name), example_of(name).source
    assert not here.takes(model.encoder, model.encoder.embed(source, None).states, None, ())


def test_every_tensor_counts():
    encoder = fresh("transformer-pre-learned-tag").encoder
    tensors = [*encoder.parameters(), *encoder.buffers()]  # gates are buffers
    assert len(written(encoder)) == len(tensors)
    for parameter in tensors:
        before = written(encoder)
        with torch.no_grad():
            parameter.add_(1.0)
        assert written(encoder) != before


def test_a_model_that_is_gone_is_forgotten(here):
    name = "transformer-pre-sinusoidal-tag"
    model = fresh(name)
    with torch.no_grad():
        model.encode(example_of(name).source)
    gone = weakref.ref(model.encoder)
    del model
    gc.collect()
    assert gone() is None
