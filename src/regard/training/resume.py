"""Saving, and going on from what was saved: to the same last bit, if the machine is the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

import torch

from regard import __version__
from regard.models import build, count_parameters
from regard.run import files
from regard.run.folder import Run
from regard.run.origin import refuse_other
from regard.tasks.task import TEXT
from regard.training.events import Listener
from regard.training.guard import Guard, Meter
from regard.training.progress import Learned, Progress
from regard.training.step import Stepper
from regard.training.world import World


@final
class Keeper:
    """Keeps all that training changes in checkpoints, and puts it back where it was."""

    def __init__(
        self,
        run: Run,
        world: World,
        listener: Listener,
        *,
        progress: Progress,
        learned: Learned,
        stepper: Stepper,
        guard: Guard,
        meter: Meter,
    ) -> None:
        self.run, self.world, self.listener = run, world, listener
        self.progress, self.learned, self.stepper = progress, learned, stepper
        self.guard, self.meter = guard, meter
        self.made_from = run.made_from()
        self._saved = progress.as_dict()

    def save(self) -> None:
        """A checkpoint of this step; every process must call this."""
        tensors, settings = self.learned.tensors(), self.run.settings.train
        wanted = settings.average_last if settings.average == "last" else 0
        if self.world.is_first:
            kept = max(settings.keep, wanted)
            step, best = self.progress.step, [self.progress.best_step]
            for warning in self.run.checkpoints.save(step, tensors, self._state(), kept, best):
                self.listener.noted(warning)
        self._saved = self.progress.as_dict()
        self.world.wait()

    def save_unless_saved(self) -> None:
        """The same, where something has happened since."""
        if self.progress.as_dict() != self._saved:
            self.save()

    def restore(self) -> None:
        """Go on from the newest good checkpoint, if there is one."""
        checkpoint = self.run.checkpoints.latest()
        if checkpoint is not None:
            state = checkpoint.state
            refuse_other(state["made_from"], self.made_from, checkpoint.folder)
            self.learned.put(checkpoint)
            self._put(state)
            notes = [*checkpoint.warnings, f"resumed at step {self.progress.step:,}"]
            before, now = state["scope"], self._scope()
            other = [f"{key} {before[key]} -> {now[key]}" for key in now if before[key] != now[key]]
            notes += [f"not bit-identical: {', '.join(other)}"] if other else []
            for note in notes:
                self.listener.noted(note)
        if self.world.is_first:
            self.run.forget_after(self.progress.step, self.progress.evaluated_step)

    def _put(self, state: Mapping[str, Any]) -> None:
        self.progress.restore(state)
        self._saved = self.progress.as_dict()
        self.stepper.limit = state["limit"]
        self.guard.restore(state["guard"])
        self.meter.restore(state["meter"])

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


# The model card: what a run is, what it was trained on, and how good it is.


def write_card(run: Run, best_step: int) -> None:
    """README.md of the run folder."""
    files.write_atomic(run.folder / "README.md", card(run, best_step).encode())


def card(run: Run, best_step: int) -> str:
    """Plain Markdown; every number comes from the run's own records."""
    settings, entries = run.settings, run.recorded("metrics")
    best = [e for e in entries if e["kind"] == "valid" and e["step"] == best_step]
    # Names alone: a card travels, and where files lay on one machine is nobody else's business.
    learned = settings.data.toy or ", ".join(Path(name).name for name in settings.data.train)
    asked = run.task.typed
    lines = [
        f"# {run.folder.name}",
        "",
        f"A {settings.task} model trained with `regard`.",
        "",
        "| | |",
        "|---|---|",
        f"| task | {settings.task} |",
        _row(("learned from", learned)),
        *(_row(("started from", Path(name).name)) for name in [settings.start] if name),
        f"| examples | {len(run.store('train')):,} training, {len(run.store('valid')):,} held out |",
        f"| model | {run.reads}, {settings.model.reader.kind} reader |",
        f"| parameters | {count_parameters(build(settings.model, run.task.sizes)):,} |",
        f"| best step | {best_step:,} |",
        *(_row(metric) for entry in best[-1:] for metric in _metrics(entry)),
        "",
        "Scores are of greedy answers to the first held-out examples; `regard evaluate` judges a whole test",
        "set, with beam search and a signature others can compare.",
        "",
        "```",
        f"regard predict {run.folder.name} {'< input.txt' if asked == TEXT else asked}",
        f"regard look {run.folder.name} {asked}",
        "```",
        "",
        "`config.toml` holds all that decided this run; the same settings, data and seed give it again.",
    ]
    return "\n".join(lines) + "\n"


def _metrics(entry: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("held-out loss", f"{entry['loss']:.4f} (perplexity {entry['perplexity']:.2f})")]
    for metric in entry["metrics"]:
        signature = f" ({metric['signature']})" if metric.get("signature") else ""
        rows.append((metric["name"], f"{metric['value']:.2f}{signature}"))
    return rows


def _row(metric: tuple[str, str]) -> str:
    name, value = metric
    return f"| {name} | {value.replace('|', chr(92) + '|')} |"
