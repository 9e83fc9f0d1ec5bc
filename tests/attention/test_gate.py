"""Hard concrete gates: closed forms against many draws, gradients, and a model that learns to close heads."""

import copy

import pytest
import torch

from regard.accelerate.cpu.convert import lean
from regard.attention import Heads
from regard.attention.gate import BETA, GAMMA, OPEN, ZETA, chance_open, drawn, settled
from regard.data.example import Pair
from regard.errors import RegardError, UsageError
from regard.models import ModelSettings, build, prune_heads, with_open_gates
from regard.run.settings import RunSettings
from regard.tasks.objective import Objective, OpenHeads, open_heads
from regard.traces.importance import batches, by_gates, loss_of, places
from tests.tasks.kit import task_of

BLOCKS = {"kind": "transformer", "width": 12, "layers": 2, "heads": 3, "feedforward": 17}
BLOCKS |= {"dropout": 0.0, "gates": "learned"}
TASK = task_of("translate")
SOME = [Pair("a b c", "c b a"), Pair("b a", "a b")]


@pytest.fixture
def model():
    torch.manual_seed(5)
    settings = ModelSettings.model_validate({"encoder": BLOCKS, "reader": BLOCKS})
    return build(settings, TASK.sizes)


@pytest.mark.parametrize("openness", [-0.4, -0.1, 0.0, 0.1, OPEN])
def test_the_chance_of_an_open_gate_is_that_of_many_draws(openness):
    generator = torch.Generator().manual_seed(1)
    many = torch.full((200_000,), openness)
    gates = drawn(many, torch.rand(200_000, generator=generator))
    assert gates.min() >= 0
    assert gates.max() <= 1
    often = (gates != 0).double().mean().item()
    assert chance_open(many[:1]).item() == pytest.approx(often, abs=0.004)


def test_the_gate_is_the_papers_formula_in_plain_numbers():
    import math

    for openness, u in [(-0.2, 0.3), (0.05, 0.9), (0.3, 0.01)]:
        s = 1 / (1 + math.exp(-(math.log(u) - math.log(1 - u) + 10 * openness) / BETA))
        z = min(1.0, max(0.0, s * (ZETA - GAMMA) + GAMMA))
        found = drawn(torch.tensor([openness]).double(), torch.tensor([u]).double())
        assert found.item() == pytest.approx(z, abs=1e-12)


def test_without_noise_new_gates_are_open_and_low_ones_closed():
    assert settled(torch.tensor([OPEN])).item() == 1.0
    assert settled(torch.tensor([-0.25])).item() == 0.0
    assert 0 < settled(torch.tensor([0.0])).item() < 1


def test_gradients_are_those_of_finite_differences():
    openness = torch.tensor([-0.05, 0.0, 0.1], dtype=torch.float64, requires_grad=True)
    uniform = torch.tensor([0.5, 0.4, 0.3], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda one: drawn(one, uniform), openness)
    assert torch.autograd.gradcheck(chance_open, openness)


def test_new_gates_change_no_answer_and_noise_is_for_training_alone(model):
    plain = {**BLOCKS, "gates": "open"}
    other = build(ModelSettings.model_validate({"encoder": plain, "reader": plain}), TASK.sizes)
    kept = {name: t for name, t in model.state_dict().items() if "openness" not in name}
    other.load_state_dict(kept)
    some = batches(TASK, SOME)
    assert loss_of(TASK, model, some) == loss_of(TASK, other, some)
    model.load_state_dict(with_open_gates(model, other.state_dict()))
    assert loss_of(TASK, model, some) == loss_of(TASK, other, some)
    for part in model.modules():
        if isinstance(part, Heads):
            part.openness.data.zero_()  # half open: every draw is another
    model.train()
    losses = {TASK.loss(model, some[0]).item() for _ in range(4)}
    assert len(losses) == 4
    assert loss_of(TASK, model, some) == loss_of(TASK, model, some)


def test_the_term_is_the_expected_number_of_open_heads_for_every_target(model):
    (batch,) = batches(TASK, SOME)
    objective = Objective(terms=(OpenHeads(0.1),))
    gates = [part.openness for part in model.modules() if isinstance(part, Heads)]
    expected = sum(chance_open(one).sum().item() for one in gates)
    assert expected == pytest.approx(18 * 0.978, abs=0.01)
    model.eval()
    total = objective(TASK, model, batch)
    assert objective.parts["l0"].item() / batch.count == pytest.approx(expected, rel=1e-6)
    likelihood = objective.parts["likelihood"].item()
    assert total.item() == pytest.approx(likelihood + 0.1 * expected * batch.count, rel=1e-6)


def test_a_price_alone_gives_every_head_a_learned_gate_unless_one_side_has_them():
    sides = {"encoder": {"kind": "transformer"}, "reader": {"kind": "transformer"}}
    both = RunSettings.model_validate({"model": sides, "objective": {"l0": 0.01}}).model
    assert (both.encoder.gates, both.reader.gates) == ("learned", "learned")
    sides["encoder"]["gates"] = "learned"
    one = RunSettings.model_validate({"model": sides, "objective": {"l0": 0.01}}).model
    assert (one.encoder.gates, one.reader.gates) == ("learned", "open")


def test_a_model_without_learned_gates_is_refused():
    plain = {**BLOCKS, "gates": "open"}
    model = build(ModelSettings.model_validate({"encoder": plain, "reader": plain}), TASK.sizes)
    for look in (open_heads, by_gates):
        with pytest.raises((UsageError, RegardError), match="gate"):
            look(model)


def test_what_is_learned_is_settled_in_every_form(model):
    """The packed form for CPUs, the pruned model and the model itself say the same."""
    settings = ModelSettings.model_validate({"encoder": BLOCKS, "reader": BLOCKS})
    torch.manual_seed(2)
    for part in model.modules():
        if isinstance(part, Heads):
            part.openness.data.normal_(0.0, 0.3)
    model.train()  # gates in the buffer are now stale
    stale = copy.deepcopy(model)
    some = batches(TASK, SOME)
    wanted = loss_of(TASK, model, some)
    smaller, described = prune_heads(
        model, settings, {}
    )  # nothing is removed, and the gates are settled
    assert described.encoder.gates == described.reader.gates == "open"
    assert loss_of(TASK, smaller, some) == pytest.approx(wanted, rel=1e-6)
    packed = lean(stale)
    texts = [one.source for one in SOME]
    decode = RunSettings.model_validate({"model": {"reader": {"kind": "transformer"}}}).decode
    assert [one.text for one in TASK.predict(packed, texts, decode)] == [
        one.text for one in TASK.predict(model, texts, decode)
    ]


def test_training_closes_heads_that_cost_more_than_they_are_worth(model):
    """A high price closes all heads, no price closes none; closed ones have importance 0."""
    (batch,) = batches(TASK, SOME)
    for price, is_left in ((0.0, True), (1.0, False)):
        own = copy.deepcopy(model).train()
        objective = Objective(terms=(OpenHeads(price),))
        optimiser = torch.optim.Adam(own.parameters(), lr=5e-3)
        for _ in range(150):
            optimiser.zero_grad()
            (objective(TASK, own, batch) / batch.count).backward()
            optimiser.step()
        left = [place for place, chance in by_gates(own).items() if chance > 0]
        assert len(left) > 14 if is_left else not left
        assert by_gates(own).keys() == places(own).keys()
