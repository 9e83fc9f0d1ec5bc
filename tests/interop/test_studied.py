"""Heads, senses and word links of models that people bring, by the same commands as ours."""

import json

import numpy as np
import pytest
import torch

from regard.errors import UsageError
from regard.interop.bring import Brought
from regard.interop.studied import look_of, sense_steps_of
from regard.traces.head_survey import Sentence, finished, survey
from regard.traces.headvis import METRICS, export
from tests.interop import kit
from tests.interop.test_bring import word_pieces

TEXTS = ("the dogs play", "a cat playing the dog", "the cat the dogs play")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A BERT, a GPT-2 and a Marian of random numbers, as save_pretrained writes them."""
    place = tmp_path_factory.mktemp("brought")
    for name in ("bert", "gpt2", "marian"):
        model, _, _ = kit.made(name)
        model.save_pretrained(place / name)
        word_pieces().save_pretrained(place / name)
    return place


@pytest.mark.parametrize(("name", "count"), [("bert", 6), ("gpt2", 6), ("marian", 3 * 2 + 2 + 2)])
def test_every_head_of_a_brought_model_is_judged(folders, name, count):
    heads = survey(look_of(folders / name), [Sentence.of(text) for text in TEXTS])
    assert len(heads) == count
    for head in heads:
        assert head.measures["entropy"] is not None
        assert head.random["entropy"] is not None
    kinds = {head.kind for head in heads}
    expected = {"bert": {"encoder-self"}, "gpt2": {"decoder-self"}}
    assert kinds == expected.get(name, {"encoder-self", "decoder-self", "cross"})


def test_a_folder_says_no_languages(folders):
    with pytest.raises(UsageError, match="no languages"):
        look_of(folders / "marian", "fr")


@pytest.mark.parametrize("name", ["bert", "gpt2", "marian"])
def test_states_of_a_word_are_those_that_the_model_gives(folders, name):
    brought = Brought.open(folders / name)
    texts = {"one": ["the dogs play", "a dogs cat"], "other": ["play the dogs"]}
    found = finished(sense_steps_of(brought, "dogs", texts))
    assert len(found) == 3  # before the first of two layers, and behind each
    assert [one.sense for one in found[0].occurrences] == ["one", "one", "other"]
    inputs = brought.tokenizer("the dogs play", return_tensors="pt")
    reads = brought.model.get_encoder() if name == "marian" else brought.model
    with torch.no_grad():
        states = reads(**inputs, output_hidden_states=True).hidden_states
    own = [n for n, word in enumerate(brought.axis("the dogs play").word_ids) if word == 2]
    for layer, senses in enumerate(found):
        expected = states[layer][0, own].mean(0).numpy()
        np.testing.assert_allclose(senses.states[0], expected, rtol=1e-5, atol=1e-5)
    assert (
        np.ptp(found[0].static, axis=0).max() == 0
    )  # one vector a word, whatever stands around it
    assert all(bool(one.label) == (name == "marian") for one in found[-1].occurrences)


def test_the_folder_that_headvis_reads(folders, tmp_path):
    look = look_of(folders / "gpt2")
    seen = [look(text, "") for text in TEXTS]
    assert export(tmp_path / "data", "tiny", seen) == 6
    config = json.loads((tmp_path / "data/config.json").read_text())
    assert config["heads"] == [[layer, head] for layer in range(2) for head in range(3)]
    rows = json.loads((tmp_path / "data/scatter_data.json").read_text())
    assert [list(row) for row in rows] == [["layer", "head", *METRICS]] * 6
    for row in rows:
        site = next(s for s in seen[0].sites if s.layer == row["layer"])
        maps = [next(s for s in one.sites if s.path == site.path) for one in seen]
        own = [one.weights[row["head"]].astype(float) for one in maps]
        total = sum(len(one) for one in own)
        mean = sum(np.trace(one) for one in own) / total
        assert row["self_attention_score"] == pytest.approx(mean, abs=1e-4)
        far = [abs(np.subtract.outer(np.arange(len(one)), np.arange(len(one)))) for one in own]
        mean = sum((one * d).sum() for one, d in zip(own, far, strict=True)) / total
        assert row["qk_distance"] == pytest.approx(mean, abs=1e-4)
        told = json.loads((tmp_path / f"data/heads/L{row['layer']}H{row['head']}.json").read_text())
        assert {one["sequence_id"] for one in told["sequences"]} == {0, 1, 2}
        for text in told["sequences"]:
            weights, size = own[text["sequence_id"]], text["seq_len"]
            again = np.zeros((size, size))
            again.flat[text["attention_indices"]] = text["attention_values"]
            np.testing.assert_allclose(again, np.where(weights >= 0.005, weights, 0), atol=6e-5)
            inner = weights[1:, 1:] * (1 - np.eye(size - 1))
            assert text["max_activation"] == pytest.approx(inner.max(), abs=1e-4)
        highest = max(told["sequences"], key=lambda one: one["max_activation"])
        assert highest["interval"] == max(one["interval"] for one in told["sequences"])
        cloud = json.loads((tmp_path / f"data/umap/L{row['layer']}H{row['head']}.json").read_text())
        sizes = {len(cloud["pca"][name][axis]) for name in "QKVO" for axis in ("d0", "d1", "d2")}
        assert sizes == {len(cloud["seq_idx"])}
    for name in ("server_config.json", "attributions/manifest.json"):
        assert json.loads((tmp_path / "data" / name).read_text()) == {}


def test_headvis_holds_one_kind_of_square_maps(folders, tmp_path):
    seen = [look_of(folders / "marian")("the dogs", "a cat")]
    with pytest.raises(UsageError, match="2 kinds of square maps"):
        export(tmp_path / "data", "tiny", seen)
    with pytest.raises(UsageError, match="holds square maps"):
        export(tmp_path / "data", "tiny", seen, "cross")
    assert export(tmp_path / "data", "tiny", seen, "encoder-self") == 6
    assert export(tmp_path / "other", "tiny", seen, "decoder-self") == 2
