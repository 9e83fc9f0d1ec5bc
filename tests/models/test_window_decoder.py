"""A feed-forward language model that attends, against the paper's formulas as plain loops (Rush 2015)."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import Padding, watch
from regard.errors import UsageError
from regard.models import FrontEncoderSettings, ModelSettings, Sizes, build, select
from regard.models.window_decoder import smoothed
from regard.settings.architecture import NoiseSettings
from tests.models.zoo import example_of, fresh, model_of, rnn, window_reader

NAME, WINDOW, SMOOTH = "window-front", 3, 1


def by_hand(model, example, row):
    """log p of every step of one row: nothing but loops over words and source positions."""
    reader, length = model.reader, int(example.lengths[row])
    table = model.encoder.embedding
    x = [table.table.weight[word] * table.scale for word in example.source[row, :length]]
    said = example.inputs[row].tolist()
    for step in range(len(said)):
        last = [said[i] if i >= 0 else reader.begin for i in range(step - WINDOW + 1, step + 1)]
        of_e = torch.cat([reader.embedding.table.weight[w] * reader.embedding.scale for w in last])
        of_g = torch.cat([reader.asking.table.weight[w] for w in last])
        h = torch.tanh(reader.inner.weight @ of_e + reader.inner.bias)
        enc = torch.zeros(model.encoder.width)
        if x:
            projected = [reader.attention.score.weight[0] @ of_g for _ in x]
            weights = torch.stack([a @ b for a, b in zip(x, projected, strict=True)]).softmax(0)
            for place, weight in enumerate(weights):
                near = x[max(0, place - SMOOTH) : place + SMOOTH + 1]
                enc = enc + weight * sum(near) / len(near)
        v, w = reader.output.weight.split([len(h), len(enc)], 1)
        yield (v @ h + w @ enc + reader.output.bias).log_softmax(0)


def test_the_model_is_the_papers():
    model, example = model_of(NAME), example_of(NAME)
    found = example.logits(model).log_softmax(-1)
    for row in range(len(example.lengths)):
        for step, expected in enumerate(by_hand(model, example, row)):
            assert_close(found[row, step], expected, atol=1e-5, rtol=1e-4)


def test_a_step_sees_its_window_and_nothing_before_it():
    model, example = model_of(NAME), example_of(NAME, (5, 5))
    inputs = example.inputs.clone()
    inputs[1] = inputs[0]
    inputs[1, 1] = (
        inputs[0, 1] + 1
    ) % 13  # four steps before the last: outside of its window of three
    source = example.source[:1].expand(2, -1)
    found = model(source, None, inputs)
    assert_close(found[0, 4], found[1, 4])
    assert not torch.allclose(found[0, 3], found[1, 3])


def test_forced_is_stepped_rows_can_be_reordered_and_looking_changes_nothing():
    model, example = model_of(NAME), example_of(NAME)
    forced = example.logits(model)
    with watch(model) as seen:
        assert torch.equal(example.logits(model), forced)
    weights = seen.weights("reader.attention")
    assert weights.shape == (4, 1, 5, 7)
    assert_close(weights[0].sum(-1), torch.ones(1, 5))
    assert (weights[1, ..., 3:] == 0).all()  # behind the end of a source of three words
    state = model.decoder.start(model.encode(example.source, example.lengths), 5)
    order = torch.tensor([3, 1, 0, 2])
    for step in range(5):
        found, after = model.decoder.step(state, example.inputs[:, step])
        assert_close(found, forced[:, step], atol=1e-5, rtol=1e-4)
        turned, _ = model.decoder.step(select(state, order), example.inputs[order, step])
        assert_close(turned, forced[order, step], atol=1e-5, rtol=1e-4)
        state = after


def test_gradients_are_those_of_finite_differences():
    model, example = fresh(NAME).double(), example_of(NAME)

    def loss():
        return model.reader.loss(example.logits(model), example.inputs.roll(-1, 1))

    loss().backward()
    for path in ("inner.weight", "asking.table.weight", "attention.score.weight", "output.weight"):
        parameter = model.reader.get_parameter(path)
        place, flat = int(parameter.grad.abs().argmax()), parameter.detach().view(-1)
        with torch.no_grad():
            flat[place] += 1e-6
            up = loss()
            flat[place] -= 2e-6
            down = loss()
            flat[place] += 1e-6
        slope = (up - down) / 2e-6
        assert_close(parameter.grad.view(-1)[place], slope, rtol=1e-5, atol=1e-7)
        assert slope.abs() > 1e-4, path


@pytest.mark.parametrize("reach", [0, 1, 2, 9])
def test_the_mean_over_neighbours_never_sees_padding(reach):
    states, lengths = torch.randn(3, 7, 2), [7, 4, 0]
    found = smoothed(states, Padding(torch.tensor(lengths)), reach)
    for row, length in enumerate(lengths):
        for place in range(length):
            near = states[row, max(0, place - reach) : min(length, place + reach + 1)]
            assert_close(found[row, place], near.mean(0))


def test_without_a_source_it_is_a_language_model_of_its_last_words():
    model = model_of("lm-window")
    assert model.reader.attention is None
    inputs = torch.tensor([[1, 5, 6, 7, 8], [1, 9, 6, 7, 8]])
    found = model(torch.zeros(2, 0, dtype=torch.long), None, inputs)
    torch.testing.assert_close(found[0, 4], found[1, 4])  # equal but for rounding
    assert not torch.allclose(found[0, 2], found[1, 2])


def test_a_text_that_it_reads_may_be_corrupted():
    settings = ModelSettings(
        encoder=FrontEncoderSettings(width=6),
        reader=window_reader(),
        noise=NoiseSettings(mask=0.5),
    )
    assert build(settings, Sizes(11, 13)).noise is not None


def test_several_sources_are_refused():
    settings = ModelSettings(encoder=rnn(), reader=window_reader())
    sizes = Sizes(11, 13)
    several = Sizes(target=13, sources={"one": sizes.only, "two": sizes.only})
    with pytest.raises(UsageError, match="reads one source"):
        build(settings, several)
