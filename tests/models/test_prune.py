"""A pruned model says what the gated one says, and lives on by its own settings: saved, loaded, trained."""

import copy
import re
import tomllib

import pytest
import torch

from regard.attention import Heads
from regard.attention.attention import Site
from regard.config import parse, to_toml
from regard.errors import UsageError
from regard.models import ModelSettings, Sizes, build, count_parameters, heads_by_site, prune_heads
from regard.models.compress import narrowed
from regard.models.encoder import Padded
from regard.run import load, weights
from tests.models.zoo import MODELS, example_of, fresh, rnn, sizes_of, transformer_reader

NAMES = [
    name
    for name in MODELS
    if name.startswith(("transformer-pre", "transformer-score", "transformer-wide", "lm-pre"))
    or name in ("transformer-shared", "transformer-post-learned-tag", "classify-additive")
]


def unwanted(model):
    """Another head of each attention, and all heads of the last one."""
    sites = heads_by_site(model)
    chosen = {site: [number % 3] for number, site in enumerate(sites)}
    return {**chosen, list(sites)[-1]: [0, 1, 2]}


@pytest.mark.parametrize("name", NAMES)
def test_a_pruned_model_says_what_the_gated_one_says(name):
    model, example = fresh(name).double(), example_of(name)
    before, remove = example.logits(model), unwanted(model)
    small, settings = prune_heads(model, MODELS[name], remove)
    assert torch.equal(example.logits(model), before)
    assert count_parameters(small) < count_parameters(model)
    for site, heads in heads_by_site(model).items():
        heads.gate[list(remove[site])] = 0.0
    expected = example.logits(model)
    assert not torch.allclose(expected, before)
    torch.testing.assert_close(example.logits(small), expected, atol=1e-11, rtol=1e-9)
    again = build(parse(ModelSettings, _tree(settings)), sizes_of(name)).double().eval()
    again.load_state_dict(small.state_dict())
    assert torch.equal(example.logits(again), example.logits(small))


def _tree(settings):
    return tomllib.loads(to_toml(settings))


@pytest.mark.parametrize("stored", ["float32", "int8"])
def test_it_is_saved_loaded_and_trained_on(tmp_path, stored):
    name = "transformer-shared"
    example, model = example_of(name), fresh(name)
    small, settings = prune_heads(model, MODELS[name], unwanted(model))
    path, state = tmp_path / "weights", narrowed(small.state_dict(), stored)
    weights.write(path, state, {})
    loaded = load.load(path, settings, sizes_of(name), torch.device("cpu"))
    tolerance = 1e-6 if stored == "float32" else 0.2
    torch.testing.assert_close(
        example.logits(loaded), example.logits(small), atol=tolerance, rtol=0
    )
    gates = [one.gate for one in heads_by_site(loaded).values()]
    assert [gate.tolist() for gate in gates] == [[1, 1]] * 2 + [[0]]
    optimiser = torch.optim.SGD(loaded.parameters(), lr=0.1)
    before = example.logits(loaded).square().mean()
    before.backward()
    optimiser.step()
    assert example.logits(loaded).square().mean() < before


def test_a_file_without_gates_has_open_heads(tmp_path):
    name = "transformer-shared"
    model, example, path = fresh(name), example_of(name), tmp_path / "weights"
    state = {key: value for key, value in model.state_dict().items() if not key.endswith("gate")}
    assert len(state) < len(model.state_dict())
    weights.write(path, state, {})
    loaded = load.load(path, MODELS[name], sizes_of(name), torch.device("cpu"))
    assert torch.equal(example.logits(loaded), example.logits(model))


def test_layers_may_differ_in_their_heads():
    settings = ModelSettings(
        reader=transformer_reader(layers=3, heads=(3, 1, 2), key_width=4), encoder=None
    )
    model = build(settings, Sizes(target=13))
    counts = [heads.num_heads for heads in heads_by_site(model).values()]
    assert counts == [3, 1, 2]
    small, pruned = prune_heads(model, settings, {Site("self", "inputs", "inputs", 0): [0, 2]})
    assert pruned.reader.heads == (1, 1, 2)
    assert (
        prune_heads(small, pruned, {Site("self", "inputs", "inputs", 2): [1]})[1].reader.heads == 1
    )


@pytest.mark.parametrize("choices", [{"heads": (3, 1)}, {"cross_heads": (3, 1)}])
def test_heads_of_layers_may_differ_in_their_widths(choices, tmp_path):
    """Without key_width the heads of a layer share its width, so that fewer heads are wider ones."""
    settings = ModelSettings(encoder=rnn(), reader=transformer_reader(layers=2, **choices))
    torch.manual_seed(7)
    model = build(settings, SIZES).eval()
    remove = {Site("self", "inputs", "inputs", 0): [0], Site("cross", "target", "source", 0): [1]}
    small, pruned = prune_heads(model, settings, remove)
    for site, heads in heads_by_site(model).items():
        heads.gate[list(remove.get(site, ()))] = 0.0
    weights.write(tmp_path / "weights", small.state_dict(), {})
    path, settings = tmp_path / "weights", parse(ModelSettings, _tree(pruned))
    again = load.load(path, settings, SIZES, torch.device("cpu"))
    source, inputs = torch.randint(11, (2, 5)), torch.randint(13, (2, 3))
    with torch.no_grad():
        expected, found = (one(source, None, inputs) for one in (model, again))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_as_many_numbers_as_layers():
    with pytest.raises(UsageError, match=re.escape("heads names 2 layers, and there are 3")):
        build(ModelSettings(reader=transformer_reader(layers=3, heads=(1, 2))), SIZES)


SIZES = Sizes(source=11, target=13)


def test_of_several_sources_each_keeps_its_own_encoder():
    sizes = Sizes(target=13, sources={"one": SIZES.only, "two": Sizes(source=7).only})
    side = {"kind": "transformer", "width": 12, "layers": 2, "heads": 3, "feedforward": 17}
    settings = ModelSettings.model_validate({"encoder": side, "reader": side})
    model = build(settings, sizes).eval()
    remove = {
        Site("self", "one", "one", 1): [0],
        Site("cross", "target", "one", 0): [2],
        Site("cross", "target", "two", 0): [1],
    }
    small, pruned = prune_heads(model, settings, remove)
    again = build(pruned, sizes)
    again.load_state_dict(small.state_dict())
    assert pruned.encoders["one"].heads == (3, 2)
    assert pruned.encoders["two"].heads == 3
    assert (pruned.reader.heads, pruned.reader.cross_heads) == (3, (2, 3))
    source = {
        "one": Padded(torch.randint(11, (2, 5)), torch.tensor([5, 2])),
        "two": Padded(torch.randint(7, (2, 4)), torch.tensor([1, 4])),
    }
    inputs = torch.randint(13, (2, 3))
    for site, heads in heads_by_site(model).items():
        heads.gate[list(remove.get(site, ()))] = 0.0
    with torch.no_grad():
        expected, found = (one(source, None, inputs) for one in (model, small))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    with pytest.raises(
        UsageError,
        match=re.escape(
            "sources would be read with different numbers of heads, and settings have one a layer"
        ),
    ):
        prune_heads(model, settings, {Site("cross", "target", "two", 0): [1]})


def test_what_is_not_there_cannot_be_removed():
    settings = ModelSettings(encoder=rnn(), reader=transformer_reader())
    model = build(settings, SIZES)
    unknown, known = Site("self", "source", "source", 0), Site("self", "inputs", "inputs", 0)
    with pytest.raises(
        UsageError, match=re.escape(f"this model has no Transformer heads at {unknown}")
    ):
        prune_heads(model, settings, {unknown: [0]})
    with pytest.raises(UsageError, match=re.escape(f"there is no head 3 at {known}")):
        prune_heads(model, settings, {known: [3]})
    assert copy.deepcopy(model).reader.blocks[0].attention.num_heads == 3
    assert all(isinstance(one, Heads) for one in heads_by_site(model).values())
