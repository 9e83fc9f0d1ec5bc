"""What looking costs: a model unwatched, watched, and watched with every weight read."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from regard.attention import watch
from regard.measure.clock import Timing, Work, timed
from regard.measure.peer import TorchTransformer
from regard.measure.scene import Scene
from regard.measure.table import Cell, Ratio, Seconds, Table

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
            found = timed(works, scene.device, rounds=scene.rounds, seconds=scene.seconds)
            rows.append(looking_row(length, found))
    yield Table(
        f"Looking: {scene.layers} layers of width {scene.width}, {ROWS} rows, {scene.device.type}",
        rows,
        "x is how many times the unwatched model's time.",
    )


def looking_row(length: int, found: dict[str, Timing]) -> dict[str, Cell]:
    """One length: the unwatched model's time, and how many times that the others took."""
    base = found[UNWATCHED].median
    others = {name: Ratio(one.median / base) for name, one in found.items() if name != UNWATCHED}
    return {"length": length, UNWATCHED: Seconds(base), **others}
