"""Unrolled recurrent runs: the states are those of a plain loop over the cells, and of the answer given."""

import numpy as np
import pytest
import torch

from regard.answer.tracing import trace, unroll
from regard.errors import UsageError
from tests.run import kinds

QUESTION = "n o t e s"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("unrolled")

    def get(kind):
        folder = place / kind
        return kinds.load(folder if folder.exists() else kinds.make(folder, kind))

    return get


@pytest.mark.parametrize("kind", ["rnn", "rnn-before"])
def test_states_are_those_of_a_plain_loop(made, kind):
    """Encoder: one cell step a word, forwards and backwards. Decoder: `step`, the answer's symbols forced."""
    predictor = made(kind)
    seen = unroll(predictor, QUESTION)
    model, task = predictor.run.load_model().eval(), predictor.run.task
    (forward,), (backward,) = (
        model.encoder.recurrent.forward_cells, model.encoder.recurrent.backward_cells,
    )  # fmt: skip
    ids = torch.tensor(task.encode(QUESTION), dtype=torch.long)[None]
    with torch.no_grad():
        words = model.encoder.embed(ids, None).states
        ways = []
        for cell, order in (
            (forward, range(len(ids[0]))),
            (backward, reversed(range(len(ids[0])))),
        ):
            state, own = cell.zeros(words[:, 0]), {}
            for place in order:
                state = cell.step(words[:, place], state)
                own[place] = state[0][0]
            ways.append(own)
    for place, step in enumerate(seen.of("encoder")):
        expected = torch.cat([ways[0][place], ways[1][place]])
        np.testing.assert_allclose(step.state, expected.numpy(), atol=1e-5)
    assert [step.number for step in seen.steps] == list(range(1, len(seen.steps) + 1))
    assert seen.both_ways
    assert seen.looks


@pytest.mark.parametrize("kind", ["rnn", "rnn-before"])
def test_what_is_said_is_what_the_trace_says(made, kind):
    predictor = made(kind)
    seen, known = unroll(predictor, QUESTION), trace(predictor, QUESTION)
    decoder = seen.of("decoder")
    assert seen.answer == known.answer.text
    assert [step.said for step in decoder] == [step.symbol for step in known.steps]
    for step, other in zip(decoder, known.steps, strict=True):
        assert step.probability == pytest.approx(np.exp(other.log_probability), rel=1e-4)
    assert [step.read for step in seen.of("encoder")] == list(known.axes["source"].pieces)
    assert [step.read for step in decoder] == list(known.axes["inputs"].pieces)


def test_the_last_decoder_state_gives_the_last_word(made):
    """Without attention after it, the hidden state is all that the output layer sees."""
    predictor = made("rnn")
    seen = unroll(predictor, QUESTION)
    reader = predictor.run.load_model().reader
    assert all(step.state.shape == (reader.width,) for step in seen.of("decoder"))
    assert all(np.abs(step.state).max() <= 1 for step in seen.steps), "tanh and gates keep it so"


def test_only_recurrent_models_have_time_steps(made):
    with pytest.raises(UsageError, match="only recurrent encoders and decoders"):
        unroll(made("transformer"), QUESTION)


def test_as_json(made):
    seen = unroll(made("rnn"), QUESTION)
    told = seen.as_dict()
    assert told["question"] == QUESTION
    assert len(told["steps"]) == len(seen.steps)
    assert "said" not in told["steps"][0]
    assert told["steps"][-1]["said"]
