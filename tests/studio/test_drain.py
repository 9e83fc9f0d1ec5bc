"""Asked to stop at thirty moments: anyone who was let in is answered, anyone who comes later is told.

Each moment is a state of the server, by both signals: the exit code says which one it was, nothing is in
the log, and nobody is left at work.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.studio.kit import server

pytestmark = pytest.mark.slow
HEAD = b"POST /api/trace HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
SIGNALS = {signal.SIGTERM: 0, signal.SIGINT: 130}
LATE = 0.05  # seconds: what was sent so shortly before the signal may have come after it


class Clients:
    """People at work, and what each heard: when all was sent, and the status; 0 is nobody there."""

    def __init__(self, one):
        self.one, self.heard, self.threads = one, [], []
        self.stack = contextlib.ExitStack()

    def ask(self, **more):
        """One question: when it was sent, all of it, and what was heard."""
        body = json.dumps({"run": "rnn", "text": "a b c", **more})
        line = http.client.HTTPConnection("127.0.0.1", self.one.port, timeout=120)
        sent, status = 0.0, 0
        try:
            line.request("POST", "/api/trace", body, {"content-type": "application/json"})
            sent = time.monotonic()
            status = line.getresponse().status
        except (OSError, http.client.HTTPException):
            pass
        finally:
            line.close()
        self.heard.append((sent or time.monotonic(), status))
        return status

    def keep_asking(self, **more):
        """Until nobody answers any more."""
        while self.ask(**more):
            pass

    def at_once(self, work, count=1, **more):
        """Some of them beside each other, for as long as it takes."""
        for _ in range(count):
            thread = threading.Thread(target=work, kwargs=more)
            thread.start()
            self.threads.append(thread)

    def say(self, start):
        """Begin a request, and send no more of it."""
        line = socket.create_connection(("127.0.0.1", self.one.port))
        self.stack.callback(line.close)
        line.sendall(start)

    def listen(self):
        with contextlib.suppress(httpx.HTTPError), httpx.Client(timeout=120) as client:
            began = time.monotonic()
            with client.stream("GET", f"{self.one.url}/api/events") as stream:
                for _ in stream.iter_lines():
                    pass
            self.heard.append((began, stream.status_code))

    def read_slowly(self, path):
        """A large answer that waits in the line while its reader sleeps."""
        began = time.monotonic()
        with httpx.Client(timeout=120) as client, client.stream("GET", path) as stream:
            time.sleep(1.5)
            json.loads(b"".join(stream.iter_bytes()))
        self.heard.append((began, stream.status_code))

    def done(self):
        for thread in self.threads:
            thread.join(120)
            assert not thread.is_alive()
        self.stack.close()
        return self.heard


def begun(clients):
    while not clients.heard:
        time.sleep(0.01)


def under_load(count, seconds):
    def moment(clients):
        clients.ask()
        clients.at_once(clients.keep_asking, count)
        time.sleep(seconds)

    return moment


def first_question(clients):
    """Libraries are imported and a model is loaded."""
    clients.at_once(clients.ask)
    time.sleep(0.5)


def long_work(clients):
    clients.ask()
    clients.at_once(clients.ask, 3, beam=32, max_length=400, prefix=[])
    time.sleep(0.5)


def listeners(clients):
    clients.at_once(clients.listen, 5)
    time.sleep(0.5)


def slow_reader(clients):
    text = " ".join("abcdefgh" * 40)
    asked = {"run": "rnn", "text": text}
    name = httpx.post(f"{clients.one.url}/api/trace", json=asked, timeout=120).json()["id"]
    path = f"{clients.one.url}/api/trace/{name}/export.json"
    clients.at_once(clients.read_slowly, path=path)
    time.sleep(1.2)


def training(clients):
    answer = httpx.post(f"{clients.one.url}/api/demo", json={}, timeout=120)
    assert answer.status_code == 202
    time.sleep(0.5)


def trained_a_while(clients):
    training(clients)
    clients.at_once(clients.listen)
    time.sleep(8)


def half(start):
    def moment(clients):
        clients.ask()
        clients.say(start)
        time.sleep(0.1)

    return moment


MOMENTS = {
    "told where it is": lambda _clients: None,
    "idle": lambda clients: clients.ask(),
    "connected": half(b""),
    "half a header": half(HEAD[:30]),
    "half a body": half(HEAD + b"Content-Length: 90\r\n\r\n{"),
    "first question": first_question,
    "some ask": under_load(4, 0.3),
    "many ask": under_load(12, 0.9),
    "the queue is full": under_load(40, 0.6),
    "long work": long_work,
    "listeners": listeners,
    "a slow reader": slow_reader,
    "training begins": training,
    "training goes on": trained_a_while,
    "all of it": lambda clients: (
        listeners(clients),
        training(clients),
        under_load(20, 0.5)(clients),
    ),
}


def at_work_in(folder):
    """Processes that work in a folder, by their numbers; the test itself works there, too."""
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        number = entry.parent.name
        with contextlib.suppress(OSError):
            if entry.readlink() == folder and number != str(os.getpid()):
                yield number


def test_there_are_thirty():
    assert len(MOMENTS) * len(SIGNALS) == 30


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("moment", MOMENTS)
def test_everyone_is_answered(runs, tmp_path, moment, number):
    with server(runs["rnn"], folder=tmp_path) as one:
        clients = Clients(one)
        MOMENTS[moment](clients)
        asked = time.monotonic()
        code = one.stop(number, seconds=60)
        heard = clients.done()
        log = one.log.read_text()
    early = {status for began, status in heard if began < asked - LATE}
    late = {status for began, status in heard if began >= asked - LATE}
    assert code == SIGNALS[number]
    assert log == ""
    assert early <= {200, 429, 503}, "anyone who asked in time hears something"
    assert late <= {200, 429, 503, 0}
    assert not list(at_work_in(tmp_path))


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_second_signal_ends_it_at_once(runs, tmp_path, number):
    with server(runs["rnn"], folder=tmp_path) as one:
        clients = Clients(one)
        clients.ask()
        clients.at_once(clients.ask, 4, beam=32, max_length=512)
        time.sleep(0.5)
        one.process.send_signal(number)
        time.sleep(0.3)
        if one.process.poll() is None:
            assert one.stop(number, seconds=10) in (128 + number, SIGNALS[number])
        clients.done()
        assert one.log.read_text() == ""
