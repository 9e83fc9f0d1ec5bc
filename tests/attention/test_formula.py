from dataclasses import replace

import torch

from regard.attention import Alibi, Attention, Causal, Dot, Softmax, formula

ONE_HOT = torch.eye(3).view(1, 1, 3, 3)


def test_one_hot_keys_and_values_show_the_weights():
    """With one-hot keys the scores are the queries, with one-hot values the context is the weights."""
    attention = Attention(Dot(), Softmax())
    query = torch.randn(1, 1, 5, 3)
    memory = attention.remember(ONE_HOT, ONE_HOT)
    assert torch.equal(formula.scores(attention, query, memory), query)
    torch.testing.assert_close(formula.context(attention, query, memory, None), query.softmax(-1))


def test_scores_hold_the_bias_of_where_the_cache_stands():
    attention = Attention(Dot(), Softmax(), bias=Alibi(1))
    cache = attention.remember(ONE_HOT, ONE_HOT)
    late = type(cache)(cache.key, cache.value, first=2)
    found = formula.scores(attention, torch.zeros(1, 1, 1, 3), late)
    assert torch.equal(found, Alibi(1)(1, 3, first=2))


def test_a_mask_is_written_out_from_where_the_cache_stands():
    attention = Attention(Dot(), Softmax())
    cache = attention.remember(ONE_HOT, ONE_HOT)
    late = type(cache)(cache.key, cache.value, first=1)
    assert replace(late, mask=Causal()).allowed(1).flatten().tolist() == [True, True, False]
    assert late.allowed(1) is None
