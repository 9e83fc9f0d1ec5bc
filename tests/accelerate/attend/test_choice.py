"""The one place that chooses a kernel."""

import pytest
import torch

from regard.accelerate import attend as kernels
from regard.attention import (
    Alibi,
    Attention,
    Causal,
    GlobalWindow,
    Padding,
    Strided,
    Window,
    make_normaliser,
    make_score,
)

BATCH, HEADS, LENGTH, WIDTH = 2, 3, 5, 7
PADDING = Padding(torch.tensor([5, 3]))


class OnGpu(torch.Tensor):
    """A tensor that says it is on a GPU."""

    is_cuda = True


@pytest.fixture
def chosen(monkeypatch):
    """The name of the kernel that an attention is handed to."""
    taken = []
    for name in ("explicit", "fused", "flex", "linear"):
        kernel = getattr(kernels, name)

        def attend(attention, query, memory, mask, name=name):
            taken.append(name)
            return memory.value[:, :, : query.shape[2]]

        monkeypatch.setattr(kernel, "attend", attend)

    def choose(score, normaliser, mask=None, *, gpu=False, training=False, **options):
        attention = Attention(
            make_score(score, query_width=WIDTH, key_width=WIDTH, num_heads=HEADS),
            make_normaliser(normaliser),
            **options,
        ).train(training)
        states = torch.randn(BATCH, HEADS, LENGTH, WIDTH)
        memory = attention.remember(states, states, mask)
        attention(states.as_subclass(OnGpu) if gpu else states, memory)
        return taken.pop()

    return choose


def test_softmax_of_a_dot_product_is_fused(chosen):
    for score in ("dot", "scaled-dot", "general", "cosine", "location", "feature-map"):
        for mask in (None, Causal(), PADDING, Window(1, 1)):
            assert chosen(score, "softmax", mask) == "fused"
    assert chosen("dot", "softmax", bias=Alibi(HEADS)) == "fused"


def test_other_scores_and_normalisers_are_explicit(chosen):
    assert chosen("additive", "softmax") == "explicit"
    for normaliser in ("sparsemax", "entmax-1.5", "relu", "sigmoid", "hard", "gumbel"):
        assert chosen("scaled-dot", normaliser) == "explicit"
    assert chosen("dot", "proportional") == "explicit"


def test_a_feature_map_is_linear_where_sums_suffice(chosen):
    for mask in (None, Causal(), PADDING, Causal() & PADDING, Causal() & Window(9, 9)):
        assert chosen("feature-map", "proportional", mask) == "linear"
    assert chosen("feature-map", "proportional", Window(1, 1)) == "explicit"
    assert chosen("feature-map", "proportional", bias=Alibi(HEADS)) == "explicit"


def test_a_gpu_leaves_out_the_blocks_of_a_structured_mask(chosen):
    for mask in (Window(1, 1), Strided(2), GlobalWindow(1), Causal() & Window(1, 0)):
        assert chosen("scaled-dot", "softmax", mask, gpu=True) == "flex"
    for mask in (None, Causal(), PADDING, Causal() & PADDING, Window(9, 9)):
        assert chosen("scaled-dot", "softmax", mask, gpu=True) == "fused"


def test_flex_cannot_drop_so_a_training_with_dropout_is_fused(chosen):
    options = {"gpu": True, "dropout": 0.5}
    assert chosen("dot", "softmax", Window(1, 1), training=True, **options) == "fused"
    assert chosen("dot", "softmax", Window(1, 1), training=False, **options) == "flex"


def test_a_head_too_wide_for_the_fused_kernels_of_a_gpu_is_worked_out_as_it_stands(
    chosen, monkeypatch
):
    monkeypatch.setattr(kernels.fused, "WIDEST", WIDTH - 1)
    assert chosen("general", "softmax", PADDING, gpu=True) == "explicit"
    assert chosen("general", "softmax", PADDING) == "fused"
    monkeypatch.setattr(kernels.fused, "WIDEST", WIDTH)
    assert chosen("general", "softmax", PADDING, gpu=True) == "fused"
