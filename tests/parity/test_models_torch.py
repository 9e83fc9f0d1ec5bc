"""Parity with torch's own layers: the same weights give the same numbers."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from regard.attention import Attention, Causal, Heads, Padding, ScaledDot, Softmax
from regard.layers import DecoderBlock, EncoderBlock, FeedForward, LayerNorm, Recurrent, Residual

WIDTH, HEADS, INNER = 12, 3, 17
TORCH_RNN = {"elman": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
orders = pytest.mark.parametrize("order", ["pre", "post"])
activations = pytest.mark.parametrize("activation", ["relu", "gelu"])


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(11)


def close(found, expected):
    assert_close(found, expected, atol=1e-5, rtol=1e-5)


def shake(module):
    """Give norms and biases values of their own, so that none can be forgotten."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return module.eval()


def copy_recurrent(ours, theirs):
    """Our cells, layer by layer, into the fused stack's suffixed names."""
    for suffix, cells in (("", ours.forward_cells), ("_reverse", ours.backward_cells)):
        for layer, cell in enumerate(cells):
            for name, weight in zip(
                ("weight_ih", "weight_hh", "bias_ih", "bias_hh"), cell.weights, strict=True
            ):
                getattr(theirs, f"{name}_l{layer}{suffix}").data.copy_(weight)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("both", [False, True], ids=["uni", "bi"])
@pytest.mark.parametrize("cell", TORCH_RNN)
def test_recurrent_stacks(cell, both, layers):
    half = WIDTH // 2 if both else WIDTH
    ours = shake(Recurrent(cell, 5, WIDTH, layers, bidirectional=both))
    theirs = TORCH_RNN[cell](5, half, layers, batch_first=True, bidirectional=both)
    copy_recurrent(ours, theirs)
    inputs, lengths = torch.randn(4, 7, 5), torch.tensor([7, 2, 5, 1])

    outputs, last = ours(inputs, lengths)
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    expected, state = theirs(packed)
    expected, _ = pad_packed_sequence(expected, batch_first=True)
    hidden = state[0] if cell == "lstm" else state
    hidden = hidden.unflatten(0, (layers, -1))  # (layers, directions, batch, half)

    real = torch.arange(7) < lengths.unsqueeze(1)
    close(outputs[real], expected[real])
    for layer in range(layers):
        close(last[layer], torch.cat(list(hidden[layer]), -1))


@pytest.mark.parametrize("eps", [1e-5, 1e-2])
def test_layer_norm_standard(eps):
    ours, theirs = shake(LayerNorm(WIDTH, eps=eps)), nn.LayerNorm(WIDTH, eps=eps)
    theirs.load_state_dict(ours.state_dict())
    states = torch.randn(2, 5, WIDTH)

    close(ours(states), theirs(states))


def test_layer_norm_plain_is_the_standard_one_but_for_where_epsilon_stands():
    states = torch.randn(2, 5, WIDTH) * 3
    theirs = nn.functional.layer_norm(states, (WIDTH,), eps=0.0)
    deviation = states.std(-1, correction=0, keepdim=True)

    close(LayerNorm(WIDTH, "plain", eps=0.5)(states), theirs * deviation / (deviation + 0.5))


def copy_heads(ours, theirs):
    ours.query.weight, ours.key.weight, ours.value.weight = map(
        nn.Parameter, theirs.in_proj_weight.detach().chunk(3)
    )
    ours.query.bias, ours.key.bias, ours.value.bias = map(
        nn.Parameter, theirs.in_proj_bias.detach().chunk(3)
    )
    ours.output.load_state_dict(theirs.out_proj.state_dict())


def copy_block(ours, theirs):
    """torch numbers its norms; ours stand beside what they belong to."""
    copy_heads(ours.attention, theirs.self_attn)
    norms = [ours.attention_residual.norm, ours.feedforward_residual.norm]
    if isinstance(ours, DecoderBlock):
        copy_heads(ours.cross, theirs.multihead_attn)
        norms.insert(1, ours.cross_residual.norm)
    for number, norm in enumerate(norms, start=1):
        norm.load_state_dict(getattr(theirs, f"norm{number}").state_dict())
    ours.feedforward.widen.load_state_dict(theirs.linear1.state_dict())
    ours.feedforward.narrow.load_state_dict(theirs.linear2.state_dict())


def heads():
    return Heads(WIDTH, HEADS, Attention(ScaledDot(), Softmax()))


def torch_layer(kind, order, activation):
    return shake(
        kind(
            WIDTH, HEADS, INNER, activation=activation, norm_first=order == "pre", batch_first=True
        )
    )


@orders
@activations
@pytest.mark.parametrize("causal", [False, True])
def test_transformer_encoder_layer(order, activation, causal):
    theirs = torch_layer(nn.TransformerEncoderLayer, order, activation)
    residuals = Residual(WIDTH, order=order), Residual(WIDTH, order=order)
    ours = EncoderBlock(heads(), FeedForward(WIDTH, INNER, activation), residuals)
    copy_block(ours, theirs)
    states, lengths = torch.randn(3, 7, WIDTH), torch.tensor([7, 4, 1])
    void = torch.arange(7) >= lengths.unsqueeze(1)
    ahead = torch.ones(7, 7).triu(1).bool() if causal else None

    found = ours(states, Padding(lengths) & (Causal() if causal else None))
    expected = theirs(states, src_mask=ahead, src_key_padding_mask=void)

    close(found[~void], expected[~void])


@orders
@activations
def test_transformer_decoder_layer(order, activation):
    theirs = torch_layer(nn.TransformerDecoderLayer, order, activation)
    residuals = tuple(Residual(WIDTH, order=order) for _ in range(3))
    ours = DecoderBlock(heads(), heads(), FeedForward(WIDTH, INNER, activation), residuals)
    copy_block(ours, theirs)
    states, source = torch.randn(3, 5, WIDTH), torch.randn(3, 7, WIDTH)
    lengths = torch.tensor([7, 4, 1])

    found = ours(states, Causal(), ours.cross.remember(source, Padding(lengths)))
    expected = theirs(
        states,
        source,
        tgt_mask=torch.ones(5, 5).triu(1).bool(),
        memory_key_padding_mask=torch.arange(7) >= lengths.unsqueeze(1),
    )

    close(found, expected)
