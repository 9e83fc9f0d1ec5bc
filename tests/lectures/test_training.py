"""L70-L73: the loss over six words, and teacher forcing."""

import math

import pytest
import torch
import torch.nn.functional as F

from regard.models import ModelSettings, Sizes, TransformerReaderSettings, build
from regard.worked import six_word_loss
from regard.worked.six_words import OUTPUTS, TARGETS, VOCABULARY


def test_the_vocabulary():  # L70
    assert {word: n for n, word in enumerate(VOCABULARY)} == {
        "a": 0,
        "am": 1,
        "I": 2,
        "thanks": 3,
        "student": 4,
        "<eos>": 5,
    }
    targets = six_word_loss().given[1].value
    assert targets[TARGETS.index("am")] == (0, 1, 0, 0, 0, 0)


def test_an_untrained_model_guesses_evenly():  # L70
    assert six_word_loss()["untrained"] == pytest.approx(1.79176, abs=5e-6)
    even = six_word_loss([[1 / 6] * 6], ["thanks"])
    assert even["cross-entropy"] == pytest.approx((math.log(6),))
    assert even["perplexity"] == pytest.approx(6)


def test_the_gradient_is_the_difference():  # L71
    worked = six_word_loss()
    difference, gradient = (torch.tensor(worked[name]) for name in ("difference", "gradient"))
    assert torch.allclose(gradient, difference, atol=1e-7)
    assert torch.allclose(gradient.sum(-1), torch.zeros(5), atol=1e-6)


def test_divergence_of_a_one_hot_target_is_its_cross_entropy():  # L71
    worked = six_word_loss()
    assert worked["divergence"] == pytest.approx(worked["renormalised cross-entropy"])
    log_shares = torch.tensor(worked["renormalised"]).log()
    true = torch.tensor(worked.given[1].value)
    kl = F.kl_div(log_shares, true, reduction="none").sum(-1)
    assert worked["divergence"] == pytest.approx(kl.tolist())


def test_the_loss_table():  # L72
    worked = six_word_loss()
    chosen = [row[VOCABULARY.index(word)] for row, word in zip(OUTPUTS, TARGETS, strict=True)]
    assert chosen == [0.93, 0.8, 0.99, 0.94, 0.98]
    expected = (0.07257, 0.22314, 0.01005, 0.06188, 0.02020)
    assert worked["cross-entropy"] == pytest.approx(expected, abs=5e-6)
    assert worked["sum"] == pytest.approx(0.38784, abs=5e-6)
    assert worked["mean"] == pytest.approx(0.07757, abs=5e-6)
    assert worked["perplexity"] == pytest.approx(1.08066, abs=5e-6)


def test_the_rows_do_not_sum_to_one():  # L72
    worked = six_word_loss()
    assert worked["row sums"] == pytest.approx((1.010, 1.000, 0.996, 0.974, 1.003))
    assert worked["renormalised sum"] == pytest.approx(0.37044, abs=5e-6)
    assert worked["renormalised mean"] == pytest.approx(0.07409, abs=5e-6)
    assert worked["renormalised perplexity"] == pytest.approx(1.07690, abs=5e-6)
    (slip,) = worked.slips
    for number in ("0.37044", "0.07409", "1.07690"):
        assert number in slip.why


def test_teacher_forcing_is_all_steps_at_once():  # L73
    torch.manual_seed(13)
    settings = ModelSettings(
        reader=TransformerReaderSettings(width=8, layers=2, heads=2, feedforward=12)
    )
    model = build(settings, Sizes(target=6)).eval()
    encoded = model.encode(torch.zeros(1, 0, dtype=torch.long))
    inputs = torch.tensor([[1, 3, 0, 4, 2]])
    state, stepped = model.decoder.start(encoded, 5), []
    for token in inputs[0]:
        logits, state = model.decoder.step(state, token[None])
        stepped.append(logits)
    assert torch.allclose(model.decoder(encoded, inputs)[0], torch.cat(stepped), atol=1e-5)
