"""One attention: every way to work it out, beside torch's own kernels and the matrix product's rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from regard.attention import (
    Additive,
    Attention,
    FeatureMap,
    Hard,
    Heads,
    Proportional,
    ScaledDot,
    Softmax,
    Window,
    watch,
)
from regard.measure.figures import Cell, Ratio, Seconds, Share, Table
from regard.measure.instruments import Timing, Work, timed
from regard.measure.scene import Scene, TorchTransformer

HEADS, WIDTH = 8, 64
REACH = 64  # of the window
TORCH = "torch, fused"
SLOW = 256  # on a processor, more additive scores than this squared would take the whole time


def attention(scene: Scene, rate: float) -> Iterator[Table]:
    """The ways over growing lengths, then all of multi-head attention beside `nn.MultiheadAttention`."""
    lengths = (128, 512) if scene.quick else (128, 512, 2048)
    rows: list[dict[str, Cell]] = []
    with torch.inference_mode():
        for length in lengths:
            times = timed(
                _ways(scene, length),
                scene.device,
                rounds=scene.rounds,
                warmup=1,
                seconds=scene.seconds,
            )
            rows += way_rows(length, times, rate)
        yield Table(
            f"Attention forward: {HEADS} heads of {WIDTH}, one sequence, {scene.device.type}",
            rows,
            "x torch is the time of torch's fused kernel over ours (more is faster); of the floor is the "
            "share of the measured matrix-product rate, for the two products that full attention needs.",
        )
        yield _heads(scene)


def way_rows(length: int, times: dict[str, Timing], rate: float) -> list[dict[str, Cell]]:
    """One row a way: its time, and its ratios to torch's kernel and to the floor."""
    work = 4 * HEADS * WIDTH * length**2
    full = {TORCH, "scaled dot", "written out"}
    return [
        {
            "length": length,
            "way": name,
            "time": Seconds(timing.median),
            "x torch": Ratio(times[TORCH].median / timing.median),
            "of the floor": Share(work / timing.median / rate) if name in full else None,
        }
        for name, timing in times.items()
    ]


def _ways(scene: Scene, length: int) -> dict[str, Work]:
    torch.manual_seed(1)
    query, key, value = (
        torch.randn(1, HEADS, length, WIDTH, device=scene.device, dtype=scene.kind)
        for _ in range(3)
    )

    def ours(attention: Attention, mask: Any = None) -> Work:
        attention = attention.to(scene.device, scene.kind).eval()
        memory = attention.remember(key, value, mask)
        return lambda: attention(query, memory)

    def written_out() -> torch.Tensor:
        return (query @ key.mT / WIDTH**0.5).softmax(-1) @ value

    ways: dict[str, Work] = {
        TORCH: lambda: F.scaled_dot_product_attention(query, key, value),
        "written out": written_out,
        "scaled dot": ours(Attention(ScaledDot(), Softmax())),
        f"window of {REACH}": ours(
            Attention(ScaledDot(), Softmax()), Window(REACH // 2, REACH // 2)
        ),
        "scaled dot, hard": ours(Attention(ScaledDot(), Hard())),
        "linear": ours(Attention(FeatureMap(), Proportional())),
    }
    if scene.on_gpu or length <= SLOW:
        additive = Additive(WIDTH, WIDTH, WIDTH, num_heads=HEADS)
        ways["additive"] = ours(Attention(additive, Softmax()))
        ways["additive, hard"] = ours(Attention(additive, Hard()))
    return ways


def _heads(scene: Scene) -> Table:
    """Multi-head attention as a layer: 8 rows of 128, projections and all."""
    width, heads = scene.width, scene.heads
    states = torch.randn(8, 128, width, device=scene.device, dtype=scene.kind)
    ours = Heads(width, heads, Attention(ScaledDot(), Softmax())).to(scene.device, scene.kind)
    theirs = nn.MultiheadAttention(width, heads, batch_first=True).to(scene.device, scene.kind)
    ours.eval()
    theirs.eval()

    def looked() -> None:
        with watch(ours) as seen:
            ours.within(states)
        for path in seen:
            seen.weights(path)

    works: dict[str, Work] = {
        "nn.MultiheadAttention": lambda: theirs(states, states, states, need_weights=False),
        "regard": lambda: ours.within(states),
        "nn.MultiheadAttention, weights": lambda: theirs(
            states, states, states, need_weights=True, average_attn_weights=False
        ),
        "regard, watched, weights": looked,
    }
    times = timed(works, scene.device, rounds=scene.rounds, seconds=scene.seconds)
    base = times["nn.MultiheadAttention"].median
    rows: list[dict[str, Cell]] = [
        {"layer": name, "time": Seconds(one.median), "x torch": Ratio(base / one.median)}
        for name, one in times.items()
    ]
    return Table(f"Multi-head attention: 8 rows of 128, width {width}, {heads} heads", rows)


# What looking costs: a model unwatched, watched, and watched with every weight read.

ROWS = 8
UNWATCHED = "unwatched"


def looking(scene: Scene) -> Iterator[Table]:
    """An encoder over growing lengths, beside torch's, which cannot be looked into."""
    encoder, peer = scene.model("transformer").encoder, TorchTransformer(scene)
    assert encoder is not None
    encoder.eval()
    peer.eval()
    rows: list[dict[str, Cell]] = []
    with torch.inference_mode(), scene.precision():
        for length in (32, 128) if scene.quick else (32, 128, 512):
            ids = torch.randint(3, scene.symbols, (ROWS, length), device=scene.device)

            def watched(read: bool, ids: torch.Tensor = ids) -> None:
                with watch(encoder) as seen:
                    encoder(ids, None)
                for path in seen if read else ():
                    seen.weights(path)

            works: dict[str, Work] = {
                UNWATCHED: lambda ids=ids: encoder(ids, None),  # type: ignore[misc]
                "watched": lambda: watched(False),
                "all weights read": lambda: watched(True),
                "nn.Transformer": lambda ids=ids: peer.encode(ids),  # type: ignore[misc]
            }
            times = timed(works, scene.device, rounds=scene.rounds, seconds=scene.seconds)
            rows.append(looking_row(length, times))
    yield Table(
        f"Looking: {scene.layers} layers of width {scene.width}, {ROWS} rows, {scene.device.type}",
        rows,
        "x is how many times the unwatched model's time.",
    )


def looking_row(length: int, times: dict[str, Timing]) -> dict[str, Cell]:
    """One length: the unwatched model's time, and how many times that the others took."""
    base = times[UNWATCHED].median
    others = {name: Ratio(one.median / base) for name, one in times.items() if name != UNWATCHED}
    return {"length": length, UNWATCHED: Seconds(base), **others}
