"""Our own kernels of a training step, in microseconds, against what their bytes ask for.

    python bench/kernel_times.py [--out kernels.json] [--tune]

A kernel cannot be faster than memory moves what it must read and write once; the rate of a plain copy is
measured in the same run. A product needs arithmetic besides, and stays farther above. Parts may fail alone.
`--tune` tries other block sizes; the best belong into the module that they are of.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import torch

from regard.accelerate.triton import norm_kernels, rows_kernels, segments, segments_launch
from regard.attention import Segments
from regard.measure import copy_rate

PLACES, LENGTH, SYMBOLS, CHUNK = 32_768, 64, 32_768, 4096
Work = Callable[[], object]
Part = tuple[str, float, Work]  # a name, how many bytes it must move, and the work


def microseconds(work: Work, rounds: int = 20) -> float:
    """The median of one call on the GPU, with a cold cache, launching left out."""
    for _ in range(3):
        work()
    flush, taken = torch.empty(1 << 26, dtype=torch.int32, device="cuda"), []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.zero_()
        torch.cuda._sleep(
            10_000_000
        )  # five milliseconds, in which all is launched, autograd's part too
        start.record()
        work()
        end.record()
        end.synchronize()
        taken.append(1e3 * start.elapsed_time(end))
    return statistics.median(taken)


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


def norms(width: int) -> Iterator[Part]:
    states, change, pull, beside = (draw(PLACES, width) for _ in range(4))
    weight, bias = torch.ones(width, device="cuda"), torch.zeros(width, device="cuda")
    seed, size = torch.tensor([12_345], device="cuda"), 2 * states.numel()
    _, _, mean, scale = norm_kernels.forward(states, None, weight, bias, None, 1e-5, 0.0)
    given = mean, scale, weight
    plain, drops = (None, 0.0), (seed, 0.1)
    yield (
        "norm",
        2 * size,
        lambda: norm_kernels.forward(states, None, weight, bias, None, 1e-5, 0.0),
    )
    yield (
        "norm back",
        3 * size,
        lambda: norm_kernels.backward(pull, None, states, *given, *plain, False),
    )
    yield (
        "sum, dropout, norm",
        4 * size,
        lambda: norm_kernels.forward(states, change, weight, bias, seed, 1e-5, 0.1),
    )
    yield (
        "sum, dropout, norm back",
        5 * size,
        lambda: norm_kernels.backward(pull, beside, states, *given, *drops, False),
    )
    yield (
        "sum, dropout, norm back, with a late bias",
        5 * size,
        lambda: norm_kernels.backward(pull, beside, states, *given, *drops, True),
    )


def relus(width: int) -> Iterator[Part]:
    inner, size = 4 * width, 2 * PLACES * 4 * width
    states, weight = draw(PLACES, width), draw(width, inner)
    pull, inside = draw(PLACES, inner), draw(PLACES, inner).relu()
    apart = 2 * states.numel() + 4 * size
    yield "ReLU back", 3 * size, lambda: rows_kernels.masked(pull, inside)
    yield (
        "product, then ReLU back",
        apart,
        lambda: rows_kernels.masked(states @ weight, inside),
    )


def sums(width: int) -> Iterator[Part]:
    parts = torch.randn(3, 528, width, device="cuda")
    yield "rows added up", 4 * parts.numel(), lambda: rows_kernels.add_up(parts)
    yield "rows added up by torch", 4 * parts.numel(), lambda: parts.sum(1)


def attentions(width: int) -> Iterator[Part]:
    yield from attended("attention", width, torch.full((PLACES // LENGTH,), LENGTH))


def ragged(width: int) -> Iterator[Part]:
    """Sentences as long as those of real text."""
    drawn = torch.empty(PLACES).log_normal_(2.74, 0.657).ceil().clamp(2, 256).long()
    yield from attended("ragged attention", width, drawn[drawn.cumsum(0) <= PLACES])


def attended(name: str, width: int, lengths: torch.Tensor) -> Iterator[Part]:
    heads, size = width // 64, 2 * PLACES * width
    row = Segments.of(lengths, PLACES).to(torch.device("cuda"))
    layout = row.numbers, row.tiles
    joined, pull = draw(1, PLACES, 3 * width), draw(PLACES, heads, 64)
    for causal in (True, False):
        given = row.longest, heads, causal, 0.125
        called = name if causal else f"{name}, both ways"
        context, sums = segments._within(joined, None, *layout, *given)
        kept = pull, joined, context, sums, *layout
        yield called, 4 * size, partial(segments._within, joined, None, *layout, *given)
        back = partial(segments._gradient_within, *kept, False, *given)
        yield f"{called} back", 7 * size, back
        with_bias = partial(segments._gradient_within, *kept, True, *given)
        yield f"{called} back, with bias", 7 * size, with_bias


def losses(_width: int = 0) -> Iterator[Part]:
    logits = draw(CHUNK, SYMBOLS)
    targets = torch.randint(SYMBOLS, (CHUNK,), device="cuda")
    yield (
        f"loss, {CHUNK:,} rows",
        2 * 2 * logits.numel(),
        lambda: rows_kernels.turn(logits, targets, SYMBOLS, 0.1, -100),
    )


CHOICES: list[tuple[Callable[[int], Iterator[Part]], ModuleType, dict[str, tuple[object, ...]]]] = [
    (
        norms,
        norm_kernels,
        {"BACK_TILE": (1024, 2048, 4096), "STAGES": (1, 2, 3), "PROGRAMS": (12, 16, 20)},
    ),
    (relus, rows_kernels, {"MASKED_ROWS": (8, 16), "MASKED_COLUMNS": (512,), "GROUPS": (264, 528)}),
    (
        ragged,
        segments_launch,
        {"REGISTERS": (96, 128, 168), "REGISTERS_BACK": (128, 168, 255)},
    ),
    (losses, rows_kernels, {"BLOCK": (4096, 8192, 16_384), "WARP_COLUMNS": (512,)}),
]  # fmt: skip


class Report:
    """What was measured, printed as it comes, and kept."""

    def __init__(self, rate: float, out: Path | None) -> None:
        self.rate, self.out = rate, out
        self.rows: list[dict[str, object]] = []

    def measure(self, parts: Iterator[Part], **told: object) -> None:
        try:
            for name, size, work in parts:
                taken, floor = microseconds(work), 1e6 * size / self.rate
                row = {"kernel": name, **told, "us": round(taken, 1), "floor": round(floor, 1)}
                self.rows.append(row)
                print(f"{taken:8.1f} us  floor {floor:7.1f}  {floor / taken:4.0%}  {name}  {told}")
        except Exception:
            traceback.print_exc()
            self.rows.append({**told, "failed": traceback.format_exc(limit=1)})
        if self.out:
            kept = {"device": torch.cuda.get_device_name(), "rate": self.rate, "rows": self.rows}
            self.out.write_text(json.dumps(kept, indent=1))


def tune(report: Report, width: int) -> None:
    for parts, module, choices in CHOICES:
        before = {name: getattr(module, name) for name in choices}
        for values in itertools.product(*choices.values()):
            chosen = dict(zip(choices, values, strict=True))
            for name, value in chosen.items():
                setattr(module, name, value)
            report.measure(parts(width), width=width, **chosen)
        for name, value in before.items():
            setattr(module, name, value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tune", action="store_true", help="try other block sizes")
    parser.add_argument("--widths", type=int, nargs="*", default=[512, 1024])
    given = parser.parse_args()
    report = Report(copy_rate("cuda"), given.out)
    print(f"{torch.cuda.get_device_name()}, a copy moves {report.rate / 1e12:.2f} TB/s", flush=True)
    for width in given.widths:
        if given.tune:
            tune(report, width)
            continue
        for parts in (norms, relus, attentions, ragged, sums):
            report.measure(parts(width), width=width)
    if not given.tune:
        report.measure(losses(), symbols=SYMBOLS)


if __name__ == "__main__":
    with torch.no_grad():
        main()
