"""A run taken away: written in another library's format, opened there, and compared with what it was.

>>> regard export runs/mine --to huggingface --out taken
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol, final, runtime_checkable

import torch
from torch import Tensor

from regard import __version__
from regard.answer.capacity import Room
from regard.attention import watch
from regard.data.toys import TOYS
from regard.errors import UsageError
from regard.interop.bring import library_for
from regard.interop.huggingface_folder import REPORT, in_a_folder
from regard.interop.outline import LONGEST as LONGEST_TABLE
from regard.interop.outline import Clause, Outgoing, refuse
from regard.models import SOURCE
from regard.models.decoder import Decoder
from regard.run import files
from regard.run.folder import Run
from regard.tasks.names import example_of
from regard.text import BEGIN
from regard.text.keep import languages, tag

Target = Literal["huggingface", "ctranslate2", "onnx"]
NEEDS = {"ctranslate2": ("ctranslate2",), "onnx": ("onnx", "onnxscript", "onnxruntime")}
LONGEST = 32  # symbols of each answer that is compared
NEAR = 1e-3  # log-probabilities that differ by more are not the same model's
LENGTHS = LONGEST_TABLE - 1  # symbols of a text or an answer, where a model has no last position
LIKELY = -20.0  # what is less likely than e^-20 is not compared


@runtime_checkable
class Held(Protocol):
    """A model opened again by the library that it was written for."""

    def cut(self, text: str) -> list[int] | None:
        """The ids that its own tokenizer gives a question; None where it has none."""

    def answer(self, source: list[int], most: int) -> list[int]:
        """What it says, by itself, of these ids: symbols with their end, or a label a place."""

    def chances(self, source: list[int], said: list[int]) -> Tensor:
        """Log-probabilities of all choices (steps, choices), or of what was said (steps), when forced."""


@runtime_checkable
class Shows(Protocol):
    """One that also gives the weights of every attention."""

    def weights(self, source: list[int], said: list[int]) -> dict[str, Tensor]:
        """By name, (batch, heads, query, key), when forced."""


@final
@dataclass(frozen=True)
class Parity:
    """How far what was written agrees with the run."""

    format: str
    architecture: str
    texts: int
    same_ids: int | None
    same_answers: int
    difference: float  # the largest between log-probabilities of the same steps
    weights: float | None = None  # the largest between attention weights, where a format gives them

    @property
    def holds(self) -> bool:
        """Whether it is the same model."""
        cut = self.texts if self.same_ids is None else self.same_ids
        near = self.difference < NEAR and (self.weights is None or self.weights < NEAR)
        return cut == self.same_answers == self.texts and near

    def words(self) -> str:
        """The report in a line."""
        cut = "" if self.same_ids is None else f"{self.same_ids} of {self.texts} texts cut alike, "
        verdict = "parity holds" if self.holds else "PARITY FAILS"
        return (
            f"{verdict}: {cut}{self.same_answers} of {self.texts} answers alike to the symbol, largest "
            f"difference of a log-probability {self.difference:.1e}"
        ) + ("" if self.weights is None else f", of an attention weight {self.weights:.1e}")


def export(run: Run, target: Target, out: Path, texts: Sequence[str] | None = None) -> Parity:
    """Write a run in a format of others, open it there, and compare; the report lies beside it."""
    if out.exists():
        raise UsageError(f"{out.name} is there already", str(out), "choose a new folder")
    several = len(run.task.sources)
    if several > 1:
        clause = Clause("the number of sources", several, "one")
        remedy = "of models of one text, those of `--preset vaswani2017-tiny` can be exported"
        refuse([clause], f"--to {target}", str(run.folder), remedy)
    need(target)
    if run.task.searches and run.settings.text.start != "begin":
        raise UsageError(
            "this decoder starts from the end sign, and other formats are written to start from a begin sign",
            where="text.start",
            remedy='train it with text.start = "begin"',
        )
    leaving = Outgoing.of(run)
    chosen = _short(leaving, list(texts) if texts is not None else questions(run))
    match target:
        case "huggingface":
            made: tuple[str, Callable[[], Held]] = in_a_folder(leaving, out)
        case "ctranslate2":
            from regard.interop import to_ctranslate2

            made = to_ctranslate2.write(leaving, out)
        case "onnx":
            from regard.interop import to_onnx

            made = to_onnx.write(leaving, out)
    architecture, opened = made
    parity = compare(leaving, opened(), chosen, target, architecture)
    report = {**asdict(parity), "holds": parity.holds, "regard": __version__}
    files.write_atomic(out / REPORT, (json.dumps(report, indent=1) + "\n").encode())
    return parity


def need(target: Target) -> None:
    """Say which extra brings what is missing, before anything is written."""
    if target == "huggingface":
        library_for("--to huggingface")
        return
    for library in NEEDS[target]:
        try:
            import_module(library)
        except ImportError:
            raise UsageError(
                f"--to {target} needs the library {library}, which is not installed",
                where=f"--to {target}",
                remedy="pip install 'regard[export]'",
            ) from None


def _short(leaving: Outgoing, texts: Sequence[str]) -> list[str]:
    """Those that the model can read, with room for an answer; an error where there is none."""
    room = Room.of(leaving.settings)
    task, most = leaving.run.task, LENGTHS if room.read is None else room.read
    if leaving.model.encoder is None:
        most = (room.prompt() or LENGTHS) - 1
    kept = [text for text in texts if task.count(text) <= most]
    if not kept:
        what = f"no text to compare by has at most {most} symbols, which is what this model reads"
        raise UsageError(what, "--check", "name a file with shorter texts")
    return kept


def questions(run: Run, most: int = 100) -> list[str]:
    """What to compare by: the run's own validation texts, or examples of a toy of the same kind."""
    if run.has_probes:
        own = [question for question, _ in run.probes() if question.strip()]
        if own:
            return own[:most]
    kind = example_of(run.task.name)
    toy = next((toy for toy in TOYS.values() if toy.kind is kind), None)
    if toy is None:
        raise UsageError("there is no text to compare by", "--check", "name a file with texts")
    texts = [run.task.question(one) for one in islice(toy.examples("valid"), most)]
    codes = languages(run.settings.text.symbols)
    return (
        [f"{tag(codes[n % len(codes)])} {text}" for n, text in enumerate(texts)] if codes else texts
    )


@torch.no_grad()
def compare(
    leaving: Outgoing, held: Held, texts: Sequence[str], target: str, architecture: str
) -> Parity:
    """Both answer by themselves; then both are forced along our answer, and their numbers compared."""
    task = leaving.run.task
    ours, room = Ours(leaving), Room.of(leaving.settings).written
    cut, same, worst, known = 0, 0, 0.0, True
    shown = 0.0 if isinstance(held, Shows) else None
    for text in texts:
        source = [int(number) for number in task.encode(text)] or task.prompt(text)
        given = held.cut(text)
        known = known and given is not None
        cut += given == ours.framed(source)
        before = len(source) if ours.continues else 0
        most = min(LONGEST, (room or LENGTHS) - before)
        said = ours.answer(source, most)
        same += held.answer(source, most) == said
        expected, actual = ours.chances(source, said), held.chances(source, said)
        if actual.dim() == 1:
            expected = expected[torch.arange(len(said)), torch.tensor(said)]
        worst = further(worst, expected, actual, expected > LIKELY)
        if shown is not None and isinstance(held, Shows):
            theirs = held.weights(source, said)
            for name, own in ours.weights(source, said).items():
                shown = further(shown, own, theirs[name], own >= 0)
    return Parity(target, architecture, len(texts), cut if known else None, same, worst, shown)


def further(worst: float, expected: Tensor, found: Tensor, seen: Tensor) -> float:
    """The largest difference so far; what is no number is as far as can be."""
    apart = (expected - found)[seen].abs().nan_to_num(nan=torch.inf)
    return max(worst, float(apart.max())) if apart.numel() else worst


@final
class Ours:
    """Our own model in the same words, by the formula: greedy steps, and forced ones."""

    def __init__(self, leaving: Outgoing) -> None:
        self.model, self.task = leaving.model, leaving.run.task
        self.writes = isinstance(self.model.reader, Decoder)
        self.continues = self.model.encoder is None

    def framed(self, source: list[int]) -> list[int]:
        """What a tokenizer gives: a text that is continued has the begin symbol in front."""
        return [BEGIN, *source] if self.continues else source

    def answer(self, source: list[int], most: int) -> list[int]:
        """The likeliest symbol at each step."""
        if not self.writes:
            return self.chances(source, []).argmax(-1).tolist()
        reader = self.model.decoder
        encoded = self.model.encode(torch.tensor([source if not self.continues else []]).long())
        given = source if self.continues else []
        state, ids, symbol = reader.start(encoded, len(given) + most + 1), [], reader.begin
        for forced in [*given, *[None] * most]:
            logits, state = reader.step(state, torch.tensor([symbol]))
            symbol = int(logits[0].argmax()) if forced is None else forced
            if forced is None:
                ids.append(symbol)
                if symbol == reader.end:
                    break
        return ids

    def chances(self, source: list[int], said: list[int]) -> Tensor:
        """All choices of all steps."""
        if not self.writes:
            logits = self.model(torch.tensor([source]))
            return logits[0].reshape(-1, logits.shape[-1]).log_softmax(-1)
        before = source if self.continues else []
        inputs = torch.tensor([[self.model.decoder.begin, *before, *said[:-1]]])
        rows = torch.tensor([source if not self.continues else []]).long()
        return self.model(rows, None, inputs)[0, len(before) :].log_softmax(-1)

    def weights(self, source: list[int], said: list[int]) -> dict[str, Tensor]:
        """Of every attention, by what it is: `cross.0.weights`, `encoder.self.0.weights`."""
        with watch(self.model) as seen:
            self.chances(source, said)
        maps = {}
        for path, calls in seen.items():
            site = calls[0].attention.site
            assert site is not None
            side = "encoder." if self.writes and site.queries == SOURCE else ""
            maps[f"{side}{site.role}.{site.layer}.weights"] = seen.weights(path)
        return maps
