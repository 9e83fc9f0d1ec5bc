"""What holds for every score, every normaliser and every mask."""

import pytest
import torch

from regard.attention import Alibi, Causal, Padding, watch


def allowed_by(mask, sizes):
    """The mask written out to its full shape."""
    shape = sizes.batch, sizes.heads, sizes.queries, sizes.keys
    if mask is None:
        return torch.ones(shape, dtype=torch.bool)
    written = mask.to_bool(sizes.queries, sizes.keys, batch=sizes.batch, heads=sizes.heads)
    return written.expand(shape)


def test_contributions_sum_to_the_score(score_name, masks, make_attention, random_inputs, sizes):
    attention = make_attention(score_name)
    query, key, value = random_inputs()
    for name, mask in masks.items():
        aligned = attention.align(query, attention.remember(key, value, mask))
        allowed, total = allowed_by(mask, sizes), aligned.contributions.sum(-1)

        torch.testing.assert_close(aligned.scores[allowed], total[allowed], atol=1e-6, rtol=1e-5)
        assert (aligned.scores[~allowed] == -torch.inf).all(), name


def test_weights_are_shares_of_what_may_be_seen(
    score_name, normaliser_name, masks, make_attention, random_inputs, sizes
):
    attention = make_attention(score_name, normaliser_name)
    query, key, value = random_inputs()
    for name, mask in masks.items():
        aligned = attention.align(query, attention.remember(key, value, mask))
        allowed, weights = allowed_by(mask, sizes), aligned.weights

        assert (weights >= 0).all(), name
        assert (weights[~allowed] == 0).all(), name
        assert weights[allowed].max() > 0, name
        one = allowed.any(-1)
        if normaliser_name == "proportional":
            one = one & (aligned.scores > 0).any(-1)
        if attention.normaliser.sums_to_one:
            torch.testing.assert_close(weights.sum(-1), one.float(), atol=1e-6, rtol=0)


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "alibi"])
def test_watched_is_unwatched_and_the_weighted_sum(
    score_name, normaliser_name, masks, bias, make_attention, random_inputs, sizes
):
    added = Alibi(sizes.heads) if bias else None
    attention = make_attention(score_name, normaliser_name, bias=added)
    query, key, value = random_inputs()
    for name, mask in masks.items():
        memory = attention.remember(key, value, mask)
        unwatched = attention(query, memory)
        with watch(attention) as seen:
            watched = attention(query, memory)

        assert torch.equal(watched, unwatched), name
        (aligned,) = seen[""]
        torch.testing.assert_close(aligned.context, unwatched, atol=2e-6, rtol=1e-5)


def test_watching_changes_no_random_draw(
    score_name, normaliser_name, make_attention, random_inputs
):
    attention = make_attention(score_name, normaliser_name, dropout=0.3).train()
    query, key, value = random_inputs()
    memory = attention.remember(key, value)

    torch.manual_seed(5)
    unwatched = attention(query, memory)
    torch.manual_seed(5)
    with watch(attention):
        watched = attention(query, memory)

    assert torch.equal(watched, unwatched)


def test_a_batch_is_its_rows(
    score_name, normaliser_name, masks, make_attention, random_inputs, sizes
):
    attention = make_attention(score_name, normaliser_name)
    query, key, value = random_inputs()
    for mask in masks.values():
        together = attention(query, attention.remember(key, value, mask))

        row = torch.tensor([1])
        alone = None if mask is None else mask.select(row)
        single = attention(query[row], attention.remember(key[row], value[row], alone))

        torch.testing.assert_close(single, together[row], atol=1e-6, rtol=1e-6)


def test_gradients_are_finite_and_a_query_that_sees_nothing_reads_nothing(
    score_name, normaliser_name, masks, make_attention, random_inputs, sizes
):
    attention = make_attention(score_name, normaliser_name).train()
    for name, mask in masks.items():
        query, key, value = random_inputs(grad=True)
        context = attention(query, attention.remember(key, value, mask))
        leaves = [query, key, value, *attention.parameters()]
        gradients = torch.autograd.grad(context.square().sum(), leaves, allow_unused=True)

        blind = ~allowed_by(mask, sizes).any(-1)
        assert (context[blind] == 0).all(), name
        assert all(g is None or g.isfinite().all() for g in gradients), name
        assert gradients[2].abs().max() > 0, name
        if gradients[0] is not None:
            assert (gradients[0][blind] == 0).all(), name


@pytest.mark.parametrize("content", ["random", "nan", "1e30"])
def test_padding_content_is_void(
    score_name, normaliser_name, content, make_attention, random_inputs, sizes
):
    attention = make_attention(score_name, normaliser_name)
    query, key, value = random_inputs()
    lengths = torch.tensor([7, 3, 0])
    beyond = (torch.arange(sizes.keys) >= lengths[:, None])[:, None, :, None]
    noise = {"random": torch.randn_like(key[..., :1]), "nan": torch.nan, "1e30": 1e30}[content]
    written_out = (~beyond).squeeze(-1)[:, :, None]
    for mask in (Padding(lengths), Padding(lengths) & Causal(), written_out):
        clean = attention(query, attention.remember(key, value, mask))
        other = torch.where(beyond, noise, key), torch.where(beyond, noise, value)
        dirty = attention(query, attention.remember(*other, mask))

        assert torch.equal(clean, dirty)


def test_causal_attention_cannot_see_the_future(
    score_name, normaliser_name, square_masks, make_attention, random_inputs, sizes
):
    attention = make_attention(score_name, normaliser_name)
    query, key, value = random_inputs(queries=sizes.keys)
    changed = [states.clone() for states in (query, key, value)]
    now = 4
    for states in changed:
        states[:, :, now] = torch.randn_like(states[:, :, now])
    for name, mask in square_masks.items():
        masked = Causal() & mask
        before = attention(query, attention.remember(key, value, masked))
        after = attention(changed[0], attention.remember(*changed[1:], masked))

        assert torch.equal(before[:, :, :now], after[:, :, :now]), name
    assert not torch.equal(before[:, :, now:], after[:, :, now:])


def test_half_precision_stays_finite(
    score_name, normaliser_name, masks, make_attention, random_inputs
):
    attention = make_attention(score_name, normaliser_name)
    inputs = random_inputs()
    halves = [states.bfloat16().requires_grad_() for states in inputs]
    exact = {
        name: attention(inputs[0], attention.remember(*inputs[1:], mask))
        for name, mask in masks.items()
    }
    attention = attention.bfloat16()
    # A choice may tip over, and a share of scores that cancel may be anything.
    close = normaliser_name not in ("hard", "gumbel", "proportional") or (
        (score_name, normaliser_name) == ("feature-map", "proportional")
    )
    for name, mask in masks.items():
        context = attention(halves[0], attention.remember(*halves[1:], mask))
        gradients = torch.autograd.grad(context.sum(), halves, allow_unused=True)

        assert context.dtype == torch.bfloat16
        assert context.isfinite().all(), name
        assert all(g is None or g.isfinite().all() for g in gradients), name
        if close:
            torch.testing.assert_close(context.float(), exact[name], atol=0.2, rtol=0.05)
