"""What looking costs: a Transformer unwatched, watched, and watched with every weight read.

    python bench/looking.py [--device cpu] [--lengths 32 128 512 2048] [--out looking.json]

All variants run in one process, in turns, and the table shows ratios of medians. `plain` is the same model
whose attentions never ask whether somebody looks; it runs twice, so that the ratio of plain to plain says how
small a cost could be seen at all. Beside it stands torch's `nn.TransformerEncoder`, which cannot be watched.
"""

from __future__ import annotations

import json
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.attention import Attention, Memory, formula, watch
from regard.measure import Seconds, Table, timed
from regard.models import ModelSettings, Sizes, TagSettings, TransformerSettings, build

WIDTH, HEADS, LAYERS, INNER, VOCABULARY = 256, 4, 4, 1024, 8000


def models(device: str) -> tuple[nn.Module, nn.Module]:
    encoder = TransformerSettings(
        width=WIDTH, heads=HEADS, layers=LAYERS, feedforward=INNER, dropout=0.0
    )
    ours = build(ModelSettings(encoder=encoder, reader=TagSettings()), Sizes(VOCABULARY, labels=17))
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, 0.0, batch_first=True, norm_first=True)
    theirs = nn.Sequential(
        nn.Embedding(VOCABULARY, WIDTH),
        nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False),
        nn.Linear(WIDTH, 17),
    )
    return ours.to(device).eval(), theirs.to(device).eval()


def plain(attention: Attention, query: torch.Tensor, memory: Memory) -> torch.Tensor:
    """`Attention.forward` without the question."""
    return formula.attend(attention, query, memory.seen())


@contextmanager
def unasked() -> Iterator[None]:
    """No attention asks whether it is watched."""
    asking = Attention.forward
    Attention.forward = plain  # type: ignore[method-assign]
    try:
        yield
    finally:
        Attention.forward = asking  # type: ignore[method-assign]


def measure(ours: nn.Module, theirs: nn.Module, length: int, options: Namespace) -> dict[str, Any]:
    batch = max(1, min(8, 4096 // length))
    ids = torch.randint(VOCABULARY, (batch, length), device=options.device)

    def bare() -> None:
        with unasked():
            ours(ids)

    def watched(read: bool) -> None:
        with watch(ours) as seen:
            ours(ids)
        for path in seen if read else ():
            seen.weights(path)

    works = {
        "plain": bare,
        "plain again": bare,
        "unwatched": lambda: ours(ids),
        "watched": lambda: watched(False),
        "all read": lambda: watched(True),
        "nn.Transformer": lambda: theirs(ids),
    }
    found = timed(works, options.device, rounds=options.rounds, seconds=options.seconds)
    base = found["plain"]
    row: dict[str, Any] = {"length": length, "batch": batch, "plain": Seconds(base.median)}
    row["quartiles"] = f"{base.low / base.median:.3f}..{base.high / base.median:.3f}"
    row |= {name: f"{found[name].median / base.median:.3f}x" for name in list(works)[1:]}
    return row


@torch.inference_mode()
def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--lengths", type=int, nargs="*", default=[16, 128, 512, 2048])
    parser.add_argument("--rounds", type=int, default=201)
    parser.add_argument("--seconds", type=float, default=20.0, help="at most, for each length")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    ours, theirs = models(options.device)
    gpu = options.device == "cuda"
    machine = torch.cuda.get_device_name() if gpu else f"CPU, {torch.get_num_threads()} threads"
    rows = []
    for length in options.lengths:
        try:
            rows.append(measure(ours, theirs, length, options))
            print(rows[-1], flush=True)
        except Exception:  # one length that does not fit must not lose the others
            traceback.print_exc()
        table = Table(f"Looking: {LAYERS} layers of width {WIDTH}, {machine}", rows)
        if options.out:
            options.out.write_text(json.dumps(table.as_dict(), indent=1) + "\n")
    print(table)


if __name__ == "__main__":
    main()
