"""The additive score against its floor: the rate of the special-function units, which take every tanh.

    python bench/additive.py [--out additive.json] [--tune]

Parts, each of which may fail alone: how many tanh (and reciprocals) a second the GPU gives, by a
microbenchmark; forward and forward + backward at 1,024 x 1,024 with 8 heads of 64 neurons, explicit, compiled
and fused; errors against float64; time and memory up to 16,384. On a CPU: explicit and blocked.
`--tune`, on a GPU, first tries block sizes, prints the best, which belong into `additive_launch`, and goes on
with them: a minute more.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import math
import pstats
import statistics
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.accelerate.attend import AdditiveKernel, Blocked
from regard.attention import Additive, Attention, Causal, Softmax, formula
from regard.attention.memory import Memory
from regard.measure import Ratio, Seconds, Share, Table

HEADS, WIDTH = 8, 64
Work = Callable[[], object]
Attend = Callable[[Attention, Tensor, Memory, None], Tensor]


def milliseconds(work: Work, device: str, rounds: int = 30, seconds: float = 4.0) -> float:
    """The median of one call: by CUDA events with a cold cache, or by the processor's own clock."""
    for _ in range(3):
        work()
    taken: list[float] = []
    began = time.perf_counter()
    if device != "cuda":
        while len(taken) < 3 or (len(taken) < rounds and time.perf_counter() - began < seconds):
            start = time.perf_counter()
            work()
            taken.append(1e3 * (time.perf_counter() - start))
        return statistics.median(taken)
    flush = torch.empty(1 << 26, dtype=torch.int32, device=device)
    while len(taken) < 3 or (len(taken) < rounds and time.perf_counter() - began < seconds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.zero_()
        torch.cuda._sleep(
            12_000_000
        )  # 6 ms, in which all is launched: what the GPU does is measured
        start.record()
        work()
        end.record()
        end.synchronize()
        taken.append(start.elapsed_time(end))
    return statistics.median(taken)


def called(work: Work, device: str, rounds: int = 20) -> float:
    """Seconds of one call of many in a row, launching included."""
    for round_ in range(2):
        began = time.perf_counter()
        for _ in range(rounds if round_ else 1):
            work()
        if device == "cuda":
            torch.cuda.synchronize()
    return (time.perf_counter() - began) / rounds


def peak(work: Work) -> float:
    """GiB beyond what is already held."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    work()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**30


def rates() -> dict[str, float]:
    """Results a second of each special function, in T/s: long chains in registers, all processors full."""
    from parts import special_functions

    return special_functions.measure(milliseconds)


def setting(
    length: int, dtype: torch.dtype, device: str, grad: bool
) -> tuple[Attention, Tensor, Memory, list[Tensor]]:
    attention = Attention(Additive(WIDTH, WIDTH, WIDTH, HEADS), Softmax()).to(device, dtype)
    leaves = [
        torch.randn(1, HEADS, length, WIDTH, device=device, dtype=dtype, requires_grad=grad)
        for _ in range(3)
    ]
    query, key, value = leaves
    if grad:
        leaves += attention.parameters()
    with torch.set_grad_enabled(grad):
        memory = attention.remember(key, value)
    return attention, query, memory, leaves


def works(
    attend_by: Attend, length: int, dtype: torch.dtype, device: str, compiled: bool = False
) -> tuple[Work, Work]:
    """Forward alone, and forward with backward; keys are prepared, as a memory's are."""
    attention, query, memory, _ = setting(length, dtype, device, False)
    other, asking, _, leaves = setting(length, dtype, device, True)

    def attend(attention: Attention, query: Tensor, memory: Memory) -> Tensor:
        return attend_by(attention, query, memory, None)

    read = torch.compile(attend) if compiled else attend

    def forward() -> None:
        with torch.no_grad():
            read(attention, query, memory)

    def both() -> None:
        found = read(other, asking, other.remember(leaves[1], leaves[2]))
        torch.autograd.grad(found, leaves, found.detach())

    return forward, both


def compare(device: str, floor: float | None, length: int) -> Iterator[dict[str, Any]]:
    triples = HEADS * length * length * WIDTH
    least = triples / floor / 1e12 if floor else None
    ways: list[tuple[str, Attend, torch.dtype, bool]] = [
        ("explicit", formula.context, torch.float32, False),
    ]
    if device == "cpu":
        ways.append(("blocked", Blocked().attend, torch.float32, False))
    if device == "cuda":
        ways += [
            ("explicit", formula.context, torch.bfloat16, False),
            ("explicit", formula.context, torch.float16, False),
            ("fused", AdditiveKernel().attend, torch.float32, False),
            ("fused", AdditiveKernel().attend, torch.bfloat16, False),
            ("fused", AdditiveKernel().attend, torch.float16, False),
            ("explicit, compiled", formula.context, torch.float32, True),
            ("explicit, compiled", formula.context, torch.bfloat16, True),
        ]
    base: dict[tuple[str, torch.dtype], float] = {}  # explicit, in the same precision
    for name, attend_by, dtype, compiled in ways:
        row: dict[str, Any] = {"path": name, "precision": str(dtype).removeprefix("torch.")}
        for step, work in zip(
            ("forward", "both"), works(attend_by, length, dtype, device, compiled), strict=True
        ):
            try:
                taken = milliseconds(work, device) / 1e3
                base.setdefault((step, dtype), taken)
                row[step] = Seconds(taken)
                row[f"{step} call"] = Seconds(called(work, device))
                row[f"{step} x"] = Ratio(base[step, dtype] / taken)
                if least and step == "forward":
                    row["of tanh floor"] = Share(least / taken)
                if device == "cuda":
                    row[f"{step} GiB"] = round(peak(work), 3)
            except Exception:
                traceback.print_exc()
        yield row


def errors() -> Iterator[dict[str, Any]]:
    """The largest difference to the formula in float64, context and gradients of unit size."""
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        exact = Attention(Additive(WIDTH, WIDTH, WIDTH, HEADS), Softmax()).to("cuda", dtype)
        rough = Attention(Additive(WIDTH, WIDTH, WIDTH, HEADS), Softmax()).to("cuda", dtype)
        rough.load_state_dict(exact.state_dict())
        exact.double()
        states = [torch.randn(1, HEADS, 256, WIDTH, device="cuda").to(dtype) for _ in range(3)]
        row: dict[str, Any] = {"precision": str(dtype).removeprefix("torch.")}
        reference: list[Tensor] = []
        for name, attend_by, attention in (
            ("float64", formula.context, exact),
            ("explicit", formula.context, rough),
            ("fused", AdditiveKernel().attend, rough),
        ):
            kind = attention.score.value_weight.dtype
            leaves = [one.to(kind).requires_grad_() for one in states]
            memory = attention.remember(leaves[1], leaves[2], Causal())
            context = attend_by(attention, leaves[0], memory, Causal())
            found = [context, *torch.autograd.grad(context.sum(), leaves)]
            reference = reference or found
            gaps = [
                float((one - other).abs().max() / other.abs().max())
                for one, other in zip(found, reference, strict=True)
            ]
            if name != "float64":
                row |= {f"{name} context": gaps[0], f"{name} gradients": max(gaps[1:])}
        yield row


def growth(floor: float | None) -> Iterator[dict[str, Any]]:
    for length in (1024, 2048, 4096, 8192, 16384):
        row: dict[str, Any] = {"length": length}
        for step, work in zip(
            ("forward", "both"),
            works(AdditiveKernel().attend, length, torch.bfloat16, "cuda"),
            strict=True,
        ):
            row[step] = Seconds(milliseconds(work, "cuda", 10, 2.0) / 1e3)
            row[f"{step} GiB"] = round(peak(work), 3)
        if floor:
            least = HEADS * length * length * WIDTH / floor / 1e12
            row["of tanh floor"] = Share(least / row["forward"])
        yield row


ONE = "queries", "keys", "warps", "unroll", "registers"
ALL = *ONE, "held", "neuron_registers", "fill"
Candidate = tuple[str, dict[str, int | None]]
# For each name in `additive_launch`: the step it decides, in which precision, and what else it could be.
TRIED: dict[str, tuple[str, torch.dtype, tuple[str, ...], tuple[tuple[int | None, ...], ...]]] = {
    "FORWARD": (
        "forward",
        torch.bfloat16,
        ONE,
        (
            (16, 128, 4, 2, 128),
            (16, 128, 4, 1, 128),
            (16, 64, 2, 2, 128),
            (16, 256, 8, 2, 128),
            (16, 512, 16, 2, 128),
            (16, 256, 8, 2, 112),
        ),
    ),
    "EXACT": (
        "forward",
        torch.float32,
        ONE,
        ((16, 64, 2, 2, None), (16, 64, 2, 1, None), (16, 64, 2, 2, 168), (16, 128, 4, 1, None)),
    ),
    "BACKWARD": (
        "both",
        torch.bfloat16,
        ALL,
        (
            (16, 64, 2, 1, 128, 32, None, 8),
            (16, 64, 2, 1, 128, 32, 240, 8),
            (16, 64, 2, 1, 128, 16, None, 8),
            (16, 64, 2, 1, 128, 32, None, 4),
            (16, 128, 4, 1, 128, 32, None, 8),
            (32, 64, 4, 1, 128, 32, None, 8),
        ),
    ),
}
STEPS = ("forward", "both")


def candidates() -> list[Candidate]:
    """A name of `additive_launch` and the blocks to try there."""
    return [
        (name, dict(zip(keys, row, strict=True)))
        for name, (_, _, keys, rows) in TRIED.items()
        for row in rows
    ]


@contextmanager
def using(name: str, blocks: dict[str, int | None]) -> Iterator[None]:
    """Launch with these blocks for a while."""
    from regard.accelerate.triton import additive_launch as launch

    kept = getattr(launch, name)
    setattr(launch, name, replace(kept, **blocks))
    try:
        yield
    finally:
        setattr(launch, name, kept)


def warm(candidate: Candidate) -> str:
    """Compile one candidate in a process of its own; Triton keeps the result on disk."""
    name, blocks = candidate
    step, dtype, *_ = TRIED[name]
    with using(name, blocks):
        works(AdditiveKernel().attend, 1024, dtype, "cuda")[STEPS.index(step)]()
    torch.cuda.synchronize()
    return f"{name} {blocks}"


def warm_all(seconds: float) -> None:
    """All candidates side by side, and none waited for longer than this."""
    pool = ProcessPoolExecutor(len(candidates()), mp_context=get_context("spawn"))
    pending = [pool.submit(warm, candidate) for candidate in candidates()]
    try:
        for one in as_completed(pending, timeout=seconds):
            print(one.exception() or one.result(), flush=True)
    except TimeoutError:
        print("not all candidates were compiled in time", flush=True)
    pool.shutdown(wait=False, cancel_futures=True)


def programs(work: Work) -> dict[str, float]:
    """Microseconds of one call on the GPU, by program, the longest first."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for _ in range(5):
            work()
        torch.cuda.synchronize()
    taken = {event.key[:60]: event.device_time_total / 5 for event in seen.key_averages()}
    order = sorted(taken.items(), key=lambda item: -item[1])
    return {name: round(time, 1) for name, time in order if time > 0}


def host(work: Work) -> list[str]:
    """Where Python's time goes in twenty calls that nobody waits for, the longest first."""
    work()
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(20):
        work()
    profile.disable()
    torch.cuda.synchronize()
    rows = sorted(pstats.Stats(profile).stats.items(), key=lambda item: -item[1][2])[:20]
    return [
        f"{1e6 * own / 20:7.1f} us {calls / 20:6.1f} x  {Path(file).name}:{line} {name}"
        for (file, line, name), (_, calls, own, _, _) in rows
    ]


def tune(keep: Callable[[str, Any], None], floor: float | None) -> None:
    """Try blocks and warps for the fused programs, and go on with the fastest, which is printed."""
    from regard.accelerate.triton import additive_launch as launch

    began = time.perf_counter()
    warm_all(40.0)
    print(f"compiled in {time.perf_counter() - began:.1f} s", flush=True)
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, blocks in candidates():
        step, dtype, *_ = TRIED[name]
        row: dict[str, Any] = {"blocks": blocks}
        try:
            with using(name, blocks):
                work = works(AdditiveKernel().attend, 1024, dtype, "cuda")[STEPS.index(step)]
                row["ms"] = round(milliseconds(work, "cuda", 15, 0.3), 4)
                row["programs"] = programs(work)
            if floor and step == "forward":
                row["of tanh floor"] = HEADS * 1024**2 * WIDTH / floor / 1e9 / row["ms"]
        except Exception as error:
            row["failed"] = f"{type(error).__name__}: {error}"[:200]
        print(name, row, flush=True)
        rows[name] = sorted([*rows.get(name, []), row], key=lambda one: one.get("ms", math.inf))
        keep(f"tune {name}", rows[name])
    for name, found in rows.items():
        if "failed" not in found[0]:
            setattr(launch, name, replace(getattr(launch, name), **found[0]["blocks"]))
        print(f"best: {name} = {getattr(launch, name)}", flush=True)
    spent = host(works(AdditiveKernel().attend, 1024, torch.bfloat16, "cuda")[1])
    print("Python's time in a call, forward and back:", *spent, sep="\n  ", flush=True)
    keep("host", spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--length", type=int, help="1,024 on a GPU, 256 elsewhere")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--tune", action="store_true", help="try other block sizes")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    gpu = options.device == "cuda"
    machine = torch.cuda.get_device_name() if gpu else f"CPU, {torch.get_num_threads()} threads"
    length = options.length or (1024 if gpu else 256)
    found: dict[str, Any] = {"machine": machine, "torch": torch.__version__, "length": length}

    def part(name: str, title: str, rows: Iterator[dict[str, Any]]) -> None:
        """One table, printed and kept as far as it came."""
        got: list[dict[str, Any]] = []
        try:
            for row in rows:
                got.append(row)
                keep(name, got)
                print(name, row, flush=True)
        except Exception:
            traceback.print_exc()
        if got:
            names = dict.fromkeys(key for row in got for key in row)
            print(Table(title, [{key: row.get(key) for key in names} for row in got]), flush=True)

    def keep(name: str, rows: Any) -> None:
        found[name] = rows
        if options.out:
            options.out.write_text(json.dumps(found, indent=1, default=float) + "\n")

    floor = None
    if gpu:
        try:
            found["rates"] = rates()
            floor = found["rates"].get("tanh float32")
            part(
                "units",
                f"Special functions, {machine}",
                iter(
                    {"function": name, "T/s": round(rate, 3)}
                    for name, rate in found["rates"].items()
                ),
            )
        except Exception:
            traceback.print_exc()
    if gpu and options.tune:
        try:
            tune(keep, floor)
        except Exception:
            traceback.print_exc()
    if gpu:
        part("growth", f"Growth, bfloat16, {HEADS} heads x {WIDTH}", growth(floor))
        part("errors", "Largest error against float64, of the largest value", errors())
    size = f"{length:,} x {length:,}, {HEADS} heads x {WIDTH}"
    part(
        "compare", f"Additive attention, {size}, {machine}", compare(options.device, floor, length)
    )


if __name__ == "__main__":
    main()
