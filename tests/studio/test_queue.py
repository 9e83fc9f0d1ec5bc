"""One worker and a bounded queue: refused at once, stopped in time, let go when a client leaves (S1, S5)."""

import asyncio
import threading
import time

import pytest
from starlette.testclient import TestClient

from regard.studio.app import create_app
from regard.studio.refusal import Refusal
from regard.studio.settings import Limits
from regard.studio.work_queue import AbandonedError, WorkQueue, go_on
from regard.traces.trace import replayed
from tests.studio.conftest import BASE


class Leaving:
    """A client that goes away when told to."""

    def __init__(self):
        self.gone = asyncio.Event()

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}


def patient(ended):
    """Work that asks, as a model does, whether it should go on."""
    try:
        while True:
            time.sleep(0.001)
            go_on()
    except AbandonedError:
        ended.set()
        raise


def run(inside, **limits):
    async def whole():
        queue = WorkQueue(Limits(**limits))
        try:
            await inside(queue)
        finally:
            queue.stop()

    asyncio.run(whole())


def test_results_and_faults_come_back():
    async def inside(queue):
        assert await queue.do(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await queue.do(lambda: 1 // 0)
        assert queue.inside == 0

    run(inside)


def test_what_does_not_fit_is_refused_and_the_others_are_served():
    async def inside(queue):
        gate = threading.Event()
        admitted = [asyncio.create_task(queue.do(gate.wait)) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal) as refused:
            await queue.do(lambda: None)
        assert refused.value.status == 429
        assert int(refused.value.headers["retry-after"]) >= 1
        assert queue.inside == 4
        gate.set()
        assert await asyncio.gather(*admitted) == [True] * 4
        assert await queue.do(lambda: 1) == 1

    run(inside, queue=3)


def test_the_deadline_ends_the_work_itself():
    async def inside(queue):
        ended = threading.Event()
        with pytest.raises(Refusal) as refused:
            await queue.do(lambda: patient(ended))
        assert refused.value.status == 504
        assert "longer than 0.1 s" in refused.value.what
        assert await asyncio.to_thread(ended.wait, 5)
        assert await queue.do(lambda: 1) == 1
        assert queue.inside == 0

    run(inside, request_seconds=0.1)


def test_a_client_that_leaves_frees_its_place():
    async def inside(queue):
        ended, client = threading.Event(), Leaving()
        task = asyncio.create_task(queue.do(lambda: patient(ended), client))
        never = threading.Event()
        other = Leaving()
        waiting = asyncio.create_task(queue.do(never.set, other))
        await asyncio.sleep(0.05)
        other.gone.set()
        with pytest.raises(Refusal):
            await waiting
        client.gone.set()
        with pytest.raises(Refusal) as refused:
            await task
        assert refused.value.status == 499
        assert await asyncio.to_thread(ended.wait, 5)
        assert await queue.idle(5)
        assert not never.is_set(), "work of a client that left was begun"

    run(inside)


def test_a_stopped_queue_takes_nothing():
    async def inside(queue):
        queue.stop()
        with pytest.raises(Refusal) as refused:
            await queue.do(lambda: None)
        assert refused.value.status == 503

    run(inside)


def test_a_model_stops_in_the_middle_of_a_decode(make, runs):
    """The deadline is far shorter than the decode; the thread is free again long before its end."""
    studio = make([runs["transformer"]])
    with TestClient(create_app(studio), base_url=BASE) as client:
        assert (
            client.post("/api/trace", json={"run": "transformer", "text": "a"}).status_code == 200
        )
        model = studio.shelf.loaded("transformer").model
        studio.queue.limits = Limits(request_seconds=0.3)
        calls = []
        for module in model.decoder.modules():
            module.register_forward_pre_hook(lambda *_: (calls.append(1), time.sleep(0.002))[0])
        asked = {"run": "transformer", "text": "a b c", "beam": 1, "max_length": 512}
        asked["prefix"] = [5] * 300
        answer = client.post("/api/trace", json=asked)
        assert answer.status_code == 504
        assert "0.3 s" in answer.json()["what"]
        time.sleep(0.1)
        stopped = len(calls)
        time.sleep(0.1)
        assert len(calls) == stopped, "it decodes on for nobody"
        assert studio.queue.inside == 0


def test_who_finds_no_place_is_told_before_a_byte_is_read(make, runs):
    """S1: not parsed, not waited for, no model touched; strangers are turned away before that."""
    studio = make([runs["rnn"]])
    app, found = create_app(studio), []

    async def receive():
        raise AssertionError("the body was read")

    async def send(message):
        found.append(message)

    def scope(path, host=b"127.0.0.1"):
        headers = [(b"host", host), (b"content-type", b"application/json")]
        own = {"type": "http", "method": "POST", "path": path, "query_string": b""}
        return {**own, "headers": headers, "http_version": "1.1", "client": None, "server": None}

    studio.queue.inside = studio.limits.queue + 1
    for path in ("/api/trace", "/api/lessons/soft-table"):
        asyncio.run(app(scope(path), receive, send))
        start, _body = found[-2:]
        assert start["status"] == 429
        assert dict(start["headers"])[b"retry-after"].isdigit()
    asyncio.run(app(scope("/api/trace", b"evil.example"), receive, send))
    assert found[-2]["status"] == 421


@pytest.mark.parametrize("kind", ["rnn", "transformer", "tag", "classify", "point", "language"])
def test_every_search_and_every_replay_ends_when_nobody_waits(kind, make, runs, monkeypatch):
    """Whatever form of the model answers: after two questions whether to go on, no third is asked."""
    predictor = make([runs[kind]]).shelf.predictor(kind)
    text = {"point": "0.3 0.1 0.7", "classify": "a good film"}.get(kind, "a b c d e")
    asked = []

    def limited():
        asked.append(1)
        if len(asked) > 1:
            raise AbandonedError

    monkeypatch.setattr("regard.studio.shelf.go_on", limited)
    settings = predictor.run.settings.decode
    with pytest.raises(AbandonedError):
        predictor.engine.find(text, settings)
    assert len(asked) == 2
    monkeypatch.setattr("regard.studio.shelf.go_on", lambda: None)
    found = predictor.engine.find(text, settings)
    asked.clear()
    monkeypatch.setattr("regard.studio.shelf.go_on", limited)
    with pytest.raises(AbandonedError):
        replayed(predictor.run.task, predictor.model, text, found, "")
    assert len(asked) == 2
