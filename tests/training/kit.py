"""Tiny trainings: a corpus of a few lines, models of a few numbers, and processes to run them in."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from regard.data.batches import BatchSettings
from regard.data.check import Report
from regard.decode import DecodeSettings
from regard.models import (
    ModelSettings,
    PointSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
)
from regard.run import weights
from regard.run.folder import Run
from regard.run.settings import DataSettings, RunSettings, TrainSettings
from regard.text import TextSettings
from regard.training import Evaluated, Listener, Outcome, Stepped, train

LETTERS = "abcdefg"

RNN = RnnEncoderSettings(width=8, dropout=0.1)
BLOCKS = {"width": 8, "layers": 1, "heads": 2, "feedforward": 12, "dropout": 0.1}
KINDS: dict[str, tuple[str, ModelSettings]] = {
    "rnn": ("translate", ModelSettings(encoder=RNN, reader=RnnReaderSettings(width=8))),
    "transformer": (
        "translate",
        ModelSettings(
            encoder=TransformerSettings(**BLOCKS), reader=TransformerReaderSettings(**BLOCKS)
        ),
    ),
    "pointer": ("point", ModelSettings(encoder=RNN, reader=PointSettings(width=8))),
    "tagger": ("tag", ModelSettings(encoder=RNN, reader=TagSettings())),
    "language": ("language", ModelSettings(reader=TransformerReaderSettings(**BLOCKS))),
}


def write_corpus(folder: Path, task: str, count: int = 48, seed: int = 0) -> DataSettings:
    """Files to learn from: letters backwards, letters and their cases, numbers in order."""
    folder.mkdir(parents=True, exist_ok=True)
    named = {}
    for role, lines in (("train", count), ("valid", 10)):
        draw = random.Random(f"{seed}/{role}")
        suffix = {"translate": "tsv", "tag": "jsonl", "point": "jsonl", "language": "txt"}[task]
        path = folder / f"{role}.{suffix}"
        path.write_text("".join(_line(task, draw) + "\n" for _ in range(lines)))
        named[role] = (str(path),)
    return DataSettings(**named)


def _line(task: str, draw: random.Random) -> str:
    words = draw.choices(LETTERS, k=draw.randint(2, 9))
    match task:
        case "translate":
            return " ".join(words) + "\t" + " ".join(reversed(words))
        case "tag":
            return json.dumps({"words": words, "tags": ["ab"[word in "aeg"] for word in words]})
        case "point":
            items = draw.sample(range(100), len(words))
            order = sorted(range(len(items)), key=items.__getitem__)
            return json.dumps({"items": [[item / 100] for item in items], "positions": order})
        case _:
            return " ".join(words)


def tiny(folder: Path, kind: str = "rnn", *, tokens: int = 64, **choices: Any) -> RunSettings:
    """Settings of a training that ends in a moment; `choices` are those of [train]."""
    task, model = KINDS[kind]
    usual = {
        "steps": 12,
        "rate": 1e-2,
        "warmup": 3,
        "evaluate_every": 4,
        "evaluate_examples": 3,
        "checkpoint_every": 3,
        "log_every": 2,
        "workers": 0,
    }
    data = folder / f"corpus-{task}"
    return RunSettings(
        task=task,
        data=write_corpus(data, task),
        text=TextSettings(kind="word"),
        model=model,
        batch=BatchSettings(tokens=tokens, max_length=16),
        train=TrainSettings(**usual | choices),
        decode=DecodeSettings(max_length=12),
    )


def changed(settings: RunSettings, **choices: Any) -> RunSettings:
    """The same with other [train] settings."""
    return settings.model_copy(update={"train": settings.train.model_copy(update=choices)})


class Ears(Listener):
    """Remembers all it heard, and may do something when it hears it."""

    def __init__(self, do: Callable[[str, int], None] = lambda _event, _step: None) -> None:
        self.do = do
        self.heard: list[tuple[str, Any]] = []

    def _hear(self, event: str, value: Any, step: int = 0) -> None:
        self.heard.append((event, value))
        self.do(event, step)

    def of(self, event: str) -> list[Any]:
        return [value for name, value in self.heard if name == event]

    def preparing(self, what: str, done: int) -> None:
        self._hear("preparing", what, done)

    def examined(self, report: Report) -> None:
        self._hear("examined", report)

    def began(self, run: Run, facts: Any) -> None:
        self._hear("began", facts, facts["step"])

    def noted(self, message: str) -> None:
        self._hear("noted", message)

    def stepped(self, report: Stepped) -> None:
        self._hear("stepped", report, report.step)

    def evaluated(self, report: Evaluated) -> None:
        self._hear("evaluated", report, report.step)

    def sampled(self, step: int, traces: Any) -> None:
        self._hear("sampled", traces, step)

    def finished(self, outcome: Outcome) -> None:
        self._hear("finished", outcome, outcome.step)


def kill_at(event: str, step: int, number: int = signal.SIGTERM) -> Ears:
    """Ears that signal their own process when they hear this event of this step."""

    def do(heard: str, at: int) -> None:
        if (heard, at) == (event, step):
            os.kill(os.getpid(), number)

    return Ears(do)


def trained(folder: Path, settings: RunSettings, **more: Any) -> Outcome:
    return train(folder, settings, device="cpu", **more)


def steps_of(folder: Path, kind: str = "train", name: str = "metrics") -> list[int]:
    entries = Run.open(folder).recorded(name)
    return [entry["step"] for entry in entries if name == "samples" or entry["kind"] == kind]


def numbers_of(folder: Path) -> dict[str, Any]:
    """All of a finished run that may not differ by one bit: weights, moments, state, records."""
    run = Run.open(folder)
    checkpoint = run.checkpoints.latest()
    assert checkpoint is not None
    timed = ("tokens_per_second", "seconds")
    records = {
        name: [
            {key: value for key, value in entry.items() if key not in timed}
            for entry in run.recorded(name)
        ]
        for name in ("metrics", "samples")
    }
    return {
        "model": (folder / "model.safetensors").read_bytes(),
        "tokenizer": (folder / "tokenizer.json").read_bytes(),
        "probes": (folder / "data" / "probes.jsonl").read_bytes(),
        "tensors": {
            f"{group}/{name}": (tuple(tensor.shape), tensor.numpy(force=True).tobytes())
            for group, named in checkpoint.tensors.items()
            for name, tensor in named.items()
        },
        "state": checkpoint.state,
        **records,
    }


def model_of(folder: Path) -> dict[str, torch.Tensor]:
    return weights.read(folder / "model.safetensors")


def fork(work: Callable[[], object], environment: dict[str, str] | None = None) -> int:
    """A child that does `work` on one thread and leaves with its exit code; its process id."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        os.environ |= environment or {}
        torch.set_num_threads(1)
        result = work()
        code = result if isinstance(result, int) else 0
    except BaseException as fault:
        code = getattr(fault, "exit_code", 98)
        if code == 98:
            import traceback

            traceback.print_exc()
    finally:
        os._exit(code)


def ended(pids: Sequence[int], seconds: float = 120) -> list[int]:
    """The exit codes of children, negative for a signal; those that hang are killed."""
    codes: dict[int, int] = {}
    deadline = time.monotonic() + seconds
    while len(codes) < len(pids):
        for pid in pids:
            if pid not in codes:
                found, status = os.waitpid(pid, os.WNOHANG)
                if found:
                    codes[pid] = os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            for pid in pids:
                if pid not in codes:
                    os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"of {pids} only {codes} ended")
        time.sleep(0.005)
    return [codes[pid] for pid in pids]


def ranks(work: Callable[[], object], size: int = 2) -> list[int]:
    """Do `work` in processes that know each other as torchrun's do; their ids."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return [
        fork(
            work,
            {
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(size),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
            },
        )
        for rank in range(size)
    ]
