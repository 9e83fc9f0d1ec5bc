"""L78-L83, L85, L92: what a model gives out, what it may attend to, and what can be seen of it."""

import pytest
import torch

from regard.attention import Attention, Heads, ScaledDot, Softmax, watch
from regard.models import (
    ClassifySettings,
    ModelSettings,
    PointSettings,
    RnnEncoderSettings,
    Sizes,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
    build,
)

ENCODER = TransformerSettings(width=8, layers=1, heads=2, feedforward=12)
SOURCE = torch.tensor([[3, 4, 5, 6, 3]])


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(19)


def make(reader, encoder=ENCODER, **sizes):
    settings = ModelSettings(encoder=encoder, reader=reader)
    return build(settings, Sizes(source=7, **sizes)).eval()


def test_one_tag_a_word():  # L78
    assert make(TagSettings(), labels=4)(SOURCE).shape == (1, 5, 4)


@pytest.mark.parametrize("pooling", ["mean", "first", "attention"])
def test_one_label_a_sequence(pooling):  # L79
    assert make(ClassifySettings(pooling=pooling), labels=2)(SOURCE).shape == (1, 2)


def test_a_sequence_of_its_own_length():  # L80
    reader = TransformerReaderSettings(width=8, layers=1, heads=2, feedforward=12)
    model = make(reader, target=11)
    for length in (2, 9):
        inputs = torch.ones(1, length, dtype=torch.long)
        assert model(SOURCE, inputs=inputs).shape == (1, length, 11)


def test_pointing_gives_weights_over_the_input():  # L81
    encoder = RnnEncoderSettings(width=8, dropout=0.0)
    model = make(PointSettings(width=8), encoder, features=2)
    points = torch.randn(1, 5, 2)
    logits = model(points, inputs=torch.tensor([[0, 3]]))
    assert logits.shape == (1, 2, 6)  # five points, and the sign to stop
    shares = logits.softmax(-1)
    assert shares[0, 1, 3] == 0  # no place is pointed at twice
    assert torch.allclose(shares.sum(-1), torch.ones(1, 2))


def test_frames_can_be_attended_to_as_words_can():  # L83
    reader = TransformerReaderSettings(width=8, layers=1, heads=2, feedforward=12)
    model = make(reader, target=11, features=3)
    with watch(model) as seen:
        model(torch.randn(1, 6, 3), inputs=torch.tensor([[1, 4]]))
    assert seen.weights("reader.blocks.0.cross.attention").shape == (1, 2, 2, 6)  # the input
    assert seen.weights("reader.blocks.0.attention.attention").shape == (
        1,
        2,
        2,
        2,
    )  # what was said


def test_the_attention_matrix_can_be_seen():  # L85
    model = make(TagSettings(), labels=4)
    with watch(model) as seen:
        model(SOURCE)
    weights = seen.weights("encoder.blocks.0.attention.attention")
    assert weights.shape == (1, 2, 5, 5)
    assert torch.allclose(weights.sum(-1), torch.ones(1, 2, 5))


def test_a_pruned_head_is_a_closed_one():  # L92
    heads = Heads(6, 3, Attention(ScaledDot(), Softmax()))
    x = torch.randn(1, 4, 6)
    heads.gate = torch.tensor([1.0, 0.0, 1.0])
    gated = heads(x, heads.remember(x))
    heads.keep([0, 2])
    assert heads.num_heads == 2
    assert torch.allclose(heads(x, heads.remember(x)), gated, atol=1e-6)
