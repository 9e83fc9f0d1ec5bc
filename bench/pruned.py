"""What removed heads buy on a CPU: a base Transformer beside itself with fewer heads, same weights otherwise.

    python bench/pruned.py [--rounds 5] [--threads 1] [--keep 2] [--cross 8]

6 + 6 layers of width 512 with 8 heads of 64; the smaller one keeps `--keep` heads of self-attention in each
layer and `--cross` between encoder and decoder (Voita 2019 prunes the encoder to a fifth).
Both take turns, so that a busy machine is busy for both; figures are CPU-seconds, the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch

from regard.models import Model, ModelSettings, Sizes, build, count_parameters

SOURCE, TARGET, VOCABULARY = 32, 32, 16000


def model_of(heads: int, cross: int) -> Model:
    """Random weights; only how many heads there are matters here."""
    stack = {"kind": "transformer", "width": 512, "layers": 6, "key_width": 64, "feedforward": 2048}
    settings = ModelSettings.model_validate(
        {
            "encoder": {**stack, "heads": heads},
            "reader": {**stack, "heads": heads, "cross_heads": cross},
        }
    )
    torch.manual_seed(0)
    return build(settings, Sizes(source=VOCABULARY, target=VOCABULARY, shared=True)).eval()


@torch.inference_mode()
def encode(model: Model, batch: int) -> None:
    """The encoder alone."""
    model.encode(torch.randint(4, VOCABULARY, (batch, SOURCE)))


@torch.inference_mode()
def decode(model: Model, batch: int) -> None:
    """The encoder, then so many steps of the decoder."""
    encoded = model.encode(torch.randint(4, VOCABULARY, (batch, SOURCE)))
    state = model.decoder.start(encoded, TARGET)
    tokens = torch.ones(batch, dtype=torch.long)
    for _ in range(TARGET):
        logits, state = model.decoder.step(state, tokens)
        tokens = logits.argmax(-1)


def seconds(work: Callable[[Model, int], None], model: Model, batch: int) -> float:
    """CPU time of all threads."""
    start = time.process_time()
    work(model, batch)
    return time.process_time() - start


def main() -> None:
    """Each case in turns."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keep", type=int, default=2)
    parser.add_argument("--cross", type=int, default=8)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    models = {"whole": model_of(8, 8), "pruned": model_of(given.keep, given.cross)}
    found: dict[str, object] = {n: f"{count_parameters(m) / 1e6:.1f}M" for n, m in models.items()}
    for name, work, batch in (
        ("encode 16", encode, 16),
        ("decode 1", decode, 1),
        ("decode 16", decode, 16),
    ):
        times: dict[str, list[float]] = {one: [] for one in models}
        for number in range(given.rounds + 1):
            for one, model in models.items():
                spent = seconds(work, model, batch)
                if number:  # the first warms up
                    times[one].append(spent)
        middle = {one: statistics.median(own) for one, own in times.items()}
        found[name] = {**{one: round(value, 3) for one, value in middle.items()},
                       "faster": round(middle["whole"] / middle["pruned"], 2)}  # fmt: skip
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
