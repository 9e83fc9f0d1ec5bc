"""The training loop, from a run folder to a trained model; killed at any moment, it goes on where it was.

One step: batches -> loss -> gradient -> weights. Every so often: evaluate, look, save.
"""

from __future__ import annotations

import math
import signal
from collections import deque
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any, final

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from regard import __version__
from regard.evaluate import Metric
from regard.models import Model, RnnDecoder, count_parameters
from regard.run.folder import Run
from regard.run.origin import refuse_other
from regard.signals import Stop, Stopped
from regard.tasks import Sight
from regard.train import judge, record, shard, update
from regard.train.average import mean_of
from regard.train.card import write_card
from regard.train.compiler import shorten_messages
from regard.train.events import Evaluated, Listener, Outcome
from regard.train.feed import Feed, Turn
from regard.train.guard import Guard
from regard.train.meter import Meter
from regard.train.optimise import rate_at, set_rate
from regard.train.progress import Learned, Progress
from regard.train.step import Learner, Stepper, Summed, perplexity
from regard.train.world import World

ASKED = "asked to stop"


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
        self.valid = judge.valid_feed(run, world)
        learner: nn.Module = Learner(
            run.task, self.model, self.settings.smoothing, self.settings.agreement
        )
        if self.settings.distribute == "fsdp" and world.size > 1:
            shard.fully(self.model, world)
        self.learned = Learned(self.model, self.settings)
        recorder = record.recorder_for(self.settings, world, self.learned)
        if self.settings.compile:
            shapes = len(self.feed.plan.shapes)
            learner = _compiled(learner, self.model, shapes, recorded=recorder is not None)
        if self.settings.distribute == "ddp" and world.size > 1:
            learner = DistributedDataParallel(learner)
        self.stepper = Stepper(learner, self.settings, seed, world, self.feed.make)
        self.recordings = record.Recordings(self.stepper, self.learned, recorder, listener.noted)
        self.guard = Guard(run.folder, writes=world.is_first)
        self.meter = Meter()
        self.made_from = run.made_from()
        self.progress = Progress()
        self._saved = self.progress.as_dict()
        self.unread: deque[update.Taken] = deque()

    def train(self) -> Outcome:
        """Until the steps are done, patience ends, or somebody asks to stop."""
        self._restore()
        self.feed.store.verify()
        self.listener.began(self.run, self._facts())
        reason = self._caught_up()
        start, a_step = self.progress.position, self.settings.accumulate
        with closing(self.feed.turns(start, a_step, self.settings.workers)) as turns:
            while reason is None:
                reason = self._regular(self._advance(next(turns)))
        if reason != ASKED and not self._finish():
            reason = ASKED
        self._save_unless_saved()
        number = (self.stop.asked or signal.SIGTERM) if reason == ASKED else None
        best = self.progress.best_step, self.progress.best
        outcome = Outcome(self.progress.step, reason, *best, signal=number)
        self.listener.finished(outcome)
        return outcome

    def _caught_up(self) -> str | None:
        """A stop may have come between a step and its evaluation, which is then made up for."""
        step = self.progress.step
        due = step > 0 and step % self.settings.evaluate_every == 0
        return ASKED if due and not self._evaluate_unless_stopped() else self._reason()

    def _advance(self, turn: Turn) -> bool:
        """One step: gradient, clip, update. Whether somebody asked to stop."""
        if not self.model.training:
            self.model.train()
        step = self.progress.step + 1
        rate = rate_at(step, self.settings, _width(self.model))
        set_rate(self.learned.optimiser, rate)
        stop, count = self.stop.asked is not None, turn.batches[0].count
        read = self.recordings.take(step, turn)
        if read is None:
            summed = self._gradients(step, turn, stop)
            stop, count = summed.stop, summed.count
            read = update.apply(self.learned, summed, self.settings.clip)
        if self.learned.average is not None:
            self.learned.average.update(self.model, step)
        before, self.progress.position = self.progress.position, turn.after
        self.progress.step = step
        self.unread.append(update.Taken(step, turn, before, count, rate, read))
        self._read_steps(keep=1 if self.learned.is_fused else 0)
        if turn.after.epoch > before.epoch:
            self.feed.store.verify()  # what changed under us is noticed before it is read again (T16)
        return stop

    def _gradients(self, step: int, turn: Turn, stop: bool) -> Summed:
        """The gradient of a step, in as many parts as memory asks for."""
        limit = self.stepper.limit
        summed = self.stepper.gradients(step, turn.pieces, turn.batches, stop)
        if self.stepper.limit != limit:
            told = f"from now on batches have at most {self.stepper.limit} tokens"
            self.listener.noted(f"memory ran out: {told}")
        return summed

    def _read_steps(self, keep: int = 0) -> None:
        """Take note of what the last steps found, all but the newest `keep`."""
        while len(self.unread) > keep:
            taken = self.unread.popleft()
            loss, norm, norms = taken.numbers()
            mean = loss / max(1, taken.count)
            if math.isfinite(norm) and math.isfinite(loss):
                self._spikes(taken, mean)
                self.meter.add(loss, taken.count, norm, taken.rate)
            else:
                self._skip(taken, mean, update.unfit(self.model, norms))

    def _skip(self, taken: update.Taken, loss: float, bad: list[str]) -> None:
        """Numbers that are not finite have not reached the weights (T8)."""
        rows = self.feed.rows_between(taken.before, taken.turn.after)
        note = self.guard.skip(taken.step, rows, bad, loss)
        if self.world.is_first:
            self.run.record("metrics", {"kind": "skipped", "step": taken.step})
            self.listener.noted(note)

    def _spikes(self, taken: update.Taken, loss: float) -> None:
        """Tell a loss that has left its usual range, with the rows behind it (T9)."""
        if not self.guard.spike(loss):
            return
        step, rows = taken.step, self.feed.rows_between(taken.before, taken.turn.after)
        note = f"the loss spiked to {loss:.3f} at step {step}; first rows {rows[:8]}"
        if self.settings.on_spike == "rewind":
            checkpoint = self.run.checkpoints.latest()
            if checkpoint is not None:
                self.learned.put(checkpoint)
                note += f"; weights rewound to step {checkpoint.step}, data goes on"
        if self.world.is_first:
            entry = {"kind": "spike", "step": step, "loss": loss, "rows": rows}
            self.run.record("metrics", entry)
            self.listener.noted(note)

    def _regular(self, stop: bool) -> str | None:
        """What happens every so many steps. Why training is over, if it is."""
        step = self.progress.step
        tell = step % self.settings.log_every == 0 or step == 1
        due, saves = (
            step % every == 0
            for every in (self.settings.evaluate_every, self.settings.checkpoint_every)
        )
        if stop or tell or due or saves or self._reason() is not None:
            self._read_steps()
        if tell:
            self._tell()
        if stop or (due and not self._evaluate_unless_stopped()):
            return ASKED
        if saves:
            self._save()
        return self._reason()

    def _tell(self) -> None:
        report = self.meter.report(self.progress.step, self.progress.position.epoch)
        if report is not None and self.world.is_first:
            self.run.record("metrics", report.as_dict())
            self.listener.stepped(report)

    def _evaluate_unless_stopped(self) -> bool:
        """Whether this step is evaluated; if not, the next start makes up for it."""
        if self.progress.evaluated_step != self.progress.step:
            try:
                self._evaluate()
            except Stopped:
                return False
        return True

    def _evaluate(self) -> None:
        """Loss on all held-out rows, scores and sights on a few; the best weights become the model."""
        shown: AbstractContextManager[None] = nullcontext()
        if self.learned.average is not None:
            shown = self.learned.average.shown(self.model)
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
        if self.world.is_first:
            self._show(report, sights)
        self.world.wait()

    def _judged(self, loss: float, metrics: tuple[Metric, ...]) -> Evaluated:
        """The same verdict on every process, though only the first has the scores."""
        value = self._value(loss, metrics) if self.world.is_first else 0.0
        is_best = self.progress.judge(self.world.total([value])[0])
        step, epoch = self.progress.step, self.progress.position.epoch
        return Evaluated(step, epoch, loss, perplexity(loss), metrics, is_best)

    def _value(self, loss: float, metrics: tuple[Metric, ...]) -> float:
        """What the best model has the least of."""
        if self.settings.best_by == "score" and metrics:
            return -metrics[0].value if metrics[0].higher_is_better else metrics[0].value
        return loss

    def _show(self, report: Evaluated, sights: list[Sight]) -> None:
        self.run.record("metrics", report.as_dict())
        self.listener.evaluated(report)
        for (question, _), sight in zip(self.run.probes(), sights, strict=False):
            self.run.record("samples", judge.sample_entry(report.step, question, sight))
        self.listener.sampled(report.step, sights)

    def _reason(self) -> str | None:
        """Why training is over, if it is."""
        now, ends = self.progress, self.settings
        if now.step >= ends.steps:
            return f"{ends.steps:,} steps done"
        if ends.epochs is not None and now.position.epoch >= ends.epochs:
            return f"{ends.epochs} epochs done"
        if ends.patience is not None and now.stale >= ends.patience:
            return f"no better for {now.stale} evaluations"
        return None

    def _finish(self) -> bool:
        """Evaluate what was not evaluated, average if asked, write the model card; False if stopped."""
        if not self._evaluate_unless_stopped():
            return False
        self._save_unless_saved()
        if self.world.is_first:
            if self.settings.average == "last":
                self._average_last()
            write_card(self.run, self.progress.best_step)
        self.world.wait()
        return True

    def _average_last(self) -> None:
        """The mean of the last checkpoints becomes the model if it is the better one."""
        steps = self.run.checkpoints.steps()[-self.settings.average_last :]
        states = [self.run.checkpoints.load(step).tensors["model"] for step in steps]
        model = self.run.build_model()
        model.load_state_dict(mean_of(states))
        alone = World(0, 1, self.world.device)
        valid = judge.valid_feed(self.run, alone)
        loss = judge.held_out_loss(model.to(alone.device), valid, alone, self.stop)
        better = self._value(loss, judge.scores(self.run, model, self.stop)) < self.progress.best
        if better:
            self.run.save_model(model.state_dict())
        told = "it is the model now" if better else f"step {self.progress.best_step} is better"
        named = ", ".join(map(str, steps))
        self.listener.noted(f"the average of steps {named} has held-out loss {loss:.4f}: {told}")

    def _save_unless_saved(self) -> None:
        if self.progress.as_dict() != self._saved:
            self._save()

    def _save(self) -> None:
        tensors = self.learned.tensors()
        wanted = self.settings.average_last if self.settings.average == "last" else 0
        if self.world.is_first:
            kept = max(self.settings.keep, wanted)
            step = self.progress.step
            for warning in self.run.checkpoints.save(step, tensors, self._state(), kept):
                self.listener.noted(warning)
        self._saved = self.progress.as_dict()
        self.world.wait()

    def _state(self) -> dict[str, Any]:
        return {
            **self.progress.as_dict(),
            "limit": self.stepper.limit,
            "guard": self.guard.as_dict(),
            "meter": self.meter.as_dict(),
            "made_from": self.made_from,
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
        if checkpoint is not None:
            state = checkpoint.state
            refuse_other(state["made_from"], self.made_from, checkpoint.folder)
            self.learned.put(checkpoint)
            self.progress = Progress.from_dict(state)
            self._saved = self.progress.as_dict()
            self.stepper.limit = state["limit"]
            self.guard.restore(state["guard"])
            self.meter.restore(state["meter"])
            before, now = state["scope"], self._scope()
            other = [f"{key} {before[key]} -> {now[key]}" for key in now if before[key] != now[key]]
            notes = [*checkpoint.warnings, f"resumed at step {self.progress.step:,}"]
            notes += [f"not bit-identical: {', '.join(other)}"] if other else []
            for note in notes:
                self.listener.noted(note)
        if self.world.is_first:
            self.run.forget_after(self.progress.step, self.progress.evaluated_step)

    def _facts(self) -> dict[str, Any]:
        plan = self.feed.plan
        return {
            "step": self.progress.step,
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


def _width(model: nn.Module) -> int:
    """The width that the Noam schedule scales by."""
    embedding = next((m for m in model.modules() if isinstance(m, nn.Embedding)), None)
    return 512 if embedding is None else embedding.embedding_dim


def _compiled(learner: nn.Module, model: Model, shapes: int, *, recorded: bool) -> nn.Module:
    """One function for all batches, unless a recurrent decoder is recorded, or waits for its own last step.

    A call of a compiled function for each of its steps costs more than it saves a GPU; recordings make none.
    """
    reader = model.reader
    if isinstance(reader, RnnDecoder) and (recorded or reader.is_stepwise):
        if not next(model.parameters()).is_cuda:
            reader.compile_steps()
        return learner
    shorten_messages()
    return torch.compile(learner, dynamic=shapes > 1)  # type: ignore[return-value]
