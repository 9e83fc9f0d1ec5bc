"""The door for copying, coverage and location-aware scores: context with weights, keys that carry more."""

from typing import final

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard.attention import Additive, Attention, Padding, ScaledDot, Softmax, watch
from regard.attention.score import Score


@final
class Noticing(Score):
    """The additive score, v . tanh(W q + U k + w c): it sees how much attention a key has had (See 2017)."""

    def __init__(self, width):
        super().__init__()
        self.inner = Additive(width, width, width)
        self.notice = nn.Parameter(torch.randn(width))

    def prepare(self, key, first=0):
        return self.inner.prepare(key, first)

    def see(self, key, carried):
        return key + carried["coverage"].unsqueeze(-1) * self.notice

    def adapt(self, query):
        return self.inner.adapt(query)

    def contributions(self, query, key):
        return self.inner.contributions(query, key)

    def forward(self, query, key):
        return self.contributions(query, key).sum(-1)


def given(score, keys=5):
    torch.manual_seed(2)
    attention = Attention(score, Softmax())
    key, value = torch.randn(3, 1, keys, 4), torch.randn(3, 1, keys, 7)
    return attention, attention.remember(key, value, Padding(torch.tensor([5, 3, 4])))


def test_read_is_forward_with_its_weights():
    attention, memory = given(ScaledDot())
    query = torch.randn(3, 1, 2, 4)
    read = attention.read(query, memory)
    assert_close(read.context, attention(query, memory))
    assert_close(read.weights.sum(-1), torch.ones(3, 1, 2))
    assert_close(read.weights @ memory.value, read.context)


def test_a_watcher_sees_and_edits_what_is_read():
    attention, memory = given(ScaledDot())
    query, model = torch.randn(3, 1, 2, 4), nn.Sequential(attention)
    first = lambda _, aligned: torch.eye(5)[0].expand(aligned.weights.shape)  # noqa: E731
    with watch(model, first) as seen:
        read = attention.read(query, memory)
    assert_close(read.context, memory.value[:, :, :1].expand(3, 1, 2, 7))
    assert len(seen["0"]) == 1


@pytest.mark.parametrize("watched", [False, True])
def test_a_score_sees_what_its_memory_carries(watched):
    attention, memory = given(Noticing(4))
    query, coverage = torch.randn(3, 1, 1, 4), torch.rand(3, 1, 5)
    score = attention.score
    with torch.no_grad():
        inner = score.inner
        plain = attention.align(query, memory.carry(coverage=torch.zeros(3, 1, 5)))
        aligned = attention.align(query, memory.carry(coverage=coverage))
        key = memory.key + coverage.unsqueeze(-1) * score.notice
        expected = inner.contributions(query, key).sum(-1)
    real = expected.isfinite() & aligned.scores.isfinite()
    assert_close(aligned.scores[real], expected[real])
    assert not torch.allclose(aligned.weights, plain.weights)
    if watched:
        with watch(nn.Sequential(attention)):
            context = attention(query, memory.carry(coverage=coverage))
    else:
        context = attention(query, memory.carry(coverage=coverage))
    assert_close(context, aligned.context)


def test_what_is_carried_follows_its_row():
    _, memory = given(ScaledDot())
    rows = torch.tensor([2, 0, 0])
    carried = memory.carry(coverage=torch.arange(3.0)[:, None, None].expand(3, 1, 5)).select(rows)
    assert carried.carried["coverage"][:, 0, 0].tolist() == [2.0, 0.0, 0.0]


def test_scores_that_do_not_look_see_nothing():
    attention, memory = given(ScaledDot())
    query = torch.randn(3, 1, 2, 4)
    assert_close(
        attention(query, memory.carry(coverage=torch.rand(3, 1, 5))), attention(query, memory)
    )
