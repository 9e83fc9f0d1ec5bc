"""One label a word, one label a sequence, and the three ways to pool."""

import torch
from torch.testing import assert_close

from regard.attention import Attention, Dot, Padding, Softmax, watch
from regard.models import AttentionPool, Classifier, Encoded, FirstPool, MeanPool, Tagger

STATES = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(7))
ENCODED = Encoded(STATES, Padding(torch.tensor([5, 2])))


def test_a_tagger_maps_every_state_alike():
    tagger = Tagger(3, 7)

    assert_close(tagger(ENCODED), STATES @ tagger.output.weight.mT + tagger.output.bias)


def test_the_mean_pool_is_the_mean_of_real_states():
    expected = torch.stack([STATES[0].mean(0), STATES[1, :2].mean(0)])

    assert_close(MeanPool()(ENCODED), expected)


def test_the_first_pool_is_the_first_state():
    assert torch.equal(FirstPool()(ENCODED), STATES[:, 0])


def test_the_attention_pool_reads_by_one_learned_query():
    pool = AttentionPool(3, Attention(Dot(), Softmax()))
    with watch(pool) as seen:
        pooled = pool(ENCODED)

    scores = STATES @ pool.query
    second = scores[1, :2].softmax(-1)
    assert_close(seen.weights("attention")[0, 0, 0], scores[0].softmax(-1))
    assert_close(seen.weights("attention")[1, 0, 0], torch.cat([second, torch.zeros(3)]))
    assert_close(pooled[1], second @ STATES[1, :2])


def test_a_row_of_padding_pools_to_zero():
    empty = Encoded(STATES, Padding(torch.tensor([5, 0])))
    for pool in (MeanPool(), FirstPool(), AttentionPool(3, Attention(Dot(), Softmax()))):
        assert not pool(empty)[1].any()


def test_a_classifier_labels_what_was_pooled():
    classifier = Classifier(FirstPool(), 3, 7)

    assert_close(classifier(ENCODED), classifier.output(STATES[:, 0]))
