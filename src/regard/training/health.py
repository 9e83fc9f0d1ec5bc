"""How a run is: whether its files are whole, its curves sane, and its answers more than one answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, final

from regard.answer.predictor import Predictor
from regard.errors import RegardError
from regard.models import Model, build, count_parameters
from regard.run import weights
from regard.run.device import choose_device
from regard.run.folder import Run
from regard.tasks import Prediction
from regard.training.judge import greedy
from regard.training.machine import Machine, this_machine
from regard.training.trials import Finding, trials

ASKED = 64  # questions put to the model
ALIKE = 0.1  # an answer for every ten that were due, or fewer, is one answer for all
SAME = 0.5  # points by which a score found again may differ on another machine
ENOUGH_STEPS = 100  # before which no curve says anything


def health(folder: Path) -> Iterator[Finding]:
    """Everything about one run, from its files to what it says."""
    try:
        run = Run.open(folder)
    except RegardError as fault:
        yield _wrong("settings and tokenizer", fault)
        return
    yield Finding("settings and tokenizer", "right", f"a {run.settings.task} model, readable")
    yield _checkpoints(run)
    yield from _curves(run)
    try:
        model = run.load_model()
    except RegardError as fault:
        yield _wrong("model", fault)
        return
    yield Finding("model", "right", f"{count_parameters(model):,} weights that fit the settings")
    yield from _answers(run, model)


def _checkpoints(run: Run) -> Finding:
    """Each is read whole, hashed, and held against the settings."""
    steps, broken = run.checkpoints.steps(), []
    expected = {
        name: (tuple(value.shape), value.dtype)
        for name, value in build(run.settings.model, run.task.sizes).state_dict().items()
    }
    for step in steps:
        try:
            checkpoint = run.checkpoints.load(step)
            stored = dict(checkpoint.tensors["model"])
            weights.check_against(expected, stored, str(checkpoint.folder))
        except (RegardError, KeyError) as fault:
            broken.append(f"step {step}: {fault.what if isinstance(fault, RegardError) else fault}")
    if not steps:
        return Finding("checkpoints", "note", "none: this run can answer, but not go on learning")
    detail = f"{len(steps)} of {len(steps)} have the bytes they were written with"
    if broken:
        detail = f"{len(broken)} of {len(steps)} are damaged: {'; '.join(broken)}"
    remedy = "`regard train RUN` goes on from the newest that is whole"
    return Finding.of("checkpoints", not broken, detail, remedy)


def _curves(run: Run) -> Iterator[Finding]:
    """What the losses tell."""
    entries = run.recorded("metrics")
    learned = [entry for entry in entries if entry["kind"] == "train"]
    judged = [entry for entry in entries if entry["kind"] == "valid"]
    if len(learned) > 1 and learned[-1]["step"] >= ENOUGH_STEPS:
        yield _learned(learned)
    if len(judged) > 2:
        yield _generalised(judged)
    if (run.folder / "nan-report.json").is_file():
        detail = "some steps were skipped, as their gradient was not finite (nan-report.json)"
        yield Finding(
            "skipped steps", "note", detail, "a lower train.rate or a longer train.warmup"
        )
    spikes = [entry["step"] for entry in entries if entry["kind"] == "spike"]
    if spikes:
        detail = f"the loss leapt up {len(spikes)} times, first at step {spikes[0]:,}"
        yield Finding("spikes", "note", detail, "a lower train.rate, or train.on_spike=rewind")


def _learned(entries: list[dict[str, Any]]) -> Finding:
    first, last = entries[0]["loss"], entries[-1]["loss"]
    detail = f"training loss {first:.3f} -> {last:.3f} in {entries[-1]['step']:,} steps"
    remedy = "it learns nothing: try another train.rate, and look at the data with `regard data`"
    return Finding.of("learning", last < 0.95 * first, detail, remedy)


def _generalised(entries: list[dict[str, Any]]) -> Finding:
    """Whether more training, or less, would have helped."""
    best = min(entries, key=lambda entry: entry["loss"])
    last = entries[-1]
    detail = f"held-out loss {best['loss']:.3f}, best at step {best['step']:,} of {last['step']:,}"
    if best is last and best["loss"] < 0.99 * entries[-2]["loss"]:
        advice = "still falling: go on with more train.steps"
        return Finding("held-out curve", "note", detail, advice)
    if last["loss"] > 1.1 * best["loss"]:
        advice = "it rose again: more data, more dropout, a smaller model, or train.patience"
        return Finding("held-out curve", "note", detail, advice)
    return Finding("held-out curve", "right", detail)


def _answers(run: Run, model: Model) -> Iterator[Finding]:
    """Put held-out questions to the model, as training did."""
    if not run.has_probes:
        yield Finding("answers", "note", "no questions were kept with this run")
        return
    probes = run.probes()[: max(ASKED, run.settings.train.evaluate_examples)]
    predictor = Predictor(run, model, note=lambda _note: None)
    answers = predictor.predict([q for q, _ in probes], decode=greedy(run), truncate=True)
    yield _one_answer(answers, [answer for _, answer in probes])
    yield _endings(answers)
    yield from _found_again(run, answers, [answer for _, answer in probes])


def _one_answer(answers: list[Prediction], due: list[str]) -> Finding:
    """A model that says the same whatever it is asked does not look at its input."""
    given, wanted = {answer.text for answer in answers}, set(due)
    collapsed = len(wanted) > 1 and len(given) <= max(1, ALIKE * len(wanted))
    detail = f"{len(given)} different answers to {len(answers)} questions ({len(wanted)} were due)"
    remedy = (
        "it does not read its input: train longer, lower train.rate, and check that source and target "
        "lines belong together (`regard data`)"
    )
    return Finding.of("different answers", not collapsed, detail, remedy)


def _endings(answers: list[Prediction]) -> Finding:
    empty = sum(not answer.text for answer in answers)
    endless = sum(answer.finish == "length" for answer in answers)
    detail = f"{empty} empty and {endless} endless of {len(answers)} answers"
    remedy = "it has not learned when to stop: train longer"
    return Finding.of("endings", empty + endless <= len(answers) / 2, detail, remedy)


def _found_again(run: Run, answers: list[Prediction], due: list[str]) -> Iterator[Finding]:
    """The weights on disk are those whose scores were written down."""
    best = [e for e in run.recorded("metrics") if e["kind"] == "valid" and e["is_best"]]
    count = run.settings.train.evaluate_examples
    if not best or not best[-1]["metrics"] or run.settings.train.average == "last":
        return
    now = run.task.judge([answer.text for answer in answers[:count]], due[:count])
    before: Mapping[str, Any] = {metric["name"]: metric["value"] for metric in best[-1]["metrics"]}
    pairs = [
        (metric.name, before[metric.name], metric.value)
        for metric in now
        if before.get(metric.name) is not None and math.isfinite(metric.value)
    ]
    other = [f"{name} {old:.2f} -> {new:.2f}" for name, old, new in pairs if abs(old - new) > SAME]
    detail = ", ".join(f"{name} {new:.2f}" for name, _, new in pairs)
    if other:
        detail = f"recorded and found now: {', '.join(other)}"
    remedy = "the weights are not those that were judged: train again, or restore the folder"
    yield Finding.of("recorded scores", not other, detail, remedy)


def _wrong(name: str, fault: RegardError) -> Finding:
    return Finding(name, "wrong", f"{fault.what} ({fault.where})", fault.remedy)


# Is everything all right? The machine, the machinery, and a run, looked at and told one after the other.

Tell = Callable[[Machine | Finding], None]


@final
@dataclass(frozen=True)
class Diagnosis:
    """All that was found."""

    machine: Machine
    findings: tuple[Finding, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong; what is only worth knowing does not count."""
        return all(finding.state != "wrong" for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "well": self.is_well,
            "machine": self.machine.as_dict(),
            "findings": [finding.as_dict() for finding in self.findings],
        }


def diagnose(run: Path | None = None, device: str = "auto", tell: Tell | None = None) -> Diagnosis:
    """Look at the machine, try the machinery on it, look into a run; `tell` hears all as it is found."""
    tell = tell or (lambda _known: None)
    chosen = choose_device(device)
    machine = this_machine(chosen, run if run is not None and run.is_dir() else Path.cwd())
    tell(machine)
    findings = []
    for finding in chain(trials(chosen), () if run is None else health(run)):
        findings.append(finding)
        tell(finding)
    return Diagnosis(machine, tuple(findings))
