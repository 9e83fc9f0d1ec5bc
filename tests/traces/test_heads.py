"""Heads that were made to do a known thing are named by it; hand-made weights give closed forms."""

from collections import Counter
from dataclasses import replace
from math import log

import numpy as np
import pytest

from regard.evaluate.error_rate import Links
from regard.tasks import Prediction
from regard.tasks.axis import Tokens
from regard.traces.head_roles import Arc, Facts, Tally, is_special, named, random_weights
from regard.traces.head_survey import Sentence, facts_of, matched, probes, read, survey
from regard.traces.site import TracedSite
from regard.traces.trace import Trace
from tests.traces import planted

TEXT = planted.sentences(40)
COUNTS = Counter(word for sentence in TEXT for word in sentence.words)


@pytest.fixture(scope="module")
def surveyed():
    task, model = planted.planted(dict(COUNTS))
    return survey(planted.looker(task, model), TEXT)


def roles_of(heads, kind, layer):
    own = [head for head in heads if head.kind == kind and head.layer == layer]
    return [tuple(role.name for role in head.roles) for head in own]


NAMES = {"broad": (), "syntax": ("obj →",)}


@pytest.mark.parametrize(
    ("kind", "plan"),
    [
        ("encoder-self", planted.ENCODER),
        ("decoder-self", planted.DECODER),
        ("cross", planted.CROSS),
    ],
)
def test_every_planted_head_is_named_by_what_it_was_made_to_do(surveyed, kind, plan):
    for layer, wanted in enumerate(plan):
        assert roles_of(surveyed, kind, layer) == [NAMES.get(what, (what,)) for what in wanted]


# Heads, words in the language, words of a sentence at least and at most, and a seed.
OTHERS = (
    (2, 44, (4, 12), 2),
    pytest.param(3, 30, (6, 10), 1, marks=pytest.mark.slow),
    pytest.param(6, 20, (12, 16), 3, marks=pytest.mark.slow),
)


@pytest.mark.parametrize(("heads", "known", "lengths", "seed"), OTHERS)
def test_planted_heads_of_other_models_and_texts_are_named_right(heads, known, lengths, seed):
    chance = np.random.default_rng(seed)

    def drawn(*choices):
        return tuple(tuple(chance.choice(choices, heads).tolist()) for _ in range(2))

    several = ("previous", "broad", "first", "self", "duplicate", "rare")
    below, above = drawn(*several)
    made = planted.Planted(
        drawn(*several, "next", "offset -2", "syntax", "separator"),
        (("previous", *below[1:]), ("induction", *above[1:])),
        drawn("alignment", "broad", "separator", "first"),
    )
    words = tuple(f"w{number:02d}" for number in range(known))
    text = planted.sentences(40, seed, words, lengths)
    counts = Counter(word for sentence in text for word in sentence.words)
    found = survey(planted.looker(*planted.planted(dict(counts), made, words)), text)
    kinds = {"encoder-self": made.encoder, "decoder-self": made.decoder, "cross": made.cross}
    for kind, plan in kinds.items():
        for layer, wanted in enumerate(plan):
            assert roles_of(found, kind, layer) == [NAMES.get(what, (what,)) for what in wanted]


def test_planted_numbers_have_their_closed_forms(surveyed):
    by_place = {(head.kind, head.layer, head.head): head for head in surveyed}
    previous = by_place["encoder-self", 0, 0]
    assert previous.offset == -1
    assert previous.measures["previous"] == pytest.approx(1, abs=1e-3)
    lengths = [len(sentence.words) for sentence in TEXT]  # the first word has no previous one
    spread = sum(log(length + 1) for length in lengths) / sum(lengths)
    assert previous.measures["entropy"] == pytest.approx(spread, rel=1e-3)
    syntax = by_place["encoder-self", 0, 3]
    assert syntax.relation.accuracy == 1
    assert syntax.relation.count == sum(len(sentence.tree) for sentence in TEXT)
    assert syntax.relation.gain == 1 - syntax.relation.baseline
    assert by_place["encoder-self", 0, 1].measures["rare"] == 1
    assert by_place["cross", 0, 0].measures["alignment"] == 1
    assert by_place["decoder-self", 1, 0].measures["induction"] == pytest.approx(1, abs=1e-3)


def test_controls_say_what_a_random_head_and_shuffled_words_give(surveyed):
    by_place = {(head.kind, head.layer, head.head): head for head in surveyed}
    rare = by_place["encoder-self", 0, 1]
    assert 0.05 < rare.random["rare"] < 0.2  # one in 8 to 13 words
    assert rare.shuffled["rare"] == 1  # a rare word is rare wherever it stands
    syntax = by_place["encoder-self", 0, 3]
    assert syntax.shuffled["relation_gain"] > 0.5  # it follows the words, not their places
    assert syntax.random["relation_gain"] < 0.1
    assert by_place["encoder-self", 0, 0].shuffled["previous"] == pytest.approx(1, abs=1e-3)


def seen(weights, pieces, *, kind="encoder-self", other=None, causal=False):
    """A trace with one site of these weights."""
    heads, queries, keys = weights.shape
    scores = np.zeros_like(weights)
    if causal:
        scores[:, np.triu(np.ones((queries, keys), bool), 1)] = -np.inf
    axes = {"source": Tokens.whole(pieces), "target": Tokens.whole(other or pieces)}
    names = ("target", "source") if kind == "cross" else ("source", "source")
    vectors = [np.zeros((heads, count, 1), np.float32) for count in (queries, keys, keys)]
    site = TracedSite(
        "a", kind, 0, *names, "dot", "softmax", "product", 1.0, weights, scores, *vectors
    )
    return Trace("t", "", "", Prediction(""), (), axes, (site,))


def head_of(trace, counts=None, facts=None):
    tally = Tally(counts)
    tally.add(trace, facts)
    return tally.heads()[0]


def test_uniform_weights_have_the_entropy_of_their_number():
    head = head_of(seen(np.full((1, 5, 5), 0.2), list("abcde")))
    assert head.measures["entropy"] == pytest.approx(log(5))
    assert head.measures["confidence"] == pytest.approx(0.2)
    assert head.measures["distance"] == pytest.approx(
        np.mean([abs(i - j) for i in range(5) for j in range(5)])
    )
    assert head.measures["self"] == head.measures["next"] == pytest.approx(0.2)
    assert head.measures["duplicate"] is None  # no letter stands there twice


def test_a_causal_head_is_not_judged_where_it_had_no_choice():
    weights = np.tril(np.ones((1, 4, 4)))
    weights /= weights.sum(-1, keepdims=True)
    head = head_of(seen(weights, list("abab"), causal=True))
    assert head.counts["entropy"] == 3  # not the first row
    assert head.measures["entropy"] == pytest.approx((log(2) + log(3) + log(4)) / 3)
    assert head.measures["next"] is None
    assert head.measures["duplicate"] == pytest.approx((1 / 3 + 1 / 4) / 2)
    assert head.measures["induction"] == pytest.approx(
        (1 / 3 + 1 / 4) / 2
    )  # a b [a]: b; a b a [b]: a


def test_special_tokens_are_sinks_and_no_queries():
    weights = np.zeros((1, 4, 4))
    weights[..., 3] = 0.6
    weights[..., 1] = 0.4
    head = head_of(seen(weights, [">>fr<<", "a", "b", "</s>"]))
    assert head.counts["entropy"] == 2
    assert head.measures["separator"] == pytest.approx(0.6)
    assert head.measures["first"] == 0
    assert head.measures["confidence"] == pytest.approx(0.4)  # the end sign does not count
    assert [is_special(piece) for piece in ("[SEP]", "<s>", "<0xC3>", "[a]", "<", "<|x|>")] == [
        True, True, False, False, False, True,
    ]  # fmt: skip


def test_the_best_relation_is_that_with_the_largest_gain_over_its_best_offset():
    weights = np.zeros((1, 4, 4))
    weights[0, [0, 1, 2, 3], [2, 3, 0, 0]] = 1
    tally = Tally()
    trace = seen(weights, list("abcd"))
    arcs = (Arc(0, 2, "obj"), Arc(1, 2, "det"), Arc(3, 0, "obj"))
    for _ in range(10):
        tally.add(trace, Facts("source", arcs))
    (head,) = tally.heads()
    assert (head.relation.name, head.relation.direction) == ("obj", "to head")
    assert (head.relation.accuracy, head.relation.baseline, head.relation.count) == (1, 0.5, 20)
    (found,) = named([head])
    assert "obj →" in [role.name for role in found.roles]


def test_alignment_error_of_a_head_is_that_of_its_links():
    weights = np.zeros((2, 3, 3))
    weights[0, [0, 1, 2], [0, 1, 2]] = 1
    weights[1, [0, 1, 2], [1, 1, 1]] = 1
    trace = seen(weights, ["x", "y", "</s>"], kind="cross", other=["y", "x", "</s>"])
    gold = Links(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1), (1, 0)}))
    tally = Tally()
    tally.add(trace, Facts("source", links=gold))
    first, second = tally.heads()
    # Head 0 draws 0-0 and 1-1; head 1 draws 1-0 and 1-1; S = {0-0}, P = {0-0, 1-1, 1-0}.
    assert first.error == pytest.approx(1 - (1 + 2) / (2 + 1))
    assert second.error == pytest.approx(1 - (0 + 2) / (2 + 1))
    assert first.measures["alignment"] == 0  # x stands first in one and second in the other
    assert second.measures["alignment"] == 0.5


def test_random_weights_keep_to_what_is_allowed():
    trace = seen(np.tril(np.ones((3, 6, 6))), list("abcdef"), causal=True)
    drawn = random_weights(trace, 5).sites[0].weights
    assert not drawn[:, np.triu(np.ones((6, 6), bool), 1)].any()
    np.testing.assert_allclose(drawn.sum(-1), 1, rtol=1e-5)


def test_words_are_matched_by_their_letters():
    axis = Tokens(("▁I", "▁do", "n't", ".", "</s>"), (0, 1, 1, 2, 3), ("I", "don't", ".", "</s>"))
    assert matched(["I", "do", "n't", "."], axis) == [0, 1, 1, 2]
    assert matched(["I", "do", "not", "."], axis) is None
    sentence = Sentence(
        "I don't.", ("I", "do", "n't", "."), tree=(Arc(0, 1, "nsubj"), Arc(2, 1, "advmod"))
    )
    trace = seen(np.zeros((1, 4, 4)), ["x"] * 4)
    facts = facts_of(sentence, replace(trace, axes={"source": axis}))
    assert facts.arcs == (Arc(0, 1, "nsubj"),)  # do and n't are one word here


def test_trees_are_read_from_conllu(tmp_path):
    path = tmp_path / "two.conllu"
    rows = [
        "# text = He didn't.",
        "1\tHe\the\tPRON\tPRP\t_\t4\tnsubj:pass\t_\t_",
        "2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_",
        "2\tdid\tdo\tAUX\tVBD\t_\t0\troot\t_\t_",
        "3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_",
        "4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_",
        "",
        "1\tbroken",
        "",
    ]
    path.write_text("\n".join(rows))
    (sentence,) = read([path])
    assert sentence.text == "He didn't."
    assert sentence.words == ("He", "did", "n't", ".")
    assert sentence.tree[0] == Arc(0, 3, "nsubj")
    assert len(sentence.tree) == 3  # the root depends on nothing


def test_shuffling_moves_the_tree_with_its_words():
    mixed = TEXT[0].shuffled(np.random.default_rng(3))
    assert sorted(mixed.words) == sorted(TEXT[0].words)
    assert mixed.words != TEXT[0].words
    named_arcs = [
        {(s.words[a.dependent], s.words[a.head]) for a in s.tree} for s in (TEXT[0], mixed)
    ]
    assert named_arcs[0] == named_arcs[1]


def test_probes_say_everything_twice():
    for text, target in probes(TEXT, np.random.default_rng(0)):
        for words in (text.split(), target.split()):
            assert words[: len(words) // 2] == words[len(words) // 2 :]
