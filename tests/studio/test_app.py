"""Faults of ours: one answer with a number, no question in any log, and the server lives on (S8, S16)."""

import logging
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from regard.studio.app import create_app
from tests.studio.conftest import BASE

SECRET = "a very private sentence\n\x1b[31m"


def test_one_fault_is_one_answer(make, runs, caplog):
    studio = make([runs["rnn"]])
    with (
        TestClient(create_app(studio), base_url=BASE) as client,
        caplog.at_level(logging.DEBUG, "regard"),
    ):
        original = studio.traces.add

        def broken(_trace):
            raise RuntimeError(SECRET)

        studio.traces.add = broken
        answer = client.post("/api/trace", json={"run": "rnn", "text": SECRET})
        assert answer.status_code == 500
        fault = answer.json()
        assert fault["error"] == "Fault"
        number = fault["what"].rpartition("number ")[2].rstrip(")")
        assert number in caplog.text
        assert "RuntimeError at" in caplog.text
        studio.traces.add = original
        assert client.post("/api/trace", json={"run": "rnn", "text": "a"}).status_code == 200
        assert client.get("/nowhere/" + quote(SECRET)).status_code == 404
        metrics = client.get("/metrics").text
    ours = "\n".join(one.getMessage() for one in caplog.records if one.name.startswith("regard"))
    for text in (ours, answer.text, metrics):
        assert "private" not in text
        assert "\x1b" not in text
    assert 'regard_requests_total{route="/api/trace",status="500"} 1' in metrics


def test_shapes_are_refused_without_repeating_them(client):
    answer = client.post("/api/trace", json={"run": "rnn", "text": "a", "beam": SECRET})
    assert answer.status_code == 422
    assert answer.json()["where"] == "body.beam"
    assert "private" not in answer.text
    unknown = client.post("/api/trace", json={"run": SECRET, "text": "a"})
    assert "private" not in unknown.text


def test_every_operation_is_documented(client):
    document = client.get("/openapi.json").json()
    assert document["info"]["title"] == "regard studio"
    operations = [
        (path, operation)
        for path, methods in document["paths"].items()
        for operation in methods.values()
    ]
    assert len(operations) > 17
    for path, operation in operations:
        assert operation["summary"], path
        assert operation["description"], path
        assert {"403", "404", "413", "415", "421", "422", "429", "503", "504"} <= set(
            operation["responses"]
        )
        good = next(v for k, v in operation["responses"].items() if k.startswith("2"))
        assert good["content"], path


@pytest.mark.parametrize(("method", "path"), [("PUT", "/api/trace"), ("POST", "/healthz")])
def test_not_this_way(client, method, path):
    answer = client.request(method, path, json={})
    assert answer.status_code == 405
    assert set(answer.json()) == {"error", "what", "where", "remedy"}


def test_no_page_fetches_scripts_from_elsewhere(client):
    for path in ("/docs", "/redoc"):
        assert client.get(path).status_code == 404
