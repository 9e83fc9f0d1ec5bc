"""Every term of the objective: its value by the paper's formula in plain loops, its gradient, its effect."""

import math

import numpy as np
import pytest
import torch

from regard.attention import watch
from regard.errors import UsageError
from regard.models import ModelSettings, build
from regard.run.settings import RunSettings
from regard.settings.decode import ObjectiveSettings
from regard.tasks import Translate
from regard.tasks.objective import Coverage, Disagreement, Entropy, Objective, Pass, Term
from regard.text import Codec, TextSettings

BLOCKS = {
    "kind": "transformer",
    "width": 12,
    "layers": 2,
    "heads": 3,
    "feedforward": 17,
    "dropout": 0.0,
}
RNN = {"kind": "rnn", "width": 12, "dropout": 0.0}


@pytest.fixture(scope="module", params=["rnn", "transformer"])
def scene(request):
    """A task, an untrained model and a ragged batch, in double precision."""
    codec = Codec.train(["a b c d e"], TextSettings(kind="word"))
    task = Translate(codec, codec)
    side = RNN if request.param == "rnn" else BLOCKS
    torch.manual_seed(3)
    model = build(ModelSettings.model_validate({"encoder": side, "reader": side}), task.sizes)
    rows = [
        {"source": np.array([5, 6, 7, 2]), "target": np.array([7, 6, 2])},
        {"source": np.array([8, 2]), "target": np.array([8, 5, 5, 6, 2])},
    ]
    return task, model.double().eval(), task.collate(rows, 5, 6)


def seen_by(scene):
    task, model, batch = scene
    with watch(model) as seen:
        task.loss(model, batch)
    return Pass(task, model, batch, seen)


def cross(forward):
    return [weights.detach().numpy() for weights in forward.weights("cross")]


def test_coverage_is_the_papers_sum(scene):
    forward = seen_by(scene)
    lengths, values = (3, 5), []
    for site in cross(forward):
        total = 0.0
        for row, length in enumerate(lengths):
            for head in range(site.shape[1]):
                so_far = np.zeros(site.shape[3])
                for step in range(length):
                    now = site[row, head, step]
                    total += (
                        sum(min(a, c) for a, c in zip(now, so_far, strict=True)) / site.shape[1]
                    )
                    so_far += now
        values.append(total)
    assert Coverage(1.0).value(forward).item() == pytest.approx(np.mean(values), rel=1e-9)


def test_entropy_is_that_of_every_judged_row(scene):
    forward = seen_by(scene)
    values = []
    for site in cross(forward):
        rows = [site[0, :, :3].reshape(-1, 5), site[1, :, :5].reshape(-1, 5)]
        values.append(sum(-(w * np.log(np.where(w > 0, w, 1))).sum() for w in rows) / site.shape[1])
    only_cross = Entropy(1.0)
    if len(list(forward.weights("self", "pool"))) == 0:
        assert only_cross.value(forward).item() == pytest.approx(np.mean(values), rel=1e-9)
    bound = math.log(6) * (3 + 5)
    assert 0 < only_cross.value(forward).item() < bound


def test_disagreement_is_the_mean_cosine_of_two_heads(scene):
    forward = seen_by(scene)
    several = [w.detach().numpy() for w in forward.weights("cross", "self") if w.shape[1] > 1]
    if not several:
        with pytest.raises(UsageError, match="two heads"):
            Disagreement(1.0).value(forward)
        return
    found = Disagreement(1.0).value(forward).item()
    assert 0 < found <= (3 + 5) + 1e-9
    weights = cross(forward)[0]
    pairs = [
        weights[0, a, 0]
        @ weights[0, b, 0]
        / np.linalg.norm(weights[0, a, 0])
        / np.linalg.norm(weights[0, b, 0])
        for a in range(3)
        for b in range(a)
    ]
    from regard.tasks.objective import _likeness

    assert _likeness(torch.from_numpy(weights))[0, 0, 0].item() == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("term", [Coverage(0.7), Entropy(0.7)], ids=lambda term: term.name)
def test_gradients_are_those_of_finite_differences(scene, term):
    task, model, batch = scene
    objective = Objective(terms=(term,))
    parameter = next(p for n, p in model.named_parameters() if "encoder.embedding" in n)
    model.zero_grad()
    objective(task, model, batch).backward()
    place, step = (5, 4), 1e-6
    slope = parameter.grad[place].item()
    with torch.no_grad():
        values = []
        for sign in (1, -1):
            parameter[place] += sign * step
            values.append(objective(task, model, batch).item())
            parameter[place] -= sign * step
    assert slope == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-4, abs=1e-7)


def test_the_sum_is_named_and_weighted(scene):
    task, model, batch = scene
    settings = ObjectiveSettings(smoothing=0.2, coverage=2.0, entropy=-0.5)
    objective = Objective.of(settings, task)
    total = objective(task, model, batch).item()
    parts = {name: value.item() for name, value in objective.parts.items()}
    assert list(parts) == ["likelihood", "coverage", "entropy"]
    assert parts["likelihood"] == pytest.approx(task.loss(model, batch, 0.2).item())
    assert total == pytest.approx(
        parts["likelihood"] + 2 * parts["coverage"] - 0.5 * parts["entropy"]
    )


def test_likelihood_alone_watches_nothing(scene, monkeypatch):
    task, model, batch = scene
    monkeypatch.setattr("regard.tasks.objective.watch", None)
    objective = Objective.of(ObjectiveSettings(), task)
    assert objective(task, model, batch).item() == task.loss(model, batch, 0.1).item()


def test_a_task_brings_terms_of_its_own(scene):
    task, model, batch = scene

    class Squares(Term):
        name = "squares"
        weight = 0.01

        def value(self, forward):
            return sum(p.square().sum() for p in forward.model.parameters())

    objective = Objective(terms=(Squares(),))
    total = objective(task, model, batch)
    assert total.item() == pytest.approx(
        task.loss(model, batch).item() + 0.01 * objective.parts["squares"].item()
    )


def test_settings_of_version_0_1_are_read_as_they_were_meant():
    tree = {"model": {"reader": RNN}, "train": {"steps": 7, "smoothing": 0.3, "agreement": 2.0}}
    settings = RunSettings.model_validate(tree)
    assert (settings.objective.smoothing, settings.objective.agreement) == (0.3, 2.0)
    assert settings.train.steps == 7
