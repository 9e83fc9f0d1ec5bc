"""L59-L66, L69: the parts of a Transformer, and the whole."""

import pytest
import torch
from torch import nn

from regard.attention import Attention, Heads, ScaledDot, Softmax, watch
from regard.layers import EncoderBlock, FeedForward, LayerNorm, Residual
from regard.models import (
    ModelSettings,
    Sizes,
    TransformerReaderSettings,
    TransformerSettings,
    build,
)


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(11)


def test_feed_forward_at_each_position():  # L59
    layer = FeedForward(3, 7)
    x = torch.randn(2, 5, 3)
    w_1, b_1 = layer.widen.weight.T, layer.widen.bias
    w_2, b_2 = layer.narrow.weight.T, layer.narrow.bias
    by_formula = (x @ w_1 + b_1).clamp(min=0) @ w_2 + b_2
    assert torch.allclose(layer(x), by_formula, atol=1e-6)
    assert torch.allclose(layer(x)[:, 2], layer(x[:, 2]), atol=1e-6)


def test_residual():  # L60
    residual = Residual(3, order="pre")
    x, change = torch.randn(2, 5, 3), torch.randn(2, 5, 3)
    assert torch.equal(residual.close(x, change), x + change)


def test_layer_norm_without_gain():  # L61
    norm = LayerNorm(4, form="plain", eps=0.1)
    x = torch.tensor([[1.0, 2.0, 3.0, 6.0]])
    sigma = (((x - 3) ** 2).sum() / 4).sqrt()
    assert torch.allclose(norm(x), (x - 3) / (sigma + 0.1))
    assert not list(norm.parameters())


def test_layer_norm_with_gain_after_the_sum():  # L62
    norm = LayerNorm(4, eps=0.1)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    x = torch.tensor([[1.0, 2.0, 3.0, 6.0]])
    by_formula = (x - 3) / (3.5 + 0.1) ** 0.5 * norm.weight + norm.bias
    assert torch.allclose(norm(x), by_formula)
    residual = Residual(4, order="post")
    change = torch.randn(1, 4)
    assert torch.equal(residual.open(x), x)
    assert torch.equal(residual.close(x, change), residual.norm(x + change))


def test_self_attention_and_feed_forward_in_turn():  # L64
    heads = Heads(6, 2, Attention(ScaledDot(), Softmax()))
    block = EncoderBlock(
        heads, FeedForward(6, 9), (Residual(6, order="post"), Residual(6, order="post"))
    )
    x = torch.randn(1, 5, 6)
    read = block.attention_residual.norm(x + heads(x, heads.remember(x)))
    expected = block.feedforward_residual.norm(read + block.feedforward(read))
    assert torch.allclose(block(x), expected, atol=1e-6)


def test_dropout_only_while_training():  # L65
    model = transformer(dropout=0.5, attention_dropout=0.5)
    source, inputs = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6]])
    model.train()
    assert not torch.equal(model(source, inputs=inputs), model(source, inputs=inputs))
    model.eval()
    assert torch.equal(model(source, inputs=inputs), model(source, inputs=inputs))


def transformer(**options):
    parts = {"width": 8, "layers": 2, "heads": 2, "feedforward": 12, **options}
    settings = ModelSettings(
        encoder=TransformerSettings(**parts), reader=TransformerReaderSettings(**parts)
    )
    return build(settings, Sizes(source=7, target=10))


def test_the_full_transformer():  # L66
    model = transformer().eval()
    source, inputs = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6, 7, 8]])
    with watch(model) as seen:
        encoded = model.encode(source)
        model.decoder(encoded, inputs)
    shapes = {path: seen.weights(path).shape[2:] for path in seen}
    for number in (0, 1):
        assert shapes[f"encoder.blocks.{number}.attention.attention"] == (3, 3)
        assert shapes[f"reader.blocks.{number}.attention.attention"] == (4, 4)
        assert shapes[f"reader.blocks.{number}.cross.attention"] == (4, 3)
        # The top encoder output gives keys and values to every decoder layer.
        cross = model.decoder.blocks[number].cross
        key = cross.key(encoded.states).unflatten(-1, (2, 4)).transpose(1, 2)
        (aligned,) = seen[f"reader.blocks.{number}.cross.attention"]
        assert torch.equal(aligned.memory.key, key)
        masked = seen.weights(f"reader.blocks.{number}.attention.attention")
        assert torch.equal(masked, masked.tril())
    embeddings = [m for m in model.modules() if isinstance(m, nn.Embedding)]
    assert len(embeddings) == 2  # at the bottom of each stack, and nowhere else


def test_logits_over_ten_thousand_words():  # L69
    settings = ModelSettings(
        reader=TransformerReaderSettings(width=8, layers=1, heads=2, feedforward=12)
    )
    model = build(settings, Sizes(target=10_000)).eval()
    encoded = model.encode(torch.zeros(1, 0, dtype=torch.long))
    logits = model.decoder(encoded, torch.tensor([[1, 42]]))
    assert logits.shape == (1, 2, 10_000)
    shares = logits.softmax(-1)
    assert torch.allclose(shares.sum(-1), torch.ones(1, 2))
    assert torch.equal(shares.argmax(-1), logits.argmax(-1))
