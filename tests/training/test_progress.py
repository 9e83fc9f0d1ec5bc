"""Why training is over, in words that are true of the steps that were taken."""

import pytest

from regard.run.settings import TrainSettings
from regard.training.feed import Position
from regard.training.progress import Progress


@pytest.mark.parametrize(
    ("progress", "settings", "reason"),
    [
        (Progress(step=19), {"steps": 20}, None),
        (Progress(step=20), {"steps": 20}, "20 steps done"),
        (Progress(step=3000), {"steps": 20}, "3,000 steps done"),
        (Progress(step=5, position=Position(2, 0)), {"steps": 20, "epochs": 2}, "2 epochs done"),
    ],
)
def test_over(progress, settings, reason):
    assert progress.over(TrainSettings(**settings)) == reason
