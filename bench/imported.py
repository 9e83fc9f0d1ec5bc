"""A Marian model (OPUS-MT) in transformers and as an imported run, on the same lines, with the same beam.

    regard models import FOLDER RUN
    python bench/imported.py FOLDER RUN LINES [--most 20] [--beam 4] [--threads 2]

One line at a time and in turns. Figures are CPU-seconds of all threads and seconds on the clock; `same` says
how many lines got the same translation. It needs `regard[hf]`.
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

import regard


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it gave, CPU-seconds, and seconds on the clock."""
    cpu, clock = time.process_time(), time.perf_counter()
    found = work()
    return found, time.process_time() - cpu, time.perf_counter() - clock


def main() -> None:
    """Both translate every line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--most", type=int, default=20)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    lines = given.lines.read_text("utf-8").splitlines()[: given.most]
    tokenizer = transformers.AutoTokenizer.from_pretrained(given.folder)
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(given.folder).eval()
    ours = regard.load(given.run)

    def generate(line: str) -> str:
        with torch.inference_mode():
            found = theirs.generate(
                **tokenizer(line, return_tensors="pt"), num_beams=given.beam, max_length=200
            )
        return tokenizer.decode(found[0], skip_special_tokens=True)

    def predict(line: str) -> str:
        return ours.predict(line, beam=given.beam, max_length=199)[0].text

    peers = {"transformers": generate, "regard": predict}
    spent = {name: [0.0, 0.0] for name in peers}
    same = 0
    for number, line in enumerate([lines[0], *lines]):
        said = {}
        for name, work in peers.items():
            said[name], cpu, clock = timed(lambda work=work, line=line: work(line))
            if number:  # the first warms up
                spent[name][0] += cpu
                spent[name][1] += clock
        same += bool(number) and said["transformers"].strip() == said["regard"].strip()
    found: dict[str, Any] = {
        name: {"cpu": round(cpu, 2), "clock": round(clock, 2)}
        for name, (cpu, clock) in spent.items()
    }
    found |= {"lines": len(lines), "same": same, "beam": given.beam}
    found["times faster, cpu"] = round(spent["transformers"][0] / spent["regard"][0], 2)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
