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
from typing import Any, final

import torch
from torch import Tensor

from regard import __version__
from regard.data import store
from regard.data.example import Example, Tally
from regard.data.loader import prefetch
from regard.data.store import Frames, Ids, Store
from regard.errors import ModelFileError
from regard.models import Model, build
from regard.run import files, weights
from regard.run.checkpoint import Checkpoints
from regard.run.corpus import Corpus, Role, left_out, refuse_empty
from regard.run.find import read_settings
from regard.run.load import load, read_task, write_task
from regard.run.lock import Lock
from regard.run.origin import begin_or_go_on, fetch_start, start_weights
from regard.run.settings import RunSettings
from regard.strict_json import loads
from regard.tasks import TASKS, Task

PROBES = 500  # validation examples kept as text, to predict and to look at
SAMPLES = 4  # of which so many are shown at each evaluation
CHUNK = 2_000  # examples encoded at once

Report = Callable[[str, int], None]  # (what is being done, how many are done)


@final
class Run:
    """One run folder. `create` begins one or goes on with it, `open` reads a finished or running one."""

    def __init__(self, folder: Path, settings: RunSettings, task: Task) -> None:
        self.folder, self.settings, self.task = folder, settings, task
        self.checkpoints = Checkpoints(folder / "checkpoints")
        self.notes: list[str] = []  # what a person should know about the data that was prepared

    def __repr__(self) -> str:
        return f"Run({self.task.name}, {self.folder})"

    @classmethod
    def create(
        cls,
        folder: Path,
        settings: RunSettings,
        report: Report | None = None,
        allow: Collection[str] = (),
    ) -> Run:
        """Prepare everything that training needs. Killed at any point, the next call goes on from there.

        A run that exists goes on with what it was begun with, but for the settings that `allow` names.
        """
        report = report or (lambda _what, _done: None)
        files.make_folder(folder)
        for unfinished in (folder, folder / "data", folder / "checkpoints"):
            files.sweep(unfinished)
        corpus = Corpus.of(settings.data, settings.task)
        begin_or_go_on(folder, settings, corpus.fingerprint, allow)
        fetch_start(folder, settings)
        task = _task(folder, settings, corpus, report)
        run = cls(folder, settings, task)
        for role in ("train", "valid"):
            run._store_corpus(corpus, role, report)
        run._keep_probes(corpus)
        return run

    @classmethod
    def open(cls, folder: Path) -> Run:
        """An existing run."""
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

    def probes(self) -> list[tuple[str, str]]:
        """Validation questions and their right answers, as text."""
        path = self.folder / "data" / "probes.jsonl"
        rows = (loads(line) for line in path.read_text("utf-8").split("\n") if line)
        return [(row["question"], row["answer"]) for row in rows]

    def build_model(self) -> Model:
        """The model before its first step: by settings and seed, or the one that the run starts from."""
        torch.manual_seed(self.settings.seed)
        if self.settings.start is not None:
            path = start_weights(self.folder)
            return load(path, self.settings.model, self.task.sizes, torch.device("cpu"))
        return build(self.settings.model, self.task.sizes)

    def load_model(self, device: str | torch.device = "cpu") -> Model:
        """The trained model, checked against what the settings describe."""
        path = self.folder / "model.safetensors"
        if not path.is_file():
            raise ModelFileError(
                "this run has no trained model yet",
                where=str(path),
                remedy=f"train it: regard train {self.folder}",
            )
        return load(path, self.settings.model, self.task.sizes, torch.device(device))

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
        *whole, _rest = path.read_bytes().split(b"\n")
        return [loads(line) for line in whole if line]

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
        folder = self.folder / "data" / role
        if (folder / store.HEADER).is_file():
            refuse_empty(role, len(self.store(role)), corpus)
            return
        files.make_folder(folder.parent)
        tally = Tally()
        columns = {
            "source": Frames(self.task.features) if self.task.features else Ids(),
            "target": Ids(),
        }
        # The library encodes on all cores, and meanwhile the next examples are read.
        chunks = _chunks(corpus.examples(role, tally), CHUNK)
        rows = prefetch(self.task.block, chunks, 1, 2)
        label = f"reading {role} data"
        built = store.write(folder, rows, columns, lambda done: report(label, done))
        refuse_empty(role, len(built), corpus)
        if tally.dropped:
            self.notes.append(f"{role} data: {left_out(tally)}")

    def _keep_probes(self, corpus: Corpus) -> None:
        path = self.folder / "data" / "probes.jsonl"
        if path.is_file():
            return
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
    task = TASKS[settings.task].learn(
        lambda: corpus.examples("train"),
        settings.text,
        lambda done: report("learning the vocabulary", done),
    )
    write_task(path, task, settings.task)
    return task


def _chunks(examples: Iterator[Example], size: int) -> Iterator[list[Example]]:
    while chunk := list(islice(examples, size)):
        yield chunk
