"""Importance: a gate is what it says, its gradient is that of the loss, and a head that matters is found."""

import pytest
import torch

from regard.data.example import Pair
from regard.errors import UsageError
from regard.traces.importance import (
    batches,
    by_ablation,
    by_gradient,
    closed,
    curve,
    gated,
    loss_of,
    orders,
    places,
)
from tests.tasks.kit import EXAMPLES, task_of
from tests.traces.kit import model_of

KIND = "transformer-scaled-dot"


@pytest.fixture
def model():
    return model_of(KIND).eval()


TASK = task_of("translate")
SOME = [example for example in EXAMPLES["translate"] if isinstance(example, Pair)][:3]


def test_every_head_of_every_layer_is_there(model):
    assert len(places(model)) == 2 * 2 * 3  # layers, heads; encoder, decoder, cross
    assert sorted(set(places(model).values())) == ["cross", "decoder-self", "encoder-self"]


def test_a_closed_head_is_one_whose_part_of_the_output_map_is_zero(model):
    some = batches(TASK, SOME)
    heads = model.reader.blocks[0].cross
    with closed(model, [("reader.blocks.0.cross.attention", 1)]):
        gone = loss_of(TASK, model, some)
    kept = heads.output.weight.detach().clone()
    with torch.no_grad():
        heads.output.weight[:, heads.value_width :] = 0
    removed = loss_of(TASK, model, some)
    with torch.no_grad():
        heads.output.weight.copy_(kept)
    assert gone == pytest.approx(removed, rel=1e-6)
    assert gone != pytest.approx(loss_of(TASK, model, some), rel=1e-6)


def test_the_gradient_is_the_slope_of_the_loss(model):
    """One example: |dL/dg| by central differences, each layer scaled to norm 1."""
    path, example = "encoder.blocks.1.attention.attention", SOME[0]
    some = batches(TASK, [example])
    slopes = []
    for head in range(2):
        sides = []
        for change in (1e-2, -1e-2):
            gate = torch.ones(2)
            gate[head] += change
            with gated(model, {path: gate}):
                sides.append(loss_of(TASK, model, some))
        slopes.append(abs(sides[0] - sides[1]) / 2e-2)
    norm = sum(slope**2 for slope in slopes) ** 0.5
    found = by_gradient(TASK, model, [example])
    for head in range(2):
        assert found[path, head] == pytest.approx(slopes[head] / norm, abs=2e-2)


def test_ablation_finds_the_one_head_that_matters(model):
    """Where all heads but one are silenced in the weights, only that one costs anything."""
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    path = "reader.blocks.1.cross"
    try:
        with torch.no_grad():
            for own in {place[0].removesuffix(".attention") for place in places(model)}:
                heads = model.get_submodule(own)
                heads.output.weight[:, : heads.value_width if own == path else None] = 0
        some = batches(TASK, SOME)
        found = by_ablation(model, lambda: loss_of(TASK, model, some))
        worth = {place for place, change in found.items() if abs(change) > 1e-5}
        assert worth == {(f"{path}.attention", 1)}
    finally:
        model.load_state_dict(kept)


def test_the_curve_closes_heads_in_order(model):
    some = batches(TASK, SOME)
    importance = by_ablation(model, lambda: loss_of(TASK, model, some))
    chosen = orders(importance)
    assert chosen["least important first"] == chosen["most important first"][::-1]
    assert sorted(chosen["random order"]) == sorted(importance)
    points = curve(model, lambda: loss_of(TASK, model, some), chosen["random order"], [12, 11, 0])
    assert points[0].value == pytest.approx(loss_of(TASK, model, some))
    assert points[1].value == pytest.approx(
        points[0].value + importance[chosen["random order"][0]], abs=1e-6
    )
    assert [len(point.closed) for point in points] == [0, 1, 12]
    with pytest.raises(UsageError, match="every head once"):
        curve(model, lambda: 0.0, chosen["random order"][1:], [3])


def test_gates_leave_the_model_as_it_was(model):
    some = batches(TASK, SOME)
    before = loss_of(TASK, model, some)
    with pytest.raises(ZeroDivisionError), closed(model, list(places(model))):
        raise ZeroDivisionError
    assert loss_of(TASK, model, some) == before
