"""A run: one folder that holds all a model is, and all that is needed to go on training it.

config.toml        what decides the run           metrics.jsonl   a line an event
tokenizer.json     text <-> ids                   samples.jsonl   fixed sentences, with their attention
model.safetensors  the weights to use             README.md       the model card
data/              the corpus as ids, and         checkpoints/    to go on from
                   where it starts from
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor

from regard import __version__
from regard.box.card import stated_hash
from regard.data import store
from regard.data.example import Example
from regard.data.loader import prefetch
from regard.data.store import Store
from regard.data.tally import Tally
from regard.errors import ModelFileError, UsageError, kind_of
from regard.models import Model, build
from regard.run import files, system, weights
from regard.run.checkpoint import Checkpoints
from regard.run.find import read_bounded, read_settings
from regard.run.load import LONGEST_TASK, load, load_some, read_task, write_task
from regard.run.lock import Lock
from regard.run.origin import begin_or_go_on, fetch_start, start_vocabulary, start_weights
from regard.run.settings import RunSettings
from regard.run.vectors import begin_with_vectors, fetch_vectors
from regard.strict_json import loads
from regard.tasks import TASKS, Task
from regard.text import TextSettings

if TYPE_CHECKING:
    from regard.run.corpus import (
        Corpus,
        Role,
    )  # every reader of files, which answering does not need

PROBES = 500  # validation examples kept as text, to predict and to look at
SAMPLES = 4  # of which so many are shown at each evaluation

Report = Callable[[str, int], None]  # (what is being done, how many are done)


@final
class Run:
    """One run folder. `create` begins one or continues with it, `open` reads a finished or running one."""

    def __init__(self, folder: Path, settings: RunSettings, task: Task) -> None:
        self.folder, self.settings, self.task = folder, settings, task
        self.checkpoints = Checkpoints(folder / "checkpoints")
        self.notes: list[str] = []  # what a person should know about the data that was prepared

    def __repr__(self) -> str:
        return f"Run({self.task.name}, {self.folder})"

    @property
    def reads(self) -> str:
        """What reads, in words: one encoder, or that of each source."""
        model, sources = self.settings.model, self.task.sources
        every = {name: model.encoders.get(name, model.encoder) for name in sources}
        named = {
            name: "no" if one is None else one.kind if one.front.kind == "plain" else one.front.kind
            for name, one in every.items()
        }
        if len(set(named.values())) == 1:
            return f"{named[sources[0]]} {'encoder' if len(sources) == 1 else 'encoders'}"
        return ", ".join(f"{kind} encoder of {name}" for name, kind in named.items())

    @classmethod
    def create(
        cls,
        folder: Path,
        settings: RunSettings,
        report: Report | None = None,
        allow: Collection[str] = (),
    ) -> Run:
        """Prepare everything that training needs. Killed at any point, the next call goes on from there.

        A run that exists continues with what it was begun with, but for the settings that `allow` names.
        """
        from regard.run.corpus import Corpus

        report = report or (lambda _what, _done: None)
        files.make_folder(folder)
        for unfinished in (folder, folder / "data", folder / "checkpoints"):
            files.sweep(unfinished)
        corpus = Corpus.of(settings.data, settings.task)
        begin_or_go_on(folder, settings, corpus.fingerprint, allow)
        fetch_start(folder, settings)
        task = _task(folder, settings, corpus, report)
        run = cls(folder, settings, task)
        note = fetch_vectors(folder, settings, task)
        run.notes += [] if note is None else [note]
        for role in ("train", "valid"):
            run._store_corpus(corpus, role, report)
        run._keep_probes(corpus)
        return run

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """An existing run."""
        if not isinstance(folder, str | Path):
            raise UsageError(
                f"{kind_of(folder)} is no path", where="folder", remedy="give a string or a Path"
            )
        folder = Path(folder)
        config = folder / "config.toml"
        if not config.is_file():
            raise ModelFileError(
                "this is not a run folder: there is no config.toml",
                where=str(folder),
                remedy="name a folder that `regard train` made",
            )
        settings = read_settings(config)
        return cls(folder, settings, read_task(folder / "tokenizer.json", settings.task))

    def lock(self) -> AbstractContextManager[Lock]:
        """Only one process may train here."""
        return Lock(self.folder)

    def store(self, role: Role) -> Store:
        """The corpus as ids, memory-mapped."""
        return Store.open(self.folder / "data" / role)

    @property
    def has_probes(self) -> bool:
        """Whether it kept some of its questions; one that was imported has none."""
        return (self.folder / "data" / "probes.jsonl").is_file()

    def probes(self) -> list[tuple[str, str]]:
        """Validation questions and their right answers, as text."""
        path = self.folder / "data" / "probes.jsonl"
        pairs = []
        for number, row in _json_lines(path, f"regard train {self.folder} makes it again"):
            match row:
                case {"question": str(question), "answer": str(answer)}:
                    pairs.append((question, answer))
                case _:
                    raise _damaged(path, number, f"regard train {self.folder} makes it again")
        return pairs

    def keep_probes(self, other: Run) -> None:
        """The questions of another run, so that this one has examples, too."""
        if other.has_probes:
            content = (other.folder / "data" / "probes.jsonl").read_bytes()
            files.make_folder(self.folder / "data")
            files.write_atomic(self.folder / "data" / "probes.jsonl", content)

    def build_model(self) -> Model:
        """The model before its first step: by settings and seed, or the one that the run starts from."""
        torch.manual_seed(self.settings.seed)
        if self.settings.start is not None:
            path = start_weights(self.folder)
            if start_vocabulary(self.folder).is_file():
                return load_some(path, build(self.settings.model, self.task.sizes))
            return load(path, self.settings.model, self.task.sizes, torch.device("cpu"))
        return begin_with_vectors(self.folder, build(self.settings.model, self.task.sizes))

    @property
    def weights_file(self) -> Path:
        """The file of trained weights, or an error that says how to come by it."""
        path = self.folder / "model.safetensors"
        if path.is_file():
            return path
        what, remedy = "this run has no trained model yet", f"train it: regard train {self.folder}"
        if self.checkpoints.steps():
            what = "this run has checkpoints and no model: it is lost, or nothing was judged yet"
            remedy = f"regard train {self.folder} makes it from the best checkpoint, or goes on"
        raise ModelFileError(what, str(path), remedy)

    def load_model(self, device: str | torch.device = "cpu") -> Model:
        """The trained model, checked against what the settings describe."""
        return load(self.weights_file, self.settings.model, self.task.sizes, torch.device(device))

    def damage(self) -> str | None:
        """Why the file of trained weights cannot be used, if it cannot."""
        try:
            weights.read(self.weights_file, sha256=stated_hash(self.weights_file))
        except ModelFileError as fault:
            return fault.what
        return None

    def save_model(self, state: Mapping[str, Tensor]) -> None:
        """The weights that `load_model` will give."""
        notes = {"format": "pt", "regard": __version__}
        weights.write(self.folder / "model.safetensors", state, notes)

    def record(self, name: str, entry: Mapping[str, Any]) -> None:
        """One more line of metrics.jsonl or samples.jsonl."""
        files.append_line(self.folder / f"{name}.jsonl", json.dumps(entry, allow_nan=False))

    def recorded(self, name: str) -> list[dict[str, Any]]:
        """All lines of metrics.jsonl or samples.jsonl; a torn last line is left out."""
        path = self.folder / f"{name}.jsonl"
        if not path.is_file():
            return []
        remedy = "take that line out: this is a record, and no number of the model depends on it"
        entries = []
        for number, entry in _json_lines(path, remedy):
            match entry:
                case {"step": int(), "kind": str()}:
                    entries.append(entry)
                case {"step": int()} if name == "samples":
                    entries.append(entry)
                case _:
                    raise _damaged(path, number, remedy)
        return entries

    def forget_after(self, step: int, evaluated: int) -> None:
        """Drop records of steps that will be taken again, and of evaluations that will be made again."""
        for name in ("metrics", "samples"):
            entries = self.recorded(name)
            judged = [name == "samples" or entry["kind"] == "valid" for entry in entries]
            kept = [
                entry
                for entry, late in zip(entries, judged, strict=True)
                if entry["step"] <= (evaluated if late else step)
            ]
            if len(kept) < len(entries):
                text = "".join(json.dumps(entry, allow_nan=False) + "\n" for entry in kept)
                files.write_atomic(self.folder / f"{name}.jsonl", text.encode())

    def made_from(self) -> dict[str, str]:
        """The hashes of what a checkpoint belongs to."""
        return {
            "tokenizer": files.sha256_of(self.folder / "tokenizer.json"),
            "train": self.store("train").fingerprint,
            "valid": self.store("valid").fingerprint,
        }

    def _store_corpus(self, corpus: Corpus, role: Role, report: Report) -> None:
        from regard.run.corpus import left_out, refuse_empty

        folder = self.folder / "data" / role
        if (folder / store.HEADER).is_file():
            refuse_empty(role, len(self.store(role)), corpus)
            return
        files.make_folder(folder.parent)
        tally = Tally()
        # The library encodes on all cores, and meanwhile the next examples are read.
        chunks = _chunks(corpus.examples(role, tally), self.task.chunk)
        rows = prefetch(self.task.block, chunks, 1, 2)
        label = f"reading {role} data"
        columns = self.task.columns
        built = store.write(folder, rows, columns, lambda done: report(label, done))
        refuse_empty(role, len(built), corpus)
        if tally.dropped:
            self.notes.append(f"{role} data: {left_out(tally)}")

    def _keep_probes(self, corpus: Corpus) -> None:
        path = self.folder / "data" / "probes.jsonl"
        if path.is_file():
            try:
                self.probes()
                return
            except ModelFileError as fault:
                self.notes.append(f"{fault.what}; the questions were written again")
        examples = [*corpus.probe(), *islice(corpus.examples("valid"), PROBES)]
        lines = [
            {"question": self.task.question(example), "answer": self.task.answer(example)}
            for example in examples
        ]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        files.write_atomic(path, text.encode())


def _task(folder: Path, settings: RunSettings, corpus: Corpus, report: Report) -> Task:
    path = folder / "tokenizer.json"
    if path.is_file():
        return read_task(path, settings.task)
    kind, started = TASKS[settings.task], start_vocabulary(folder)
    # Labels are learned, pieces belong to the encoder: bytes, which need no learning, hold their place.
    own = {"text": TextSettings(kind="byte")} if started.is_file() and not kind.searches else {}
    task = kind.learn_from(
        lambda: corpus.examples("train"),
        settings.model_copy(update=own),
        lambda done: report("learning the vocabulary", done),
    )
    if started.is_file():
        pieces = read_bounded(started, "vocabulary", LONGEST_TASK).decode()
        task = TASKS[settings.task].from_dict({**task.to_dict(), "source": pieces})
    write_task(path, task, settings.task)
    return task


def _json_lines(path: Path, remedy: str) -> Iterator[tuple[int, Any]]:
    """Each whole line with its number; what follows the last line end is a line that a kill has torn."""
    with system.opened(path, "file of a run") as file:
        *whole, _torn = file.readall().split(b"\n")
    for number, line in enumerate(whole, start=1):
        try:
            row = loads(line, max_values=1 << 16) if line else None
        except ModelFileError:
            raise _damaged(path, number, remedy) from None
        if line:
            yield number, row


def _damaged(path: Path, line: int, remedy: str) -> ModelFileError:
    return ModelFileError(f"line {line} of {path.name} is damaged", f"{path}:{line}", remedy)


def _chunks(examples: Iterator[Example], size: int) -> Iterator[list[Example]]:
    while chunk := list(islice(examples, size)):
        yield chunk
