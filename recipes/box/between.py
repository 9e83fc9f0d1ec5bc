"""Held-out loss of the weights between two trainings of one model, and beyond the second, by target language.

    python recipes/box/between.py FIRST SECOND valid.tsv [0 0.5 1 1.35]

0 is the first, 1 the second, 0.5 their mean. Weights are rounded to integers, as they would ship.
`valid.tsv` is what `corpus.py` wrote: each source begins with its target language.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from regard.answer.predictor import Predictor
from regard.answer.test_set import Exam
from regard.models.compress import narrowed, widened
from regard.tasks.batch import groups

TOKENS = 2048  # of a batch


@torch.inference_mode()
def loss(task, model, rows) -> tuple[float, int]:
    """The sum over all target symbols, and how many these are."""
    total, count = 0.0, 0
    for group in groups([max(len(row["source"]), len(row["target"])) for row in rows], TOKENS):
        batch = task.collate([rows[n] for n in group.members], group.length, group.length)
        total, count = total + float(task.loss(model, batch)), count + batch.count
    return total, count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("valid", type=Path)
    parser.add_argument("places", type=float, nargs="*", default=[0.0, 0.5, 1.0, 1.35])
    given = parser.parse_args()
    first, second = (
        Predictor.load(run, "cpu", weights="float32") for run in (given.first, given.second)
    )
    task, model = second.run.task, second.model.eval()
    ends = [
        {name: one.clone() for name, one in run.model.state_dict().items()}
        for run in (first, second)
    ]
    sides: dict[str, list] = {}
    examples = Exam.read([given.valid], second.run.settings).examples
    for example, row in zip(examples, task.rows(examples), strict=True):
        sides.setdefault(example.source.split()[0], []).append(row)
    for place in given.places:
        state = {name: torch.lerp(one, ends[1][name], place) for name, one in ends[0].items()}
        model.load_state_dict(widened(narrowed(state, "int8")))
        found = {language: loss(task, model, rows) for language, rows in sorted(sides.items())}
        each = "  ".join(
            f"{language} {total / count:.4f}" for language, (total, count) in found.items()
        )
        total, count = map(sum, zip(*found.values(), strict=True))
        print(f"{place:5.2f}  {each}  all {total / count:.4f}", flush=True)


if __name__ == "__main__":
    main()
