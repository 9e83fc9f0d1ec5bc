"""Drawing is seeded, row by row, and follows the distribution it was told to."""

import pytest
import torch

from regard.decode import DecodeSettings, Prefix, greedy, sample, search
from regard.decode.sample import narrowed
from tests.decode.tables import DECODER, row_of, said_by, tables

CPU = torch.device("cpu")
ROWS, VOCABULARY = 6, 5


def settings(**choices):
    return DecodeSettings(sample=True, max_length=9, **choices)


ENCODED = tables(ROWS, VOCABULARY, seed=3, spread=0.5)


def test_the_same_seed_draws_the_same_and_another_seed_another():
    first = sample(DECODER, ENCODED, settings(seed=5))

    assert sample(DECODER, ENCODED, settings(seed=5)) == first
    assert search(DECODER, ENCODED, settings(seed=5)) == first
    assert sample(DECODER, ENCODED, settings(seed=6)) != first


def test_a_row_draws_alike_alone_and_beside_any_neighbours():
    prefixes = [(), (2,), (3, 3, 3), (), (4, 1), (2,)]
    together = sample(DECODER, ENCODED, settings(), Prefix.of(prefixes, CPU))
    for row in range(ROWS):
        own = Prefix.of([prefixes[row]], CPU)
        alone = sample(DECODER, row_of(ENCODED, row), settings(), own, [row])
        assert alone == together[row : row + 1]


def test_a_numbered_row_draws_alike_wherever_it_stands():
    numbers = [7, 3, 11, 5, 2, 9]
    together = sample(DECODER, ENCODED, settings(), streams=numbers)
    assert search(DECODER, ENCODED, settings(), streams=numbers) == together
    order = [4, 0, 5, 2, 1, 3]
    moved = type(ENCODED)(ENCODED.states[order])
    found = sample(DECODER, moved, settings(), streams=[numbers[row] for row in order])
    assert found == [together[row] for row in order]


def test_rows_of_one_table_draw_apart():
    same = type(ENCODED)(ENCODED.states[:1].expand(50, -1, -1))

    assert len({said_by(h) for (h,) in sample(DECODER, same, settings())}) > 15


@pytest.mark.parametrize("choices", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-3}])
def test_narrowed_to_one_symbol_a_draw_is_greedy(choices):
    chosen = settings(**choices)

    assert sample(DECODER, ENCODED, chosen) == greedy(DECODER, ENCODED, chosen)


@pytest.mark.parametrize(
    "choices",
    [{}, {"temperature": 0.5}, {"temperature": 2.0, "top_k": 3}, {"top_p": 0.6}, {"min_length": 1}],
)
def test_first_symbols_are_drawn_as_often_as_they_should(choices):
    """Four thousand draws: no share is off by more than five standard deviations."""
    draws = 4_000
    chosen = settings(**choices).model_copy(update={"max_length": 1})
    logits = torch.tensor([0.5, 2.0, -1.0, 1.0, 0.0])
    table = logits.expand(draws, VOCABULARY**2, VOCABULARY)

    first = [said_by(h)[0] for (h,) in sample(DECODER, type(ENCODED)(table), chosen)]

    if chosen.min_length:
        logits[0] = -torch.inf
    expected = narrowed(logits.log_softmax(-1).unsqueeze(0) / chosen.temperature, chosen)[0].exp()
    shares = torch.bincount(torch.tensor(first), minlength=VOCABULARY) / draws
    margin = 5 * (expected * (1 - expected) / draws).sqrt()
    assert ((shares - expected).abs() <= margin + 1e-9).all()


def test_log_probabilities_are_the_models_own_whatever_was_narrowed():
    warm = settings(temperature=3.0, top_k=4)
    for row, (hypothesis,) in enumerate(sample(DECODER, ENCODED, warm)):
        said = said_by(hypothesis)
        inputs = torch.tensor([[DECODER.begin, *said[:-1]]])
        forced = DECODER(row_of(ENCODED, row), inputs)[0].log_softmax(-1)
        values = forced.gather(1, torch.tensor(said).unsqueeze(1)).squeeze(1)
        assert hypothesis.log_probabilities == pytest.approx(values.tolist(), abs=1e-6)
