"""Decoding on two CPU threads: this library beside Hugging Face's MarianMT and CTranslate2.

    python bench/decode_cpu.py --peers PEERS/bin/python --out decode_cpu.json

Base Transformers (6 + 6 layers, width 512, 16,000 symbols) with random weights of the same sizes translate
sources of 32 symbols into 64 forced ones. Each peer lives in a process of its own; they take turns, round
after round, so that a busy machine is busy for all. The figure is output symbols a CPU-second (both threads
added up), the median over rounds, and the most memory a process ever had. `--peers` is a Python that has
torch, transformers and ctranslate2; without it only this library is measured.

With `--run RUN --test SOURCE REFERENCE` the loss of int8 is measured instead: chrF and BLEU of its
translations against the references and against those of float32.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CASES = {"greedy b1": (1, 1), "greedy b32": (32, 1), "beam 4 b1": (1, 4), "beam 4 b32": (32, 4)}
OURS = ("regard int8", "regard float32", "regard plain")
PEERS = ("HF Marian", "CTranslate2 int8", "CTranslate2 float32")
WORKER = Path(__file__).parent / "parts" / "decode_peer.py"


class Peer:
    """One process that decodes when asked."""

    def __init__(self, name: str, python: str, folder: str, threads: int) -> None:
        quiet = {
            "OMP_WAIT_POLICY": "PASSIVE",
            "KMP_BLOCKTIME": "0",
            "TOKENIZERS_PARALLELISM": "false",
        }
        environment = {**os.environ, **quiet, "OMP_NUM_THREADS": str(threads)}
        self.name = name
        self.process = subprocess.Popen(
            [python, str(WORKER), name, folder, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def ask(self, **question: int) -> dict[str, Any]:
        """One decoding, or what went wrong."""
        try:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError) as fault:
            return {"failed": f"{type(fault).__name__}: {fault}"}

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def measure(case: str, names: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """One case for all peers, in turns."""
    batch, beam = CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        peers = [
            Peer(name, sys.executable if name in OURS else options.peers, folder, options.threads)
            for name in names
        ]
        question = {"batch": batch, "beam": beam, "source": 32, "target": options.target}
        found: dict[str, list[dict[str, Any]]] = {peer.name: [] for peer in peers}
        for turn in range(options.rounds + 1):
            for peer in peers:
                answer = peer.ask(**question)
                if turn or "failed" in answer:  # the first turn warms up
                    found[peer.name].append(answer)
        for peer in peers:
            peer.close()
    return {name: summed(answers) for name, answers in found.items()}


def summed(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the rounds that worked."""
    good = [answer for answer in answers if "failed" not in answer]
    if not good:
        return {"failed": answers[0]["failed"] if answers else "no answer"}
    return {
        "per_cpu_second": statistics.median(a["tokens"] / a["cpu"] for a in good),
        "per_second": statistics.median(a["tokens"] / a["wall"] for a in good),
        "rss_mb": max(a["rss_mb"] for a in good),
        "rounds": good,
    }


def table(results: dict[str, dict[str, Any]], names: list[str], against: str) -> str:
    """Symbols a CPU-second, and in brackets the ratio to one peer."""
    head = ["| peer |", *(f" {case} |" for case in results), " RSS MB |"]
    lines = ["".join(head), "|---" * (len(results) + 2) + "|"]
    for name in names:
        cells, sizes = [], []
        for found in results.values():
            mine, other = found[name], found.get(against, {})
            if "failed" in mine:
                cells.append("failed")
                continue
            ratio = mine["per_cpu_second"] / other.get("per_cpu_second", float("nan"))
            cells.append(f"{mine['per_cpu_second']:,.0f} ({ratio:.2f})")
            sizes.append(mine["rss_mb"])
        span = f"{min(sizes):.0f}-{max(sizes):.0f}" if sizes else ""
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {span} |")
    return "\n".join(lines)


def speed(options: argparse.Namespace) -> dict[str, Any]:
    """All cases, printed as they come."""
    names = [*OURS, *(PEERS if options.peers else ())]
    names = [name for name in names if not options.only or name in options.only]
    results: dict[str, dict[str, Any]] = {}
    for case in options.cases or CASES:
        results[case] = measure(case, names, options)
        for name, found in results[case].items():
            figure = found.get("failed") or (
                f"{found['per_cpu_second']:8.1f} a CPU-second {found['per_second']:8.1f} a second"
                f" {found['rss_mb']:6.0f} MB"
            )
            print(f"{case:11} {name:20} {figure}", flush=True)
    for against in ("HF Marian", "CTranslate2 int8"):
        if against in names:
            print(f"\nratios to {against}\n{table(results, names, against)}")
    return results


def quality(options: argparse.Namespace) -> dict[str, Any]:
    """What int8 loses on a run's own test set."""
    import regard
    from regard.evaluate import bleu, chrf

    sources, references = (Path(name).read_text("utf-8").splitlines() for name in options.test)
    answers = {
        weights: regard.load(options.run, "cpu", weights=weights).translate(sources)
        for weights in ("float32", "int8")
    }
    results: dict[str, Any] = {
        f"{kind} {metric.name}": metric.value
        for kind, found in answers.items()
        for metric in (bleu(found, references), chrf(found, references))
    }
    between = chrf(answers["int8"], answers["float32"])
    same = sum(a == b for a, b in zip(*answers.values(), strict=True)) / max(1, len(sources))
    results |= {f"{between.name} of int8 against float32": between.value, "equal": same}
    for name, value in results.items():
        print(f"{name:40} {value:.3f}")
    return results


def main() -> None:
    """Speed beside peers, or the loss of int8."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--peers", help="a Python with torch, transformers and ctranslate2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--target", type=int, default=64, help="symbols to write")
    parser.add_argument("--cases", nargs="*", choices=CASES)
    parser.add_argument("--only", nargs="*", choices=[*OURS, *PEERS])
    parser.add_argument("--run", help="a run to measure the loss of int8 on")
    parser.add_argument("--test", nargs=2, metavar=("SOURCE", "REFERENCE"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results = quality(options) if options.run else speed(options)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
