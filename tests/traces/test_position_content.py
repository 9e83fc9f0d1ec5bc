"""Position against content: planted heads have shares of 0 and 1, and the exact parts add up to the score."""

import numpy as np
import pytest
import torch

from regard.attention import Heads, Learned, Rotary
from regard.layers import Embedding, Residual
from regard.traces.head_roles import Tally
from regard.traces.position_content import _component, by_parts, by_shuffling, with_shares
from tests.traces import planted

TEXT = planted.sentences(12)


@pytest.fixture(scope="module")
def model():
    return planted.planted({word: 1 + n for n, word in enumerate(planted.WORDS)})


@pytest.fixture(scope="module")
def shares(model):
    return by_shuffling(planted.looker(*model), TEXT, texts=2, orders=10)


PLANNED = {
    "encoder.blocks.{}.attention.attention": planted.ENCODER,
    "reader.blocks.{}.cross.attention": planted.CROSS,
}


def test_planted_heads_are_all_position_or_all_content(shares):
    for path, layers in PLANNED.items():
        for layer, names in enumerate(layers):
            for head, name in enumerate(names):
                own = shares.get((path.format(layer), head))
                match name:
                    case "previous" | "next" | "offset -2" | "alignment":
                        assert own.position == pytest.approx(1, abs=0.02), name
                        assert own.content < 0.1, name
                    case "rare":
                        assert own.content == pytest.approx(1, abs=0.02), name
                        assert own.position < 0.1, name
                    case "self" | "broad" | "separator":  # other words are all scored alike
                        assert own is None or own.position + own.content < 0.1


def test_shares_join_the_measures_of_a_head(model, shares):
    tally = Tally()
    tally.add(planted.looker(*model)(TEXT[0].text, TEXT[0].target))
    head = with_shares(tally.heads(), shares)[0]
    assert head.measures["position"] == shares[head.path, head.head].position
    assert tally.heads()[0].measures["position"] is None


def test_the_component_is_corrected_for_chance():
    generator = np.random.default_rng(0)
    groups = [n % 50 for n in range(1000)]
    noise = generator.normal(size=1000)
    effect = generator.normal(size=50)[groups]
    assert _component(noise, groups) < 0.02  # the naive share is 50 / 1000
    assert _component(effect, groups) == pytest.approx(1)
    assert _component(effect + noise, groups) == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("form", ["standard", "plain"])
def test_parts_of_the_first_layer_add_up_to_its_score(order, form):
    torch.manual_seed(3)
    embedding = Embedding(11, 12, position=Learned(12, 20))
    residual, heads = Residual(12, order=order, form=form), Heads(12, 3)
    with torch.no_grad():
        for parameter in (*residual.parameters(), *heads.parameters()):
            parameter.normal_()
    ids = torch.tensor([1, 5, 7, 2, 9])
    found = by_parts(embedding, residual, heads, ids)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-6)
    # Without positions all is content, without content all is position: the mixed terms vanish, too.
    with torch.no_grad():
        embedding.position.weight.zero_()
    np.testing.assert_allclose(
        by_parts(embedding, residual, heads, ids), [[0, 1, 0]] * 3, atol=1e-6
    )
    with torch.no_grad():
        embedding.position.weight.normal_()
        embedding.table.weight.zero_()
    np.testing.assert_allclose(
        by_parts(embedding, residual, heads, ids, causal=True), [[1, 0, 0]] * 3, atol=1e-6
    )


def test_the_terms_are_those_of_the_score_itself():
    """Share of position = Cov(position term, score) / Var(score), the term read off without content."""
    torch.manual_seed(5)
    embedding = Embedding(11, 12, position=Learned(12, 20)).eval()
    heads = Heads(12, 2)
    ids = torch.tensor([1, 5, 7, 2])

    def scores(states):
        query, key = (heads._split(layer(states), 6)[0] for layer in (heads.query, heads.key))
        found = query @ key.mT
        return found - found.mean(-1, keepdim=True)

    with torch.no_grad():
        for parameter in heads.parameters():
            parameter.normal_()
        whole = scores(embedding(ids[None]))
        positions = scores(embedding.position.table(4)[None])
        wanted = (positions * whole).sum((1, 2)) / (whole * whole).sum((1, 2))
        found = by_parts(embedding, Residual(12, order="post"), heads, ids)[:, 0]
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-4)


def test_rotary_positions_have_no_parts():
    embedding = Embedding(11, 12)
    heads = Heads(12, 3, position=Rotary(4))
    assert by_parts(embedding, Residual(12), heads, torch.tensor([1, 2, 3])) is None
