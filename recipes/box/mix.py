"""The weights between a model and the mean of what several trainings made of it, as a run of its own.

    python recipes/box/mix.py FIRST OUT RUN[@STEP] ... [--place 0.7]

0 is FIRST, 1 the mean of the RUNs, 0.7 seven tenths of the way. `RUN@40` is the moving average of its
checkpoint of step 40, RUN alone the model that it kept. OUT is a copy of the first RUN without its
checkpoints: settings, curve and samples are that run's. Trainings that begin at the same weights and read
in another order can be averaged (Wortsman et al. 2022), so two processors learn without talking.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch
from torch import Tensor

from regard.answer.predictor import Predictor
from regard.run.folder import Run
from regard.training.optimise import mean_of

State = dict[str, Tensor]


def weights(name: str) -> State:
    """Of a run or a model of the box in float32, or of one checkpoint of a run."""
    run, _, step = name.partition("@")
    if not step:
        return dict(Predictor.load(run, "cpu", weights="float32").model.state_dict())
    tensors = Run.open(run).checkpoints.load(int(step)).tensors
    return {**tensors["model"], **tensors.get("average", {})}


def between(first: State, second: State, place: float) -> State:
    return {name: torch.lerp(one, second[name], place) for name, one in first.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", help="a run, or a model in the box")
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", nargs="+", help="RUN or RUN@STEP")
    parser.add_argument("--place", type=float, default=1.0)
    given = parser.parse_args()
    state = between(
        weights(given.first), mean_of([weights(name) for name in given.runs]), given.place
    )
    copied = shutil.ignore_patterns("checkpoints", "*.lock")
    shutil.copytree(given.runs[0].partition("@")[0], given.out, ignore=copied)
    Run.open(given.out).save_model(state)
    print(f"{given.out}: {given.place:g} of the way from {given.first} to {', '.join(given.runs)}")


if __name__ == "__main__":
    main()
