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
from regard.question import Question
from regard.show import page as page_module
from regard.show.page import TALL, frame, framed, inert, page
from regard.tasks.axis import Grid, Times, Tokens
from regard.traces.overview import overview
from tests.show.payloads import EVERY
from tests.traces.kit import KINDS, traced

OWN = {"html", "head", "meta", "title", "style", "body", "div", "noscript", "script"}
built = pytest.mark.skipif(
    not (page_module.FOLDER / "explorer.js").is_file(), reason="needs the built page"
)
pytestmark = built


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


@pytest.fixture(scope="module")
def clean():
    return page(traced("transformer"))


def arrays(made):
    """Every array of every site, as a browser unpacks it."""
    _, description, packed, _ = blocks(made)
    planes = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(4, -1)
    numbers = np.ascontiguousarray(planes.T).view("<f4").ravel()
    return [
        {name: numbers[start : start + count] for name, (start, count) in places.items()}
        for places in description["layout"]
    ]


@pytest.mark.parametrize("text", EVERY)
def test_other_peoples_text_stays_text(text, clean):
    seen = named(text)
    made = page(seen)
    reader, description, _, program = blocks(made)
    assert description["trace"] == json.loads(json.dumps({"id": "inside", **overview(seen)}))
    assert program == blocks(clean)[3]
    assert reader.elements == Reader(clean).elements
    assert made.lower().count("<script") == 3
    assert made.lower().count("</script") == 3
    own = made.replace(program, "")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u2028\u2029\x00-\x09\x0b-\x1f\x7f]", own)
    made.encode()


@pytest.mark.parametrize("text", EVERY)
def test_a_frame_holds_the_page_and_nothing_beside(text):
    shown = frame(named(text))
    match = re.fullmatch(
        r'<iframe sandbox="allow-scripts allow-downloads"[^<>]* srcdoc="([^"<>]*)"></iframe>', shown
    )
    assert match
    assert html.unescape(match[1]) == page(named(text))


def test_json_ends_no_element():
    value = {"a": "</script><!--&\u2028\u2029\ud800"}
    text = inert(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert text.isascii()
    assert json.loads(text) == value


def test_only_our_own_script_and_style_may_run(clean):
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', clean)[1])
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["trusted-types"] == "svelte-trusted-html"
    style = re.search("<style>(.*?)</style>", clean, re.S)[1]
    for name, content in (("script-src", blocks(clean)[3]), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"


def test_nothing_comes_from_outside(clean):
    program = blocks(clean)[3]
    reach = "fetch( XMLHttp WebSocket EventSource sendBeacon import( importScripts document.cookie"
    sinks = "outerHTML insertAdjacentHTML document.write eval( Function("
    assert not [word for word in f"{reach} {sinks}".split() if word in program]
    places = set(re.findall(r"https?://[\w.]+", clean))
    # Names of namespaces, and where the framework's errors are explained; nobody follows them.
    assert places <= {"http://www.w3.org", "https://svelte.dev"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_comes_back_exactly(kind):
    seen = traced(kind)
    for site, found in zip(seen.sites, arrays(page(seen)), strict=True):
        own = site.arrays()
        # A score that sees what earlier steps read is no sum over neurons: its weights alone are there.
        assert set(found) == ({"weights"} if site.noticed is not None else set(own) - {"value"})
        for name, numbers in found.items():
            assert np.array_equal(numbers, own[name].astype("<f4").ravel()), name


def test_what_a_task_is_comes_with_it(clean):
    task = blocks(clean)[1]["task"]
    assert (task["verb"], task["searches"]) == ("translate", True)
    assert blocks(page(replace(traced("rnn"), task="nobody's")))[1]["task"] == {}


def test_where_it_opens():
    seen = traced("transformer")
    made = page(seen, view="lines", site=1, head=0, words=True, theme="dark")
    start = {"view": "lines", "site": seen.sites[1].path, "head": 0, "words": True}
    assert blocks(made)[1]["opening"] == {"selection": start, "theme": "dark"}
    opening = blocks(page(seen))[1]["opening"]
    assert opening == {"selection": {"view": "heat", "words": False}}
    with pytest.raises(UsageError, match="no head 2"):
        page(seen, head=2)


def test_neurons_are_left_out_before_the_page_is_refused(monkeypatch, clean):
    seen = traced("transformer")
    monkeypatch.setattr(page_module, "MOST_BYTES", len(clean) - 1)
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


@pytest.mark.parametrize("file", ["dog.png", "one.wav"])
def test_beyond_text_it_opens_at_the_answer_and_names_the_file(file):
    """A sound's page opened at columns of seconds, its spectrogram below the frame, and told its path."""
    axis = Grid(1, 2) if file == "dog.png" else Times((0.0, 1.0))
    seen = traced("rnn")
    seen = replace(
        seen, question=Question(f"/home/anna/{file}"), axes={**seen.axes, "source": axis}
    )
    assert (seen.title, "anna" in repr(seen)) == (file, False)
    assert f"<title>{file} " in page(seen)
    assert blocks(page(seen))[1]["opening"]["selection"]["view"] == "answer"
    assert blocks(page(seen, head=0))[1]["opening"]["selection"]["view"] == "heat"
    assert f"height:{TALL}px" in frame(seen)
    assert replace(seen, question=Question("spell:bano/5")).title == "spell:bano/5"
    two = replace(traced("rnn"), question=Question({"en": "a dog", "de": "ein Hund"}))
    assert blocks(page(two))[1]["opening"]["selection"]["view"] == "answer"


def test_a_model_without_attention_has_a_page_too():
    blocks(page(replace(traced("rnn"), sites=())))


def test_a_copy_without_the_built_page_says_how_to_build_it(monkeypatch, tmp_path):
    monkeypatch.setattr(page_module, "FOLDER", tmp_path)
    with pytest.raises(UsageError, match="not built") as fault:
        page(traced("rnn"))
    assert "make page" in fault.value.remedy
