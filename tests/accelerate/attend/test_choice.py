"""Which form of attention takes which case."""

import torch

from regard.accelerate.attend import FORMS, Fused
from regard.attention import (
    Alibi,
    Attention,
    Causal,
    GlobalWindow,
    Padding,
    Strided,
    Window,
    formula,
    make_normaliser,
    make_score,
)
from regard.seams import reference, using
from tests.accelerate.spied import spied

BATCH, HEADS, LENGTH, WIDTH = 2, 3, 5, 7
PADDING = Padding(torch.tensor([5, 3]))


class OnGpu(torch.Tensor):
    """A tensor that says it is on a GPU."""

    is_cuda, device = True, torch.device("cuda")


def chosen(score, normaliser, mask=None, *, gpu=False, training=False, forms=FORMS, **options):
    """The name of the form that an attention is handed to, or "formula"."""
    attention = Attention(
        make_score(score, query_width=WIDTH, key_width=WIDTH, num_heads=HEADS),
        make_normaliser(normaliser),
        **options,
    ).train(training)
    states, taken = torch.randn(BATCH, HEADS, LENGTH, WIDTH), []
    memory = attention.remember(states, states, mask)
    with using(attend=spied(forms, taken, idle=True)):
        attention(states.as_subclass(OnGpu) if gpu else states, memory)
    return taken.pop().lower() if taken else "formula"


def test_softmax_of_a_dot_product_is_fused():
    for score in ("dot", "scaled-dot", "general", "cosine", "location", "feature-map"):
        for mask in (None, Causal(), PADDING, Window(1, 1)):
            assert chosen(score, "softmax", mask) == "fused"
    assert chosen("dot", "softmax", bias=Alibi(HEADS)) == "fused"


def test_other_scores_and_normalisers_go_by_the_formula():
    assert chosen("additive", "softmax") == "formula"
    for normaliser in ("sparsemax", "entmax-1.5", "relu", "sigmoid", "hard", "gumbel"):
        assert chosen("scaled-dot", normaliser) == "formula"
    assert chosen("dot", "proportional") == "formula"


def test_a_feature_map_is_linear_where_sums_suffice():
    for mask in (None, Causal(), PADDING, Causal() & PADDING, Causal() & Window(9, 9)):
        assert chosen("feature-map", "proportional", mask) == "linear"
    assert chosen("feature-map", "proportional", Window(1, 1)) == "formula"
    assert chosen("feature-map", "proportional", bias=Alibi(HEADS)) == "formula"


def test_a_gpu_leaves_out_the_blocks_of_a_structured_mask():
    for mask in (Window(1, 1), Strided(2), GlobalWindow(1), Causal() & Window(1, 0)):
        assert chosen("scaled-dot", "softmax", mask, gpu=True) == "flex"
    for mask in (None, Causal(), PADDING, Causal() & PADDING, Window(9, 9)):
        assert chosen("scaled-dot", "softmax", mask, gpu=True) == "fused"


def test_flex_cannot_drop_so_a_training_with_dropout_is_fused():
    options = {"gpu": True, "dropout": 0.5}
    assert chosen("dot", "softmax", Window(1, 1), training=True, **options) == "fused"
    assert chosen("dot", "softmax", Window(1, 1), training=False, **options) == "flex"


def test_a_head_too_wide_for_the_fused_kernels_of_a_gpu_is_worked_out_as_it_stands():
    narrow, wide = [Fused(widest=WIDTH - 1)], [Fused(widest=WIDTH)]
    assert chosen("general", "softmax", PADDING, gpu=True, forms=narrow) == "formula"
    assert chosen("general", "softmax", PADDING, forms=narrow) == "fused"
    assert chosen("general", "softmax", PADDING, gpu=True, forms=wide) == "fused"


def test_linear_attention_with_dropout_goes_by_the_formula_which_alone_has_weights_to_drop():
    options = {"training": True, "dropout": 0.5}
    assert chosen("feature-map", "proportional", **options) == "formula"
    assert chosen("feature-map", "proportional", dropout=0.5) == "linear"


def test_the_reference_goes_by_the_formula_alone():
    with reference():
        assert chosen("dot", "softmax", forms=[Fused()]) == "fused", "what is named inside is asked"
        attention = Attention(
            make_score("dot", query_width=3, key_width=3), make_normaliser("softmax")
        )
        states = torch.randn(1, 1, 5, 3)
        memory = attention.remember(states, states)
        assert torch.equal(
            attention(states, memory), formula.context(attention, states, memory, None)
        )
        assert not formula.ATTEND.forms()
    assert formula.ATTEND.forms() == FORMS
