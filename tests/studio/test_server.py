"""The server on a real socket: it serves, waits for nobody for ever, and leaves politely (S4, S5, S7)."""

import asyncio
import contextlib
import signal
import socket
import threading
import time

import httpx2 as httpx
import pytest

from regard.studio.work_queue import go_on
from tests.studio import load
from tests.studio.kit import inside, server

TEXT = "a secret sentence with words"


def ask(url, **more):
    body = {"run": "rnn", "text": "a b c", **more}
    return httpx.post(f"{url}/api/trace", json=body, timeout=60)


def test_it_starts_serves_and_stops(runs, tmp_path):
    with server(runs["rnn"], folder=tmp_path) as one:
        assert one.told["runs"] == ["rnn"]
        assert httpx.get(f"{one.url}/healthz").text == "ok\n"
        answer = ask(one.url, text=TEXT)
        assert answer.status_code == 200
        assert "server" not in answer.headers
        assert httpx.get(f"{one.url}/api/{TEXT}").status_code == 404
        assert httpx.get(f"{one.url}/", headers={"host": "evil.example"}).status_code == 421
        assert one.stop() == 0
        log = one.log.read_text()
    assert "secret" not in log
    assert log == "", log


def test_warnings_of_libraries_stay_out_of_the_log(runs, tmp_path, monkeypatch):
    """Filters are shared by threads, so that one may undo those of another: as if nobody could set any."""
    lost = "import warnings\nwarnings.filterwarnings = lambda *more, **named: None\n"
    (tmp_path / "sitecustomize.py").write_text(lost)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with server(runs["rnn"], folder=tmp_path) as one:
        assert ask(one.url).status_code == 200
        assert one.stop() == 0
        assert one.log.read_text() == ""


def test_an_interrupt_is_told_from_a_polite_stop(runs, tmp_path):
    with server(runs["rnn"], folder=tmp_path) as one:
        assert httpx.get(f"{one.url}/healthz").status_code == 200
        assert one.stop(signal.SIGINT) == 130


def test_draining_lets_those_inside_finish_and_nobody_in(make, runs):
    studio = make([runs["rnn"]])
    gate, begun = threading.Event(), threading.Event()
    with inside(studio) as (url, running), httpx.Client(timeout=30) as client:
        assert ask(url).status_code == 200
        original = studio.shelf.predictor

        def slow(name):
            begun.set()
            gate.wait(60)
            return original(name)

        studio.shelf.predictor, studio.shelf.loaded = slow, lambda name: None
        answers = []
        asking = threading.Thread(target=lambda: answers.append(ask(url)))
        asking.start()
        assert begun.wait(60)
        running.handle_exit(signal.SIGTERM, None)
        assert client.get(f"{url}/readyz").status_code == 503
        refused = client.post(f"{url}/api/trace", json={"run": "rnn", "text": "a"})
        assert refused.status_code == 503
        assert refused.json()["what"] == "the studio is stopping"
        gate.set()
        asking.join(60)
        assert [answer.status_code for answer in answers] == [200]


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: 127",
        b"POST /api/trace HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ],
)
def test_a_request_that_does_not_come_loses_its_connection(make, runs, first):
    with inside(make([runs["rnn"]], receive_seconds=0.3)) as (url, _):
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as line:
            line.sendall(first)
            began = time.monotonic()
            assert _cut_off(line)
            assert time.monotonic() - began < 3
        assert httpx.get(f"{url}/healthz").status_code == 200


def _cut_off(line):
    try:
        return line.recv(1) == b""
    except ConnectionError:
        return True


def test_who_is_refused_cannot_go_on_sending(make, runs):
    """S1 and S4: with no place left the answer comes before the body, and the body has its deadline, too."""
    studio = make([runs["rnn"]], receive_seconds=0.5)
    with inside(studio) as (url, _):
        studio.queue.inside = studio.limits.queue + 1
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as line:
            line.sendall(
                b"POST /api/trace HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
            )
            assert line.recv(4096).startswith(b"HTTP/1.1 429 ")
            while not _cut_off(line):
                pass
        studio.queue.inside = 0
        assert httpx.get(f"{url}/healthz").status_code == 200


def test_after_a_refusal_the_same_line_is_served(make, runs):
    studio = make([runs["rnn"]])
    with inside(studio) as (url, _), httpx.Client(timeout=60) as client:
        asked = {"run": "rnn", "text": "a"}
        studio.queue.inside = studio.limits.queue + 1
        for _ in range(3):
            refused = client.post(f"{url}/api/trace", json=asked)
            assert refused.status_code == 429
            assert refused.headers["retry-after"].isdecimal()
        studio.queue.inside = 0
        assert client.post(f"{url}/api/trace", json=asked).status_code == 200


def test_a_connection_is_kept_between_requests(make, runs):
    """The clock of one request does not run on into the quiet after it."""
    studio = make([runs["rnn"]], receive_seconds=0.2)
    with inside(studio) as (url, _), httpx.Client() as client:
        for _ in range(3):
            assert client.get(f"{url}/healthz").status_code == 200
            time.sleep(0.3)


def test_a_client_that_leaves_mid_decode_frees_the_model(make, runs):
    studio = make([runs["rnn"]])
    ended = threading.Event()
    begun = threading.Event()

    def endless(_name):
        begun.set()
        try:
            while True:
                time.sleep(0.001)
                go_on()
        finally:
            ended.set()

    studio.shelf.predictor = endless
    with inside(studio) as (url, _):
        port = int(url.rpartition(":")[2])
        body = b'{"run": "rnn", "text": "a"}'
        head = (
            f"POST /api/trace HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n"
        )
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
            assert begun.wait(10)
        assert ended.wait(5)
        metrics = httpx.get(f"{url}/metrics").text
        assert "regard_queue_inside 0" in metrics


def test_events_come_over_the_wire_until_the_end(make, runs):
    studio = make([runs["rnn"]])
    studio.broadcast.tell("rnn", {"kind": "train", "step": 7})
    with (
        inside(studio) as (url, running),
        httpx.stream("GET", f"{url}/api/events", timeout=10) as stream,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        first = [next(lines) for _ in range(5)]
        assert first == [
            "retry: 2000",
            "",
            "id: 1",
            'data: {"kind": "stepped", "step": 7, "run": "rnn"}',
            "",
        ]
        running.handle_exit(signal.SIGTERM, None)
        assert list(lines) == []


def middle(times):
    return sorted(times)[len(times) // 2]


CRAWLING = (
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" * 5,
    b"POST /api/trace HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 900\r\n\r\n",
)


async def crawl(port, kind):
    """A byte a second of a header or a body, for as long as the server bears it; how long that was."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    began = time.monotonic()
    ended = asyncio.create_task(reader.read())
    try:
        writer.write(CRAWLING[kind] if kind else b"")
        for byte in b"{" * 900 if kind else CRAWLING[kind]:
            writer.write(bytes([byte]))
            done, _ = await asyncio.wait({ended}, timeout=1)
            if done:
                break
    finally:
        ended.cancel()
        writer.close()
    with contextlib.suppress(ConnectionError, asyncio.CancelledError):
        await ended
    return time.monotonic() - began


async def times_of(client, url, count=100):
    found = []
    for _ in range(count):
        began = time.monotonic()
        assert (await client.get(f"{url}/api/about")).status_code == 200
        found.append(time.monotonic() - began)
    return found


@pytest.mark.slow
def test_slow_clients_are_nobody_elses_trouble(runs, tmp_path):
    """200 sockets that send a byte a second: closed in time, and others hardly notice."""

    async def whole(url, port):
        async with httpx.AsyncClient(timeout=30) as client:
            await times_of(client, url)
            quiet = await times_of(client, url)
            crawling = [asyncio.create_task(crawl(port, number % 2)) for number in range(200)]
            await asyncio.sleep(1)
            busy = await times_of(client, url)
            return quiet, busy, await asyncio.gather(*crawling)

    with server(runs["rnn"], folder=tmp_path) as one:
        quiet, busy, lasted = asyncio.run(whole(one.url, one.port))
        assert one.stop() == 0
    print(f"median {middle(quiet):.4f} s alone, {middle(busy):.4f} s beside slow ones; ", end="")
    print(f"closed after {min(lasted):.1f} to {max(lasted):.1f} s")
    assert max(lasted) <= 12
    assert middle(busy) < middle(quiet) * 1.2 + 0.01


@pytest.mark.slow
def test_sixty_four_clients_for_a_minute(runs, tmp_path):
    """No wrong answer, no fault, nobody dropped; how fast refusals are is printed, to be judged."""
    with server(runs["rnn"], folder=tmp_path) as one:
        seen = asyncio.run(load.whole(one, "rnn", clients=64, seconds=60, pause=0.25, soak=False))
        assert one.stop() == 0
        assert one.log.read_text() == ""
    assert (seen.wrong, seen.faults, seen.dropped) == (0, 0, 0)
    assert set(seen.statuses) == {200, 429}
    assert len(seen.served) > 200


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(5))
def test_drained_under_load_nothing_is_dropped(runs, tmp_path, moment):
    """Whatever was asked before the signal is answered; anyone who comes later hears 503 or finds nobody."""
    found, asked_to_stop = [], []

    def press():
        never_kept = httpx.Limits(max_keepalive_connections=0)
        with httpx.Client(timeout=60, limits=never_kept) as client:
            while True:
                began = time.monotonic()
                try:
                    answer = client.post(f"{one.url}/api/trace", json={"run": "rnn", "text": "a b"})
                except httpx.HTTPError:
                    found.append((began, 0))
                    return
                found.append((began, answer.status_code))

    with server(runs["rnn"], folder=tmp_path) as one:
        assert ask(one.url).status_code == 200
        threads = [threading.Thread(target=press) for _ in range(8)]
        for thread in threads:
            thread.start()
        while not found:
            time.sleep(0.01)
        time.sleep(0.2 + moment * 0.37)
        asked_to_stop.append(time.monotonic())
        code = one.stop(seconds=30)
        for thread in threads:
            thread.join()
    assert code == 0
    # Reading what was sent takes a moment; what came within it may have been too late.
    early = [status for began, status in found if began < asked_to_stop[0] - 0.1]
    assert early
    assert set(early) <= {200, 429, 503}
    assert {status for _, status in found} <= {200, 429, 503, 0}
