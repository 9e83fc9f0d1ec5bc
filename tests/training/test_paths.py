"""Learning by the fast ways goes as it goes by the formula: the same losses, step after step."""

import pytest
import torch

from regard.accelerate.attend import Banded, Blocked, Fused, PackedRows, StridedLines
from regard.data.batches import BatchSettings
from regard.models import ModelSettings, TransformerReaderSettings, TransformerSettings
from regard.seams import reference, using
from tests.accelerate.spied import spied
from tests.training.kit import BLOCKS, Ears, tiny, trained

# Also where little is gained.
WAYS = {
    "fused": ({}, [Fused()]),
    "additive": ({"score": "additive"}, [Blocked(least=0)]),
    "window": ({"reach": "window", "reach_size": 1}, [Banded(least=1, gain=1), Fused()]),
    "strided": ({"reach": "strided", "reach_size": 3}, [StridedLines(gain=1), Fused()]),
    "packed": ({}, [PackedRows(), Fused()]),
}


def losses(folder, settings):
    ears = Ears()
    trained(folder, settings, listener=ears)
    return torch.tensor([report.loss for report in ears.of("stepped")])


@pytest.mark.parametrize("way", WAYS)
def test_a_fast_way_has_the_losses_of_the_formula(way, tmp_path):
    choices, forms = WAYS[way]
    parts = BLOCKS | {"dropout": 0.0} | choices
    settings = tiny(tmp_path, "transformer", steps=40, log_every=1, evaluate_every=40)
    settings = settings.model_copy(
        update={
            "model": ModelSettings(
                encoder=TransformerSettings(**parts), reader=TransformerReaderSettings(**parts)
            ),
            "batch": BatchSettings(tokens=64, max_length=16, packed=way == "packed"),
        }
    )
    taken = []
    with using(attend=spied(forms, taken)):
        found = losses(tmp_path / "fast", settings)
    assert type(forms[0]).__name__ in taken, "else it is no comparison"
    with reference():
        expected = losses(tmp_path / "slow", settings)

    assert found[-5:].mean() < 0.9 * found[:5].mean(), "it learned something"
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
