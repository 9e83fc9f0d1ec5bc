"""A trace holds what the model's own eager form works out, though the model runs fused kernels."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

import regard
from regard.interop.bring import Brought
from tests.house.tree import ROOT
from tests.interop import kit
from tests.interop.test_bring import word_pieces

REAL = "REGARD_REAL_WEIGHTS"  # folders of models, apart by the system's sign between paths
EACH = ("encoder_attentions", "decoder_attentions", "cross_attentions", "attentions")


def maps_of(model, tokenizer, seen, text):
    """What this model, in whatever form it has, gives for a text and the answer of a trace, in its order."""
    inputs = tokenizer(text, return_tensors="pt")
    if model.config.is_encoder_decoder:
        start = model.generation_config.decoder_start_token_id
        ids = [start, *(step.id for step in seen.steps)]
        inputs["decoder_input_ids"] = torch.tensor([ids[:-1]])
    with torch.no_grad():
        output = model(**inputs, output_attentions=True, use_cache=False)
    return {name: getattr(output, name, None) or () for name in EACH}


def compared(seen, expected):
    """Pairs of maps, ours and theirs."""
    kinds = {"encoder-self": EACH[0], "decoder-self": EACH[1], "cross": EACH[2]}
    for site in seen.sites:
        theirs = expected[kinds[site.kind]] or expected["attentions"]
        yield site.weights, theirs[site.layer][0].numpy()


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "llama", "marian", "bart", "t5"])
def test_a_trace_is_eager_to_the_last_bit(name):
    (fused, _, count), (eager, _, _) = kit.made(name), kit.made(name, "eager")
    tokenizer, text = word_pieces(), "the dogs playing a cat w20 w21 w22 w23 w24 w25"
    seen = regard.trace(fused, tokenizer, text, beam=1, most=4 if name in ("marian", "t5") else 0)
    pairs = list(compared(seen, maps_of(eager, tokenizer, seen, text)))
    assert len(pairs) == count
    for ours, theirs in pairs:
        np.testing.assert_array_equal(ours, theirs)


def test_what_ran_is_shown_where_the_eager_form_reads_something_else(monkeypatch):
    from transformers.models.bert import modeling_bert

    model, _, _ = kit.made("bert")
    before = regard.trace(model, word_pieces(), "the dogs")
    own = modeling_bert.eager_attention_forward
    wrong = lambda module, query, *rest, **named: own(module, -query, *rest, **named)  # noqa: E731
    monkeypatch.setattr(modeling_bert, "eager_attention_forward", wrong)
    after = regard.trace(model, word_pieces(), "the dogs")
    for one, other in zip(before.sites, after.sites, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
@pytest.mark.skipif(REAL not in os.environ, reason="says which folders in REGARD_REAL_WEIGHTS")
@torch.no_grad()
def test_fifty_texts_and_real_weights():
    words = (ROOT / "README.md").read_text("utf-8").split()
    texts = [" ".join(words[3 * n : 3 * n + 1 + n]) for n in range(50)]
    for folder in os.environ[REAL].split(os.pathsep):
        brought = Brought.open(Path(folder))
        model, tokenizer = brought.model, brought.tokenizer
        eager = type(model).from_pretrained(folder, attn_implementation="eager").eval()
        exact = type(model).from_pretrained(folder, attn_implementation="eager").eval().double()
        for text in texts:
            seen = brought.trace(text, beam=1)
            rounded, right = (maps_of(one, tokenizer, seen, text) for one in (eager, exact))
            pairs = list(compared(seen, rounded))
            assert len(pairs) == sum(map(len, rounded.values()))
            for ours, theirs in pairs:
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
            for ours, theirs in compared(seen, right):
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
