"""What looking costs: a Transformer unwatched, watched, and watched with every weight read.

    python bench/looking.py [--device cpu] [--lengths 32 128 512]

All variants run in one process, in turns, and the table shows ratios of medians to the unwatched model.
Beside it stands torch's own `nn.TransformerEncoder` of the same size, which cannot be looked into.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn

from regard.attention import watch
from regard.measure import Ratio, Seconds, Table, timed
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


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--lengths", type=int, nargs="*", default=[32, 128, 512])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    ours, theirs = models(options.device)
    rows = []
    for length in options.lengths:
        ids = torch.randint(VOCABULARY, (8, length), device=options.device)

        def watched(read: bool, ids: torch.Tensor = ids) -> None:
            with watch(ours) as seen:
                ours(ids)
            for path in seen if read else ():
                seen.weights(path)

        found = timed(
            {
                "unwatched": lambda ids=ids: ours(ids),
                "watched": lambda: watched(False),
                "all read": lambda: watched(True),
                "nn.Transformer": lambda ids=ids: theirs(ids),
            },
            options.device,
            rounds=options.rounds,
        )
        base = found.pop("unwatched").median
        ratios = {name: Ratio(timing.median / base) for name, timing in found.items()}
        rows.append({"length": length, "unwatched": Seconds(base), **ratios})
    about = f"{LAYERS} layers of width {WIDTH}, batch 8, {options.device}"
    print(Table(f"Looking: {about}, {torch.get_num_threads()} threads", rows))


if __name__ == "__main__":
    main()
