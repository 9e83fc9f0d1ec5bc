"""How fast recurrent translation models train, beside Joey NMT's and a plain loop of steps, in one run.

    python bench/rnn.py [--device cpu] [--joey FOLDER] [--out rnn.json]

Two bidirectional LSTM layers read, two write, with attention after the new state; embeddings are tied to the
output. All take the same ragged batches in turns, with the same optimiser and precision, and only real target
tokens count. Joey NMT is taken where it is installed, or from a folder made by
`pip install --no-deps --target FOLDER joeynmt`. The plain loop is ours, in the manner of OpenNMT-py's decoder
with input feeding (a cell, an attention, a readout, again) and of its decoder without (a fused LSTM, then one
attention): OpenNMT-py itself does not install beside a current torch.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.measure import Bytes, Memory, Ratio, Seconds, Table, timed
from regard.models import (
    ModelSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    Sizes,
    build,
)
from regard.tasks import IGNORE, Batch, Translate
from regard.text import Codec, TextSettings

PAD, BEGIN, END = 0, 1, 2
SMOOTHING, DROPOUT, LAYERS = 0.1, 0.1, 2
CASES = {
    "no input feeding": ("general", False),
    "input feeding": ("general", True),
    "input feeding, additive": ("additive", True),
}
RECORDED = (
    "regard, recorded"  # the same steps, each launched as one, as training does with input feeding
)
Loss = Callable[[Batch], Tensor]


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
        batch = Batch(reads, lengths, told, right, int((says != PAD).sum()))
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


def ours(options: argparse.Namespace, score: str, feeding: bool) -> tuple[nn.Module, Loss]:
    """As the training loop takes it: steps compiled where one waits for the other."""
    sides = {"cell": "lstm", "width": options.width, "layers": LAYERS, "dropout": DROPOUT}
    settings = ModelSettings(
        encoder=RnnEncoderSettings.model_validate(sides),
        reader=RnnReaderSettings.model_validate(
            {**sides, "score": score, "input_feeding": feeding}
        ),
    )
    sizes = Sizes(options.symbols, options.symbols, begin=BEGIN, end=END, shared=True)
    model = build(settings, sizes).to(options.device)
    words = Codec.train(["a"], TextSettings(kind="word"))
    task = Translate(words, words)
    if options.compile and feeding:
        model.reader.compile_steps()
    return model, lambda batch: task.loss(model, batch, SMOOTHING)


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


def step_of(model: nn.Module, loss: Loss, options: argparse.Namespace) -> Callable[[Batch], None]:
    """Forward, backward, clipping, AdamW."""
    gpu = options.device == "cuda"
    optimiser = torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=gpu, capturable=gpu)

    def step(batch: Batch) -> None:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16) if gpu else nullcontext():
            found = loss(batch)
        (found / batch.count).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return step


def recorded(step: Callable[[Batch], None], given: Sequence[Batch]) -> list[Callable[[], None]]:
    """The same steps as CUDA graphs, one for each batch."""
    found, stream, pool = [], torch.cuda.Stream(), torch.cuda.graph_pool_handle()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for batch in given:
            for _ in range(2):
                step(batch)
    torch.cuda.current_stream().wait_stream(stream)
    for batch in given:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, stream=stream):
            step(batch)
        found.append(graph.replay)
    return found


def measure(name: str, given: list[Batch], options: argparse.Namespace) -> list[dict[str, Any]]:
    """One row a model; a peer that does not run leaves the others alone."""
    score, feeding = CASES[name]
    works: dict[str, Callable[[], None]] = {}
    sizes: dict[str, int] = {}
    peaks: dict[str, int] = {}
    ways = {"Joey NMT": Joey, "plain loop": Loop, "regard": None}
    if options.device == "cuda":
        ways[RECORDED] = None
    for who, kind in ways.items():
        try:
            torch.manual_seed(1)
            if kind is None:
                model, loss = ours(options, score, feeding)
            else:
                model = kind(options, score, feeding).to(options.device)
                loss = model
            step = step_of(model, loss, options)
            for batch in given:  # each shape once, so that nothing is compiled under the clock
                step(batch)
            with Memory(options.device) as memory:
                step(given[0])
            turns = [partial(step, batch) for batch in given]
            if who == RECORDED:
                turns = recorded(step, given)
            works[who], sizes[who], peaks[who] = in_turns(turns), count(model), memory.peak
        except Exception as fault:
            traceback.print_exc()
            print(f"{name}, {who}: FAILED {type(fault).__name__}: {fault}"[:300], flush=True)
    found = timed(works, options.device, rounds=options.rounds, seconds=options.seconds)
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
            "memory": Bytes(peaks[who]) if options.device == "cuda" else None,
        }
        for who, timing in found.items()
    ]


def in_turns(works: Sequence[Callable[[], None]]) -> Callable[[], None]:
    """One of them a call."""
    turns = cycle(works)

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
