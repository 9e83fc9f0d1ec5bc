"""A sound run has nothing wrong; each harm done to it is found."""

import json
import shutil

import pytest
import torch

from regard.run import weights
from regard.run.folder import Run
from regard.tasks import Prediction, Translate
from regard.training.health import health
from tests.training.kit import tiny
from tests.training.kit import trained as train_it


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Learned for real: letters backwards, enough of them to answer each question differently."""
    folder = tmp_path_factory.mktemp("health")
    settings = tiny(
        folder, "rnn", steps=120, evaluate_every=40, evaluate_examples=3, checkpoint_every=60
    )
    train_it(folder / "run", settings)
    return folder / "run"


@pytest.fixture
def run(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "run")


def found(folder):
    return {finding.name: finding for finding in health(folder)}


def wrong(findings):
    return [name for name, finding in findings.items() if finding.state == "wrong"]


def test_nothing_is_wrong_with_a_sound_run(sound):
    findings = found(sound)
    assert wrong(findings) == []
    assert set(findings) >= {"checkpoints", "learning", "model", "different answers", "endings"}
    assert findings["recorded scores"].state == "right"


def test_no_run_at_all(tmp_path):
    (finding,) = health(tmp_path)
    assert finding.state == "wrong"
    assert finding.remedy == "name a folder that `regard train` made"


def test_a_flipped_bit_in_a_checkpoint(run):
    path = next(run.glob("checkpoints/step-*/model.safetensors"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    findings = found(run)
    assert wrong(findings) == ["checkpoints"]
    assert findings["checkpoints"].detail.startswith("1 of 2 are damaged: step ")


def test_a_model_cut_short(run):
    path = run / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    assert wrong(found(run)) == ["model"]


def test_settings_of_another_model(run):
    path = run / "config.toml"
    path.write_text(path.read_text().replace("width = 8", "width = 16"))
    assert {"checkpoints", "model"} <= set(wrong(found(run)))


def test_a_run_without_its_training_data_can_still_be_looked_at(run):
    shutil.rmtree(run / "data")
    shutil.rmtree(run / "checkpoints")
    findings = found(run)
    assert wrong(findings) == []
    assert findings["answers"].state == findings["checkpoints"].state == "note"


def test_one_answer_for_all_is_found(run):
    """A model whose weights are 0 does not look at its input."""
    path = run / "model.safetensors"
    nothing = {name: torch.zeros_like(value) for name, value in weights.read(path).items()}
    Run.open(run).save_model(nothing)
    findings = found(run)
    assert {"different answers", "recorded scores"} <= set(wrong(findings))
    assert "does not read its input" in findings["different answers"].remedy


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Prediction(""), "10 empty and 0 endless"),
        (Prediction("a", finish="length"), "0 empty and 10 endless"),
    ],
)
def test_answers_without_beginning_or_end(run, answer, told, monkeypatch):
    monkeypatch.setattr(
        Translate, "predict", lambda _self, _model, texts, *_, **__: [answer] * len(texts)
    )
    findings = found(run)
    assert "endings" in wrong(findings)
    assert findings["endings"].detail.startswith(told)


def curve(run, train, valid):
    """Write the curves that a run would have with these losses."""
    entries = [{"kind": "train", "step": 50 * n, "loss": loss} for n, loss in enumerate(train, 1)]
    entries += [
        {"kind": "valid", "step": 50 * n, "loss": loss, "is_best": False, "metrics": []}
        for n, loss in enumerate(valid, 1)
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return found(run)


def test_a_loss_that_does_not_fall(run):
    findings = curve(run, [3.0, 3.1, 2.99], [3.0, 3.0, 3.0])
    assert findings["learning"].state == "wrong"
    assert findings["held-out curve"].state == "right"


def test_curves_that_ask_for_more_or_less_training(run):
    findings = curve(run, [3.0, 2.0, 1.0], [3.0, 2.0, 1.0])
    assert findings["learning"].state == "right"
    assert "more train.steps" in findings["held-out curve"].remedy
    assert "train.patience" in curve(run, [3.0, 2.0, 1.0], [2.0, 1.0, 2.0])["held-out curve"].remedy


def test_too_short_a_curve_says_nothing(run):
    assert "learning" not in curve(run, [3.0], [])


def test_skipped_steps_and_spikes_are_worth_knowing(run):
    (run / "nan-report.json").write_text("{}")
    Run.open(run).record("metrics", {"kind": "spike", "step": 7, "loss": 9.0})
    findings = found(run)
    assert findings["skipped steps"].state == findings["spikes"].state == "note"
    assert "first at step 7" in findings["spikes"].detail
