"""L1-L5: words as vectors, and words in context."""

import pytest
import torch

from regard.models import ModelSettings, Sizes, TagSettings, TransformerSettings, build
from regard.worked import word_vectors
from regard.worked.likeness import TABLES


def test_one_hot_words_are_orthogonal():  # L1
    worked = word_vectors()
    assert torch.equal(torch.tensor(worked["cosine, one-hot (L1)"]), torch.eye(4))
    assert worked["norm, one-hot (L1)"] == (1.0,) * 4


def test_dog_and_cat_are_alike():  # L2
    worked = word_vectors()
    assert worked["cosine, embedding (L2)"][0][1] == pytest.approx(0.99968, abs=5e-6)
    correlation = worked["correlation, embedding (L2)"][0][1]
    assert correlation == pytest.approx(0.99677, abs=5e-6)
    assert correlation == pytest.approx(torch.corrcoef(vectors("embedding (L2)"))[0, 1].item())
    (slip,) = [slip for slip in worked.slips if slip.lecture == "L2"]
    assert slip.printed == int(correlation * 1000) / 1000
    assert slip.right == round(correlation, 3)


def test_the_two_hot_word_meets_mouse():  # L3
    worked = word_vectors()
    cosine = worked["cosine, five cells (L3)"]
    labels = list(TABLES["five cells (L3)"])
    assert cosine[labels.index("ate")][labels.index("mouse")] == pytest.approx(0.7071, abs=5e-5)
    assert (
        dict(zip(TABLES, worked["most alike"], strict=True))["five cells (L3)"][0] == "ate, mouse"
    )
    mended = {**TABLES["five cells (L3)"], "ate": (0, 0, 0, 1, 0)}
    right = word_vectors({"five cells (L3)": mended})["cosine, five cells (L3)"]
    assert torch.equal(torch.tensor(right), torch.eye(5))


def test_je_suis_etudiant():  # L4
    worked = word_vectors()
    assert worked["norm, four cells (L4)"] == pytest.approx((1.3960, 0.6063, 0.7789), abs=5e-5)
    cosine = worked["cosine, four cells (L4)"]
    assert cosine[0][1:] == pytest.approx((-0.3737, -0.4986), abs=5e-5)
    assert cosine[1][2] == pytest.approx(-0.5127, abs=5e-5)


def test_a_word_in_two_contexts_has_two_states():  # L5
    torch.manual_seed(1)
    settings = ModelSettings(
        encoder=TransformerSettings(width=12, layers=1, heads=3, feedforward=20, dropout=0.0),
        reader=TagSettings(),
    )
    model = build(settings, Sizes(source=7, labels=2)).eval()
    light = 3
    sentences = torch.tensor([[1, 2, light, 4], [5, 6, light, 1]])
    word = model.encoder.embedding(sentences)[:, 2]
    state = model.encode(sentences).states[:, 2]
    assert torch.equal(word[0], word[1])
    assert (state[0] - state[1]).abs().max() > 0.01


def vectors(table):
    return torch.tensor(list(TABLES[table].values()), dtype=torch.float64)
