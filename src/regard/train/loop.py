"""The training loop, from a run folder to a trained model; killed at any moment, it goes on where it was.

One step: batches -> loss -> gradient -> weights. Every so often: evaluate, look, save.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from regard import __version__
from regard.evaluate import Metric
from regard.models import count_parameters
from regard.run.folder import Run
from regard.signals import Stop, Stopped
from regard.tasks import Sight
from regard.train import judge, shard
from regard.train.average import MovingAverage, mean_of
from regard.train.card import write_card
from regard.train.events import Evaluated, Listener, Outcome, Stepped
from regard.train.feed import Feed, Position, Turn
from regard.train.guard import Guard
from regard.train.optimise import (
    make_optimiser,
    optimiser_tensors,
    rate_at,
    restore_optimiser,
    set_rate,
)
from regard.train.step import Learner, Stepper, Summed, perplexity
from regard.train.world import World


@final
class Trainer:
    """All that training holds, and the loop over it."""

    def __init__(self, run: Run, world: World, listener: Listener, stop: Stop) -> None:
        self.run, self.world, self.listener, self.stop = run, world, listener, stop
        self.settings = run.settings.train
        torch.use_deterministic_algorithms(self.settings.deterministic)
        self.model = run.build_model().to(world.device)
        seed = run.settings.seed
        self.feed = Feed(run.task, run.store("train"), run.settings.batch, seed, world)
        checked = judge.valid_batches(run.settings.batch)
        self.valid = Feed(run.task, run.store("valid"), checked, seed, world)
        learner: nn.Module = Learner(run.task, self.model, self.settings.smoothing)
        if self.settings.distribute == "fsdp" and world.size > 1:
            shard.fully(self.model, world)
        self.optimiser = make_optimiser(self.model, self.settings)
        if self.settings.compile:
            learner = torch.compile(learner, dynamic=True)  # type: ignore[assignment]
        if self.settings.distribute == "ddp" and world.size > 1:
            learner = DistributedDataParallel(learner)
        self.stepper = Stepper(learner, self.settings, seed, world, self.feed.make)
        self.guard = Guard(run.folder)
        self.average = None
        if self.settings.average == "ema":
            self.average = MovingAverage(self.model, self.settings.ema_decay)
        self.step, self.position = 0, Position()
        self.best, self.best_step, self.stale = float("inf"), 0, 0
        self.saved_step = self.evaluated_step = -1

    def train(self) -> Outcome:
        """Until the steps are done, patience ends, or somebody asks to stop."""
        self._restore()
        self.listener.began(self.run, self._facts())
        reason = self._reason()
        if self.step and self.step % self.settings.evaluate_every == 0:
            self._evaluate_unless_stopped()  # a stop may have come in the middle of this
        turns = self.feed.turns(self.position, self.settings.accumulate, self.settings.workers)
        meter = _Meter()
        while reason is None:
            summed = self._advance(next(turns), meter)
            self._regular(meter)
            reason = "asked to stop" if summed.stop else self._reason()
        turns.close()  # type: ignore[attr-defined]
        if self.stop.asked is None and reason != "asked to stop":
            self._finish()
        elif self.saved_step != self.step:
            self._save()
        outcome = Outcome(self.step, reason, self.best_step, self.best, signal=self.stop.asked)
        self.listener.finished(outcome)
        return outcome

    def _advance(self, turn: Turn, meter: _Meter) -> Summed:
        """One step: gradient, clip, update; or, when the numbers are not finite, none."""
        self.model.train()
        step = self.step + 1
        rate = rate_at(step, self.settings, _width(self.model))
        set_rate(self.optimiser, rate)
        asked = self.stop.asked is not None
        summed = self.stepper.gradients(step, turn.pieces, turn.batches, asked)
        norm = float(shard.clip(self.model, self.settings.clip))
        if not math.isfinite(norm):
            rows = [int(row) for piece in turn.pieces for row in piece.rows]
            if self.world.is_first:
                self.listener.noted(self.guard.skip(step, rows, self.model, summed.mean))
        else:
            self.optimiser.step()
            if self.average is not None:
                self.average.update(self.model, step)
            self._spikes(summed.mean, turn)
        self.step, self.position = step, turn.after
        meter.add(summed, norm, rate)
        return summed

    def _regular(self, meter: _Meter) -> None:
        """What happens every so many steps."""
        if self.step % self.settings.log_every == 0 or self.step == 1:
            self._tell(meter)
        if self.step % self.settings.evaluate_every == 0:
            self._evaluate_unless_stopped()
        if self.step % self.settings.checkpoint_every == 0:
            self._save()

    def _evaluate_unless_stopped(self) -> None:
        if self.evaluated_step != self.step:
            with suppress(Stopped):
                self._evaluate()

    def _tell(self, meter: _Meter) -> None:
        report = meter.report(self.step, self.position.epoch)
        if self.world.is_first:
            self.run.record("metrics", report.as_dict())
            self.listener.stepped(report)

    def _evaluate(self) -> Evaluated:
        """Loss on all held-out rows, scores and sights on a few; the best weights become the model."""
        shown: AbstractContextManager[None] = nullcontext()
        if self.average is not None:
            shown = self.average.shown(self.model)
        with shown:
            # Alone, a stop may cut this short; among others, all finish what all began.
            stop = self.stop if self.world.size == 1 else Stop()
            loss = judge.held_out_loss(self.model, self.valid, self.world, stop)
            plain = shard.plain(self.model, self.run, self.world)
            metrics = judge.scores(self.run, plain, stop) if self.world.is_first else ()
            sights = judge.sights(self.run, plain) if self.world.is_first else []
            report = self._judged(loss, metrics)
            if report.is_best and self.world.is_first:
                self.run.save_model(plain.state_dict())
        self.evaluated_step = self.step
        if self.world.is_first:
            self._show(report, sights)
        self.world.wait()
        return report

    def _judged(self, loss: float, metrics: tuple[Metric, ...]) -> Evaluated:
        """The same verdict on every process, though only the first has the scores."""
        value = loss
        if self.settings.best_by == "score" and metrics:
            value = -metrics[0].value if metrics[0].higher_is_better else metrics[0].value
        value = self.world.total([value if self.world.is_first else 0.0])[0]
        is_best = value < self.best
        self.stale = 0 if is_best else self.stale + 1
        if is_best:
            self.best, self.best_step = value, self.step
        return Evaluated(self.step, self.position.epoch, loss, perplexity(loss), metrics, is_best)

    def _show(self, report: Evaluated, sights: list[Sight]) -> None:
        self.run.record("metrics", report.as_dict())
        self.listener.evaluated(report)
        for (question, _), sight in zip(self.run.probes(), sights, strict=False):
            self.run.record("samples", judge.sample_entry(self.step, question, sight))
        self.listener.sampled(self.step, sights)

    def _spikes(self, loss: float, turn: Turn) -> None:
        if not self.guard.spike(loss):
            return
        rows = [int(row) for piece in turn.pieces for row in piece.rows[:8]]
        note = f"the loss spiked to {loss:.3f} at step {self.step + 1}; first rows {rows[:8]}"
        if self.settings.on_spike == "rewind":
            checkpoint = self.run.checkpoints.latest()
            if checkpoint is not None:
                self._put(checkpoint.tensors)
                note += f"; weights rewound to step {checkpoint.step}, data goes on"
        if self.world.is_first:
            self.run.record("metrics", {"kind": "spike", "step": self.step + 1, "loss": loss})
            self.listener.noted(note)

    def _reason(self) -> str | None:
        """Why training is over, if it is."""
        if self.step >= self.settings.steps:
            return f"{self.settings.steps:,} steps done"
        if self.settings.epochs is not None and self.position.epoch >= self.settings.epochs:
            return f"{self.settings.epochs} epochs done"
        if self.settings.patience is not None and self.stale >= self.settings.patience:
            return f"no better for {self.stale} evaluations"
        return None

    def _finish(self) -> None:
        """Evaluate what was not evaluated, average if asked, and write the model card."""
        self._evaluate_unless_stopped()
        if self.saved_step != self.step:
            self._save()
        if self.settings.average == "last" and self.world.is_first:
            self._average_last()
        if self.world.is_first:
            write_card(self.run, self.best_step)
        self.world.wait()

    def _average_last(self) -> None:
        """The mean of the last checkpoints; kept only if its held-out loss is the better one."""
        steps = self.run.checkpoints.steps()[-self.settings.average_last :]
        states = [self.run.checkpoints.load(step).tensors["model"] for step in steps]
        self.model.load_state_dict(mean_of(states))
        alone = World(0, 1, self.world.device)
        loss = judge.held_out_loss(self.model, self.valid, alone, self.stop)
        kept = loss < self.best
        self.listener.noted(
            f"the average of steps {', '.join(map(str, steps))} has loss {loss:.4f}: "
            + ("kept" if kept else f"not better than {self.best:.4f}")
        )
        if kept:
            self.run.save_model(self.model.state_dict())

    def _save(self) -> None:
        tensors: dict[str, Mapping[str, Tensor]] = {
            "model": shard.full(self.model.state_dict()),
            "optimizer": shard.full(optimiser_tensors(self.optimiser, self.model)),
        }
        if self.average is not None:
            tensors["average"] = shard.full(self.average.weights)
        keep = max(
            self.settings.keep, self.settings.average_last * (self.settings.average == "last")
        )
        if self.world.is_first:
            for warning in self.run.checkpoints.save(self.step, tensors, self._state(), keep):
                self.listener.noted(warning)
        self.saved_step = self.step
        self.world.wait()

    def _state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "epoch": self.position.epoch,
            "batch": self.position.batch,
            "best": None if self.best == float("inf") else self.best,
            "best_step": self.best_step,
            "stale": self.stale,
            "evaluated_step": self.evaluated_step,
            "limit": self.stepper.limit,
            "guard": self.guard.as_dict(),
            "scope": self._scope(),
        }

    def _scope(self) -> dict[str, Any]:
        """What must be the same for a resumed run to be the same to the last bit."""
        return {
            "world": self.world.size,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "device": self.world.device.type,
            "regard": __version__,
        }

    def _restore(self) -> None:
        """Go on from the newest good checkpoint, if there is one."""
        checkpoint = self.run.checkpoints.latest()
        if checkpoint is None:
            return
        for warning in checkpoint.warnings:
            self.listener.noted(warning)
        state = checkpoint.state
        self._put(checkpoint.tensors)
        self.step, self.position = state["step"], Position(state["epoch"], state["batch"])
        self.best = float("inf") if state["best"] is None else state["best"]
        self.best_step, self.stale = state["best_step"], state["stale"]
        self.stepper.limit = state["limit"]
        self.guard.restore(state["guard"])
        self.saved_step, self.evaluated_step = self.step, state["evaluated_step"]
        now = self._scope()
        other = [
            f"{key} {old} -> {now[key]}" for key, old in state["scope"].items() if now[key] != old
        ]
        if self.world.is_first:
            self.run.forget_after(self.step)
            self.listener.noted(f"resumed at step {self.step:,}")
            if other:
                self.listener.noted(f"not bit-identical: {', '.join(other)}")

    def _put(self, tensors: Mapping[str, Mapping[str, Tensor]]) -> None:
        shard.load(self.model, tensors["model"])
        restore_optimiser(self.optimiser, self.model, tensors["optimizer"])
        if self.average is not None:
            self.average.restore(tensors["average"])

    def _facts(self) -> dict[str, Any]:
        plan = self.feed.plan
        return {
            "step": self.step,
            "steps": self.settings.steps,
            "parameters": count_parameters(self.model),
            "examples": plan.count,
            "skipped": plan.skipped,
            "waste": plan.waste,
            "shapes": len(plan.shapes),
            "device": str(self.world.device),
            "world": self.world.size,
            "batches_a_step": -(-self.settings.accumulate // self.world.size) * self.world.size,
        }


@final
class _Meter:
    """Means since the last report."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self._clear()

    def _clear(self) -> None:
        self.loss, self.count, self.norm, self.rate = 0.0, 0, 0.0, 0.0
        self.since = time.monotonic()

    def add(self, summed: Summed, norm: float, rate: float) -> None:
        """One more step."""
        self.loss += summed.loss
        self.count += summed.count
        self.norm, self.rate = norm, rate

    def report(self, step: int, epoch: int) -> Stepped:
        """And begin anew."""
        now = time.monotonic()
        mean = self.loss / max(1, self.count)
        speed = self.count / max(1e-9, now - self.since)
        finite = [x if math.isfinite(x) else -1.0 for x in (mean, self.norm)]
        report = Stepped(step, epoch, finite[0], self.rate, finite[1], speed, now - self.began)
        self._clear()
        return report


def _width(model: nn.Module) -> int:
    """The width that the Noam schedule scales by."""
    embedding = next((m for m in model.modules() if isinstance(m, nn.Embedding)), None)
    return 512 if embedding is None else embedding.embedding_dim
