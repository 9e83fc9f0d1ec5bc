"""REINFORCE for attention: the paper's formula in plain loops, its mean beside the exact gradient."""

import math
from itertools import product

import numpy as np
import pytest
import torch

from regard.attention import Sampled, watch
from regard.errors import UsageError
from regard.models import ModelSettings, build
from regard.models.readers import losses
from regard.settings.decode import ObjectiveSettings
from regard.tasks import Translate
from regard.tasks.objective import Entropy, Objective, Pass, Reinforce
from regard.text import Codec, TextSettings

ORDERS = {"after": {"looks": "after"}, "before": {"looks": "before", "cell": "lstm"}}


def scene(order: str, rows, **choices):
    """A task, an untrained model whose attention is sampled, and a batch, in double precision."""
    codec = Codec.train(["a b c d e"], TextSettings(kind="word"))
    task = Translate(codec, codec)
    torch.manual_seed(3)
    side = {"kind": "rnn", "width": 6, "dropout": 0.0}
    reader = {"score": "general", "normalise": "sampled", **side, **ORDERS[order], **choices}
    settings = ModelSettings.model_validate({"encoder": side, "reader": reader})
    model = build(settings, task.sizes).double().train()
    for parameter in model.reader.parameters():  # away from where every choice is as good
        torch.nn.init.normal_(parameter, std=0.9)
    lengths = [max(len(row[side]) for row in rows) for side in ("source", "target")]
    return task, model, task.collate(rows, lengths[0] + 1, lengths[1] + 1)


RAGGED = [
    {"source": np.array([5, 6, 7, 2]), "target": np.array([7, 6, 2])},
    {"source": np.array([8, 2]), "target": np.array([8, 5, 5, 6, 2])},
]


@pytest.mark.parametrize("credit", ["later", "sentence"])
@pytest.mark.parametrize("order", ORDERS)
def test_the_term_is_the_papers_sum(order, credit):
    task, model, batch = scene(order, RAGGED)
    (own,) = [part for part in model.modules() if isinstance(part, Sampled)]
    own.baseline.fill_(-1.3)
    torch.manual_seed(8)
    with watch(model) as seen:
        each = losses(task.logits(model, batch), batch.targets, 0.1).detach()
    (path,) = seen
    weights, scores = seen.weights(path)[:, 0], seen.scores(path)[:, 0].detach()
    term = Reinforce(1.0, keeps=0.75, credit=credit)
    found = term.value(Pass(task, model, batch, seen, each))

    total, lengths = 0.0, (3, 5)
    for row, length in enumerate(lengths):
        for step in range(length):
            choice = int(weights[row, step].argmax())
            chance = scores[row, step].softmax(-1)[choice]
            first = {"sentence": 0, "later": step}[credit]
            last = step + 1 if (order, credit) == ("after", "later") else length
            advantage = sum(-float(each[row, t]) - -1.3 for t in range(first, last))
            total -= advantage * math.log(float(chance))
    assert found.item() == pytest.approx(total, rel=1e-9)
    mean = -float(each.sum()) / 8
    assert float(own.baseline) == pytest.approx(0.75 * -1.3 + 0.25 * mean, rel=1e-6)


ONE = [{"source": np.array([5, 6, 2]), "target": np.array([7, 6, 2])}]


def exact_gradient(task, model, batch, steps, keys):
    """d/dw of sum over all choices of p(choices) loss(choices): keys ** steps passes, each forced."""
    total = torch.zeros((), dtype=torch.float64)
    for ways in product(range(keys), repeat=steps):
        at = iter(ways)

        def edit(_, aligned, at=at):
            picked = torch.zeros_like(aligned.weights)
            for query in range(picked.shape[2]):
                picked[:, :, query, next(at)] = 1.0
            return picked

        with watch(model, edit=edit) as seen:
            loss = task.loss(model, batch)
        chances = seen.scores(next(iter(seen)))[0, 0].softmax(-1)
        total = total + math.prod(chances[step, way] for step, way in enumerate(ways)) * loss
    return torch.autograd.grad(total, list(model.reader.parameters()))


def flat(tensors):
    return torch.cat([tensor.flatten() for tensor in tensors])


@pytest.mark.parametrize("credit", ["later", pytest.param("sentence", marks=pytest.mark.slow)])
@pytest.mark.parametrize("order", ORDERS)
def test_reinforce_is_unbiased(order, credit):
    """100,000 samples: the mean is within 3 standard errors of the exact gradient, and these are small."""
    task, model, _ = scene(order, ONE)
    (own,) = [part for part in model.modules() if isinstance(part, Sampled)]
    one, many = task.collate(ONE, 3, 3), task.collate(ONE * 1000, 3, 3)
    exact = flat(exact_gradient(task, model, one, 3, 3))
    objective = Objective.of(
        ObjectiveSettings(smoothing=0.0, baseline=0.99, credit=credit), task, model
    )
    own.baseline.fill_(-2.0)
    rounds = []
    for seed in range(100):
        torch.manual_seed(seed)
        gradient = torch.autograd.grad(
            objective(task, model, many), list(model.reader.parameters())
        )
        rounds.append(flat(gradient) / 1000)
    found = torch.stack(rounds)
    error = found.std(0) / 10
    largest = exact.abs().argsort(descending=True)[:20]
    apart = (found.mean(0) - exact).abs()
    assert (apart[largest] < 3 * error[largest]).all()
    assert (error[largest] < 0.05 * exact.abs().max()).all()
    assert ((apart / error.clamp(min=1e-12))[error > 1e-9] < 4.5).all()
    # The choice itself has a share in it that likelihood alone does not see.
    score = [n for n, _ in model.reader.named_parameters()].index("attention.score.weight")
    likelihood = torch.autograd.grad(
        objective._losses(task, model, one).sum(),
        list(model.reader.parameters()),
        allow_unused=True,
    )
    assert likelihood[score] is None or order == "before"


def test_the_sum_is_named_and_has_the_value_of_the_likelihood():
    """REINFORCE has a gradient and no value: the loss of soft and hard attention can be compared."""
    task, model, batch = scene("before", RAGGED)
    settings = ObjectiveSettings(smoothing=0.0, entropy=-0.01)
    objective = Objective.of(settings, task, model)
    total = objective(task, model, batch)
    parts = {name: float(value) for name, value in objective.parts.items()}
    assert list(parts) == ["likelihood", "reinforce", "baseline", "entropy"]
    assert total.item() == pytest.approx(parts["likelihood"] - 0.01 * parts["entropy"])
    assert parts["baseline"] == pytest.approx(0.1 * -parts["likelihood"], rel=1e-6)
    assert Objective.of(settings, task).terms == (Entropy(-0.01),)


def test_a_baseline_near_the_truth_lowers_the_variance():
    task, model, _ = scene("after", ONE)
    (own,) = [part for part in model.modules() if isinstance(part, Sampled)]
    many = task.collate(ONE * 50, 3, 3)
    spread = {}
    for baseline in (0.0, -2.5):
        rows = []
        for seed in range(40):
            own.baseline.fill_(baseline)
            torch.manual_seed(seed)
            objective = Objective.of(ObjectiveSettings(smoothing=0.0), task, model)
            rows.append(
                torch.autograd.grad(
                    objective(task, model, many), model.reader.attention.score.weight
                )[0]
            )
        spread[baseline] = float(torch.stack(rows).var(0).sum())
    assert spread[-2.5] < 0.5 * spread[0.0]


@pytest.mark.parametrize("name", ["hard", "gumbel", "sampled"])
def test_the_entropy_of_a_choice_is_that_of_its_chances(name):
    task, model, batch = scene("before", RAGGED, normalise=name)
    with watch(model) as seen:
        task.loss(model, batch)
    (path,) = seen
    chances = seen.scores(path)[:, 0].softmax(-1).detach().numpy()
    rows = [*chances[0, :3], *chances[1, :5]]
    wanted = sum(-(p * np.log(np.where(p > 0, p, 1))).sum() for p in rows)
    value = Entropy(1.0).value(Pass(task, model, batch, seen))
    assert float(value.detach()) == pytest.approx(wanted, rel=1e-9)
    value.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
    assert model.reader.attention.score.weight.grad.abs().max() > 0


def test_two_passes_that_choose_differently_are_not_made_to_agree():
    task, model, batch = scene("after", RAGGED)
    objective = Objective.of(ObjectiveSettings(agreement=1.0), task, model)
    with pytest.raises(UsageError, match="choose differently"):
        objective(task, model, batch)
