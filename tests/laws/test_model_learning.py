"""What training needs of every model: gradients that are finite, and that reach every weight."""

import re

import pytest

from tests.models.zoo import MODELS, SOURCE, example_of, fresh


def idle(name, path):
    """Weights that a choice leaves without work, by its own definition."""
    blind = "score-location" in name and ".key." in path  # the location score never looks at a key
    source_free = name.startswith(("lm-rnn", "lm-sentinel"))  # nothing to bridge
    alone = source_free and re.search(r"bridge.*weight", path)
    first = name == "classify-first" and "forward_cells.0.fused.weight_hh" in path  # no past at 0
    chosen = "sampled" in name and ".score." in path  # REINFORCE alone moves it: test_reinforce.py
    return blind or bool(alone) or first or chosen


@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_finite_and_reach_every_weight(name):
    """One row is all padding; symbol 0 is the target, since a pointer may always point at that."""
    model, example = fresh(name).train(), example_of(name, lengths=(SOURCE, 0, 3))

    logits = example.logits(model)
    (-logits.log_softmax(-1)[..., 0]).mean().backward()

    assert not logits.isnan().any()
    assert logits[..., 0].isfinite().all()
    for path, parameter in model.named_parameters():
        reached = parameter.grad is not None and bool((parameter.grad != 0).any())
        assert reached != idle(name, path), path
        assert parameter.grad is None or parameter.grad.isfinite().all(), path
