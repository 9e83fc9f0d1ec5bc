import pytest
import torch
import torch.nn.functional as F

from regard.attention import Alibi, Attention, Causal, Padding, ScaledDot, Softmax, Window

BATCH, HEADS, LENGTH, WIDTH = 2, 3, 5, 7


@pytest.fixture
def calls(monkeypatch):
    """What reaches `scaled_dot_product_attention`."""
    seen, real = [], F.scaled_dot_product_attention

    def record(*tensors, **options):
        seen.append(options)
        return real(*tensors, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", record)
    return seen


def attend(mask, **options):
    attention = Attention(ScaledDot(), Softmax(), **options).eval()
    states = torch.randn(BATCH, HEADS, LENGTH, WIDTH)
    attention(states, attention.remember(states, states, mask))


def test_nothing_is_written_out_where_nothing_is_masked(calls):
    for mask in (None, Window(9, 9)):
        attend(mask)
        assert calls[-1]["attn_mask"] is None
        assert not calls[-1]["is_causal"]


def test_a_plain_causal_mask_is_a_flag(calls):
    for mask in (Causal(), Causal() & Window(9, 9)):
        attend(mask)
        assert calls[-1]["attn_mask"] is None
        assert calls[-1]["is_causal"]


@pytest.mark.parametrize(
    "mask", [Padding(torch.tensor([5, 2])), Causal() & Window(1, 1), Window(1, 0)], ids=str
)
def test_any_other_mask_is_written_out(mask, calls):
    attend(mask)
    assert calls[-1]["attn_mask"].dtype == torch.bool
    assert not calls[-1]["is_causal"]


def test_a_bias_is_written_out_with_its_mask(calls):
    attend(Causal(), bias=Alibi(HEADS))
    written = calls[-1]["attn_mask"]
    assert torch.equal(
        written == -torch.inf, ~torch.ones(LENGTH, LENGTH).tril().bool().expand_as(written)
    )
    assert not calls[-1]["is_causal"]


def test_dropout_is_passed_on_only_while_training(calls):
    attend(None, dropout=0.5)
    assert calls[-1]["dropout_p"] == 0
    attention = Attention(ScaledDot(), Softmax(), dropout=0.5)
    states = torch.randn(BATCH, HEADS, LENGTH, WIDTH)
    attention(states, attention.remember(states, states))
    assert calls[-1]["dropout_p"] == 0.5
