"""L82 and L84: a word of a summary, copied or generated, and looked up by the last words."""

import pytest
import torch
from torch.testing import assert_close

from regard.errors import UsageError
from regard.worked import copy_or_generate, summary_word


def test_the_last_words_ask_and_neighbours_are_read_along():  # L84
    worked = summary_word()
    learned = torch.tensor([[0.5, 0, 1, -0.2], [0, 0.5, 0.5, 1.75]])
    question = learned @ torch.tensor([1.0, 0, -0.5, 1])
    assert_close(torch.tensor(worked["question"]), question)
    states = torch.tensor([[0, 0.1], [3, 0], [0.2, 3], [0, 0], [0.5, 0.6]])
    weights = (states @ question).softmax(0)
    assert_close(torch.tensor(worked["weights"]), weights)
    near = [states[max(0, n - 1) : n + 2].mean(0) for n in range(5)]
    assert_close(torch.tensor(worked["neighbourhoods"]), torch.stack(near))
    assert_close(torch.tensor(worked["read"]), weights @ torch.stack(near))
    alone = summary_word(smooth=0)
    assert_close(torch.tensor(alone["read"]), weights @ states)
    assert worked["looked at most"] == "opened"  # behind a person comes a deed
    with pytest.raises(UsageError, match="neighbours"):
        summary_word(smooth=-1)


def test_what_no_vocabulary_holds_is_copied():  # L82
    worked = copy_or_generate()
    assert worked["word"] == "Zorbalk"
    weights = torch.tensor([2.5, 0.0, 1.0, 0.3, 0.5, 0.4, 0.0, 0.2]).softmax(0)
    assert_close(torch.tensor(worked["weights"]), weights)
    p = dict(zip(["of", "sells", "violins", "<unk>", "Zorbalk", "Ghent"], worked["probabilities"],
                 strict=False))  # fmt: skip
    assert p["of"] == pytest.approx(0.3 * 0.4 + 0.7 * float(weights[1]))
    assert p["Ghent"] == pytest.approx(0.7 * float(weights[2] + weights[7]))  # both of its places
    assert p["sells"] == pytest.approx(0.12)  # in no place: it can only be generated
    assert sum(worked["probabilities"]) == pytest.approx(1.0)
    again = (
        min(float(weights[0]), 0.9) + min(float(weights[2]), 0.05) + min(float(weights[5]), 0.05)
    )
    assert worked["coverage loss"] == pytest.approx(again)
    assert copy_or_generate(p_gen=1)["word"] in ("of", "sells")
    for slip, said in (({"p_gen": 1.5}, "share"), ({"vocabulary": {"a": 0.5}}, "probabilities")):
        with pytest.raises(UsageError, match=said):
            copy_or_generate(**slip)
