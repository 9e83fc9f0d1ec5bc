"""L31 and L83: a network that reads its own memory, and one that points at what it has read."""

import pytest
import torch
from torch.testing import assert_close

from regard.errors import UsageError
from regard.worked import sentinel_mixture, tape_reading


def test_each_word_looks_back_at_all_before_it():  # L31
    worked = tape_reading()
    weights = torch.tensor(worked["weights"])
    hidden, cells = torch.tensor(worked["hidden tape"]), torch.tensor(worked["memory tape"])
    assert not weights.triu().any()  # nobody looks at itself, or ahead
    assert_close(weights.sum(1), torch.tensor([0.0, 1.0, 1.0, 1.0, 1.0]))
    assert_close(torch.tensor(worked["scores"]).softmax(0), weights[-1])
    assert_close(torch.tensor(worked["what was read"]), weights[-1] @ hidden[:-1])
    assert_close(torch.tensor(worked["memory that was read"]), weights[-1] @ cells[:-1])
    assert_close(torch.tensor(worked["new hidden state"]), hidden[-1])
    assert worked["looked at most"] == list(tape_reading().given[0].rows)[weights[-1].argmax()]
    with pytest.raises(UsageError, match="nothing to look back at"):
        tape_reading({"alone": (1.0, 0.0)})


def test_the_sentinel_shares_one_softmax_with_the_words():  # L83
    worked = sentinel_mixture()
    scores = torch.tensor(worked["scores"])
    assert_close(scores[:2], torch.tensor([0.5 + 0.7 * 1.5, 0.2 + 0.1 * 1.5]))
    weights = scores.softmax(0)
    assert_close(torch.tensor(worked["weights"]), weights)
    assert worked["gate"] == pytest.approx(float(weights[0]))
    assert sum(worked["probabilities"]) == pytest.approx(1.0)
    assert worked["word"] == "Yellen"  # which the vocabulary thought least likely
    again = sentinel_mixture(words=("a", "b", "a"), states=((1, 0), (0, 1), (1, 0)), query=(1, 0),
                             sentinel=(0, 0), vocabulary={"a": 1.0})  # fmt: skip
    e = float(torch.tensor(1.0).exp())
    assert again["probabilities"][0] == pytest.approx((1 + 2 * e) / (2 + 2 * e))
    assert sentinel_mixture(sentinel=(9.0, 9.0))["word"] == "Clinton"
    with pytest.raises(UsageError, match="no probabilities"):
        sentinel_mixture(vocabulary={"a": 0.5})
