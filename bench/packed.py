"""Packed attention on one GPU: our own kernel beside torch's `varlen_attn` and FlexAttention's masks.

    python bench/packed.py [--out packed.json] [--before OLD]

Sequences lie end to end in one row of 32,768 places, in bfloat16, heads of 64. Forward, and forward with
backward, causal and not, for sentences (log-normal lengths, as in real text), for 64 and for 1,024 tokens
each. What is timed begins with queries, keys and values as each kernel wants them and ends with their
gradients, so no projection is counted; results are compared first, and a peer that differs says so.

With `--before OLD`, a checkout of an earlier version, `train.py` (base, full rows) and `decode.py` of both
then run in turns, without their peers, each in a process of its own: about a minute each, two turns. What
they print comes one after the other, and their JSON files lie beside `--out`.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from kernel_times import PLACES, microseconds
from torch import Tensor

from regard.accelerate.attend import PackedKernel
from regard.attention import Attention, Causal, Packed, Segments

WIDTH = 64
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]  # (1, heads, places, width) each
FLAGS = {"train": ["--only", "ours-base-full"], "decode": ["--mine", "--seconds", "25"]}
CLOSE = 0.03  # of the largest number, in bfloat16


def rows_of(kind: str) -> Tensor:
    """The lengths of the sequences in one row."""
    if kind == "sentences":
        torch.manual_seed(0)
        drawn = torch.empty(PLACES).log_normal_(2.74, 0.657).ceil().clamp(2, 256).long()
        return drawn[drawn.cumsum(0) <= PLACES]
    return torch.full((PLACES // int(kind),), int(kind))


def ours(lengths: Tensor, causal: bool) -> Attend:
    """The kernel of `accelerate/triton`, by way of its form."""
    row = Segments.of(lengths, PLACES).to(torch.device("cuda"))
    packed = Packed(row, row)
    attention, form = Attention(), PackedKernel()

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        memory = attention.remember(key, value, Causal() & packed if causal else packed)
        assert form.takes(attention, query, memory, memory.mask)
        return form.attend(attention, query, memory, memory.mask)

    return attend


def varlen(lengths: Tensor, causal: bool) -> Attend:
    """FlashAttention's packed form as torch has it."""
    from torch.nn.attention.varlen import varlen_attn

    known = inspect.signature(varlen_attn).parameters
    ends = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to("cuda", torch.int32)
    longest, total = int(lengths.max()), int(lengths.sum())
    options: dict[str, Any] = {}
    if causal:
        options = {"is_causal": True} if "is_causal" in known else {"window_size": (-1, 0)}

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        flat = [one[0].transpose(0, 1)[:total] for one in (query, key, value)]
        found = varlen_attn(*flat, ends, ends, longest, longest, **options)
        return found.transpose(0, 1)[None]

    return attend


def flex(lengths: Tensor, causal: bool) -> Attend:
    """FlexAttention, compiled, with a mask that keeps each sequence to itself."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    total = int(lengths.sum())
    numbers = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    numbers = torch.nn.functional.pad(numbers, (0, PLACES - total), value=-1).to("cuda")

    def allowed(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        same = numbers[query] == numbers[key]
        return same & (query >= key) if causal else same

    blocks = torch.compile(create_block_mask)(allowed, 1, None, PLACES, PLACES, device="cuda")
    compiled = torch.compile(flex_attention)
    return lambda query, key, value: compiled(query, key, value, block_mask=blocks)


PEERS: dict[str, Callable[[Tensor, bool], Attend]] = {
    "ours": ours,
    "varlen_attn": varlen,
    "FlexAttention": flex,
}


def measured(kind: str, causal: bool, heads: int) -> dict[str, Any]:
    """Every peer on the same numbers; the first is what the others must agree with."""
    lengths = rows_of(kind)
    total = int(lengths.sum())
    torch.manual_seed(1)
    given = [
        torch.randn(1, PLACES, heads, WIDTH, device="cuda", dtype=torch.bfloat16)
        .transpose(1, 2)
        .requires_grad_()
        for _ in range(3)
    ]
    pull = torch.randn_like(given[0])[:, :, :total]
    expected, results = None, {}
    for name, make in PEERS.items():
        try:
            attend = make(lengths, causal)

            def both(attend: Attend = attend) -> tuple[Tensor, ...]:
                context = attend(*given)[:, :, :total]
                return (context, *torch.autograd.grad(context, given, pull))

            found = [one[:, :, :total].detach().float() for one in both()]
            expected = expected or found
            away = max(
                float((one - other).abs().max() / other.abs().max())
                for one, other in zip(found, expected, strict=True)
            )
            with torch.no_grad():
                forward = microseconds(partial(attend, *given))
            results[name] = {"forward_us": forward, "both_us": microseconds(both), "away": away}
        except Exception:
            traceback.print_exc()
            results[name] = {"failed": traceback.format_exc(limit=1)}
    return results


def told(title: str, results: dict[str, Any]) -> None:
    """A line a peer, with its time as a multiple of ours."""
    mine = results["ours"]
    for name, found in results.items():
        if "failed" in found:
            print(f"{title:32} {name:14} failed", flush=True)
            continue
        ratio = found["both_us"] / mine["both_us"] if "both_us" in mine else float("nan")
        wrong = "" if found["away"] < CLOSE else f"  DIFFERS by {found['away']:.3f}"
        print(
            f"{title:32} {name:14} {found['forward_us']:8.1f} us forward "
            f"{found['both_us']:8.1f} us with backward  x{ratio:.2f}{wrong}",
            flush=True,
        )


def before_and_after(old: Path, folder: Path) -> None:
    """The training and decoding benchmarks of two checkouts, in turns."""
    new = Path(__file__).parents[1]
    for turn in range(2):
        for name, side in (("old", old), ("new", new)):
            for script in ("train", "decode"):
                out = folder / f"{script}-{name}-{turn}.json"
                command = [sys.executable, str(side / "bench" / f"{script}.py"), "--out", str(out)]
                command += FLAGS[script]
                print(f"== {script}, {name}, turn {turn}", flush=True)
                path = os.pathsep.join([str(side / "src"), os.environ.get("PYTHONPATH", "")])
                environment = {**os.environ, "PYTHONPATH": path}
                subprocess.run(command, env=environment, cwd=side, check=False)


def main() -> None:
    """Kernels first, whole programs afterwards."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--before", type=Path, help="a checkout to run train.py and decode.py of")
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.heads} heads")
    results = {}
    for kind in ("sentences", "64", "1024"):
        for causal in (False, True):
            title = f"{kind}, {'causal' if causal else 'both ways'}"
            results[title] = measured(kind, causal, options.heads)
            told(title, results[title])
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    if options.before:
        before_and_after(options.before.resolve(), (options.out or Path("packed")).parent.resolve())


if __name__ == "__main__":
    main()
