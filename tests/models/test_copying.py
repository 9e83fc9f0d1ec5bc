"""Pointer-generators against the formula of the paper, one word at a time (See 2017)."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import watch
from regard.decode import DecodeSettings, beam
from regard.errors import UsageError
from regard.models import ModelSettings, Sizes, build, select
from regard.models.readers import IGNORE
from tests.models.zoo import COPIED, fresh, model_of, rnn, rnn_reader, transformer_reader

COPIES = ("copies-rnn-coverage", "copies-rnn-before", "copies-transformer")
every = pytest.mark.parametrize("name", COPIES)
VOCABULARY, LENGTH = COPIED.target, 5
# Position 1 and 3 hold the same unknown word, position 4 another one: each has the number of its first place.
SOURCE = torch.tensor([[5, VOCABULARY + 1, 7, VOCABULARY + 1, VOCABULARY + 4], [6, 6, 2, 0, 0]])
LENGTHS = torch.tensor([5, 3])
INPUTS = torch.tensor([[1, 5, VOCABULARY + 1, 4], [1, 6, 6, 3]])


def seen_of(model):
    with watch(model) as seen:
        found = model(SOURCE, LENGTHS, INPUTS)
    (path,) = [
        path
        for path in seen
        if seen[path][0].attention.site.role == "cross" and "blocks" not in path
    ]
    return found, seen.weights(path)[:, 0], seen.shown("reader.p_gen")


@every
def test_the_mixture_is_the_papers(name):
    model = model_of(name)
    found, weights, p_gen = seen_of(model)
    logits = []
    handle = model.reader.decoder.output.register_forward_hook(lambda *g: logits.append(g[-1]))
    model(SOURCE, LENGTHS, INPUTS)
    handle.remove()
    vocabulary = logits[0].softmax(-1)
    assert found.shape == (2, 4, VOCABULARY + LENGTH)
    for row in range(2):
        for step in range(4):
            share = p_gen[row, step]
            for word in range(VOCABULARY + LENGTH):
                p = share * vocabulary[row, step, word] if word < VOCABULARY else torch.tensor(0.0)
                for place in range(int(LENGTHS[row])):
                    if SOURCE[row, place] == word:
                        p = p + (1 - share) * weights[row, step, place]
                assert_close(found[row, step, word].exp(), p, atol=1e-6, rtol=1e-4)
    assert_close(found.exp().sum(-1), torch.ones(2, 4))
    impossible = [VOCABULARY, VOCABULARY + 2, VOCABULARY + 3]
    assert (found[..., impossible] == -torch.inf).all()


@every
def test_the_loss_is_minus_the_logarithm_of_the_mixture(name):
    model = fresh(name).double()
    targets = torch.tensor([[5, VOCABULARY + 1, 4, VOCABULARY + 4], [6, 6, 3, IGNORE]])

    def loss():
        return model.reader.loss(model(SOURCE, LENGTHS, INPUTS), targets)

    found = model(SOURCE, LENGTHS, INPUTS)
    own = [found[r, s, t] for r, row in enumerate(targets) for s, t in enumerate(row) if t >= 0]
    assert_close(loss(), -torch.stack(own).sum())
    loss().backward()
    for parameter in (model.reader.gate.weight, model.reader.decoder.output.weight):
        assert parameter.grad.isfinite().all()
        place = divmod(int(parameter.grad.abs().argmax()), parameter.shape[1])
        with torch.no_grad():
            ends = []
            for sign in (1, -1):
                parameter[place] += sign * 1e-6
                ends.append(loss())
                parameter[place] -= sign * 1e-6
        slope = (ends[0] - ends[1]) / 2e-6
        assert_close(parameter.grad[place], slope, rtol=1e-5, atol=1e-7)
        assert slope.abs() > 1e-4
    smooth = model.reader.loss(found, targets, 0.1)
    assert smooth.isfinite()
    assert smooth > 0


@every
def test_search_can_say_an_unknown_word(name):
    """A gate that only copies: every word that is said stands in the source."""
    model = fresh(name)
    with torch.no_grad():
        model.reader.gate.weight.zero_()
        model.reader.gate.bias.fill_(-40.0)
    encoded = model.encode(SOURCE, LENGTHS)
    found, _ = beam(model.decoder, encoded, DecodeSettings(beam=3, max_length=4))
    for row, hypotheses in enumerate(found):
        there = set(SOURCE[row, : int(LENGTHS[row])].tolist())
        assert set(hypotheses[0].tokens) <= there | {COPIED.end}
    alone, _ = beam(model.decoder, model.encode(SOURCE[:1]), DecodeSettings(beam=3, max_length=4))
    assert alone[0][0].tokens == found[0][0].tokens


@every
def test_unknown_words_are_read_as_one(name):
    """Their numbers say only where they stand."""
    model = model_of(name)
    plain = SOURCE.masked_fill(SOURCE >= VOCABULARY, COPIED.unknown)
    first, second = model.encode(SOURCE, LENGTHS), model.encode(plain, LENGTHS)
    assert torch.equal(first.states, second.states)
    state = model.decoder.start(first, 3)
    assert torch.equal(select(state, torch.tensor([1, 0])).ids, SOURCE[[1, 0]])


def test_what_cannot_be_copied_is_refused():
    for sizes, reader, encoder in (
        (Sizes(11, 13), rnn_reader(copies=True), rnn()),
        (COPIED, rnn_reader(copies=True, score="none"), rnn()),
        (COPIED, transformer_reader(copies=True), None),
    ):
        with pytest.raises(UsageError, match="can be copied"):
            build(ModelSettings(encoder=encoder, reader=reader), sizes)
    reader = rnn_reader(copies=True, normalise="sigmoid")
    with pytest.raises(UsageError, match="are no shares"):
        build(ModelSettings(encoder=rnn(), reader=reader), COPIED)
