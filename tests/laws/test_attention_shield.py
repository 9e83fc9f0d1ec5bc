"""Keys and values that a query may not see never reach it: not even NaN or inf, forward or backward.

Over masks x scores x normalisers x ways to work one attention out. The expected context is that of the same
attention over a memory whose harmful keys and values are ordinary numbers.
"""

import pytest
import torch

from regard.accelerate.attend import Banded, Blocked, Fused, Linear, StridedLines
from regard.attention import (
    NORMALISERS,
    SCORES,
    Attention,
    Causal,
    Given,
    GlobalWindow,
    Memory,
    Padding,
    Strided,
    Window,
    align,
    attend,
    make_normaliser,
    make_score,
    shield,
    watch,
)
from regard.seams import using
from tests.accelerate.spied import spied

SIZE, WIDTH = 13, 5
MASKS = {
    "causal": Causal(),
    "window": Window(2, 1),
    "strided": Strided(3),
    "global-window": GlobalWindow(1, 1),
    "given": Given(torch.rand(2, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(5)) > 0.4),
    "padding&causal": Padding(torch.tensor([SIZE, 7])) & Causal(),
    "causal&strided": Causal() & Strided(2),
}
HARM = [(torch.nan, name) for name in MASKS]
HARM += [(number, name) for number in (torch.inf, -torch.inf) for name in ("causal", "given")]

WAYS = {
    "formula": [],
    "banded": [Banded(least=3, gain=1), Fused()],
    "strided": [StridedLines(gain=0), Fused()],
    "blocked": [Blocked(least=0)],
    "fused": [Fused()],
    "linear": [Linear()],
}


def inputs(grad=False):
    return [torch.randn(2, 3, SIZE, WIDTH).requires_grad_(grad) for _ in range(3)]


def harmed(key, value, number, where=(9, 10), kinds="kv"):
    """The same with some numbers of these positions replaced: of keys, of values, or of both."""
    key, value = key.detach().clone(), value.detach().clone()
    for place in where:
        if "k" in kinds:
            key[:, :, place, 1] = number
        if "v" in kinds:
            value[0, :, place, 2] = number
    return key.requires_grad_(), value.requires_grad_()


def untouched(mask, where=(9, 10)):
    """The queries that may see none of these positions, (batch, heads, query)."""
    allowed = mask.to_bool(SIZE, SIZE, batch=2, heads=3).expand(2, 3, -1, -1)
    return ~allowed[..., list(where)].any(-1)


def made(score, normaliser):
    parts = make_score(score, query_width=WIDTH, key_width=WIDTH, num_heads=3, max_length=SIZE)
    return Attention(parts, make_normaliser(normaliser)).eval()


@pytest.mark.parametrize(("number", "name"), HARM)
@pytest.mark.parametrize("score", SCORES)
def test_every_score_and_normaliser_is_shielded(score, number, name):
    mask = MASKS[name]
    query, key, value = inputs(grad=True)
    bad_key, bad_value = harmed(key, value, number)
    rows = untouched(mask)
    assert rows.any()
    assert not rows.all()
    for normaliser in NORMALISERS:
        attention = made(score, normaliser)
        expected = attention(query, attention.remember(key, value, mask))
        context = attention(query, attention.remember(bad_key, bad_value, mask))
        torch.testing.assert_close(context[rows], expected[rows])
        leaves = [query, bad_key, bad_value, *attention.parameters()]
        found = torch.autograd.grad(context[rows].square().sum(), leaves, allow_unused=True)
        assert all(one is None or one.isfinite().all() for one in found)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("kinds", ["k", "v", "kv"])
@pytest.mark.parametrize("way", WAYS)
def test_every_form_is_shielded_and_gradients_are_those_of_sound_numbers(way, kinds, mask):
    score = {"blocked": "additive", "linear": "feature-map"}.get(way, "scaled-dot")
    normaliser = {"linear": "proportional", "formula": "sparsemax"}.get(way, "softmax")
    attention = made(score, normaliser)
    query, key, value = inputs(grad=True)
    rows = untouched(mask)
    results = []
    for pair in ((key, value), harmed(key, value, torch.nan, kinds=kinds)):
        with using(attend=WAYS[way]):
            context = attention(query, attention.remember(*pair, mask))
        found = torch.autograd.grad(context[rows].sin().sum(), [query, *pair])
        results.append([context[rows], *found])
    for sound, shielded in zip(*results, strict=True):
        torch.testing.assert_close(shielded, sound)


def test_who_may_see_what_is_not_finite_reads_it_as_the_formula_says():
    query, key, value = inputs()
    _, bad = harmed(key, value, torch.inf, where=(4,), kinds="v")
    context = attend(query, key, bad.detach(), mask=Causal())
    assert context[0, :, 4:, 2].isinf().all()
    others = [0, 1, 3, 4]
    assert context[..., others].isfinite().all()
    torch.testing.assert_close(context[1], attend(query, key, value, mask=Causal())[1])


def test_a_gradient_that_is_not_finite_is_not_hidden():
    query, key, value = inputs(grad=True)
    bad_key, bad_value = harmed(key, value, torch.nan)
    context = attend(query, bad_key, bad_value, mask=Causal())
    context[:, :, 9:].sum().backward()
    assert query.grad[:, :, 9:].isnan().all(-1).all()


def test_numbers_whose_sum_overflows_are_read_as_ever():
    query, key, value = inputs()
    large = value.abs() * 1e37
    context = attend(query, key, large, mask=Causal())
    assert not shield.is_finite(large)
    expected = align(query, key, large, mask=Causal())
    torch.testing.assert_close(context, expected.weights @ large)


def test_alignments_and_edits_are_shielded_too():
    query, key, value = inputs(grad=True)
    bad_key, bad_value = harmed(key, value, torch.nan)
    rows, attention = untouched(Causal()), made("scaled-dot", "softmax")
    aligned = align(query, bad_key, bad_value, mask=Causal())
    torch.testing.assert_close(
        aligned.context[rows], attend(query, key, value, mask=Causal())[rows]
    )
    leaves = [query, bad_key, bad_value]
    found = torch.autograd.grad(aligned.context[rows].sum(), leaves, retain_graph=True)
    assert all(one.isfinite().all() for one in found)
    scores = aligned.scores[rows]
    (found,) = torch.autograd.grad(scores[scores.isfinite()].sum(), [query])
    assert found.isfinite().all()
    memory = attention.remember(bad_key, bad_value, Causal())
    with watch(attention, lambda _, one: one.weights.detach().nan_to_num(0.0)):
        assert attention(query, memory)[rows].isfinite().all()


def test_a_sound_memory_is_attended_to_once():
    query, key, value = inputs()
    calls = []
    with using(attend=spied([Fused()], calls)):
        attend(query, key, value, mask=Causal())
        assert len(calls) == 1
        attention = made("dot", "softmax")
        attention(query, Memory(key.masked_fill(key > 2, torch.nan), value, Causal()))
    assert len(calls) == 3
