"""A Marian model (OPUS-MT) in transformers and as an imported run, on the same lines, with the same beam.

    regard models import FOLDER RUN
    python bench/imported.py FOLDER RUN LINES [--most 20] [--batch 1] [--beam 4] [--threads 2] [--int8]
    python bench/imported.py FOLDER RUN LINES --device cuda --precision bfloat16 --batch 64

`--batch` lines at a time and in turns. Figures are CPU-seconds of all threads and seconds on the clock;
`same` is how many lines got the same translation. `--forced N` lets both say exactly N symbols, for weights
that say nothing sensible: `--random` fills FOLDER, which then needs no weights, with random ones, and imports
it as RUN. It needs `regard[hf]`, and sentencepiece for its tokenizer.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers

from regard.answer.predictor import Predictor


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it gave, CPU-seconds, and seconds on the clock."""
    cpu, clock = time.process_time(), time.perf_counter()
    found = work()
    return found, time.process_time() - cpu, time.perf_counter() - clock


def made_up(folder: Path, run: Path) -> None:
    """Random weights for a folder that has a configuration and a vocabulary, and the run of it."""
    from regard.interop.importing import bring_in

    torch.manual_seed(0)
    config = transformers.MarianConfig.from_pretrained(folder)
    transformers.MarianMTModel(config).save_pretrained(folder)
    if not run.exists():
        bring_in(folder, run)


class Theirs:
    """`generate` of transformers, as its users call it."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(given.folder)
        kind = getattr(torch, given.precision)
        self.model = transformers.AutoModelForSeq2SeqLM.from_pretrained(given.folder, dtype=kind)
        self.model = self.model.to(given.device).eval()
        self.device = given.device
        self.asked = {"num_beams": given.beam, "max_length": 200}
        if given.forced:
            self.asked = {"num_beams": given.beam, "max_length": None, "forced_eos_token_id": None}
            self.asked |= {"min_new_tokens": given.forced, "max_new_tokens": given.forced}

    @torch.inference_mode()
    def __call__(self, lines: list[str]) -> list[str]:
        """Texts in, texts out."""
        asked = self.tokenizer(lines, return_tensors="pt", padding=True).to(self.device)
        found = self.model.generate(**asked, **self.asked)
        return self.tokenizer.batch_decode(found, skip_special_tokens=True)


class Ours:
    """The imported run, as `regard.load` would give it."""

    def __init__(self, given: argparse.Namespace) -> None:
        weights = "int8" if given.int8 else "stored"
        self.model = Predictor.load(
            given.run, device=given.device, precision=given.precision, weights=weights,
            batch_tokens=1 << 16,
        )  # fmt: skip
        changes: dict[str, Any] = {"beam": given.beam, "max_length": given.forced or 199}
        if given.forced:
            changes["min_length"] = given.forced
        self.decode = self.model.run.settings.decode.model_copy(update=changes)

    def __call__(self, lines: list[str]) -> list[str]:
        """Texts in, texts out."""
        return [one.text for one in self.model.predict(lines, decode=self.decode)]


def main() -> None:
    """Both translate every line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--most", type=int, default=20)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--int8", action="store_true", help="our weights as integers; a CPU's form")
    parser.add_argument("--forced", type=int, default=0, help="exactly so many symbols")
    parser.add_argument("--random", action="store_true", help="fill FOLDER with random weights")
    parser.add_argument("--json", type=Path, help="append the figures to this file")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.random:
        made_up(given.folder, given.run)
    lines = given.lines.read_text("utf-8").splitlines()[: given.most]
    parts = [lines[n : n + given.batch] for n in range(0, len(lines), given.batch)]
    peers: dict[str, Callable[[list[str]], list[str]]] = {
        "transformers": Theirs(given),
        "regard": Ours(given),
    }
    spent = {name: [0.0, 0.0] for name in peers}
    same = 0
    for number, part in enumerate([*parts, *parts]):
        said = {}
        for name, work in peers.items():
            said[name], cpu, clock = timed(lambda work=work, part=part: work(part))
            if number >= len(parts):  # the first round warms up: shapes are compiled and recorded
                spent[name][0] += cpu
                spent[name][1] += clock
        if number >= len(parts):
            pairs = zip(said["transformers"], said["regard"], strict=True)
            same += sum(one.strip() == other.strip() for one, other in pairs)
    found: dict[str, Any] = {
        name: {"cpu": round(cpu, 2), "clock": round(clock, 3)}
        for name, (cpu, clock) in spent.items()
    }
    asked = ("batch", "beam", "device", "precision", "int8", "forced", "threads", "random")
    found |= {name: getattr(given, name) for name in asked}
    found |= {"lines": len(lines), "same": same, "transformers version": transformers.__version__}
    found["times faster, cpu"] = round(spent["transformers"][0] / spent["regard"][0], 2)
    found["times faster, clock"] = round(spent["transformers"][1] / spent["regard"][1], 2)
    print(json.dumps(found, indent=1))
    if given.json:
        with given.json.open("a") as file:
            file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
