"""The loop: goes on where it was, to the last bit; ends for the right reason; keeps the best."""

import base64
import json
import math
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.errors import DataError, DivergedError, MemoryLimitError
from regard.evaluate import Metric
from regard.run.folder import Run
from regard.traces.trace import look_inside
from regard.training import Trainer, judge
from regard.training.events import Evaluated
from regard.training.loop import ASKED
from regard.training.step import Stepper
from tests.training import kit
from tests.training.kit import Ears, changed, kill_at, model_of, numbers_of, steps_of, trained


def tiny(folder, **choices):
    """Scores take most of a tiny run's time, and only some tests need them."""
    return kit.tiny(folder, **{"evaluate_examples": 0} | choices)


@pytest.fixture(scope="module")
def straight(quick_path_factory):
    """A run that nobody disturbed."""
    folder = quick_path_factory()
    settings = tiny(folder, evaluate_examples=2)
    ears = Ears()
    outcome = trained(folder / "run", settings, listener=ears)
    return folder / "run", settings, outcome, ears


def test_a_run_tells_everything_once(straight):
    folder, _, outcome, ears = straight
    assert outcome.reason == "12 steps done"
    assert outcome.signal is None
    assert steps_of(folder) == [1, 2, 4, 6, 8, 10, 12]
    assert steps_of(folder, "valid") == [4, 8, 12]
    assert [report.step for report in ears.of("stepped")] == steps_of(folder)
    assert [report.step for report in ears.of("evaluated")] == steps_of(folder, "valid")
    assert ears.of("finished") == [outcome]
    assert ears.of("began")[0]["step"] == 0
    assert Run.open(folder).checkpoints.steps() == [6, 9, 12]
    assert not list(folder.rglob(".tmp-*"))


def test_the_model_is_the_best_one_and_the_card_says_so(straight):
    folder, _, outcome, ears = straight
    best = min(ears.of("evaluated"), key=lambda report: report.loss)
    assert outcome.best_step == best.step
    assert outcome.best_loss == best.loss
    card = (folder / "README.md").read_text()
    assert f"| best step | {best.step} |" in card
    assert f"held-out loss | {best.loss:.4f}" in card


def test_the_loss_falls_and_weights_are_finite(straight):
    folder, *_ = straight
    losses = [e["loss"] for e in Run.open(folder).recorded("metrics") if e["kind"] == "train"]
    assert losses[-1] < losses[0]
    assert all(tensor.isfinite().all() for tensor in model_of(folder).values())


def test_training_again_changes_nothing(straight, tmp_path):
    folder, settings, outcome, _ = straight
    before = numbers_of(folder)
    ears = Ears()
    again = trained(folder, settings, listener=ears)
    assert (again.reason, again.best_step) == (outcome.reason, outcome.best_step)
    assert "resumed at step 12" in ears.of("noted")
    assert numbers_of(folder) == before


EVENTS = [
    ("stepped", 1),
    ("stepped", 2),
    ("stepped", 4),
    ("evaluated", 4),
    ("sampled", 8),
    ("stepped", 12),
    ("evaluated", 12),
]


@pytest.mark.parametrize(("event", "step"), EVENTS)
def test_a_stop_at_any_event_resumes_to_the_same_bits(straight, tmp_path, event, step):  # T2
    folder, settings, *_ = straight
    outcome = trained(tmp_path / "run", settings, listener=kill_at(event, step))
    assert outcome.signal in (signal.SIGTERM, None)
    assert outcome.reason == (ASKED if outcome.signal else "12 steps done")
    ears = Ears()
    trained(tmp_path / "run", settings, listener=ears)
    assert numbers_of(tmp_path / "run") == numbers_of(folder)


@pytest.mark.parametrize("moment", ["loss", "scores"])
@pytest.mark.parametrize("step", [4, 12])
def test_a_stop_inside_an_evaluation_loses_none(
    straight, tmp_path, monkeypatch, moment, step
):  # T2
    folder, settings, *_ = straight
    name = {"loss": "held_out_loss", "scores": "scores"}[moment]
    original, calls = getattr(judge, name), []

    def cut_short(*arguments):
        calls.append(1)
        if len(calls) == step // 4:
            signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    monkeypatch.setattr(judge, name, cut_short)
    outcome = trained(tmp_path / "run", settings)
    assert (outcome.signal, outcome.step) == (signal.SIGINT, step)
    assert step not in steps_of(tmp_path / "run", "valid")
    outcome = trained(tmp_path / "run", settings)
    assert outcome.signal is None
    assert numbers_of(tmp_path / "run") == numbers_of(folder)


def test_an_evaluation_made_up_for_and_then_killed_is_recorded_once(
    straight, tmp_path, monkeypatch
):
    """Stopped before the evaluation of step 4, made up for, killed before the next checkpoint."""
    folder, settings, *_ = straight
    run = tmp_path / "run"
    trained(run, settings, listener=kill_at("stepped", 4))
    assert steps_of(run, "valid") == []

    class Killed(BaseException):
        pass

    def die(event: str, step: int) -> None:
        if event == "evaluated":
            raise Killed

    with pytest.raises(Killed):
        trained(run, settings, listener=Ears(die))
    assert steps_of(run, "valid") == [4]
    trained(run, settings)
    assert steps_of(run, "valid") == [4, 8, 12]
    assert numbers_of(run) == numbers_of(folder)


def test_a_run_killed_before_its_first_checkpoint_begins_anew_with_clean_records(
    straight, tmp_path
):
    folder, settings, *_ = straight

    class Killed(BaseException):
        pass

    def die(event: str, step: int) -> None:
        if (event, step) == ("stepped", 2):
            raise Killed

    with pytest.raises(Killed):
        trained(tmp_path / "run", settings, listener=Ears(die))
    assert steps_of(tmp_path / "run") == [1, 2]
    trained(tmp_path / "run", settings)
    assert numbers_of(tmp_path / "run") == numbers_of(folder)


def test_stopped_at_the_end_of_every_epoch_each_has_its_own_order(tmp_path, monkeypatch):  # T23
    settings = tiny(tmp_path, steps=10_000, evaluate_every=1000)
    rows: list[int] = []
    original = Stepper.gradients

    def noting(self, step, pieces, ready, stop):
        rows.extend(int(row) for piece in pieces for row in piece.rows)
        return original(self, step, pieces, ready, stop)

    monkeypatch.setattr(Stepper, "gradients", noting)
    epochs = []
    for number in (1, 2, 3):
        rows.clear()
        outcome = trained(tmp_path / "run", changed(settings, epochs=number))
        assert outcome.reason == f"{number} epochs done"
        epochs.append(rows.copy())
    assert [sorted(epoch) for epoch in epochs] == [list(range(48))] * 3
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    rows.clear()
    trained(tmp_path / "straight", changed(settings, epochs=3))
    assert rows == [*epochs[0], *epochs[1], *epochs[2]]


def test_epochs_end_exactly_and_patience_ends_early(tmp_path, monkeypatch):
    settings = tiny(tmp_path, steps=10_000, epochs=2, evaluate_every=1000)
    outcome = trained(tmp_path / "run", settings)
    assert outcome.reason == "2 epochs done"
    plan = Trainer(Run.open(tmp_path / "run"), *_alone()).feed.plan
    assert outcome.step == len(plan.epoch(0)) + len(plan.epoch(1))

    losses = iter([3.0, 2.0, 2.5, 2.1, 1.0])
    monkeypatch.setattr(judge, "held_out_loss", lambda *_: next(losses))
    settings = changed(settings, epochs=None, evaluate_every=2, patience=2)
    outcome = trained(tmp_path / "patient", settings)
    assert outcome.reason == "no better for 2 evaluations"
    assert (outcome.step, outcome.best_step, outcome.best_loss) == (8, 4, 2.0)


def _alone():
    from regard.signals import Stop
    from regard.training import Listener, World

    return World(0, 1, torch.device("cpu")), Listener(), Stop()


def test_more_steps_go_on_from_where_the_run_ended(straight, tmp_path):
    """Extending a finished run gives what a longer run would have given, where both evaluate alike."""
    _, settings, *_ = straight
    trained(tmp_path / "long", changed(settings, steps=16))
    trained(tmp_path / "two", settings)
    outcome = trained(tmp_path / "two", changed(settings, steps=16))
    assert outcome.reason == "16 steps done"
    assert numbers_of(tmp_path / "two") == numbers_of(tmp_path / "long")


def test_the_final_evaluation_is_in_the_last_checkpoint(tmp_path):
    """Else a longer run would begin with an older best, and might replace a better model."""
    settings = tiny(tmp_path, steps=9, evaluate_every=4, checkpoint_every=3)
    outcome = trained(tmp_path / "run", settings)
    state = Run.open(tmp_path / "run").checkpoints.latest().state
    assert state["evaluated_step"] == 9
    assert state["best_step"] == outcome.best_step


def test_the_best_may_be_chosen_by_the_score(tmp_path, monkeypatch):
    values = iter([10.0, 30.0, 20.0])
    monkeypatch.setattr(judge, "scores", lambda *_: (Metric("x", next(values), "n:1", None),))
    outcome = trained(tmp_path / "run", tiny(tmp_path, best_by="score"))
    assert (outcome.best_step, outcome.best_loss) == (8, -30.0)


def test_numbers_that_are_not_finite_never_reach_the_weights(tmp_path, monkeypatch):  # T8
    settings = tiny(tmp_path, log_every=1)
    original = Stepper._gradients
    before = {}

    def spoil(self, step, batches, stop):
        summed = original(self, step, batches, stop)
        if step == 5:
            before.update({n: p.detach().clone() for n, p in self.learner.named_parameters()})
            self.learner.model.reader.output.bias.grad[0] = math.nan
        if step == 6:
            after = dict(self.learner.named_parameters())
            assert all(torch.equal(after[name], value) for name, value in before.items())
        return summed

    monkeypatch.setattr(Stepper, "_gradients", spoil)
    ears = Ears()
    outcome = trained(tmp_path / "run", settings, listener=ears)
    assert outcome.step == 12
    report = json.loads((tmp_path / "run" / "nan-report.json").read_text())
    assert report["step"] == 5
    assert report["first_bad_gradient"] == "reader.output.bias"
    assert report["bad_gradients"] == 1
    assert report["rows"]
    note = "step 5 skipped: the gradient is not finite (see nan-report.json)"
    assert note in ears.of("noted")
    assert steps_of(tmp_path / "run", "skipped") == [5]
    assert 5 not in steps_of(tmp_path / "run")  # its loss is in no mean


def test_a_loss_that_is_not_finite_is_skipped_though_its_gradient_is(tmp_path, monkeypatch):
    original = Stepper._gradients

    def spoil(self, step, batches, stop):
        summed = original(self, step, batches, stop)
        return replace(summed, loss=torch.tensor(math.inf)) if step == 2 else summed

    monkeypatch.setattr(Stepper, "_gradients", spoil)
    trained(tmp_path / "run", tiny(tmp_path))
    assert steps_of(tmp_path / "run", "skipped") == [2]


def test_three_bad_steps_in_a_row_end_training_and_the_checkpoint_is_good(tmp_path, monkeypatch):
    original = Stepper._gradients

    def spoil(self, step, batches, stop):
        summed = original(self, step, batches, stop)
        if step >= 5:
            self.learner.model.reader.output.bias.grad[0] = math.inf
        return summed

    monkeypatch.setattr(Stepper, "_gradients", spoil)
    with pytest.raises(DivergedError) as caught:
        trained(tmp_path / "run", tiny(tmp_path))
    assert caught.value.exit_code == 7
    checkpoint = Run.open(tmp_path / "run").checkpoints.latest()
    assert checkpoint.step == 6
    assert all(t.isfinite().all() for t in checkpoint.tensors["model"].values())


def test_a_spike_is_told_with_its_rows_and_may_be_rewound(tmp_path, monkeypatch):  # T9
    from regard.training.guard import Guard

    weights = {}
    monkeypatch.setattr(Guard, "spike", lambda self, loss: len(weights) == 0)
    original = Trainer._spikes

    def spikes(self, taken, loss):
        if taken.step != 8:
            return
        original(self, taken, loss)
        weights.update({name: t.clone() for name, t in self.model.state_dict().items()})

    monkeypatch.setattr(Trainer, "_spikes", spikes)
    ears = Ears()
    trained(tmp_path / "run", tiny(tmp_path, on_spike="rewind", keep=9), listener=ears)
    run = Run.open(tmp_path / "run")
    saved = run.checkpoints.load(6).tensors["model"]
    assert all(torch.equal(saved[name], tensor) for name, tensor in weights.items())
    (entry,) = [e for e in run.recorded("metrics") if e["kind"] == "spike"]
    assert entry["step"] == 8
    assert entry["rows"]
    (note,) = [note for note in ears.of("noted") if "spiked" in note]
    assert note.endswith("weights rewound to step 6, data goes on")


def test_the_limit_found_when_memory_ran_out_is_kept_over_a_resume(tmp_path, monkeypatch):  # T10
    settings = tiny(tmp_path)
    fault, largest = torch.OutOfMemoryError("simulated"), []
    original = Stepper._gradients

    def small(self, step, batches, stop):
        held = [
            len(batch) * max(batch.source.shape[1], batch.targets.shape[1]) for batch in batches
        ]
        largest.append(max(held))
        if largest[-1] > 30:
            self._at = held.index(largest[-1])
            raise fault
        return original(self, step, batches, stop)

    monkeypatch.setattr(Stepper, "_gradients", small)
    ears = kill_at("stepped", 6)
    trained(tmp_path / "run", settings, listener=ears)
    (note,) = [note for note in ears.of("noted") if note.startswith("memory ran out")]
    limit = Run.open(tmp_path / "run").checkpoints.latest().state["limit"]
    assert note == f"memory ran out: from now on batches have at most {limit} tokens"
    largest.clear()
    trained(tmp_path / "run", settings)
    assert largest
    assert max(largest) <= limit <= 30


def test_one_sentence_too_big_ends_training_with_its_row(tmp_path, monkeypatch):  # T10
    def never(self, step, batches, stop):
        raise MemoryError

    monkeypatch.setattr(Stepper, "_gradients", never)
    with pytest.raises(MemoryLimitError, match="one example of"):
        trained(tmp_path / "run", tiny(tmp_path))


def test_prepared_data_that_changed_is_noticed_at_the_end_of_the_epoch(tmp_path):  # T16
    settings = tiny(tmp_path, steps=1000, log_every=1, checkpoint_every=2)

    def spoil(event: str, step: int) -> None:
        if (event, step) == ("stepped", 3):
            (path,) = (tmp_path / "run" / "data" / "train").glob("source*values*")
            content = bytearray(path.read_bytes())
            content[0] ^= 1
            path.write_bytes(content)

    ears = Ears(spoil)
    with pytest.raises(DataError, match="is not what was written") as caught:
        trained(tmp_path / "run", settings, listener=ears)
    assert caught.value.exit_code == 3
    assert ears.of("stepped")[-1].epoch == 0
    checkpoint = Run.open(tmp_path / "run").checkpoints.latest()
    assert checkpoint.step >= 2
    with pytest.raises(DataError, match="is not what was written"):
        trained(tmp_path / "run", settings)


def test_samples_replay_how_looking_was_learned(straight):
    folder, settings, *_ = straight
    run = Run.open(folder)
    entries = run.recorded("samples")
    assert [entry["step"] for entry in entries] == [4, 8, 12]
    assert {entry["question"] for entry in entries} == {run.probes()[0][0]}
    model = run.build_model().eval()
    model.load_state_dict(run.checkpoints.load(12).tensors["model"])
    greedy = settings.decode.model_copy(update={"beam": 1})
    for entry in entries[-1:]:
        seen = look_inside(run.task, model, entry["question"], greedy)
        assert entry["answer"] == seen.answer.text
        assert entry["axes"] == {name: list(axis.pieces) for name, axis in seen.axes.items()}
        for site in entry["sites"]:
            raw = np.frombuffer(base64.b64decode(site["weights"]), "<f4")
            assert np.array_equal(raw.reshape(site["shape"]), seen.site(site["path"]).weights)


def test_the_average_of_the_last_checkpoints_is_kept_if_better(tmp_path):
    ears = Ears()
    settings = tiny(tmp_path, average="last", average_last=4)
    outcome = trained(tmp_path / "run", settings, listener=ears)
    run = Run.open(tmp_path / "run")
    assert run.checkpoints.steps() == [3, 6, 9, 12]
    states = [run.checkpoints.load(step).tensors["model"] for step in (3, 6, 9, 12)]
    name = "encoder.embedding.table.weight"
    mean = torch.stack([state[name].double() for state in states]).mean(0).float()
    (note,) = [note for note in ears.of("noted") if note.startswith("the average")]
    kept = note.endswith("it is the model now")
    assert note.startswith("the average of steps 3, 6, 9, 12 has held-out loss ")
    best = run.checkpoints.load(outcome.best_step).tensors["model"][name]
    assert torch.equal(model_of(tmp_path / "run")[name], mean if kept else best)


@pytest.mark.parametrize(("losses", "kept"), [([5.0] * 3 + [4.0], True), ([5.0] * 4, False)])
def test_only_a_better_average_becomes_the_model(tmp_path, monkeypatch, losses, kept):
    found = iter(losses)
    monkeypatch.setattr(judge, "held_out_loss", lambda *_: next(found))
    trained(tmp_path / "run", tiny(tmp_path, average="last", average_last=2))
    run = Run.open(tmp_path / "run")
    name = "encoder.embedding.table.weight"
    states = [run.checkpoints.load(step).tensors["model"][name].double() for step in (9, 12)]
    mean = torch.stack(states).mean(0).float()
    assert torch.equal(model_of(tmp_path / "run")[name], mean) is kept


def test_a_moving_average_is_judged_saved_and_resumed(tmp_path):
    settings = tiny(tmp_path, average="ema", ema_decay=0.5, checkpoint_every=4)
    trained(tmp_path / "straight", settings)
    trained(tmp_path / "run", settings, listener=kill_at("stepped", 6))
    trained(tmp_path / "run", settings)
    assert numbers_of(tmp_path / "run") == numbers_of(tmp_path / "straight")
    run = Run.open(tmp_path / "run")
    best = run.checkpoints.latest().state["best_step"]
    checkpoint = run.checkpoints.load(best)
    name = "encoder.embedding.table.weight"
    assert torch.equal(model_of(tmp_path / "run")[name], checkpoint.tensors["average"][name])
    assert not torch.equal(checkpoint.tensors["average"][name], checkpoint.tensors["model"][name])


def test_other_threads_are_said(straight, tmp_path, monkeypatch):  # T6
    _, settings, *_ = straight
    trained(tmp_path / "run", settings, listener=kill_at("stepped", 4))
    before = torch.get_num_threads()
    monkeypatch.setattr(torch, "get_num_threads", lambda: before + 1)
    ears = Ears()
    trained(tmp_path / "run", settings, listener=ears)
    assert f"not bit-identical: threads {before} -> {before + 1}" in ears.of("noted")


def test_the_card_and_the_records_hold_no_number_that_is_not_finite():
    report = Evaluated(3, 0, math.nan, math.inf, (), is_best=False)
    assert report.as_dict()["loss"] is None
    assert report.as_dict()["perplexity"] is None
    json.dumps(report.as_dict(), allow_nan=False)
