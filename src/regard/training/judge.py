"""How good the model is now: loss on held-out rows, scores of its answers, and a look inside a few.

The best weights so far become the model of the run.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, final

import torch

from regard.decode import DecodeSettings
from regard.errors import DiskError, DivergedError, ModelFileError
from regard.evaluate import Metric
from regard.models import Model
from regard.run.folder import SAMPLES, Run
from regard.signals import Stop
from regard.tasks.objective import open_heads
from regard.traces.trace import Trace, look_inside
from regard.training import shard
from regard.training.events import Evaluated, Listener
from regard.training.feed import Feed
from regard.training.optimise import mean_of, put
from regard.training.progress import Learned, Progress
from regard.training.step import perplexity
from regard.training.world import World

JUDGED = 25_000  # tokens of a batch that is judged
LONGEST = 4096  # no row that is judged is longer, or one odd line could take all the memory


@final
class Judge:
    """Evaluates what was learned so far, tells of it, and keeps the best of it as the model."""

    def __init__(
        self,
        run: Run,
        world: World,
        listener: Listener,
        stop: Stop,
        learned: Learned,
        progress: Progress,
    ) -> None:
        self.run, self.world, self.listener, self.stop = run, world, listener, stop
        self.learned, self.progress = learned, progress
        self.valid = valid_feed(run, world)

    def evaluate(self) -> None:
        """Loss on all held-out rows, scores and sights on a few; the best weights become the model."""
        model = self.learned.model
        shown: AbstractContextManager[None] = nullcontext()
        if self.learned.average is not None:
            shown = self.learned.average.shown(model)
        with shown:
            # Alone, a stop may cut this short; among others, all finish what all began.
            stop = self.stop if self.world.size == 1 else Stop()
            tell = self._counted()
            loss = held_out_loss(model, self.valid, self.world, stop, tell)
            _refuse_nonfinite(loss, self.progress.step)
            plain = shard.plain(model, self.run, self.world)
            metrics = scores(self.run, plain, stop, tell) if self.world.is_first else ()
            seen = samples(self.run, plain) if self.world.is_first else []
            report = self._report(plain, loss, metrics)
            if report.is_best and self.world.is_first:
                self.run.save_model(plain.state_dict())
        if self.world.is_first:
            self._tell(report, seen)
        self.world.wait()

    def _counted(self) -> Callable[[int], None]:
        """Tells the listener how many examples are done: an evaluation may take minutes."""
        answered = min(len(self.run.probes()), self.run.settings.train.evaluate_examples)
        total, done = -(-self.valid.plan.count // self.world.size) + answered, 0

        def tell(more: int) -> None:
            nonlocal done
            done = min(total, done + more)
            if self.world.is_first:
                self.listener.judging(done, total)

        return tell

    def average_last(self) -> None:
        """The mean of the last checkpoints becomes the model if it is the better one."""
        steps = self.run.checkpoints.steps()[-self.run.settings.train.average_last :]
        states = [self.run.checkpoints.load(step).tensors["model"] for step in steps]
        model = self.run.build_model()
        model.load_state_dict(mean_of(states))
        alone = World(0, 1, self.world.device)
        valid = valid_feed(self.run, alone)
        loss = held_out_loss(model.to(alone.device), valid, alone, self.stop)
        better = self._value(model, loss, scores(self.run, model, self.stop)) < self.progress.best
        if better:
            self.run.save_model(model.state_dict())
        verdict = "it is the model now" if better else f"step {self.progress.best_step} is better"
        named = ", ".join(map(str, steps))
        self.listener.noted(f"the average of steps {named} has held-out loss {loss:.4f}: {verdict}")

    def mend(self) -> None:
        """A model that is lost or damaged is made again from a checkpoint: the best step's, or the best."""
        if self.world.is_first and self.progress.best_step:
            fault = self.run.damage()
            if fault is not None:
                self._mend(fault)
        self.world.wait()

    def _mend(self, fault: str) -> None:
        best, value = self.progress.best_step, self.progress.best
        model = self._kept(best) if best in self.run.checkpoints.steps() else None
        if model is None:
            model, best, value = self._best_kept(fault)
        self.run.save_model(model.state_dict())
        self.progress.best, self.progress.best_step = value, best
        self.listener.noted(f"{fault}; it was made again from the checkpoint of step {best:,}")

    def _best_kept(self, fault: str) -> tuple[Model, int, float]:
        """Of all checkpoints that can be read, the model that is judged best, its step and its value."""
        alone = World(0, 1, self.world.device)
        valid, best = valid_feed(self.run, alone), None
        for step in self.run.checkpoints.steps():
            model = self._kept(step)
            if model is not None:
                loss = held_out_loss(model.to(alone.device), valid, alone, self.stop)
                value = self._value(model, loss, scores(self.run, model, self.stop))
                if best is None or value < best[2]:
                    best = (model, step, value)
        if best is None:
            raise ModelFileError(fault, str(self.run.folder), "no checkpoint can take its place")
        return best

    def _kept(self, step: int) -> Model | None:
        """The model of a checkpoint as it was judged then; None where the checkpoint is damaged."""
        try:
            tensors = self.run.checkpoints.load(step).tensors
        except (ModelFileError, DiskError):
            return None
        model = self.run.build_model()
        model.load_state_dict(dict(tensors["model"]))
        if "average" in tensors:
            put(model, tensors["average"])
        return model

    def _report(self, model: Model, loss: float, metrics: tuple[Metric, ...]) -> Evaluated:
        """The same verdict on every process, though only the first has the scores."""
        value = self._value(model, loss, metrics) if self.world.is_first else 0.0
        is_best = self.progress.judge(self.world.total([value])[0])
        step, epoch = self.progress.step, self.progress.position.epoch
        return Evaluated(step, epoch, loss, perplexity(loss), metrics, is_best)

    def _value(self, model: Model, loss: float, metrics: tuple[Metric, ...]) -> float:
        """What the best model has the least of: of two as good, the one with fewer heads that cost."""
        if self.run.settings.train.best_by == "score" and metrics:
            return -metrics[0].value if metrics[0].higher_is_better else metrics[0].value
        price = self.run.settings.objective.l0
        return loss + price * open_heads(model).item() if price else loss

    def _tell(self, report: Evaluated, seen: list[Trace]) -> None:
        self.run.record("metrics", report.as_dict())
        self.listener.evaluated(report)
        for trace in seen:
            self.run.record("samples", sample_entry(report.step, trace))
        self.listener.sampled(report.step, seen)


def _refuse_nonfinite(loss: float, step: int) -> None:
    """Weights whose loss is not a number are no model: neither recorded nor kept (T8)."""
    if not math.isfinite(loss):
        raise DivergedError(
            f"training diverged: after step {step} the held-out loss is {loss}",
            where="train",
            remedy="lower train.rate, raise train.warmup, or use train.precision = 'float32'",
        )


@torch.inference_mode()
def held_out_loss(
    model: Model, feed: Feed, world: World, stop: Stop, tell: Callable[[int], None] | None = None
) -> float:
    """The mean loss over every validation target, each counted once on whatever process."""
    model.eval()
    total, count = 0.0, 0.0
    for batch in feed.once():
        total += float(feed.task.loss(model, batch.to(world.device)))
        count += batch.count
        if tell is not None:
            tell(len(batch))
        if world.size == 1:
            stop.poll()
    summed, counted = world.total([total, count])
    return summed / max(1.0, counted)


def scores(
    run: Run, model: Model, stop: Stop, tell: Callable[[int], None] | None = None
) -> tuple[Metric, ...]:
    """Answers to the first validation questions, judged."""
    probes = run.probes()[: run.settings.train.evaluate_examples]
    if not probes:
        return ()
    questions = [question for question, _ in probes]

    def advance(done: int) -> None:
        stop.poll()
        if tell is not None:
            tell(done)

    answers = run.task.predict(model, questions, greedy(run), advance=advance)
    predicted = [answer.text for answer in answers]
    return tuple(run.task.judge(predicted, [answer for _, answer in probes]))


def samples(run: Run, model: Model) -> list[Trace]:
    """The fixed sentences, answered and looked into."""
    questions = [question for question, _ in run.probes()[:SAMPLES]]
    return [look_inside(run.task, model, question, greedy(run)) for question in questions]


def greedy(run: Run) -> DecodeSettings:
    """How a run is asked while it learns: one hypothesis, since this happens often."""
    return run.settings.decode.model_copy(update={"beam": 1, "top_beams": 1, "sample": False})


def sample_entry(step: int, trace: Trace) -> dict[str, Any]:
    """A line of samples.jsonl: the sites that face a source, weights as base64 of float32."""
    facing = [site for site in trace.sites if site.faces_source]
    return {
        "step": step,
        "question": trace.question,
        "answer": trace.answer.text,
        "axes": {name: list(axis.pieces) for name, axis in trace.axes.items()},
        "sites": [
            {
                "path": site.path,
                "queries": site.queries,
                "keys": site.keys,
                "shape": list(site.weights.shape),
                "weights": base64.b64encode(site.weights.astype("<f4").tobytes()).decode(),
            }
            for site in (facing or trace.sites)
        ],
    }


def valid_feed(run: Run, world: World) -> Feed:
    """Validation rows, judged also where training leaves them out as too long."""
    settings, rows = run.settings.batch, run.store("valid")
    longest = max(int(rows.lengths(side).max(initial=1)) for side in rows.names)
    longest = max(settings.max_length, min(longest, LONGEST))
    longer = settings.model_copy(
        update={
            "max_length": longest,
            "tokens": max(min(settings.tokens, JUDGED), longest),
            "window": 1 << 16,
            "packed": False,
        }
    )
    return Feed(run.task, rows, longer, run.settings.seed, world)
