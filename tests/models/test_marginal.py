"""The exact sum over the choices of hard attention, against the formula of Wu 2018 in plain loops."""

from itertools import product

import pytest
import torch
from torch.testing import assert_close

from regard.attention import watch
from regard.errors import UsageError
from regard.models import ModelSettings, Sizes, build
from tests.models.zoo import WORDS, example_of, fresh, model_of, rnn, rnn_reader


def chosen_everywhere(model, example, place):
    """log p of each word where every step of every row read this position."""

    def edit(path, aligned):
        if not path.startswith("reader"):
            return None
        return torch.zeros_like(aligned.weights).index_fill_(-1, torch.tensor([place]), 1.0)

    with watch(model, edit=edit):
        return model(example.source, example.lengths, example.inputs)


def test_each_word_is_the_mixture_over_positions():
    model, example = model_of("rnn-marginal"), example_of("rnn-marginal")
    with watch(model) as seen:
        found = model(example.source, example.lengths, example.inputs)
    (weights,) = [seen.weights(path)[:, 0] for path in seen if path.startswith("reader")]
    after = [chosen_everywhere(model, example, i).exp() for i in range(example.source.shape[1])]
    weights[:, :, 0] += (
        weights.sum(-1) == 0
    ).float()  # no source: a context of zeros, the void there
    rows, steps, words = found.shape
    for row, step, word in product(range(rows), range(steps), range(words)):
        p = sum(float(weights[row, step, i]) * float(p_i[row, step, word])
                for i, p_i in enumerate(after))  # fmt: skip
        assert float(found[row, step, word].exp()) == pytest.approx(p, rel=1e-4, abs=1e-7)
    assert_close(found.exp().sum(-1), torch.ones(rows, steps))


def test_a_position_that_was_read_speaks_as_the_plain_decoder_would():
    """The mixture's parts are the decoder's own readout and output, with that position as the context."""
    model, example = model_of("rnn-marginal"), example_of("rnn-marginal")
    decoder = model.reader.decoder
    encoded = model.encode(example.source, example.lengths)
    state = decoder.start(encoded, 1)
    hidden = decoder.run(state, decoder.embedding(example.inputs))
    for place in range(2):
        context = state.memory.value[:, 0, place].unsqueeze(1).expand(-1, hidden.shape[1], -1)
        readout = torch.tanh(decoder.readout(torch.cat([hidden, context], -1)))
        wanted = decoder.output(readout).log_softmax(-1)
        assert_close(chosen_everywhere(model, example, place), wanted, atol=1e-5, rtol=1e-5)


def test_the_product_is_the_sum_over_every_way_to_choose():
    """p(y) = sum over all choices of p(choices) p(y | choices): 3 ** 3 ways for three steps."""
    torch.manual_seed(3)
    settings = ModelSettings(encoder=rnn(), reader=rnn_reader(normalise="marginal", dropout=0.0))
    model = build(settings, Sizes(source=11, target=5)).double().eval()
    source, inputs = torch.tensor([[5, 8, 3]]), torch.tensor([[1, 4, 3]])
    targets = [4, 3, 2]
    with watch(model) as seen:
        found = model(source, None, inputs)[0]
    (weights,) = [seen.weights(path)[0, 0] for path in seen]
    whole = sum(found[step, word] for step, word in enumerate(targets)).exp()
    total = torch.zeros((), dtype=torch.float64)
    for ways in product(range(3), repeat=3):

        def edit(_, aligned, ways=ways):
            return torch.eye(3, dtype=aligned.weights.dtype)[list(ways)].expand(1, 1, 3, 3)

        with watch(model, edit=edit):
            said = model(source, None, inputs)[0]
        p = torch.ones((), dtype=torch.float64)
        for step, word in enumerate(targets):
            p = p * weights[step, ways[step]] * said[step, word].exp()
        total = total + p
    assert_close(whole, total)


def test_gradients_are_those_of_finite_differences():
    model = fresh("rnn-marginal").double()
    example = example_of("rnn-marginal")
    targets = torch.full_like(example.inputs, 4)

    def loss():
        return model.reader.loss(
            model(example.source, example.lengths, example.inputs), targets, 0.1
        )

    loss().backward()
    decoder = model.reader.decoder
    for parameter in (
        decoder.readout.weight,
        decoder.output.weight,
        *decoder.attention.score.parameters(),
    ):
        assert parameter.grad.isfinite().all()
        flat, place = parameter.detach().view(-1), int(parameter.grad.abs().argmax())
        ends = []
        for sign in (1, -1):
            flat[place] += sign * 1e-6
            ends.append(loss())
            flat[place] -= sign * 1e-6
        slope = (ends[0] - ends[1]) / 2e-6
        assert_close(parameter.grad.view(-1)[place], slope.detach(), rtol=1e-5, atol=1e-7)


def test_an_empty_source_is_read_as_zeros():
    model = model_of("rnn-marginal")
    source, inputs = torch.tensor([[5, 8], [0, 0]]), torch.tensor([[1, 4], [1, 4]])
    found = model(source, torch.tensor([2, 0]), inputs)
    assert_close(found.exp().sum(-1), torch.ones(2, 2))


@pytest.mark.parametrize(
    "choice",
    [{"looks": "before"}, {"input_feeding": True}, {"copies": True}, {"score": "coverage"}],
    ids=str,
)
def test_where_a_choice_changes_later_words_the_sum_is_refused(choice):
    reader = rnn_reader(normalise="marginal", **choice)
    sizes = Sizes(source=13, target=13, shared=True, unknown=3)
    with pytest.raises(UsageError, match="exact only where"):
        build(ModelSettings(encoder=rnn(), reader=reader), sizes)


def test_nothing_is_copied_by_a_sampled_choice_and_nothing_read_by_no_attention():
    sizes = Sizes(source=13, target=13, shared=True, unknown=3)
    with pytest.raises(UsageError, match="does not copy"):
        build(
            ModelSettings(encoder=rnn(), reader=rnn_reader(normalise="sampled", copies=True)), sizes
        )
    with pytest.raises(UsageError, match="exact only where"):
        build(
            ModelSettings(encoder=rnn(), reader=rnn_reader(normalise="marginal", score="none")),
            WORDS,
        )
