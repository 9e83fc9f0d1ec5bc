"""Each trial passes on this machine, and fails when what it tries is broken."""

from dataclasses import replace

import pytest
import torch

from regard.accelerate.attend import Fused
from regard.attention.formula import AttendForm
from regard.seams import using
from regard.tasks import Translate
from regard.tasks.batch import ALONE
from regard.training import trials
from regard.training.trials import KINDS, Subject

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    """Few kinds of models and few questions; the doctor asks more."""
    few = {name: KINDS[name] for name in ("Transformer", "RNN", "tagger")}
    monkeypatch.setattr(trials, "KINDS", few)
    monkeypatch.setattr(trials, "EXAMPLES", 40)
    monkeypatch.setattr(trials, "ASKED", 3)
    monkeypatch.setattr(trials, "COMPANIES", (3,))


@pytest.mark.slow
def test_every_kind_is_batch_invariant(monkeypatch):
    monkeypatch.setattr(trials, "KINDS", KINDS)
    monkeypatch.setattr(trials, "ASKED", 24)
    monkeypatch.setattr(trials, "COMPANIES", (2, 3, 7, 24))
    assert trials.batch_invariance(CPU).state == "right"


def test_answers_do_not_depend_on_company():
    finding = trials.batch_invariance(CPU)
    # Three questions: greedy and by beam for the two that search, once for the tagger.
    assert (finding.state, finding.detail[:16]) == ("right", "yes: 15 answers ")


def test_only_one_thread_is_promised_to_be_exact_and_all_are_there_again(monkeypatch):
    seen, predict = [], Translate.predict

    def counted(self, *given, **rest):
        seen.append(torch.get_num_threads())
        return predict(self, *given, **rest)

    threads = torch.get_num_threads()
    monkeypatch.setattr(Translate, "predict", counted)
    torch.set_num_threads(3)
    try:
        trials.batch_invariance(CPU)
        assert (set(seen), torch.get_num_threads()) == ({1}, 3)
    finally:
        torch.set_num_threads(threads)


def test_answers_that_depend_on_company_are_found(monkeypatch):
    predict = Translate.predict

    def careless(self, model, inputs, settings, **rest):
        found = predict(self, model, inputs, settings, **rest)
        return [replace(one, score=one.score + 1e-12 * len(inputs)) for one in found]

    monkeypatch.setattr(Translate, "predict", careless)
    finding = trials.batch_invariance(CPU)
    assert finding.state == "wrong"
    assert finding.detail.startswith("no: Transformer, RNN differ")


def test_what_shared_batches_round_otherwise_is_counted_and_no_fault(monkeypatch):
    predict = Translate.predict

    def shared(self, model, inputs, settings, *, tokens):
        off = 1e-12 * len(inputs) * (tokens != ALONE)
        found = predict(self, model, inputs, settings, tokens=tokens)
        return [replace(one, score=one.score + off) for one in found]

    monkeypatch.setattr(Translate, "predict", shared)
    finding = trials.batch_invariance(CPU)
    assert finding.state == "right"
    # Three questions of two models, greedy and by beam; the tagger rounds as it likes.
    assert int(finding.detail.split("batches ")[1].split()[0]) in range(12, 16)


@pytest.mark.parametrize("kind", ["Transformer", "RNN"])
def test_one_batch_is_learned_by_heart(kind):
    assert trials.overfitting(kind, CPU).state == "right"


def test_a_model_that_cannot_learn_is_found(monkeypatch):
    monkeypatch.setattr(trials, "MOST_STEPS", 3)
    finding = trials.overfitting("RNN", CPU)
    assert finding.state == "wrong"
    assert finding.detail.endswith("in 3 steps")
    assert finding.remedy


def test_the_kernels_agree():
    assert trials.kernels_agree(CPU).state == "right"


class Wrong(AttendForm):
    """One part in a hundred too much."""

    def takes(self, *given):
        return Fused().takes(*given)

    def attend(self, *given):
        return Fused().attend(*given) * 1.01


def test_a_wrong_form_is_found():
    with using(attend=[Wrong()]):
        assert trials.kernels_agree(CPU).state == "wrong"


def test_the_same_seed_is_the_same_model():
    assert trials.determinism(CPU).state == "right"


def test_chance_that_no_seed_governs_is_found(monkeypatch):
    learning, drawn = trials.learning, iter(range(100))

    def restless(subject: Subject, steps: int):
        with torch.no_grad():
            next(subject.model.parameters())[0, 0] += next(drawn)
        return learning(subject, steps)

    monkeypatch.setattr(trials, "learning", restless)
    finding = trials.determinism(CPU)
    assert (finding.state, finding.detail) == ("wrong", "five steps end differently")


def test_a_seed_that_changes_nothing_is_found(monkeypatch):
    monkeypatch.setattr(
        torch, "manual_seed", lambda _seed: torch.random.default_generator.manual_seed(0)
    )
    assert "proves nothing" in trials.determinism(CPU).detail
