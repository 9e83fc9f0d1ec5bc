"""From which probability on a judgement should be told: chosen on sentences that people called neutral, too.

    python recipes/box/unsure.py MODEL DATA

DATA holds `sst/dev.trees.txt`. For each threshold: how many neutral sentences would be called neutral, how
many of the others would be told, and how many of these rightly. The one chosen is the highest at which
four in five of the others are still told.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from phrases import NAMES, nodes

from regard.answer.predictor import Predictor

TOLD = 0.8  # of the sentences that are not neutral


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("data", type=Path)
    given = parser.parse_args()
    trees = (given.data / "sst" / "dev.trees.txt").read_text("utf-8").splitlines()
    whole = [[*nodes(tree)][-1] for tree in trees]
    answers = Predictor.load(given.model, "cpu").predict([text for _, text in whole])
    seen = [
        (NAMES.get(label), answer.text, math.exp(answer.score))
        for (label, _), answer in zip(whole, answers, strict=True)
    ]
    neutral = [sure for name, _, sure in seen if name is None]
    others = [(name == told, sure) for name, told, sure in seen if name is not None]
    chosen = 0.5
    print("threshold  neutral said so  others told  told rightly")
    for step in range(50, 96, 5):
        least = step / 100
        kept = sum(sure < least for sure in neutral) / len(neutral)
        told = [right for right, sure in others if sure >= least]
        rightly = sum(told)
        chosen = least if len(told) >= TOLD * len(others) else chosen
        print(
            f"{least:9.2f}  {100 * kept:15.1f}  {100 * len(told) / len(others):11.1f}"
            f"  {100 * rightly / max(1, len(told)):12.1f}"
        )
    print(f"chosen: {chosen:.2f} ({len(neutral)} neutral sentences, {len(others)} others)")


if __name__ == "__main__":
    main()
