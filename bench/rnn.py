"""How fast recurrent translation models train, beside Joey NMT's and a plain loop of steps, in one run.

    python bench/rnn.py [--device cpu] [--joey FOLDER] [--out rnn.json]

Two bidirectional LSTM layers read, two write, with attention after the new state; embeddings are tied to the
output. All take the same ragged batches in turns, with the same optimiser and precision, and only real target
tokens count. Joey NMT is taken where it is installed, or from a folder made by
`pip install --no-deps --target FOLDER joeynmt`. The plain loop is ours, in the manner of OpenNMT-py's decoder
with input feeding (a cell, an attention, a readout, again) and of its decoder without (a fused LSTM, then one
attention): OpenNMT-py itself does not install beside a current torch.

`regard` takes its steps as the training loop does by default: on a GPU each as one recording, once its shape
has come a few times. Beside it stand the same steps with `train.compile`, and without `train.record`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
import traceback
import types
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.accelerate.cuda_graph.training_step import RecordedStep
from regard.data.batches import BatchRows
from regard.measure import Bytes, Memory, Ratio, Seconds, Table, timed
from regard.models import (
    ModelSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    Sizes,
    build,
)
from regard.run.settings import TrainSettings
from regard.tasks import IGNORE, Batch, Translate
from regard.tasks.objective import Objective
from regard.text import Codec, TextSettings
from regard.training.feed import Position, Turn
from regard.training.progress import Learned
from regard.training.step import Learner, Stepper, step_form
from regard.training.update import apply
from regard.training.world import World

PAD, BEGIN, END = 0, 1, 2
SMOOTHING, DROPOUT, LAYERS = 0.1, 0.1, 2
CASES = {
    "no input feeding": ("general", False),
    "input feeding": ("general", True),
    "input feeding, additive": ("additive", True),
}
OURS: dict[str, dict[str, bool]] = {  # what [train] says beside the usual
    "regard": {},
    "regard, steps compiled": {"compile": True},
    "regard, not recorded": {"record": False},
}
Step = Callable[[Batch], None]
WARM = RecordedStep.often + RecordedStep.rehearsals + 1  # steps of a batch until it is recorded


def batches(options: argparse.Namespace) -> list[Batch]:
    """Sentences of lengths as languages have them, like lengths together, longest sources first."""
    draw, found = np.random.default_rng(options.seed), []
    pairs = draw.lognormal(3.0, 0.4, (64 * options.rows, 1)) * draw.lognormal(0, 0.1, (1, 2))
    pairs = np.clip(pairs, 2, 64).astype(int)
    pairs = pairs[np.argsort(pairs.sum(1))]
    for quarter in (1, 2, 3):
        some = pairs[16 * quarter * options.rows :][: options.rows]
        source, target = some[np.argsort(-some[:, 0])].T
        reads, says = (
            torch.from_numpy(
                np.where(
                    np.arange(size.max()) < size[:, None],
                    draw.integers(4, options.symbols, (options.rows, size.max())),
                    PAD,
                )
            )
            for size in (source, target)
        )
        told = torch.cat([torch.full_like(says[:, :1], BEGIN), says[:, :-1]], 1)
        right = says.masked_fill(says == PAD, IGNORE)
        lengths = torch.from_numpy(source.copy())
        batch = Batch.of(reads, lengths, told, right, int((says != PAD).sum()))
        found.append(batch.to(torch.device(options.device)))
    return found


def judged(logits: Tensor, batch: Batch) -> Tensor:
    """The peers' loss."""
    return F.cross_entropy(
        logits.flatten(0, 1).float(),
        batch.targets.flatten(),
        ignore_index=IGNORE,
        label_smoothing=SMOOTHING,
        reduction="sum",
    )


def ours(
    options: argparse.Namespace, score: str, feeding: bool, choices: dict[str, bool]
) -> tuple[nn.Module, Step]:
    """As the training loop takes a step: recorded where it can be, which is on a GPU."""
    sides = {"cell": "lstm", "width": options.width, "layers": LAYERS, "dropout": DROPOUT}
    settings = ModelSettings(
        encoder=RnnEncoderSettings.model_validate(sides),
        reader=RnnReaderSettings.model_validate(
            {**sides, "score": score, "input_feeding": feeding}
        ),
    )
    sizes = Sizes(options.symbols, options.symbols, begin=BEGIN, end=END, shared=True)
    model = build(settings, sizes).to(options.device).train()
    words = Codec.train(["a"], TextSettings(kind="word"))
    precision = "bfloat16" if options.device == "cuda" else "float32"
    usual = {"precision": precision, "rate": 1e-4, "clip": 1.0}
    train = TrainSettings.model_validate(usual | choices)
    world, learned = World(0, 1, torch.device(options.device)), Learned(model, train)
    learner = Learner(Translate(words, words), model, Objective(SMOOTHING))
    stepper = Stepper(learner, train, 1, world, make=unasked)
    form = step_form(train, world, learned)
    whole = form and form.prepare(stepper, learned, partial(print, flush=True))
    numbers = itertools.count(1)

    def step(batch: Batch) -> None:
        piece = BatchRows(np.arange(len(batch)), batch.source.shape[1], batch.targets.shape[1])
        turn, number = Turn((piece,), (batch,), Position()), next(numbers)
        if whole is None or whole.take(number, turn) is None:
            apply(learned, stepper.gradients(number, turn.pieces, turn.batches, False), train.clip)

    return model, step


def unasked(piece: BatchRows) -> Batch:
    raise MemoryError(f"a batch of {piece.tokens} tokens does not fit")


class Joey(nn.Module):
    """Joey NMT's recurrent encoder and decoder."""

    def __init__(self, options: argparse.Namespace, score: str, feeding: bool) -> None:
        super().__init__()
        decoders, encoders = joeynmt(options.joey)
        width = options.width
        self.table = nn.Embedding(options.symbols, width)
        self.encoder = encoders.RecurrentEncoder(
            "lstm", width // 2, width, LAYERS, DROPOUT, 0.0, bidirectional=True
        )
        self.decoder = decoders.RecurrentDecoder(
            "lstm",
            width,
            width,
            self.encoder,
            "bahdanau" if score == "additive" else "luong",
            LAYERS,
            options.symbols,
            DROPOUT,
            0.0,
            DROPOUT,
            "bridge",
            feeding,
        )
        self.decoder.output_layer.weight = self.table.weight

    def forward(self, batch: Batch) -> Tensor:
        """The summed loss."""
        mask = (batch.source != PAD).unsqueeze(1)
        read, last, *_ = self.encoder(self.table(batch.source), batch.lengths, mask)
        told = self.table(batch.inputs)
        logits, *_ = self.decoder(told, read, last, mask, batch.inputs.shape[1])
        return judged(logits, batch)


def joeynmt(folder: Path | None) -> tuple[Any, Any]:
    """Its models alone: what its command line imports beside them is not needed, and may be absent."""
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
    for name, words in {
        "torch.utils.tensorboard": ("SummaryWriter",),
        "joeynmt.plotting": ("plot_heatmap",),
        "importlib_metadata": (),
        "yaml": (),
    }.items():
        if name in sys.modules or (not words and find_spec(name)):
            continue
        stand_in = types.ModuleType(name)
        for word in words:
            setattr(stand_in, word, None)
        sys.modules[name] = stand_in
    from joeynmt import decoders, encoders  # type: ignore[import-not-found]

    return decoders, encoders


class Loop(nn.Module):
    """The plain way: written out step by step, nothing compiled."""

    def __init__(self, options: argparse.Namespace, score: str, feeding: bool) -> None:
        super().__init__()
        width = options.width
        self.feeding, self.score = feeding, score
        self.table = nn.Embedding(options.symbols, width)
        self.encoder = nn.LSTM(
            width, width // 2, LAYERS, batch_first=True, bidirectional=True, dropout=DROPOUT
        )
        first = 2 * width if feeding else width
        self.cells = nn.ModuleList(
            nn.LSTMCell(first if number == 0 else width, width) for number in range(LAYERS)
        )
        self.whole = nn.LSTM(width, width, LAYERS, batch_first=True, dropout=DROPOUT)
        if feeding:
            del self.whole
        else:
            del self.cells
        self.ask, self.offer = nn.Linear(width, width, False), nn.Linear(width, width, False)
        self.judge = nn.Linear(width, 1, False)
        self.readout = nn.Linear(2 * width, width, False)
        self.dropout = nn.Dropout(DROPOUT)

    def attend(self, state: Tensor, read: Tensor, offered: Tensor, empty: Tensor) -> Tensor:
        """Readouts of (batch, queries, width)."""
        if self.score == "additive":
            scores = self.judge(torch.tanh(self.ask(state).unsqueeze(2) + offered.unsqueeze(1)))
            scores = scores.squeeze(-1)
        else:
            scores = torch.bmm(state, offered.transpose(1, 2))
        weights = scores.masked_fill(empty.unsqueeze(1), -torch.inf).softmax(-1)
        both = torch.cat([torch.bmm(weights.to(read.dtype), read), state], -1)
        return self.dropout(torch.tanh(self.readout(both)))

    def forward(self, batch: Batch) -> Tensor:
        """The summed loss."""
        packed = pack_padded_sequence(self.table(batch.source), batch.lengths.cpu(), True)
        read, (hidden, cell) = self.encoder(packed)
        read, _ = pad_packed_sequence(read, True, total_length=batch.source.shape[1])
        hidden, cell = (
            torch.cat([state[0::2], state[1::2]], -1).contiguous() for state in (hidden, cell)
        )
        empty, offered, told = batch.source == PAD, self.offer(read), self.table(batch.inputs)
        if not self.feeding:
            states, _ = self.whole(told, (hidden, cell))
            return judged(
                F.linear(self.attend(states, read, offered, empty), self.table.weight), batch
            )
        states = list(zip(hidden, cell, strict=True))
        fed, found = torch.zeros_like(told[:, 0]), []
        for word in told.unbind(1):
            inputs = torch.cat([word, fed], -1)
            for number, one in enumerate(self.cells):
                states[number] = one(
                    inputs if number == 0 else self.dropout(inputs), states[number]
                )
                inputs = states[number][0]
            fed = self.attend(inputs.unsqueeze(1), read, offered, empty).squeeze(1)
            found.append(fed)
        return judged(F.linear(torch.stack(found, 1), self.table.weight), batch)


def step_of(model: nn.Module, options: argparse.Namespace) -> Step:
    """The peers': forward, backward, clipping, AdamW."""
    gpu = options.device == "cuda"
    optimiser = torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=gpu, capturable=gpu)

    def step(batch: Batch) -> None:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16) if gpu else nullcontext():
            found = model(batch)
        (found / batch.count).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return step


def measure(name: str, given: list[Batch], options: argparse.Namespace) -> list[dict[str, Any]]:
    """One row a model; a peer that does not run leaves the others alone."""
    score, feeding = CASES[name]
    works: dict[str, Callable[[], None]] = {}
    sizes: dict[str, int] = {}
    peaks: dict[str, int] = {}
    for who in ("Joey NMT", "plain loop", *rows_of_ours(options, feeding)):
        try:
            torch.manual_seed(1)
            if who in OURS:
                model, step = ours(options, score, feeding, OURS[who])
            else:
                kind = Joey if who == "Joey NMT" else Loop
                model = kind(options, score, feeding).to(options.device)
                step = step_of(model, options)
            with Memory(options.device) as memory:
                for batch in given * (WARM if who in OURS and options.device == "cuda" else 1):
                    step(batch)
            turns = [partial(step, batch) for batch in given]
            works[who], sizes[who], peaks[who] = in_turns(turns), count(model), memory.peak
        except Exception as fault:
            traceback.print_exc()
            print(f"{name}, {who}: FAILED {type(fault).__name__}: {fault}"[:300], flush=True)
    found = timed(works, options.device, rounds=options.rounds, seconds=options.seconds)
    spent = {who: processor(work, 3 * len(given)) for who, work in works.items()}
    real = sum(batch.count for batch in given) / len(given)
    own = found["regard"].median if "regard" in found else float("nan")
    return [
        {
            "model": name,
            "by": who,
            "parameters": f"{sizes[who] / 1e6:.1f} M",
            "step": Seconds(timing.median),
            "tokens/s": round(real / timing.median),
            "regard is": Ratio(timing.median / own),
            **(
                {"memory": Bytes(peaks[who])}
                if options.device == "cuda"
                else {
                    "processor": Seconds(spent[who]),
                    "regard is, by it": Ratio(spent[who] / spent.get("regard", float("nan"))),
                }
            ),
        }
        for who, timing in found.items()
    ]


def rows_of_ours(options: argparse.Namespace, feeding: bool) -> list[str]:
    """On a CPU nothing is recorded, and without feeding back there are no steps to compile."""
    if options.device != "cuda":
        return ["regard"]
    compiles = options.compile and feeding
    return [who for who, choices in OURS.items() if compiles or "compile" not in choices]


def processor(work: Callable[[], None], rounds: int) -> float:
    """Seconds of processor time a step, all threads: what else runs meanwhile does not count."""
    began = time.process_time()
    for _ in range(rounds):
        work()
    return (time.process_time() - began) / rounds


def in_turns(works: Sequence[Callable[[], None]]) -> Callable[[], None]:
    """One of them a call."""
    turns = itertools.cycle(works)

    def work() -> None:
        next(turns)()

    return work


def count(model: nn.Module) -> int:
    return sum(weight.numel() for weight in model.parameters())


def main() -> None:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if gpu else "cpu")
    parser.add_argument("--joey", type=Path, help="where Joey NMT lies, if it is not installed")
    parser.add_argument("--width", type=int, default=512 if gpu else 256)
    parser.add_argument("--symbols", type=int, default=16_000 if gpu else 8_000)
    parser.add_argument("--rows", type=int, default=256 if gpu else 32, help="of a batch")
    parser.add_argument("--rounds", type=int, default=30 if gpu else 9)
    parser.add_argument("--seconds", type=float, default=12.0, help="at most, for each case")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=gpu)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    machine = (
        torch.cuda.get_device_name()
        if options.device == "cuda"
        else f"{torch.get_num_threads()} CPU threads"
    )
    given, rows = batches(options), []
    title = (
        f"Recurrent training: {LAYERS} + {LAYERS} LSTM layers of width {options.width}, vocabulary "
        f"{options.symbols:,}, {options.rows} rows, {machine}, torch {torch.__version__}"
    )
    for name in options.cases:
        rows += measure(name, given, options)
        table = Table(title, rows, "'regard is' says how many times faster regard is.")
        print(table, flush=True)
        if options.out:
            options.out.write_text(json.dumps(table.as_dict(), indent=1) + "\n")


if __name__ == "__main__":
    main()
