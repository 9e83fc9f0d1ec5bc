"""Packed batches are refused, when the settings are read, by models that cannot have them."""

import pytest
from pydantic import ValidationError

from regard.run.settings import RunSettings

PART = {"kind": "transformer", "width": 8, "heads": 2}


def made(part: dict, task: str = "translate") -> RunSettings:
    model = {"encoder": part, "reader": part}
    return RunSettings.model_validate({"task": task, "model": model, "batch": {"packed": True}})


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"position": "rotary"},
        {"position": "alibi"},
        {"position": "learned"},
        {"score": "general"},
    ],
)
def test_transformers_pack(change):
    assert made(PART | change).batch.packed


@pytest.mark.parametrize("change", [{"score": "location"}, {"position_at": "heads"}])
def test_what_counts_absolute_places_does_not(change):
    with pytest.raises(ValidationError, match=r"leave batch\.packed = false"):
        made(PART | change)


def test_recurrent_models_do_not():
    with pytest.raises(ValidationError, match=r"Transformers on both sides"):
        made({"kind": "rnn"})
