"""Learning by the fast ways goes as it goes by the formula: the same losses, step after step."""

import pytest
import torch

from regard.accelerate import attend as kernels
from regard.accelerate.attend import banded, blocked, fused, strided
from regard.attention import explicit
from regard.data.batches import BatchSettings
from regard.models import ModelSettings, TransformerReaderSettings, TransformerSettings
from tests.training.kit import BLOCKS, Ears, tiny, trained

WAYS = {
    "fused": ({}, fused),
    "additive": ({"score": "additive"}, blocked),
    "window": ({"reach": "window", "reach_size": 1}, banded),
    "strided": ({"reach": "strided", "reach_size": 3}, strided),
    "packed": ({}, fused),
}


def losses(folder, settings):
    ears = Ears()
    trained(folder, settings, listener=ears)
    return torch.tensor([report.loss for report in ears.of("stepped")])


@pytest.mark.parametrize("way", WAYS)
def test_a_fast_way_has_the_losses_of_the_formula(way, tmp_path, monkeypatch):
    choices, kernel = WAYS[way]
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
    monkeypatch.setattr(banded, "LEAST", 1)
    for one in (banded, strided):  # also where little is gained
        monkeypatch.setattr(one, "GAIN", 1 if one is kernel else 1 << 40)
    monkeypatch.setattr(blocked, "LEAST", 0)
    name = "parts" if kernel is banded else "attend"
    work = getattr(kernel, name)
    monkeypatch.setattr(kernel, name, lambda *given: taken.append(way) or work(*given))
    found = losses(tmp_path / "fast", settings)
    assert taken, "else it is no comparison"

    def by_formula(attention, query, memory):
        return explicit.attend(attention, query, memory, memory.mask)

    monkeypatch.setattr(kernels, "attend", by_formula)
    taken.clear()
    expected = losses(tmp_path / "slow", settings)
    assert not taken

    assert found[-5:].mean() < 0.9 * found[:5].mean(), "it learned something"
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
