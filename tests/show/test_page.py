"""The standalone page: one file, nothing from outside, and no text of a trace is ever a program."""

import base64
import hashlib
import html
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from regard.errors import UsageError
from regard.show import page as page_module
from regard.show.page import frame, framed, inert, page
from regard.tasks.axis import Tokens
from tests.show.payloads import EVERY
from tests.traces.kit import KINDS, traced

OWN = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "span", "button", "div", "label",
    "select", "input", "p", "main", "noscript", "aside", "section", "details", "summary", "script",
}  # fmt: skip


class Reader(HTMLParser):
    """Every element, the text inside scripts, and attributes that would do something."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.title = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        assert tag in OWN, tag
        for name, value in attributes:
            assert not name.startswith("on")
            assert name not in ("src", "href", "srcdoc", "action", "formaction")
            assert "javascript:" not in (value or "")
        self.elements.append(tag)
        if tag == "script":
            self.scripts.append((dict(attributes), ""))

    def handle_data(self, data):
        if self.elements[-1:] == ["script"]:
            attributes, before = self.scripts[-1]
            self.scripts[-1] = (attributes, before + data)
        elif self.elements[-1:] == ["title"]:
            self.title += data

    def handle_endtag(self, tag):
        if tag in ("script", "title"):
            self.elements.append(f"/{tag}")


def named(text):
    """A trace in which everything that can be text is this text."""
    seen = traced("transformer")
    axes = {
        name: Tokens((text,) * len(axis), axis.word_ids, (text,) * len(axis.words))
        for name, axis in seen.axes.items()
    }
    steps = tuple(
        replace(
            step,
            symbol=text,
            alternatives=tuple(replace(a, symbol=text) for a in step.alternatives),
        )
        for step in seen.steps
    )
    answer = replace(seen.answer, text=text, symbols=(text,) * len(seen.answer.symbols))
    sites = tuple(replace(site, path=text) for site in seen.sites)
    return replace(
        seen, question=text, answer=answer, axes=axes, steps=steps, model=text, sites=sites
    )


def blocks(text):
    reader = Reader(text)
    (description, numbers, program) = reader.scripts
    assert description[0] == {"type": "application/json", "id": "description"}
    assert numbers[0] == {"type": "text/plain", "id": "numbers"}
    assert program[0] == {}
    return reader, json.loads(description[1]), base64.b64decode(numbers[1]), program[1]


CLEAN = page(traced("transformer"))


@pytest.mark.parametrize("text", EVERY)
def test_other_peoples_text_stays_text(text):
    seen = named(text)
    made = page(seen)
    reader, description, _, program = blocks(made)
    assert description["trace"] == seen.describe()
    assert program == blocks(CLEAN)[3]
    assert reader.elements == Reader(CLEAN).elements
    assert made.lower().count("<script") == 3
    assert made.lower().count("</script") == 3
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u2028\u2029\x00-\x09\x0b-\x1f\x7f]", made)
    made.encode()


@pytest.mark.parametrize("text", EVERY)
def test_a_frame_holds_the_page_and_nothing_beside(text):
    shown = frame(named(text))
    match = re.fullmatch(
        r'<iframe sandbox="allow-scripts allow-downloads"[^<>]* srcdoc="([^"<>]*)"></iframe>', shown
    )
    assert match
    assert html.unescape(match[1]) == page(named(text))


def test_labels_show_what_would_hide():
    names = blocks(page(named("a\u202eb\x00")))[1]["names"]["source"]["pieces"]
    assert names == ["a<U+202E>b␀"] * len(names)


def test_json_ends_no_element():
    value = {"a": "</script><!--&\u2028\u2029\ud800"}
    text = inert(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert text.isascii()
    assert json.loads(text) == value


def test_only_our_own_script_and_style_may_run():
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', CLEAN)[1])
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    style = re.search("<style>(.*?)</style>", CLEAN, re.S)[1]
    for name, content in (("script-src", blocks(CLEAN)[3]), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"


def test_nothing_comes_from_outside():
    program = blocks(CLEAN)[3]
    assert not re.search(r"https?://|//[a-z]+\.", CLEAN)
    for sink in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert sink not in program
    for reach in (
        "fetch(",
        "XMLHttp",
        "WebSocket",
        "import(",
        "localStorage",
        "history.",
        "cookie",
    ):
        assert reach not in program


@pytest.mark.parametrize("kind", KINDS)
def test_weights_come_back_to_four_digits(kind):
    seen = traced(kind)
    _, description, packed, _ = blocks(page(seen))
    block = zlib.decompress(packed)
    for site, places in zip(seen.sites, description["layout"], strict=True):
        offset, count = places["weights"]
        high = np.frombuffer(block, np.uint8, count, offset).astype(float)
        low = np.frombuffer(block, np.uint8, count, offset + count).astype(float)
        roots = (high * 256 + low) / 65535
        np.testing.assert_allclose(roots**2, site.weights.ravel(), atol=2e-5)
        for name in ("query", "key"):
            offset, count = places[name]
            assert offset % 4 == 0
            own = np.frombuffer(block, "<f4", count, offset)
            assert np.array_equal(own, getattr(site, name).ravel())


def test_where_it_opens():
    seen = traced("transformer")
    start = blocks(page(seen, view="lines", site=1, head=0, words=True, theme="dark"))[1]["start"]
    assert start == {"view": "lines", "site": 1, "head": 0, "words": True, "theme": "dark"}
    with pytest.raises(UsageError, match="no head 2"):
        page(seen, head=2)


def test_neurons_are_left_out_before_the_page_is_refused(monkeypatch):
    seen = traced("transformer")
    monkeypatch.setattr(page_module, "MOST_BYTES", len(CLEAN) - 1)
    assert "query" not in blocks(page(seen))[1]["layout"][0]


def test_what_is_too_large_is_refused_with_its_size(monkeypatch):
    """P10."""
    monkeypatch.setattr(page_module, "MOST_BYTES", 20_000)
    with pytest.raises(UsageError) as fault:
        page(traced("transformer"))
    assert re.fullmatch(
        r"this page would have 0\.\d MB, more than 0\.01907\d* MB", fault.value.what
    )
    assert "regard studio" in fault.value.remedy
    shown = traced("transformer")._repr_html_()
    assert shown.startswith("<p>this page would have ")


def test_a_notebook_shows_the_frame():
    seen = traced("rnn")
    assert seen._repr_html_() == framed(page(seen))


def test_a_model_without_attention_has_a_page_too():
    blocks(page(replace(traced("rnn"), sites=())))
