import pytest
import torch

from regard.attention import Alibi, Attention, Causal, Dot, Padding, ScaledDot, Softmax, watch

BATCH, HEADS, QUERIES, KEYS, WIDTH, VALUE_WIDTH = 2, 3, 5, 7, 11, 13


@pytest.fixture
def attention():
    return Attention(ScaledDot(), Softmax())


@pytest.fixture
def inputs():
    return (
        torch.randn(BATCH, HEADS, QUERIES, WIDTH),
        torch.randn(BATCH, HEADS, KEYS, WIDTH),
        torch.randn(BATCH, HEADS, KEYS, VALUE_WIDTH),
    )


def test_equal_scores_read_the_mean(attention, inputs):
    query, key, value = inputs
    context = attention(torch.zeros_like(query), attention.remember(key, value))
    torch.testing.assert_close(context, value.mean(2, keepdim=True).expand_as(context))


def test_aligned_holds_all_that_was_worked_out(attention, inputs):
    query, key, value = inputs
    aligned = attention.align(query, attention.remember(key, value, Causal()))
    assert aligned.query is query
    assert aligned.allowed.sum() == 1 + 2 + 3 + 4 + 5
    assert aligned.scores.shape == aligned.weights.shape == (BATCH, HEADS, QUERIES, KEYS)
    assert aligned.contributions.shape == (BATCH, HEADS, QUERIES, KEYS, WIDTH)
    assert aligned.context.shape == (BATCH, HEADS, QUERIES, VALUE_WIDTH)
    assert (aligned.scores == -torch.inf).sum() == BATCH * HEADS * (QUERIES * KEYS - 15)


def test_aligned_works_nothing_out_until_looked_at(attention, inputs):
    query, key, value = inputs
    aligned = attention.align(query, attention.remember(key, value))
    assert not {"scores", "weights", "allowed"} & set(vars(aligned))
    assert aligned.weights is aligned.weights


def test_a_bias_is_added_to_the_scores(inputs):
    query, key, value = inputs
    plain, biased = Attention(Dot(), Softmax()), Attention(Dot(), Softmax(), bias=Alibi(HEADS))
    added = biased.align(query, biased.remember(key, value)).scores
    without = plain.align(query, plain.remember(key, value)).scores
    torch.testing.assert_close(added, without + Alibi(HEADS)(QUERIES, KEYS))


def test_point_gives_the_masked_scores_and_can_be_watched(attention, inputs):
    query, key, value = inputs
    memory = attention.remember(key, value, Padding(torch.tensor([7, 2])))
    pointed = attention.point(query, memory)
    with watch(attention) as seen:
        assert torch.equal(attention.point(query, memory), pointed)
    assert torch.equal(seen[""][0].scores, pointed)
    assert (pointed[1, :, :, 2:] == -torch.inf).all()


def test_an_empty_memory_reads_zero(attention, inputs):
    query, key, value = inputs
    context = attention(query, attention.remember(key[:, :, :0], value[:, :, :0]))
    assert torch.equal(context, torch.zeros(BATCH, HEADS, QUERIES, VALUE_WIDTH))


def test_dropout_falls_on_weights_only_while_training(inputs):
    query, key, value = inputs
    attention = Attention(ScaledDot(), Softmax(), dropout=1.0)
    memory = attention.remember(key, value)
    assert (attention(query, memory) == 0).all()
    assert (attention.eval()(query, memory) != 0).any()


def test_a_bool_tensor_serves_as_mask(attention, inputs):
    query, key, value = inputs
    written = torch.ones(QUERIES, KEYS, dtype=torch.bool).tril()
    torch.testing.assert_close(
        attention(query, attention.remember(key, value, written)),
        attention(query, attention.remember(key, value, Causal())),
    )


def test_every_key_needs_one_value(attention, inputs, refuses):
    _, key, value = inputs
    with refuses(
        "every key needs one value: key is (2, 3, 7, 11), value is (2, 3, 6, 13)",
        "value",
        "(batch, heads, key) must be the same for both",
    ):
        attention.remember(key, value[:, :, 1:])


def test_a_mask_that_does_not_fit_is_refused(attention, inputs, refuses):
    _, key, value = inputs
    with refuses(
        "padding has 3 lengths for a batch of 2",
        "mask",
        "give one length a row: how many of its keys are real",
    ):
        attention.remember(key, value, Padding(torch.tensor([1, 2, 3])))
    with refuses(
        "a mask of (1, 1, 5, 6) does not broadcast to scores of (2, 3, 5, 7)",
        "mask",
        "its axes are (batch, heads, query, key), each of the scores' size or 1",
    ):
        attention.remember(key, value, torch.ones(5, 6, dtype=torch.bool))
    with refuses(
        "a mask is a bool tensor of 2 to 4 axes, not torch.int64 of (5, 7)",
        "mask",
        "True = may attend; write `scores_mask == 0` or `mask.bool()`",
    ):
        attention.remember(key, value, torch.ones(5, 7, dtype=torch.long))


def test_a_pattern_with_too_few_queries_is_refused(attention, inputs, refuses):
    query, key, value = inputs
    memory = attention.remember(key, value, torch.ones(4, 7, dtype=torch.bool))
    with refuses(
        "a mask of (1, 1, 4, 7) does not broadcast to scores of (1, 1, 5, 7)",
        "mask",
        "its axes are (batch, heads, query, key), each of the scores' size or 1",
    ):
        attention(query, memory)
