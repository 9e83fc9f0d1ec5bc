"""What attention costs as the text grows: all pairs, a window, strides, sums alone, and the additive score.

    python bench/curves.py [--device cpu] [--out curves.json] [--picture docs/pictures/cost-curves.svg]

Forward, one causal text, bfloat16 on a GPU and float32 elsewhere. A curve stops where a call would take more
than `--longest` seconds or the memory does not suffice; after `--seconds` nothing is begun, which keeps the
whole within a minute on a GPU. The picture is drawn from the figures, or from an earlier `--read curves.json`
without measuring.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import torch
from additive import milliseconds, peak
from parts.chart import Curve, crossings, draw

from regard.accelerate.attend import structured_gpu
from regard.attention import (
    Additive,
    Attention,
    Causal,
    FeatureMap,
    Mask,
    Proportional,
    ScaledDot,
    Softmax,
    Strided,
    Window,
)
from regard.measure import Seconds, Table

HEADS, WIDTH = 8, 64
REACH = 255  # a window of 256 positions
KINDS: dict[str, tuple[Callable[[], Attention], Callable[[int], Mask]]] = {
    "full": (lambda: Attention(ScaledDot(), Softmax()), lambda _: Causal()),
    "window": (
        lambda: Attention(ScaledDot(), Softmax()),
        lambda _: Causal() & Window(REACH, 0),
    ),
    "strided": (
        lambda: Attention(ScaledDot(), Softmax()),
        lambda length: Causal() & Strided(2 ** math.ceil(math.log2(length) / 2)),
    ),
    "linear": (lambda: Attention(FeatureMap(), Proportional()), lambda _: Causal()),
    "additive": (
        lambda: Attention(Additive(WIDTH, WIDTH, WIDTH, HEADS), Softmax()),
        lambda _: Causal(),
    ),
}
COMPILED = ("window", "strided")  # on a GPU, for each length
FORMULAS = {
    "full": "n²",
    "window": "n·w, w = 256",
    "strided": "n·√n",
    "linear": "n",
    "additive": "n², tanh",
}


@torch.no_grad()
def measure(kind: str, length: int, device: str) -> dict[str, Any]:
    """Milliseconds and MiB of one call."""
    torch.compiler.reset()  # each length is a program of its own
    structured_gpu.kernel.cache_clear()
    make, mask = KINDS[kind]
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    attention = make().to(device, dtype).eval()
    query, key, value = torch.randn(3, 1, HEADS, length, WIDTH, device=device, dtype=dtype)
    memory = attention.remember(key, value, mask(length))

    def work() -> None:
        attention(query, memory)

    rounds = 20 if device == "cuda" else 3
    row: dict[str, Any] = {"kind": kind, "length": length}
    row["ms"] = round(milliseconds(work, device, rounds, 1.0), 4)
    if device == "cuda":
        row["MiB"] = round(1024 * peak(work), 1)
    return row


def plan(options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Every kind and length; what a GPU must compile anew for each length comes last, and longest first."""
    doublings = range((options.until // options.shortest).bit_length())
    lengths = [options.shortest << power for power in doublings]
    compiled = [kind for kind in options.kinds if kind in COMPILED and options.device == "cuda"]
    yield from ((kind, n) for kind in options.kinds if kind not in compiled for n in lengths)
    for order in (lengths[::-2], lengths[-2::-2]):
        yield from ((kind, n) for n in order for kind in compiled)


def measured(options: argparse.Namespace, keep: Callable[[list[Any]], None]) -> None:
    """A row for each of the plan that the time allowed; one that fails does not lose the others."""
    rows: list[dict[str, Any]] = []
    beyond: dict[str, float] = {}  # the length from which a kind takes too much
    end = time.perf_counter() + options.seconds
    for kind, length in plan(options):
        if length >= beyond.get(kind, math.inf) or time.perf_counter() > end:
            continue
        try:
            row = measure(kind, length, options.device)
        except Exception as error:
            beyond[kind] = length
            if not isinstance(error, torch.OutOfMemoryError):
                traceback.print_exc()
            print(f"{kind} at {length}: {type(error).__name__}", flush=True)
            continue
        finally:
            if options.device == "cuda":
                torch.cuda.empty_cache()
        print(row, flush=True)
        if row["ms"] * 4 > 1e3 * options.longest:
            beyond[kind] = min(beyond.get(kind, math.inf), 2 * length)
        order = list(KINDS)
        rows = sorted([*rows, row], key=lambda one: (order.index(one["kind"]), one["length"]))
        keep(rows)


def main() -> None:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if gpu else "cpu")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--shortest", type=int, default=256)
    parser.add_argument("--until", type=int, default=32_768 if gpu else 4096)
    parser.add_argument("--longest", type=float, default=2.0, help="seconds a call may take")
    parser.add_argument(
        "--seconds",
        type=float,
        default=45.0 if gpu else math.inf,
        help="after which nothing is begun",
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=Path, help="draw these figures instead of measuring")
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    if options.read:
        found = json.loads(options.read.read_text())
    else:
        machine = (
            torch.cuda.get_device_name()
            if options.device == "cuda"
            else f"{torch.get_num_threads()} CPU threads"
        )
        found = {"machine": machine, "torch": torch.__version__, "date": date.today().isoformat()}

        def keep(rows: list[Any]) -> None:
            found["rows"] = rows
            if options.out:
                options.out.write_text(json.dumps(found, indent=1) + "\n")

        keep([])
        measured(options, keep)
    curves = [
        Curve(
            kind,
            FORMULAS[kind],
            [(r["length"], r["ms"]) for r in found["rows"] if r["kind"] == kind],
        )
        for kind in KINDS
        if any(row["kind"] == kind for row in found["rows"])
    ]
    lengths = sorted({row["length"] for row in found["rows"]})
    table = [
        {"length": n}
        | {
            c.name: Seconds(dict(c.points)[n] / 1e3) if n in dict(c.points) else None
            for c in curves
        }
        for n in lengths
    ]
    print(
        Table(
            f"Cost of one call against length, {HEADS} heads x {WIDTH}, {found['machine']}", table
        )
    )
    slopes = [{"kind": c.name, "formula": c.formula, "slope": round(c.slope, 2)} for c in curves]
    print(Table("Slope over the last three lengths: 1 = as the length, 2 = as its square", slopes))
    for one, other, where in crossings(curves):
        print(f"{one} becomes cheaper than {other} at {where:,.0f} positions")
    if options.picture:
        about = found["machine"], f"torch {found['torch']}", found["date"]
        told = ", ".join([f"{HEADS} heads of {WIDTH}, forward", *about])
        options.picture.write_text(draw(curves, "Cost of attention against length", told))


if __name__ == "__main__":
    main()
