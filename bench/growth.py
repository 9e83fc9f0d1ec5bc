"""What more costs: time and memory against corpus size, planned rows, sequence length, beam and batch.

    python bench/growth.py [corpus plan length beam batch] [--lines 1000000 10000000] [--device cpu]
                           [--folder FOLDER] [--out growth.json]

A corpus is two files of synthetic sentences, written first. Each stage of preparing it runs in a process of
its own, as `regard train` would run it. Memory is what that process held by itself; pages of mapped files
belong to the system, which takes them back when it likes, and are in the column after it. Processor time is
that of all threads. Constant memory means: the same column for 1 and for 10 million lines.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

LINES = [1_000_000, 10_000_000]
ROWS = [1_000_000, 10_000_000, 100_000_000]
BLOCK = 100_000
WORDS = 50_000
STAGES = ["survey", "vocabulary", "encode", "read"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ["corpus", "plan", "length", "beam", "batch"]
    parser.add_argument("parts", nargs="*", help="all, if none is named: " + " ".join(parts))
    parser.add_argument("--lines", type=int, nargs="*", default=LINES)
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--folder", type=Path, default=None, help="where corpora are written")
    parser.add_argument("--keep", action="store_true", help="leave the corpora there")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--stage", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage is not None:
        print(json.dumps(measured(options.stage, options.folder, options.rows[0])))
        return
    from regard.measure import Table

    found: list[dict[str, Any]] = []

    def tell(table: Table) -> None:
        print(table, flush=True)
        found.append(table.as_dict())
        if options.out is not None:
            options.out.write_text(json.dumps(found, indent=1))

    for part in options.parts or parts:
        try:
            match part:
                case "corpus":
                    corpus(options, tell)
                case "plan":
                    plan(options, tell)
                case "length":
                    length(options.device, tell)
                case "beam":
                    beam(options.device, tell)
                case "batch":
                    batch(options.device, tell)
                case _:
                    raise ValueError(f"the parts are {', '.join(parts)}")
        except Exception as fault:  # the other parts' figures are not lost
            print(f"{part}: FAILED {type(fault).__name__}: {fault}", flush=True)


# Corpus size


def corpus(options: argparse.Namespace, tell: Callable[[Any], None]) -> None:
    from regard.measure import Table

    home = options.folder or Path(tempfile.mkdtemp(prefix="growth-"))
    rows = []
    for lines in options.lines:
        folder = home / str(lines)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_corpus(folder, lines)
            for stage in STAGES:
                rows.append(
                    {"lines": lines, "stage": stage, **shown(run(stage, folder, lines), lines)}
                )
                print(f"{lines:,} lines, {stage}: {rows[-1]}", file=sys.stderr, flush=True)
        finally:
            if not options.keep:
                shutil.rmtree(folder, ignore_errors=True)
    tell(Table("Preparing a corpus", rows, "us/line is processor time, all threads together"))


def plan(options: argparse.Namespace, tell: Callable[[Any], None]) -> None:
    from regard.measure import Table

    rows = []
    for stage in ("plan", "packed plan"):
        for count in options.rows:
            home = options.folder or Path(tempfile.mkdtemp(prefix="growth-"))
            path = home / f"lengths-{count}.bin"
            try:
                write_lengths(path, count)
                rows.append(
                    {"rows": count, "stage": stage, **shown(run(stage, home, count), count)}
                )
            finally:
                path.unlink(missing_ok=True)
    tell(Table("Which rows form which batch", rows))


def run(stage: str, folder: Path, rows: int) -> dict[str, Any]:
    """A stage in a process of its own."""
    command = [
        sys.executable,
        __file__,
        "--stage",
        stage,
        "--folder",
        str(folder),
        "--rows",
        str(rows),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.strip().split("\n")[-1])


def shown(figures: dict[str, Any], lines: int) -> dict[str, Any]:
    from regard.measure import Bytes, Seconds

    return {
        "time": Seconds(figures["seconds"]),
        "processor": Seconds(figures["processor"]),
        "us/line": figures["processor"] / lines * 1e6,
        "memory": Bytes(figures["memory"]),
        "with maps": Bytes(figures["resident"]),
        **figures.get("more", {}),
    }


def measured(stage: str, folder: Path, rows: int) -> dict[str, Any]:
    """Time, processor time and memory of one stage, imports left out."""
    from regard.measure import Memory, peak_memory

    work = {
        "survey": survey,
        "vocabulary": vocabulary,
        "encode": encode,
        "read": read,
        "plan": plan_rows,
        "packed plan": plan_packed,
    }[stage]
    prepare(stage)
    began, processor = time.perf_counter(), time.process_time()
    with Memory() as memory:
        more = work(folder, rows)
    return {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - processor,
        "memory": memory.peak,
        "resident": peak_memory(),
        "more": more or {},
    }


def prepare(stage: str) -> None:
    """What a stage imports is not its cost."""
    import regard.data.batches
    import regard.data.check
    import regard.data.packing
    import regard.data.source

    if stage in ("vocabulary", "encode", "read"):
        import regard.run.folder
        import regard.training.feed  # noqa: F401


def settings(folder: Path) -> Any:
    from regard.run.resolve import resolve

    train = [folder / "train.en", folder / "train.de"]
    return resolve(name="vaswani2017-tiny", train=train, changes=["text.vocabulary=8000"])


def survey(folder: Path, _rows: int) -> None:
    from regard.data.check import examine
    from regard.data.source import understand

    examine(understand([folder / "train.en", folder / "train.de"]))


def vocabulary(folder: Path, _rows: int) -> None:
    from regard.run import folder as run_folder
    from regard.run.corpus import Corpus

    chosen = settings(folder)
    (folder / "run").mkdir(exist_ok=True)
    run_folder._task(folder / "run", chosen, Corpus.of(chosen.data, chosen.task), lambda *_: None)


def encode(folder: Path, _rows: int) -> None:
    from regard.run.corpus import Corpus
    from regard.run.folder import Run
    from regard.run.load import read_task

    chosen = settings(folder)
    run = Run(folder / "run", chosen, read_task(folder / "run" / "tokenizer.json", chosen.task))
    run._store_corpus(Corpus.of(chosen.data, chosen.task), "train", lambda *_: None)


def read(folder: Path, _rows: int) -> dict[str, Any]:
    """A thousand batches as training takes them."""
    import torch

    from regard.run.folder import Run
    from regard.run.load import read_task
    from regard.training.feed import Feed, Position
    from regard.training.world import World

    chosen = settings(folder)
    run = Run(folder / "run", chosen, read_task(folder / "run" / "tokenizer.json", chosen.task))
    began = time.perf_counter()
    feed = Feed(run.task, run.store("train"), chosen.batch, 1, World(0, 1, torch.device("cpu")))
    turns = feed.turns(Position(), 1, workers=2)
    next(turns)
    first = time.perf_counter() - began
    places = sum(sum(piece.tokens for piece in turn.pieces) for turn in islice(turns, 999))
    taken = time.perf_counter() - began - first
    turns.close()
    return {"first batch": round(first, 3), "places/s": round(places / taken)}


# Plans of many rows


def write_lengths(path: Path, count: int) -> None:
    random = np.random.default_rng(1)
    with path.open("wb") as file:
        for start in range(0, count, 1 << 20):
            size = min(1 << 20, count - start)
            lengths = np.clip(random.lognormal(2.8, 0.6, size), 1, 300).astype("<i4")
            lengths.tofile(file)


def plan_rows(folder: Path, rows: int) -> dict[str, Any]:
    from regard.data.batches import BatchSettings, PaddedPlan

    return _planned(PaddedPlan, folder, rows, BatchSettings(tokens=4096, max_length=256))


def plan_packed(folder: Path, rows: int) -> dict[str, Any]:
    from regard.data.batches import BatchSettings
    from regard.data.packing import PackedPlan

    return _planned(
        PackedPlan, folder, rows, BatchSettings(tokens=4096, max_length=256, packed=True)
    )


def _planned(kind: Any, folder: Path, rows: int, chosen: Any) -> dict[str, Any]:
    lengths = np.asarray(np.memmap(folder / f"lengths-{rows}.bin", "<i4", "r"))
    began = time.perf_counter()
    plan = kind(lengths, lengths, chosen, seed=1)
    made = time.perf_counter() - began
    next(iter(plan.epoch(0)))
    first = time.perf_counter() - began - made
    epoch = plan.epoch(1)
    count = len(epoch)
    counted = time.perf_counter() - began - made - first
    next(epoch.batches(count - 2))
    return {
        "to plan": round(made, 3),
        "first batch": round(first, 3),
        "count an epoch": round(counted, 3),
        "batches": count,
    }


# Sentences that look like language: words by Zipf's law, a translation word by word


def write_corpus(folder: Path, lines: int) -> None:
    if all((folder / name).is_file() for name in ("train.en", "train.de", "done")):
        return
    random = np.random.default_rng(7)
    source, target = (
        words(random, "bdfgklmnprstv", "aeiou"),
        words(random, "bdgkmnrszw", "aeiouäöü"),
    )
    with (
        (folder / "train.en").open("w", encoding="utf-8") as english,
        (folder / "train.de").open("w", encoding="utf-8") as german,
    ):
        for start in range(0, lines, BLOCK):
            for one, other in sentences(random, source, target, min(BLOCK, lines - start)):
                english.write(one)
                german.write(other)
    (folder / "done").touch()


def words(random: np.random.Generator, consonants: str, vowels: str) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < WORDS:
        syllables = random.integers(1, 5)
        letters = (
            consonants[random.integers(len(consonants))] + vowels[random.integers(len(vowels))]
            for _ in range(syllables)
        )
        found["".join(letters)] = None
    return sorted(found, key=len)


def sentences(
    random: np.random.Generator, source: list[str], target: list[str], count: int
) -> Iterator[tuple[str, str]]:
    sizes = random.integers(2, 8, count)
    # Zipf's law with exponent 1: the rank is exponential in a uniform number.
    ranks = (WORDS ** random.random(int(sizes.sum()))).astype(int).tolist()
    place = 0
    for size in sizes.tolist():
        chosen = ranks[place : place + size]
        place += size
        yield (
            " ".join([source[rank] for rank in chosen]) + ".\n",
            " ".join([target[rank] for rank in chosen]) + ".\n",
        )


# Models


def small(device: str) -> Any:
    import torch

    from regard.models import (
        ModelSettings,
        Sizes,
        TransformerReaderSettings,
        TransformerSettings,
        build,
    )

    torch.manual_seed(1)
    blocks = {
        "width": 256,
        "layers": 3,
        "heads": 4,
        "feedforward": 1024,
        "dropout": 0.0,
        "max_length": 8192,
    }
    chosen = ModelSettings(
        encoder=TransformerSettings(**blocks), reader=TransformerReaderSettings(**blocks)
    )
    return build(chosen, Sizes(8000, 8000, begin=1, end=2, shared=True)).to(device)


def cost(work: Callable[[], None], device: str) -> float:
    """Seconds of a call: on a processor its time in all threads, which others' work does not change."""
    from regard.measure import timed

    if device != "cpu":
        return timed({"": work}, device, rounds=5, warmup=0, seconds=20)[""].median
    began = time.process_time()
    for _ in range(3):
        work()
    return (time.process_time() - began) / 3


def held(name: str, peak: int, device: str) -> dict[str, Any]:
    """A processor's memory is not given back between rows, and would say nothing."""
    from regard.measure import Bytes

    return {} if device == "cpu" else {name: Bytes(peak)}


def title(name: str, device: str) -> str:
    return f"{name}, {device}" + (" (processor time)" if device == "cpu" else "")


def length(device: str, tell: Callable[[Any], None]) -> None:
    """The same tokens in ever longer rows: attention grows with the length, the rest does not."""
    import torch

    from regard.measure import Memory, Ratio, Seconds, Table
    from regard.models.readers import summed_loss

    model, rows, base = small(device), [], None
    tokens = 1024 if device == "cpu" else 4096
    try:
        for size in (32 << power for power in range((tokens // 32).bit_length())):
            ids = torch.randint(3, 8000, (tokens // size, size), device=device)

            def step(ids: torch.Tensor = ids) -> None:
                model.zero_grad(set_to_none=True)
                summed_loss(model(ids, None, ids), ids, 0.1).backward()

            step()
            with Memory(device) as memory:
                step()
            taken = cost(step, device)
            base = base or taken
            rows.append(
                {
                    "length": size,
                    "rows": len(ids),
                    "step": Seconds(taken),
                    "times the first": Ratio(taken / base),
                    **held("memory", memory.peak, device),
                }
            )
    finally:  # what was measured is told, whatever came after
        tell(Table(title(f"A training step on {tokens:,} tokens", device), rows))


def beam(device: str, tell: Callable[[Any], None]) -> None:
    """Sixteen sentences, 32 forced symbols each."""
    import torch

    from regard.decode import DecodeSettings, search
    from regard.measure import Memory, Ratio, Seconds, Table

    model, rows, base = small(device).eval(), [], None
    ids = torch.randint(3, 8000, (16, 24), device=device)
    try:
        with torch.inference_mode():
            encoded = model.encode(ids, None)
            for width in (1, 2, 4, 8, 16):
                chosen = DecodeSettings(beam=width, min_length=32, max_length=32)

                def work(chosen: DecodeSettings = chosen) -> None:
                    search(model.decoder, encoded, chosen)

                work()
                with Memory(device) as memory:
                    work()
                taken = cost(work, device)
                base = base or taken
                rows.append(
                    {
                        "beam": width,
                        "search": Seconds(taken),
                        "times greedy": Ratio(taken / base),
                        "times a beam": Ratio(taken / base / width),
                        **held("memory", memory.peak, device),
                    }
                )
    finally:  # what was measured is told, whatever came after
        tell(Table(title("Decoding 16 sentences to 32 symbols", device), rows))


def batch(device: str, tell: Callable[[Any], None]) -> None:
    """Beam 4 to 32 symbols, and a training step on rows of 32, for ever more rows."""
    import torch

    from regard.decode import DecodeSettings, search
    from regard.measure import Memory, Seconds, Table
    from regard.models.readers import summed_loss

    model, rows = small(device), []
    chosen = DecodeSettings(beam=4, min_length=32, max_length=32)
    try:
        for size in (1, 8, 32) if device == "cpu" else (1, 8, 32, 128, 512):
            ids = torch.randint(3, 8000, (size, 32), device=device)

            def train(ids: torch.Tensor = ids) -> None:
                model.train().zero_grad(set_to_none=True)
                summed_loss(model(ids, None, ids), ids, 0.1).backward()

            @torch.inference_mode()
            def decode(ids: torch.Tensor = ids) -> None:
                model.eval()
                search(model.decoder, model.encode(ids, None), chosen)

            row: dict[str, Any] = {"rows": size}
            for name, work in (("training", train), ("decoding", decode)):
                work()
                with Memory(device) as memory:
                    work()
                taken = cost(work, device)
                row |= {
                    name: Seconds(taken),
                    f"{name} symbols/s": 32 * size / taken,
                    **held(f"{name} memory", memory.peak, device),
                }
            rows.append(row)
    finally:  # what was measured is told, whatever came after
        tell(Table(title("Rows at a time", device), rows))


if __name__ == "__main__":
    main()
