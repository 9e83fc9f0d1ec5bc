"""The training loop, from a run folder to a trained model; killed at any moment, it goes on where it was.

One step: batches -> loss -> gradient -> weights. Every so often: evaluate, look, save.
"""

from __future__ import annotations

import math
import signal
from collections import deque
from contextlib import closing
from typing import Any, final

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from regard.models import count_parameters
from regard.run.folder import Run
from regard.signals import Stop, Stopped
from regard.tasks.objective import Objective
from regard.training import shard, update
from regard.training.events import Listener, Outcome
from regard.training.feed import Feed, Turn
from regard.training.guard import Guard, Meter
from regard.training.judge import Judge
from regard.training.optimise import rate_at, set_rate, width_of
from regard.training.progress import Learned, Progress
from regard.training.resume import Keeper, write_card
from regard.training.step import Learner, Stepper, Summed, compiled, step_form
from regard.training.world import World

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
        objective = Objective.of(run.settings.objective, run.task, self.model)
        learner: nn.Module = Learner(run.task, self.model, objective)
        if self.settings.distribute == "fsdp" and world.size > 1:
            shard.fully(self.model, world)
        self.learned = Learned(self.model, self.settings)
        form = None
        if not objective.terms:  # a recorded step has no room for what a term looks at
            form = step_form(self.settings, world, self.learned)
        if self.settings.compile:
            shapes = len(self.feed.plan.shapes)
            learner = compiled(learner, self.model, shapes, recorded=form is not None)
        if self.settings.distribute == "ddp" and world.size > 1:
            learner = DistributedDataParallel(learner)
        self.stepper = Stepper(learner, self.settings, seed, world, self.feed.make)
        self.whole = (
            None if form is None else form.prepare(self.stepper, self.learned, listener.noted)
        )
        self.guard = Guard(run.folder, writes=world.is_first)
        self.meter = Meter()
        self.progress = Progress()
        self.judge = Judge(run, world, listener, stop, self.learned, self.progress)
        self.keeper = Keeper(
            run,
            world,
            listener,
            progress=self.progress,
            learned=self.learned,
            stepper=self.stepper,
            guard=self.guard,
            meter=self.meter,
        )
        self.unread: deque[update.Taken] = deque()

    def train(self) -> Outcome:
        """Until the steps are done, patience ends, or somebody asks to stop."""
        self.keeper.restore()
        self.judge.mend()
        self.feed.store.verify()
        self.listener.began(self.run, self._facts())
        reason = self._caught_up()
        start, a_step = self.progress.position, self.settings.accumulate
        with closing(self.feed.turns(start, a_step, self.settings.workers)) as turns:
            while reason is None:
                reason = self._regular(self._advance(next(turns)))
        if reason != ASKED and not self._finish():
            reason = ASKED
        self.keeper.save_unless_saved()
        number = (self.stop.asked or signal.SIGTERM) if reason == ASKED else None
        best = self.progress.best_step, self.progress.best
        outcome = Outcome(self.progress.step, reason, *best, signal=number)
        self.listener.finished(outcome)
        return outcome

    def _caught_up(self) -> str | None:
        """A stop may have come between a step and its evaluation, which is then made up for."""
        step = self.progress.step
        due = step > 0 and step % self.settings.evaluate_every == 0
        if due and not self._evaluate_unless_stopped():
            return ASKED
        return self.progress.over(self.settings)

    def _advance(self, turn: Turn) -> bool:
        """One step: gradient, clip, update. Whether somebody asked to stop."""
        if not self.model.training:
            self.model.train()
        step = self.progress.step + 1
        rate = rate_at(step, self.settings, width_of(self.model))
        set_rate(self.learned.optimiser, rate)
        stop, count = self.stop.asked is not None, turn.batches[0].count
        read = None if self.whole is None else self.whole.take(step, turn)
        if read is None:
            summed = self._gradients(step, turn, stop)
            stop, count = summed.stop, summed.count
            read = update.apply(self.learned, summed, self.settings.clip)
        if self.learned.average is not None:
            self.learned.average.update(self.model, step)
        before, self.progress.position = self.progress.position, turn.after
        self.progress.step = step
        parts = self.stepper.parts
        self.unread.append(update.Taken(step, turn, before, count, rate, read, parts))
        self._read_steps(keep=1 if self.learned.is_fused else 0)
        if turn.after.epoch > before.epoch:
            self.feed.store.verify()  # what changed under us is noticed before it is read again (T16)
        if self.world.is_first:
            self.listener.advanced(step, self.meter.seconds)
        return stop

    def _gradients(self, step: int, turn: Turn, stop: bool) -> Summed:
        """The gradient of a step, in as many parts as memory asks for."""
        limit = self.stepper.limit
        summed = self.stepper.gradients(step, turn.pieces, turn.batches, stop)
        if self.stepper.limit != limit:
            self.listener.noted(
                f"memory ran out: from now on batches have at most {self.stepper.limit} tokens"
            )
        return summed

    def _read_steps(self, keep: int = 0) -> None:
        """Take note of what the last steps found, all but the newest `keep`."""
        while len(self.unread) > keep:
            taken = self.unread.popleft()
            loss, norm, norms = taken.numbers()
            mean = loss / max(1, taken.count)
            if math.isfinite(norm) and math.isfinite(loss):
                self._spikes(taken, mean)
                self.meter.add(loss, taken.count, norm, taken.rate, taken.parts)
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
        if stop or tell or due or saves or self.progress.over(self.settings) is not None:
            self._read_steps()
        if tell:
            self._tell()
        if stop or (due and not self._evaluate_unless_stopped()):
            return ASKED
        if saves:
            self.keeper.save()
        return self.progress.over(self.settings)

    def _tell(self) -> None:
        report = self.meter.report(self.progress.step, self.progress.position.epoch)
        if report is not None and self.world.is_first:
            self.run.record("metrics", report.as_dict())
            self.listener.stepped(report)

    def _evaluate_unless_stopped(self) -> bool:
        """Whether this step is evaluated; if not, the next start makes up for it."""
        if self.progress.evaluated_step != self.progress.step:
            try:
                with self.meter.paused():
                    self.judge.evaluate()
            except Stopped:
                return False
        return True

    def _finish(self) -> bool:
        """Evaluate what was not evaluated, average if asked, write the model card; False if stopped."""
        if not self._evaluate_unless_stopped():
            return False
        self.keeper.save_unless_saved()
        if self.world.is_first:
            if self.settings.average == "last":
                self.judge.average_last()
            write_card(self.run, self.progress.best_step)
        self.world.wait()
        return True

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
