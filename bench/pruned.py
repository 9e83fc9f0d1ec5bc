"""What removed heads buy: a base Transformer beside itself with fewer heads, same weights otherwise.

    python bench/pruned.py [--rounds 5] [--threads 1] [--keep 2] [--cross 8]
    python bench/pruned.py --runs WHOLE PRUNED --lines TEXT [--length N] [--device cuda] [--json OUT]

6 + 6 layers of width 512 with 8 heads of 64; the smaller one keeps `--keep` heads of self-attention in each
layer and `--cross` between encoder and decoder (Voita 2019 prunes the encoder to a fifth).
Both take turns, so that a busy machine is busy for both; figures are CPU-seconds, the median of the rounds.

With `--runs` they are trained runs that answer lines of text in the forms that people get: on a CPU packed in
float32 and int8, on a GPU recorded in bfloat16. There figures are seconds a thousand symbols said, since two
models do not say the same; CPU-seconds on a CPU, seconds on the clock on a GPU. A model that was not trained
on may never end its answers, and long ones cost more a symbol: `--length` gives every answer so many symbols.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from regard.answer.predictor import Predictor
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


def answering(given: argparse.Namespace) -> dict[str, Any]:
    """Trained runs on lines of text, in every form that answers for a user."""
    lines = given.lines.read_text("utf-8").splitlines()[: given.most]
    on_gpu = given.device != "cpu"
    forms = [("bfloat16", "stored")] if on_gpu else [("float32", "float32"), ("float32", "int8")]
    found: dict[str, Any] = {"device": given.device, "lines": len(lines)}
    for precision, weights in forms:
        models = {
            name: Predictor.load(
                run, given.device, precision=precision, weights=weights, batch_tokens=1 << 16
            )
            for name, run in zip(("whole", "pruned"), given.runs, strict=True)
        }
        for batch, beam in ((1, 1), (1, 5), (32, 1), (32, 5)):
            some = lines if batch > 1 else lines[: max(1, len(lines) // 8)]
            parts = [some[n : n + batch] for n in range(0, len(some), batch)]
            name = (
                f"{precision if weights == 'stored' else weights}, {batch} at a time, beam {beam}"
            )
            found[name] = _in_turns(models, parts, beam, given, on_gpu=on_gpu)
            print(name, found[name], flush=True)
    return found


def _in_turns(
    models: dict[str, Predictor],
    parts: list[list[str]],
    beam: int,
    given: argparse.Namespace,
    *,
    on_gpu: bool,
) -> dict[str, float]:
    clock = time.perf_counter if on_gpu else time.process_time
    times: dict[str, list[float]] = {name: [] for name in models}
    length = {"max_length": given.length, "min_length": given.length} if given.length else {}
    for number in range(given.rounds + 1):
        for name, model in models.items():
            decode = model.run.settings.decode.model_copy(update={"beam": beam, **length})
            start, said = clock(), 0
            for part in parts:
                answers = model.predict(part, decode=decode)
                said += sum(len(answer.ids) + 1 for answer in answers)
            if number:  # the first warms up: shapes are recorded
                times[name].append((clock() - start) / said * 1000)
    middle = {name: statistics.median(own) for name, own in times.items()}
    faster = middle["whole"] / middle["pruned"]
    return {**{name: round(value, 4) for name, value in middle.items()}, "faster": round(faster, 2)}


def main() -> None:
    """Each case in turns."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keep", type=int, default=2)
    parser.add_argument("--cross", type=int, default=8)
    parser.add_argument("--runs", type=Path, nargs=2, metavar=("WHOLE", "PRUNED"))
    parser.add_argument("--lines", type=Path, help="text that the runs answer")
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--length", type=int, help="symbols of every answer")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.runs:
        found = answering(given)
    else:
        found = random_weights(given)
        print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


def random_weights(given: argparse.Namespace) -> dict[str, object]:
    """Two models nobody trained: how many heads they have is all that matters here."""
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
    return found


if __name__ == "__main__":
    main()
