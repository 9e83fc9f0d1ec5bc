"""BertViz's three calls: a notebook changes one import."""

import inspect
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import regard
from regard.errors import UsageError
from regard.show import notebook
from regard.show.notebook import Page, head_view, model_view, neuron_view
from regard.traces.overview import overview
from tests.traces.kit import traced

TOKENS = ["[CLS]", "the", "Ġcat", "##s", "[SEP]"]


def attention(layers=3, heads=2, queries=5, keys=5):
    chance = np.random.default_rng(1)
    return [
        torch.tensor(chance.dirichlet(np.ones(keys), (1, heads, queries))) for _ in range(layers)
    ]


def described(shown):
    assert isinstance(shown, Page)
    return json.loads(re.search(r'id="description">(.*?)</script>', shown.data, re.S)[1])


SIGNATURES = {
    "head_view": "attention tokens sentence_b_start prettify_tokens layer heads encoder_attention "
    "decoder_attention cross_attention encoder_tokens decoder_tokens include_layers html_action",
    "model_view": "attention tokens sentence_b_start prettify_tokens display_mode encoder_attention "
    "decoder_attention cross_attention encoder_tokens decoder_tokens include_layers include_heads "
    "html_action",
    "neuron_view": "model model_type tokenizer sentence_a sentence_b display_mode layer head html_action",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    assert " ".join(inspect.signature(getattr(regard, name)).parameters) == SIGNATURES[name]


def test_weights_of_any_model():
    shown = described(head_view(attention(), TOKENS, layer=2, heads=[1], html_action="return"))
    assert [site["shape"] for site in shown["trace"]["sites"]] == [[2, 5, 5]] * 3
    start = {"view": "lines", "words": False, "site": shown["trace"]["sites"][2]["path"], "head": 1}
    assert shown["opening"] == {"selection": start}
    assert shown["trace"]["axes"]["source"]["pieces"][2] == "▁cat"


def test_a_chosen_part():
    shown = described(
        model_view(
            attention(), TOKENS, include_layers=[2, 0], include_heads=[1], html_action="return"
        )
    )
    assert [(s["layer"], s["heads"]) for s in shown["trace"]["sites"]] == [(2, 1), (0, 1)]
    assert shown["opening"]["selection"]["view"] == "model"


def test_encoder_and_decoder():
    shown = described(
        head_view(
            encoder_attention=attention(2),
            decoder_attention=attention(2, queries=3, keys=3),
            cross_attention=attention(2, queries=3),
            encoder_tokens=TOKENS,
            decoder_tokens=["le", "chat", "</s>"],
            html_action="return",
        )
    )
    kinds = [(s["kind"], s["shape"]) for s in shown["trace"]["sites"]]
    assert (
        kinds
        == [("encoder-self", [2, 5, 5])] * 2
        + [("decoder-self", [2, 3, 3])] * 2
        + [("cross", [2, 3, 5])] * 2
    )


def test_several_heads_are_all_that_the_page_has():
    given = attention(2, heads=3)
    shown = described(head_view(given, TOKENS, layer=1, heads=[2, 0], html_action="return"))
    assert [site["shape"] for site in shown["trace"]["sites"]] == [[2, 5, 5]] * 2
    sharpest = [float(given[1][0, head].max(-1).values.mean()) for head in (2, 0)]
    np.testing.assert_allclose(shown["trace"]["sites"][1]["sharpness"], sharpest, atol=1e-6)
    assert shown["opening"]["selection"].get("head") is None


def test_marks_of_pieces_are_taken_away_or_left():
    for pretty, expected in ((True, ["▁a", "b", "c"]), (False, ["Ġa", "b</w>", "c"])):
        shown = described(
            head_view(
                attention(1, queries=3, keys=3),
                ["Ġa", "b</w>", "c"],
                prettify_tokens=pretty,
                html_action="return",
            )
        )
        assert shown["trace"]["axes"]["source"]["pieces"] == expected


def test_the_second_sentence_is_marked():
    for tokens, marked in ((["a", "b", "c", "d", "e"], "┃d"), (["▁a", "▁b", "c", "▁d", "e"], "┃d")):
        shown = described(head_view(attention(), tokens, 3, html_action="return"))
        assert shown["trace"]["axes"]["source"]["pieces"][3].removeprefix("▁") == marked


def test_a_trace_of_our_own():
    seen = traced("transformer")
    for view in (head_view, model_view, neuron_view):
        told = described(view(seen, html_action="return"))["trace"]
        assert told == json.loads(json.dumps({"id": "inside", **overview(seen)}))
    opening = described(neuron_view(seen, layer=0, head=1, html_action="return"))["opening"]
    assert opening["selection"]["site"] == "reader.blocks.0.cross.attention"
    assert opening["selection"]["head"] == 1


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: head_view(), "there is no attention to show"),
        (lambda: head_view([], TOKENS), "the model gave no attention"),
        (lambda: head_view(attention(), TOKENS[:4]), "5 x 5 weights for 4 x 4 tokens"),
        (lambda: head_view(attention(), TOKENS, layer=3), "no layer 3"),
        (lambda: head_view(attention(), TOKENS, include_layers=[3]), "no layer 3"),
        (
            lambda: head_view([a[0] for a in attention()], TOKENS),
            r"is \(1, heads, query, key\), not",
        ),
        (lambda: head_view(attention(), TOKENS, cross_attention=attention()), "not both"),
        (lambda: head_view(attention(), TOKENS, html_action="print"), "no action 'print'"),
        (lambda: head_view("runs/a"), "there is no text"),
        (lambda: head_view(attention(), TOKENS, heads=[0, 2]), "no head 2"),
        (lambda: head_view(attention(), TOKENS, heads=[]), "no head is chosen"),
        (lambda: model_view(attention(), TOKENS, include_heads=[-1]), "no head -1"),
        (lambda: model_view(attention(), TOKENS, display_mode="blue"), "no display mode 'blue'"),
        (lambda: head_view(attention()), "encoder-self attention needs its tokens"),
        (lambda: head_view(cross_attention=attention(), encoder_tokens=TOKENS), "needs its tokens"),
        (lambda: model_view("runs/a", TOKENS), "a list is no text"),
        (lambda: neuron_view("runs/a"), "there is no text"),
        (lambda: neuron_view("runs/a", sentence_a="a", sentence_b="b"), "one text at a time"),
        (lambda: neuron_view(torch.nn.Linear(1, 1)), "a Linear does not show its neurons"),
    ],
)
def test_what_cannot_be_shown_is_said(call, what):
    with pytest.raises(UsageError, match=what):
        call()


def test_in_a_notebook_it_is_displayed(monkeypatch):
    shown = []
    fake = SimpleNamespace(display=SimpleNamespace(display=shown.append))
    monkeypatch.setitem(sys.modules, "IPython", fake)
    assert head_view(attention(), TOKENS) is None
    (page,) = shown
    assert page._repr_html_().startswith('<iframe sandbox="allow-scripts allow-downloads"')


def test_a_model_and_a_text_are_enough(monkeypatch):
    seen = traced("transformer")
    calls = []
    monkeypatch.setattr(notebook, "trace", lambda *given, **more: calls.append(given) or seen)
    model = Path("runs/first")
    for view in (head_view, model_view, neuron_view):
        shown = described(view(model, "two dogs run"))
        assert len(shown["trace"]["sites"]) == len(seen.sites)
    assert calls == [(model, "two dogs run")] * 3


def test_without_a_notebook_the_page_says_how_it_is_kept(tmp_path):
    shown = head_view(attention(), TOKENS)
    assert repr(shown).endswith("kB; a notebook shows it, page.save('a.html') keeps it)")
    shown.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text("utf-8") == shown.data


def test_a_pair_of_sentences_has_its_parts_as_bertviz_had():
    """Its filters: Sentence A -> Sentence A, B -> B, A -> B, B -> A; All comes first."""
    given = attention(2)
    seen = described(
        head_view(given, ["[CLS]", "a", "[SEP]", "b", "[SEP]"], 3, html_action="return")
    )
    sites = seen["trace"]["sites"]
    assert [site["shape"][1:] for site in sites] == [[5, 5]] * 2 + 2 * [[3, 3]] + 2 * [[2, 2]] + (
        2 * [[3, 2]] + 2 * [[2, 3]]
    )
    assert [site["keys"] for site in sites[2::2]] == ["A → A", "B → B", "A → B", "B → A"]
    assert seen["opening"]["selection"]["site"] == sites[1]["path"]
    assert seen["trace"]["axes"]["B → A"]["pieces"] == ["[CLS]", "a", "[SEP]"]
    assert [
        site["keys"]
        for site in described(model_view(given, TOKENS, html_action="return"))["trace"]["sites"]
    ] == ["source"] * 2


def test_the_parts_of_a_pair_are_those_of_its_weights():
    given = attention(1)
    whole = notebook._Given(given, TOKENS, 3, True, None).seen(None, None, None, None, None)
    parts = {site.keys: site for site in notebook.with_parts(whole).sites}
    weights = given[0][0].numpy()
    np.testing.assert_allclose(parts["A → B"].weights, weights[:, :3, 3:], atol=1e-6)
    np.testing.assert_allclose(parts["B → A"].weights, weights[:, 3:, :3], atol=1e-6)
    axes = notebook.with_parts(whole).axes
    assert axes["source B"].words == axes["source"].words[3:]
