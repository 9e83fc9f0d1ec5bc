"""How fast Transformers train on ragged text, against `nn.Transformer` and Hugging Face Marian, in one run.

    python bench/train.py --data pairs.tsv --out train.json

Only real target tokens count. The floor is the rate of a large matrix product, the highest of those measured
before each case. A table comes last: share of the floor, and how many times as fast ours is as each peer.
Ours is the training loop of the package: packed batches from a memory-mapped store, compiled, clipped, fused
AdamW, the whole step recorded as one CUDA graph; `--unrecorded` launches each kernel from Python. "host" is
the time that a step keeps the host busy. Peers get padded batches of the same number of places, formed by
length, in those few shapes that leave least empty, compiled, with the same optimiser; every shape is seen
before the clock starts.
"""

from __future__ import annotations

import argparse
import gc
import json
import lzma
import tempfile
import time
import traceback
from dataclasses import dataclass
from functools import partial
from itertools import chain, cycle, islice, product
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from regard.data import store
from regard.data.batches import BatchSettings
from regard.measure import Bytes, Ratio, Seconds, Share, Table, matrix_rate, peak_memory
from regard.models import ModelSettings, build
from regard.run.settings import TrainSettings
from regard.tasks import Translate
from regard.tasks.objective import Objective
from regard.text import Codec, TextSettings
from regard.training.feed import Feed, Position
from regard.training.optimise import set_rate
from regard.training.progress import Learned
from regard.training.step import Learner, Stepper, shorten_messages, step_form
from regard.training.update import apply
from regard.training.world import World

PAD, BEGIN = 0, 1
COMPILE: dict = {}  # what `--compile` adds for ours
OPTIONS = {"tuned": "coordinate_descent_tuning", "combined": "combo_kernels"}
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class Size:
    layers: int = 6
    width: int = 512
    heads: int = 8
    feedforward: int = 2048


SIZES = {
    "base": Size(),
    "tiny": Size(2, 64, 4, 128),
    "big": Size(width=1024, heads=16, feedforward=4096),
}


def operations(size: Size, symbols: int, source: np.ndarray, target: np.ndarray) -> float:
    """Multiplications and additions of one forward and backward pass over these pairs."""
    d, layers, inner = size.width, size.layers, size.feedforward
    encoder = layers * (4 * d * d + 2 * d * inner)
    decoder = layers * (8 * d * d + 2 * d * inner)
    s, t = source.astype(float), target.astype(float)
    dense = s * (encoder + 2 * d * d * layers) + t * (decoder - 2 * d * d * layers + d * symbols)
    crossed = s * s + t * t / 2 + s * t
    return float((6 * dense + 12 * d * layers * crossed).sum())


def read_pairs(
    path: Path, most: int, vocabulary: int
) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """Ids of both sides from a text of two columns, through a tokenizer learned on it; kept beside it."""
    kept = path.with_suffix(f".{vocabulary}.npz")
    if not kept.exists():
        opener = lzma.open if path.suffix == ".xz" else open
        with opener(path, "rt", encoding="utf-8") as lines:
            rows = [line.rstrip("\n").split("\t")[:2] for line in islice(lines, most)]
        codec = Codec.train(
            (side for row in rows for side in row), TextSettings(vocabulary=vocabulary)
        )
        ids = [codec.encode_batch([row[side] for row in rows]) for side in (0, 1)]
        flat = [np.concatenate([np.array([*row, 2], np.uint16) for row in side]) for side in ids]
        lengths = [np.array([len(row) + 1 for row in side], np.int32) for side in ids]
        np.savez(
            kept,
            source=flat[0],
            target=flat[1],
            source_lengths=lengths[0],
            target_lengths=lengths[1],
        )
    with np.load(kept) as found:
        sides = [
            np.split(found[side].astype(np.int32), found[f"{side}_lengths"].cumsum()[:-1])
            for side in ("source", "target")
        ]
    return *sides, vocabulary


def full_rows(
    count: int, length: int, symbols: int
) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    draw = np.random.default_rng(0)
    sides = [list(draw.integers(4, symbols, (count, length)).astype(np.int32)) for _ in range(2)]
    return *sides, symbols


def ours(
    size: Size, pairs, places: int, steps: int, longest: int, profile: Path | None, record: bool
) -> dict:
    source, target, symbols = pairs
    words = Codec.train(["a"], TextSettings(kind="word"))
    task = Translate(words, words)
    part = {
        "kind": "transformer", "layers": size.layers, "width": size.width, "heads": size.heads,
        "feedforward": size.feedforward, "dropout": 0.1,
    }  # fmt: skip
    settings = ModelSettings.model_validate({"encoder": part, "reader": part})
    sizes = task.sizes.__class__(symbols, symbols, begin=1, end=2, shared=True)
    torch.manual_seed(0)
    model = build(settings, sizes).to(DEVICE)
    train = TrainSettings(precision="bfloat16", compile=True, record=record)
    world = World(0, 1, DEVICE)
    with tempfile.TemporaryDirectory() as folder:
        rows = ({"source": s, "target": t} for s, t in zip(source, target, strict=True))
        ids = {"source": store.Ids(), "target": store.Ids()}
        kept = store.write(Path(folder) / "rows", rows, ids)
        batch = BatchSettings(tokens=places, max_length=longest, packed=True)
        feed = Feed(task, kept, batch, 1, world)
        learner = torch.compile(Learner(task, model, Objective(0.1)), dynamic=False, **COMPILE)
        learned = Learned(model, train)
        stepper = Stepper(learner, train, 1, world, feed.make)
        form = step_form(train, world, learned)
        whole = form and form.prepare(stepper, learned, partial(print, flush=True))
        turns = feed.turns(Position(), 1, 4)
        model.train()
        unread: list = []
        waited: list[float] = []

        def step(number: int) -> tuple[int, float]:
            turn = next(turns)
            set_rate(learned.optimiser, 1e-4)
            read = whole and whole.take(number, turn)
            if read is None:
                summed = stepper.gradients(number, turn.pieces, turn.batches, False)
                read = apply(learned, summed, 1.0)
            unread.append(read)
            began = time.perf_counter()
            if len(unread) > 1:  # as the loop does: the step before, when this one is under way
                unread.pop(0)()
            waited.append(time.perf_counter() - began)
            rows = turn.pieces[0].rows
            work = operations(
                size, symbols, kept.lengths("source")[rows], kept.lengths("target")[rows]
            )
            return turn.batches[0].count, work

        found = clocked(step, steps)
        found["host"] = found["step"] - sum(waited[-steps:]) / steps
        found["recorded"] = whole is not None and whole.recorder is not None
        print(whole.fault if whole else "", end="", flush=True)
        if profile:
            profile.write_text(kernels(lambda: step(99)))
        turns.close()
        found["waste"] = feed.plan.waste
    return found


def kernels(work) -> str:
    """What the device did in one step, longest first."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as seen:
        work()
        wait()
    return seen.key_averages().table(
        sort_by="self_device_time_total", row_limit=45, max_name_column_width=70
    )


def wait() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def _pinned(tensor):
    return tensor.pin_memory() if DEVICE.type == "cuda" else tensor


def clocked(step, steps: int, shapes: int = 1) -> dict:
    """Real target tokens and operations a second over some steps after the first few, of all shapes."""
    if DEVICE.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    step(1)
    wait()
    first = time.perf_counter() - began
    fast = max(7, shapes + 2)  # a step is recorded when three were taken
    for number in range(2, fast):
        step(number)
    wait()
    began, tokens, work = time.perf_counter(), 0, 0.0
    for number in range(fast, fast + steps):
        count, done = step(number)
        tokens, work = tokens + count, work + done
    wait()
    taken = time.perf_counter() - began
    return {
        "tokens_a_second": tokens / taken, "operations_a_second": work / taken, "step": taken / steps,
        "first_step": first, "memory": peak_memory(DEVICE),
    }  # fmt: skip


SHAPES = 10  # of padded batches: with more, less than a hundredth more of the places would be real


def ceilings(lengths: np.ndarray, most: int) -> list[int]:
    """So few lengths, multiples of 8, that rows filled up to the next one leave least empty."""
    counts = np.bincount(-(-lengths // 8))
    best: list[tuple[float, list[int]]] = [(0.0, []), *[(np.inf, [])] * (len(counts) - 1)]
    for _ in range(min(most, len(counts) - 1)):
        best = [best[0]] + [
            min(
                (before + 8 * end * int(counts[start + 1 : end + 1].sum()), [*edges, 8 * end])
                for start, (before, edges) in enumerate(best[:end])
            )
            for end in range(1, len(counts))
        ]
    return best[-1][1]


def padded_batches(source, target, places: int):
    """One batch of each shape, which comes first, then all of them, shuffled, round and round.

    Rows of like length lie side by side; a batch is always full: where rows run out, the first come again.
    """
    lengths = np.array([max(len(s), len(t)) for s, t in zip(source, target, strict=True)])
    edges = np.array(ceilings(lengths, SHAPES))
    order, batches = np.argsort(lengths, kind="stable"), []
    nearest = np.searchsorted(edges, lengths[order])
    for number, edge in enumerate(edges):
        rows, room = order[nearest == number], max(1, places // int(edge))
        if len(rows):
            filled = np.resize(rows, -(-len(rows) // room) * room).reshape(-1, room)
            batches.append([(int(edge), some) for some in filled])
    seen = [some[0] for some in batches]
    every = [one for some in batches for one in some]
    np.random.default_rng(0).shuffle(every)
    return len(seen), (_padded(source, target, *one) for one in chain(seen, cycle(every)))


def _padded(source, target, length: int, rows: np.ndarray):
    tables = [np.full((len(rows), length), PAD, np.int64) for _ in range(2)]
    for table, side in zip(tables, (source, target), strict=True):
        for at, row in enumerate(rows):
            table[at, : len(side[row])] = side[row]
    return rows, *map(torch.from_numpy, tables)


class Plain(nn.Module):
    """`nn.Transformer` as its tutorial uses it, with tied output."""

    def __init__(self, size: Size, symbols: int) -> None:
        super().__init__()
        self.table = nn.Embedding(symbols, size.width)
        self.places = nn.Embedding(512, size.width)
        self.inner = nn.Transformer(
            size.width,
            size.heads,
            size.layers,
            size.layers,
            size.feedforward,
            0.1,
            batch_first=True,
            norm_first=True,
        )

    def compiled(self, dynamic: bool):
        return torch.compile(self, dynamic=dynamic)

    def embed(self, ids):
        return self.table(ids) + self.places.weight[: ids.shape[1]]

    def forward(self, source, inputs, targets):
        causal = torch.ones(
            inputs.shape[1], inputs.shape[1], dtype=torch.bool, device=inputs.device
        ).triu(1)
        states = self.inner(
            self.embed(source), self.embed(inputs), tgt_mask=causal, tgt_is_causal=True,
            src_key_padding_mask=source == PAD, memory_key_padding_mask=source == PAD,
        )  # fmt: skip
        return self.judge(states, targets)

    def judge(self, states, targets):
        logits = F.linear(states, self.table.weight)
        return F.cross_entropy(
            logits.flatten(0, 1).float(), targets.flatten(), ignore_index=-100, label_smoothing=0.1
        )


class Marian(nn.Module):
    """Hugging Face's, with its own loss."""

    def __init__(self, size: Size, symbols: int) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        self.model = MarianMTModel(
            MarianConfig(
                vocab_size=symbols,
                d_model=size.width,
                encoder_layers=size.layers,
                decoder_layers=size.layers,
                encoder_attention_heads=size.heads,
                decoder_attention_heads=size.heads,
                encoder_ffn_dim=size.feedforward,
                decoder_ffn_dim=size.feedforward,
                dropout=0.1,
                activation_function="relu",
                pad_token_id=PAD,
                eos_token_id=2,
                decoder_start_token_id=BEGIN,
                max_position_embeddings=512,
                use_cache=False,
            )
        )

    def compiled(self, dynamic: bool):
        return torch.compile(self, dynamic=dynamic)

    def forward(self, source, inputs, targets):
        return self.model(
            input_ids=source, attention_mask=source != PAD, decoder_input_ids=inputs, labels=targets
        ).loss


PEERS = {"peer-marian": Marian, "peer-torch": Plain}


def peer(kind, size: Size, pairs, places: int, steps: int) -> dict:
    source, target, symbols = pairs
    torch.manual_seed(0)
    model = kind(size, symbols).to(DEVICE).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=DEVICE.type == "cuda")
    shapes, batches = padded_batches(source, target, places)
    compiled = model.compiled(dynamic=shapes > 1)

    def step(_number: int) -> tuple[int, float]:
        rows, sources, targets = next(batches)
        inputs = targets.roll(1, 1)
        inputs[:, 0] = BEGIN
        judged = targets.masked_fill(targets == PAD, -100)
        moved = [_pinned(one).to(DEVICE, non_blocking=True) for one in (sources, inputs, judged)]
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            loss = compiled(*moved)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        lengths = [np.array([len(side[row]) for row in rows]) for side in (source, target)]
        return int(lengths[1].sum()), operations(size, symbols, *lengths)

    return clocked(step, steps, shapes)


def shuffled(pairs) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """Those of at most 256 tokens a side, in any order."""
    source, target, symbols = pairs
    order = np.random.default_rng(1).permutation(len(source))
    fits = [n for n in order if max(len(source[n]), len(target[n])) <= 256]
    return [source[n] for n in fits], [target[n] for n in fits], symbols


def measure(who: str, size: Size, pairs, full: bool, given: argparse.Namespace) -> dict:
    if who in PEERS:
        return peer(PEERS[who], size, pairs, given.places, given.steps)
    longest, counts = 64 if full else 256, (given.places, given.steps)
    return ours(size, pairs, *counts, longest, given.profile, not given.unrecorded)


def row(name: str, found: dict) -> dict:
    """What a reader wants to know of one case."""
    one, (who, size, text) = found["cases"][name], name.rsplit("-", 2)
    mine = found["cases"].get(f"ours-{size}-{text}", {}).get("tokens_a_second")
    return {
        "case": name,
        "tokens/s": round(one["tokens_a_second"]),
        "of the floor": Share(one["operations_a_second"] / found["floor"]),
        "ours is": Ratio(mine / one["tokens_a_second"]) if mine and who != "ours" else None,
        "step": Seconds(one["step"]),
        "host": Seconds(one["host"]) if "host" in one else None,
        "memory": Bytes(one["memory"]),
        "first step": Seconds(one["first_step"]),
        "empty": Share(one["waste"]) if "waste" in one else None,
        "recorded": {True: "yes", False: "no"}.get(one.get("recorded")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="pairs of text, two columns by tab, plain or xz")
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--vocabulary", type=int, default=32_768)
    parser.add_argument("--places", type=int, default=32_768, help="of a batch, on each side")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument(
        "--only", nargs="*", default=[], help="such as ours-base-full peer-marian-base-ragged"
    )
    parser.add_argument(
        "--profile", type=Path, help="where to write a table of kernels of one step of ours"
    )
    parser.add_argument("--sizes", nargs="*", default=["base", "big"], choices=list(SIZES))
    parser.add_argument("--full", type=int, default=6_000, help="rows of 64 tokens")
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--compile",
        choices=list(OPTIONS),
        help="ours: try more block sizes, or make one kernel of small ones",
    )
    parser.add_argument(
        "--unrecorded", action="store_true", help="ours: launch each kernel from Python"
    )
    given = parser.parse_args()
    if given.compile:
        COMPILE["options"] = {OPTIONS[given.compile]: True}
    shorten_messages()
    texts = {"full": full_rows(given.full, 64, given.vocabulary)}
    if given.data:
        texts["ragged"] = shuffled(read_pairs(given.data, given.pairs, given.vocabulary))
    found = {
        "device": torch.cuda.get_device_name() if DEVICE.type == "cuda" else "CPU",
        "torch": torch.__version__,
        "floor": 0.0,
        "cases": {},
    }
    print(f"{found['device']}, torch {found['torch']}", flush=True)
    # What matters most comes first, so that a run cut short loses the least.
    runs = product(["ours", *PEERS], given.sizes, texts)
    for who, size, text in sorted(runs, key=lambda run: (run[0] != "ours", run[2] == "full")):
        name = f"{who}-{size}-{text}"
        if given.only and name not in given.only:
            continue
        found["floor"] = max(found["floor"], matrix_rate(DEVICE, torch.bfloat16))
        try:
            found["cases"][name] = measure(who, SIZES[size], texts[text], text == "full", given)
            print(Table(name, [row(name, found)]), flush=True)
        except Exception:  # one part that fails must not lose the others
            found["cases"][name] = {"failed": traceback.format_exc()}
            print(name, "failed\n", traceback.format_exc(), flush=True)
        torch._dynamo.reset()
        gc.collect()
        if DEVICE.type == "cuda":
            torch.cuda.empty_cache()
        if given.out:
            given.out.write_text(json.dumps(found, indent=1))
    print(
        Table(
            f"Training on {found['device']}, a product does {found['floor'] / 1e12:.0f} TFLOP/s",
            [row(name, found) for name, one in found["cases"].items() if "failed" not in one],
            "tokens/s are real target tokens; the floor is the rate of the product",
        )
    )


if __name__ == "__main__":
    main()
