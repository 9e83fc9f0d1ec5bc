"""Running text: every sentence is answered, each is sent as it comes, and anyone who leaves ends the work."""

import json
import threading

import httpx2 as httpx
import pytest

from regard.answer.predictor import Predictor
from regard.studio.refusal import Refusal
from regard.studio.routes_answer import _Work
from regard.studio.work_queue import AbandonedError, go_on
from tests.studio.kit import inside

TEXT = "a b c. A b d!\n\nc d e? 17"


def lines(answer):
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def ask(client, **more):
    return client.post("/api/answer", json={"run": "rnn", "text": TEXT, **more})


def test_every_sentence_is_answered_as_it_is_alone(client):
    first, *between, last = lines(ask(client, split=True))
    assert first["kind"] == "parts"
    texts = ["a b c.", "A b d!", "c d e?"]
    told = [(part["text"], part["asked"]) for part in first["parts"]]
    assert told == [*((text, True) for text in texts), ("17", False)], "a number says nothing"
    assert [(line["kind"], line["part"]) for line in between] == [
        ("answered", place) for place in range(3)
    ]
    for text, line in zip(texts, between, strict=True):
        alone = client.post("/api/trace", json={"run": "rnn", "text": text}).json()
        assert line["trace"]["question"] == text
        same = ("answer", "steps", "axes", "sites")
        assert {name: line["trace"][name] for name in same} == {name: alone[name] for name in same}
        assert client.get(f"/api/trace/{line['trace']['id']}").status_code == 200
    answers = [line["trace"]["answer"]["text"] for line in between]
    assert last["kind"] == "finished"
    assert last["text"] == "{} {}\n\n{} 17".format(*answers)


@pytest.mark.parametrize("kind", ["rnn", "tag", "classify", "point", "language"])
def test_other_models_read_all_of_a_text_as_one(client, kind):
    text = "0.3 0.1 0.7" if kind == "point" else TEXT
    first, answered, last = lines(client.post("/api/answer", json={"run": kind, "text": text}))
    assert [part["text"] for part in first["parts"]] == [text]
    assert first["sentences"] == (4 if kind == "rnn" else 1), "it could be read by sentences"
    assert answered["trace"]["answer"]["text"] == last["text"]


def test_one_sentence_and_none(client):
    for text in ("a b c", "", "  "):
        first, _, last = lines(ask(client, text=text, split=True))
        assert (len(first["parts"]), last["kind"]) == (1, "finished")


def test_what_cannot_be_begun_is_refused_before_anything_is_sent(client):
    refused = ask(client, split=True, prefix=["o"])
    assert (refused.status_code, refused.json()["where"]) == (422, "prefix")
    assert ask(client, run="nowhere").status_code == 404
    assert ask(client, beam=0).status_code == 422
    long = ask(client, run="transformer", text=" ".join("a" * 2_500))
    assert (long.status_code, long.json()["where"]) == (422, "text")


def test_long_text_is_limited_by_sentence_and_not_as_a_whole(client, studio, monkeypatch):
    limits = studio.limits.model_copy(update={"symbols": 100})
    monkeypatch.setattr(studio, "limits", limits)
    text = "A b c. " * 300
    asked = {"text": text, "max_length": 1, "beam": 1}
    refused = client.post("/api/trace", json={"run": "rnn", **asked})
    assert refused.status_code == 422
    first, *between, last = lines(ask(client, split=True, **asked))
    assert len(first["parts"]) == len(between) == 300
    assert last["kind"] == "finished"


def test_a_sentence_that_fails_does_not_stop_the_others(client, monkeypatch):
    original = _Work.answered

    def answered(self, text, to=None):
        if text == "A b d!":
            raise Refusal(504, "this took longer than 60 s", remedy="a smaller beam")
        return original(self, text, to)

    monkeypatch.setattr(_Work, "answered", answered)
    _, *between, last = lines(ask(client, split=True))
    assert [line["kind"] for line in between] == ["answered", "failed", "answered"]
    assert between[1] == {
        "kind": "failed",
        "part": 1,
        "error": "TooSlow",
        "what": "this took longer than 60 s",
        "where": "",
        "remedy": "a smaller beam",
    }
    assert "A b d!" in last["text"], "what has no answer stands as it was"


def test_each_sentence_is_work_of_its_own(client, studio, monkeypatch):
    """The limit of 60 s is that of one sentence, and others are served between two of them."""
    original, begun = studio.queue.do, []

    async def do(work, request=None, *, patient=False):
        begun.append(patient)
        return await original(work, request, patient=patient)

    ask(client)
    monkeypatch.setattr(studio.queue, "do", do)
    lines(ask(client, split=True))
    assert begun == [True] * 3


def test_leaving_ends_the_work_on_the_server(make, runs, monkeypatch):
    """Cancel on the page closes the connection: the sentence at work stops, and no other is begun."""
    original, begun = _Work.answered, []
    second, ended = threading.Event(), threading.Event()

    def answered(self, text, to=None):
        begun.append(text)
        if len(begun) < 2:
            return original(self, text, to)
        second.set()
        try:
            while True:
                ended.wait(0.001)
                go_on()
        except AbandonedError:
            ended.set()
            raise

    monkeypatch.setattr(_Work, "answered", answered)
    studio = make([runs["rnn"]])
    with inside(studio) as (url, _):
        body = {"run": "rnn", "text": TEXT, "split": True}
        with (
            httpx.Client(timeout=60) as client,
            client.stream("POST", f"{url}/api/answer", json=body) as stream,
        ):
            told = stream.iter_lines()
            assert json.loads(next(told))["kind"] == "parts"
            assert json.loads(next(told))["kind"] == "answered", "sent before the rest is there"
            assert second.wait(60)
        assert ended.wait(60)
        assert httpx.get(f"{url}/healthz").status_code == 200
    assert begun == ["a b c.", "A b d!"]
    assert studio.queue.inside == 0


def test_a_studio_that_stops_says_so_in_the_stream(client, studio, monkeypatch):
    original = _Work.answered

    def answered(self, text, to=None):
        monkeypatch.setattr(studio, "draining", True)
        return original(self, text, to)

    monkeypatch.setattr(_Work, "answered", answered)
    _, first, last = lines(ask(client, split=True))
    assert (first["kind"], last["kind"], last["error"]) == ("answered", "failed", "Stopping")


@pytest.mark.slow
def test_the_translator_of_the_box_loses_no_sentence(make):
    from starlette.testclient import TestClient

    from regard import box
    from regard.studio.app import create_app
    from tests.studio.conftest import BASE

    text = "First line. Second line here.\nThe number is 42.\n北京"
    predictor = Predictor.load(box.folder("translator"), "cpu")
    with TestClient(create_app(make([box.folder("translator")])), base_url=BASE) as client:
        asked = {"run": "translator", "text": text, "to": "de", "beam": 2}
        first, *between, last = lines(client.post("/api/answer", json=asked))
        told = [(part["text"], part["asked"]) for part in first["parts"]]
        assert told[:3] == [
            ("First line.", True),
            ("Second line here.", True),
            ("The number is 42.", True),
        ]
        assert all(line["kind"] == "answered" and line["trace"]["to"] == "de" for line in between)
        assert last["text"] == predictor.translate(text, to="de", beam=2)
        whole = client.post("/api/answer", json={**asked, "split": False})
        assert len(lines(whole)[0]["parts"]) == 1
        tagged = {"run": "translator", "text": f">>de<< {text}", "beam": 2}
        assert lines(client.post("/api/answer", json=tagged))[-1]["text"] == last["text"]
