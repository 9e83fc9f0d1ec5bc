"""Studies over HTTP: the numbers of the library, step by step, bounded, kept, and ended when nobody waits."""

import json
import threading
import time

import pytest

from regard.answer.predictor import Predictor
from regard.answer.studies import heads, senses
from regard.studio import schema
from regard.traces.examples import SENSES
from regard.traces.head_survey import PROBES
from tests.studio.kit import inside

TEXTS = ["a b c d e", "b c d a b", "e d c b a", "a a b b c"]


def lines_of(answer):
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_every_head_as_the_library_has_it(client, runs):
    told = lines_of(client.post("/api/heads", json={"run": "transformer", "sentences": TEXTS}))
    *steps, last = told
    assert [one["kind"] for one in steps] == ["progress"] * len(steps)
    total = 2 * len(TEXTS) + PROBES
    assert [one["done"] for one in steps] == list(range(1, total + 1))
    assert {one["total"] for one in steps} == {total}
    found = schema.HeadsStudied(**last)
    wanted = heads(Predictor.load(runs["transformer"], "cpu"), TEXTS)
    assert len(found.heads) == len(wanted) == 18
    for one, own in zip(found.heads, wanted, strict=True):
        assert (one.path, one.layer, one.head) == (own.path, own.layer, own.head)
        assert [role.name for role in one.roles] == [role.name for role in own.roles]
        for ours, theirs in (
            (one.measures, own.measures),
            (one.random, own.random),
            (one.shuffled, own.shuffled),
        ):
            assert ours == {name: theirs.get(name) for name in ours}
    assert {"entropy", "distance", "induction"} <= set(found.measures)
    assert found.sentences == 4
    assert found.own == "typed"


def test_what_was_found_is_kept(client, studio):
    asked = {"run": "rnn", "sentences": TEXTS}
    first = lines_of(client.post("/api/heads", json=asked))
    again = lines_of(client.post("/api/heads", json=asked))
    assert again == [first[-1]]
    other = lines_of(client.post("/api/heads", json={**asked, "sentences": TEXTS[:3]}))
    assert len(other) > 1


def test_sentences_that_cannot_be_judged_by_are_counted(client):
    asked = {"run": "rnn", "sentences": [*TEXTS, "a b", "a " * 41]}
    found = lines_of(client.post("/api/heads", json=asked))[-1]
    assert (found["sentences"], found["left_out"]) == (4, 2)


def test_a_word_as_the_library_has_it(client, runs):
    asked = {"run": "transformer", "word": "a", "sentences": TEXTS}
    *_, last = lines_of(client.post("/api/senses", json=asked))
    found = schema.SensesStudied(**last)
    assert len(found.occurrences) == 5  # "a a b b c" holds it twice
    assert [one.span for one in found.occurrences[-2:]] == [(0, 1), (2, 3)]
    predictor = Predictor.load(runs["transformer"], "cpu")
    for layer, one in enumerate(found.layers):
        own = senses(predictor, "a", TEXTS, layer=layer)
        assert one.map == [[float(value) for value in at] for at in own.map]
        assert one.groups == list(own.clusters)
        assert one.neighbours == [[[n, c] for n, c in own.neighbours(k)] for k in range(5)]
    assert max(abs(value) for one in found.occurrences for value in one.static) < 1e-5


def test_shipped_words(client):
    assert client.get("/api/senses").json()["words"] == {
        word: {sense: list(some) for sense, some in by.items()} for word, by in SENSES.items()
    }


@pytest.mark.parametrize(
    ("path", "body", "error", "word"),
    [
        ("heads", {"run": "nosuch"}, "NotFound", "no run"),
        ("heads", {"run": "tag", "sentences": TEXTS}, "Unusable", "no attention heads"),
        ("heads", {"run": "rnn", "sentences": ["a b"]}, "Unusable", "3 to 40 words"),
        ("heads", {"run": "rnn", "sentences": ["a b c"] * 101}, "Unusable", "100"),
        ("heads", {"run": "rnn", "sentences": ["a " * 600]}, "Unusable", "1000"),
        ("heads", {"run": "rnn", "sentence": "a b c"}, "Unusable", "permitted"),
        ("senses", {"run": "rnn", "word": "a", "sentences": TEXTS}, "Unusable", "no Transformer"),
        ("senses", {"run": "language", "word": "a"}, "Unusable", "no sentences for"),
        ("senses", {"run": "transformer", "word": "nowhere"}, "Unusable", "no sentences for"),
        ("senses", {"run": "transformer", "word": "z", "sentences": TEXTS}, "Unusable", "0 times"),
        ("senses", {"run": "transformer", "word": ""}, "Unusable", "1 character"),
    ],
)
def test_refusals_are_words(client, path, body, error, word):
    """At once, or, where the model had to be asked, as the line that ends the stream."""
    answer = client.post(f"/api/{path}", json=body)
    told = json.loads(answer.text.splitlines()[-1])
    assert (answer.status_code == 200) == (told.get("kind") == "failed")
    assert told["error"] == error, told
    assert word in told["what"]
    assert told["remedy"]


def test_others_are_answered_in_between_and_whoever_leaves_ends_it(make):
    import urllib.request

    studio = make()
    body = json.dumps({"run": "transformer", "sentences": TEXTS * 25}).encode()
    head = {"content-type": "application/json"}
    with inside(studio) as (url, _server):
        stream = urllib.request.urlopen(urllib.request.Request(f"{url}/api/heads", body, head))
        assert json.loads(stream.readline())["done"] == 1
        other = json.dumps({"run": "transformer", "text": "a b c"}).encode()
        asked = urllib.request.Request(f"{url}/api/trace", other, head)
        answered = threading.Event()

        def ask():
            assert json.load(urllib.request.urlopen(asked))["answer"]
            answered.set()

        threading.Thread(target=ask).start()
        done = 1
        while not answered.is_set():
            line = json.loads(stream.readline())
            assert line["kind"] == "progress", "the study ended before the question was answered"
            done = line["done"]
        assert done < 200
        stream.close()
        until = time.monotonic() + 30
        while studio.queue.inside and time.monotonic() < until:
            time.sleep(0.05)
        assert not studio.queue.inside
        assert not studio.studies
