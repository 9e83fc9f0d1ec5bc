import jaxtyping
import pytest
import torch
from torch import nn

from regard.attention import Additive, Attention, Causal, Heads, ScaledDot, Softmax, watch
from regard.errors import UsageError

BATCH, LENGTH, WIDTH, HEADS = 2, 5, 6, 3


class Two(nn.Module):
    """Two layers of heads, one behind the other."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            Heads(WIDTH, HEADS, Attention(ScaledDot(), Softmax())) for _ in range(2)
        )

    def forward(self, states):
        for layer in self.layers:
            states = layer(states, layer.remember(states, Causal()))
        return states


@pytest.fixture
def model():
    return Two()


@pytest.fixture
def states():
    return torch.randn(BATCH, LENGTH, WIDTH)


PATHS = ["layers.0.attention", "layers.1.attention"]


def test_every_attention_is_seen_under_its_path_in_order(model, states):
    with watch(model) as seen:
        model(states)
        model(states[:, :3])
    assert list(seen) == PATHS
    assert len(seen) == 2
    assert [aligned.weights.shape[2] for aligned in seen[PATHS[1]]] == [5, 3]


def test_calls_are_stacked_with_no_weight_on_keys_to_come(model, states):
    with watch(model) as seen:
        model(states[:, :2])
        model(states)
    weights, scores = seen.weights(PATHS[0]), seen.scores(PATHS[0])
    assert weights.shape == scores.shape == (BATCH, HEADS, 2 + LENGTH, LENGTH)
    assert (weights[:, :, :2, 2:] == 0).all()
    assert (scores[:, :, :2, 2:] == -torch.inf).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, HEADS, 2 + LENGTH))


def test_what_was_recorded_in_inference_mode_is_looked_at_outside_of_it(states):
    model = Heads(WIDTH, HEADS, Attention(Additive(2, 2, 7), Softmax()))
    with torch.inference_mode(), watch(model) as seen:
        model(states, model.remember(states, Causal()))
    weights = seen.weights("attention")
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, HEADS, LENGTH))
    assert seen.scores("attention").shape == weights.shape


def test_nothing_is_recorded_outside_the_with(model, states):
    with watch(model) as seen:
        pass
    model(states)
    assert len(seen) == 0
    assert all(layer.attention.watcher is None for layer in model.layers)


def test_an_error_inside_ends_the_watching(model):
    with pytest.raises(ZeroDivisionError), watch(model):
        raise ZeroDivisionError
    with watch(model):
        pass


def test_a_watch_inside_a_watch_is_refused(model, refuses):
    refusal = (
        "this model is being watched already",
        "watch(model)",
        "leave the first `with watch(...)` before the second",
    )
    with watch(model):
        with refuses(*refusal), watch(model):
            pass
        with refuses(*refusal), watch(model.layers[1]):
            pass
        assert model.layers[0].attention.watcher is not None


def test_two_models_can_be_watched_at_once(model, states):
    other = Two()
    with watch(model) as one, watch(other) as two:
        model(states)
    assert len(one) == 2
    assert len(two) == 0


def test_an_edit_replaces_the_weights(model, states):
    """With all weights on the first key every position reads the same."""

    def first_key_only(path, aligned):
        if path != PATHS[1]:
            return None
        weights = torch.zeros_like(aligned.weights)
        weights[..., 0] = 1
        return weights

    plain = model(states)
    with watch(model, first_key_only) as seen:
        edited = model(states)
    torch.testing.assert_close(edited, edited[:, :1].expand_as(edited))
    torch.testing.assert_close(edited[:, 0], plain[:, 0])
    assert not torch.allclose(edited, plain)
    assert (seen.weights(PATHS[1])[:, :, -1] > 0).all()


def test_an_edit_that_returns_the_weights_changes_nothing(model, states):
    with watch(model, lambda path, aligned: aligned.weights):
        edited = model(states)
    torch.testing.assert_close(edited, model(states))


def test_a_model_without_attention_has_nothing_to_see():
    with watch(nn.Linear(2, 3)) as seen:
        pass
    assert dict(seen) == {}
    with pytest.raises(KeyError):
        seen.weights("attention")


def test_refusals_are_value_errors():
    assert issubclass(UsageError, ValueError)


@pytest.mark.parametrize("thing", [3, None, [nn.Linear(2, 2)]], ids=["number", "nothing", "list"])
def test_what_is_no_model_cannot_be_watched(thing, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as for anyone who types it
    with pytest.raises(UsageError, match="cannot be watched"), watch(thing):
        pass
