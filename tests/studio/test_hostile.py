"""The same tricks through every route: no answer of the server is a page with a stranger's text in it."""

import csv
import io
import json
import re
from urllib.parse import quote

import pytest

from regard.studio.trace_export import _as_text
from regard.studio.trace_store import KINDS
from tests.show.hostile import PARTS, hostile
from tests.show.payloads import CORPUS, FORMULAS
from tests.studio.conftest import BASE

NAMES = re.compile(r"\{(\w+)\}")


def operations(client):
    document = client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path != "/api/events":  # a stream without end; what it takes is a header
                yield method.upper(), path, operation


def check(answer, trick, *place):
    assert answer.status_code < 500, (trick, place, answer.text)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "require-trusted-types-for 'script'" in answer.headers["content-security-policy"]
    kind = answer.headers["content-type"].partition(";")[0]
    assert kind != "text/html", (trick, place)
    if kind == "application/json":
        json.loads(answer.content)
    if answer.status_code >= 400 and len(trick) > 8:
        assert trick not in answer.json()["what"], "what was asked is not repeated"


def through(client, trick):
    """Once into every place of every route."""
    written = quote(trick, safe="")
    for method, path, operation in operations(client):
        if method == "GET":
            for name in NAMES.findall(path):
                own = NAMES.sub(lambda found, name=name: written if found[1] == name else "0", path)
                check(client.get(BASE + own), trick, path, name)
            queries = [
                one["name"] for one in operation.get("parameters", []) if one["in"] == "query"
            ]
            for name in queries:
                answer = client.get(NAMES.sub("0", path), params={name: trick})
                check(answer, trick, path, name)
    for body in ({"run": trick, "text": "a"}, {"run": "rnn", "text": "a", trick or "x": 1}):
        check(client.post("/api/trace", json=body), trick, "body")
    check(client.post(f"{BASE}/api/lessons/{written}", json={}), trick, "lesson")
    check(client.post("/api/lessons/word-order", json={"inputs": {trick: 1}}), trick, "inputs")
    check(
        client.get(f"{BASE}/{written}") if written.strip(".") else client.get("/x"), trick, "page"
    )


@pytest.mark.parametrize("trick", CORPUS[::31], ids=lambda trick: repr(trick)[:30])
def test_a_few_through_every_route(client, trick):
    through(client, trick)


@pytest.mark.slow
def test_all_through_every_route(client, asked):
    for trick in CORPUS:
        through(client, trick)
        shown = asked("rnn", trick)
        assert shown["question"] == trick
        rest = client.get(f"/api/trace/{shown['id']}")
        assert rest.json()["question"] == trick


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part[0][:20])
def test_files_are_taken_away_and_never_shown(client, studio, part):
    """A browser saves them; even the page and the drawing never run at our address."""
    name = studio.traces.add(hostile(part))
    for kind, media in KINDS.items():
        answer = client.get(f"/api/trace/{name}/export.{kind}")
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].partition(";")[0] == media.partition(";")[0]
        assert answer.headers["content-disposition"].startswith("attachment; ")
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        if kind == "csv":
            for row in csv.reader(io.StringIO(answer.text, newline="")):
                for cell in row[:1]:
                    assert not cell.lstrip("\x00\u200b \t\r\n").startswith(
                        ("=", "+", "-", "@", "＝")
                    )


@pytest.mark.parametrize("formula", FORMULAS, ids=repr)
def test_formulas_become_text(formula):
    """P7: what a spreadsheet would take for a formula has a mark in front; other cells are as they are."""
    asks = formula.strip("\t\r\n \x00\u200b")[0] in "=+-@＝＋－＠"
    assert _as_text(formula) == (f"'{formula}" if asks else formula)


def test_names_that_objects_have_are_only_names(client):
    for name in ("__proto__", "constructor", "toString", "__class__", "__init__"):
        assert client.post("/api/trace", json={"run": name, "text": "a"}).status_code == 404
        assert client.post(f"/api/lessons/{name}", json={}).status_code == 404
        assert client.get(f"/api/runs/{name}/settings").status_code == 404
        refused = client.post("/api/trace", json={"run": "rnn", "text": "a", name: 1})
        assert refused.status_code == 422
