"""Too large, too deep, not JSON: refused before anything is parsed, queued or loaded (S2, S3)."""

import gzip
import json
import subprocess
import sys
from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.studio.refusal import Refusal, check_json
from regard.studio.settings import Limits


@pytest.fixture
def send(client, studio, monkeypatch):
    """Post bytes; whatever comes of it, no model may be touched."""

    async def refuse(*_):
        raise AssertionError("work was queued")

    monkeypatch.setattr(studio.queue, "do", refuse)

    def post(content, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = client.post(
            "/api/trace", content=content, headers={"content-type": "application/json", **named}
        )
        assert set(answer.json()) == {"error", "what", "where", "remedy"}
        return answer.status_code, answer.json()["what"]

    return post


def test_a_body_is_counted_while_it_comes(send):
    pulled = []

    def chunks():
        for _ in range(1000):
            pulled.append(1)
            yield b" " * 65_536

    status, what = send(chunks())
    assert (status, what) == (413, "the body is larger than 1,048,576 bytes")


def test_a_declared_size_is_believed_before_a_byte_is_read(send):
    assert send(b"{}", content_length="1048577")[0] == 413
    assert send(b"{}", content_length="9" * 50)[0] == 413


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"],
)
def test_only_json_is_read(send, kind):
    assert send(b'{"run": "rnn", "text": "a"}', content_type=kind) == (415, "only JSON is read")


def test_a_compressed_body_is_not_read(send):
    assert send(gzip.compress(b"{}"), content_encoding="gzip")[0] == 415


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 33 + b"]" * 33,
        b'{"a":' * 33 + b"1" + b"}" * 33,
        b"[" * 1_000_000,
        b"{" * 500_000,
        b"\xff\xfe",
        b"not json",
        b"",
        b"[]",
        b"null",
        b"NaN",
        b'{"run": "rnn", "text": "a", "text": "b"}',
        b'{"run": "rnn", "text": "\\ud800"}',
        b'{"run": "rnn", "text": "a", "beam": 1e400}',
        b'{"run": "rnn", "text": "a", "beam": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: str(body[:24]),
)
def test_unusable_json(send, body):
    assert send(body)[0] == 422


@pytest.mark.parametrize(
    "more",
    [
        {"beam": 10**9},
        {"beam": 33},
        {"beam": 0},
        {"beam": True},
        {"beam": 2.5},
        {"max_length": 10**9},
        {"prefix": [1] * 513},
        {"prefix": [-1]},
        {"prefix": [[1]]},
        {"prefix": [None]},
        {"text": "x" * 20_001},
        {"text": 7},
        {"run": "x" * 201},
        {"temperature": 0},
        {"top_p": 2},
        {"n_best": 10**6},
        {"model": "http://evil.example/model"},
    ],
    ids=lambda more: str(more)[:40],
)
def test_beyond_a_limit(send, more):
    status, what = send(json.dumps({"run": "rnn", "text": "a", **more}).encode())
    assert status == 422
    assert what


@pytest.mark.parametrize(
    "run", ["../../etc", "/etc/passwd", "http://evil.example", "RNN", "", "rnn\0"]
)
def test_only_names_of_the_list(send, run):
    answer = send(json.dumps({"run": run, "text": "a"}).encode())
    assert answer == (404, "there is no run of this name")


def test_a_costly_question_is_refused_with_limit_and_value(client, studio, asked, monkeypatch):
    asked("transformer", "a b c")

    async def refuse(*_):
        raise AssertionError("work was queued")

    monkeypatch.setattr(studio.queue, "do", refuse)
    text = " ".join("a" * 2_500)
    answer = client.post("/api/trace", json={"run": "transformer", "text": text})
    assert answer.status_code == 422
    assert answer.json()["what"] == "this asks for 2,501 symbols; the limit is 2,000"
    text = " ".join("a" * 1_999)
    answer = client.post("/api/trace", json={"run": "transformer", "text": text})
    assert (
        answer.json()["what"]
        == "this asks for 72,000,000 attention weights; the limit is 64,000,000"
    )
    wide = {"run": "transformer", "text": text, "beam": 32, "max_length": 512}
    answer = client.post("/api/trace", json=wide)
    assert "symbols x beam; the limit is 65,536" in answer.json()["what"]


JSON = st.recursive(
    st.none() | st.text() | st.integers() | st.sampled_from(['[{"', "]}", '\\"[', "\\\\"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)
KIND = {b"content-type": b"application/json"}


def depth(value):
    if isinstance(value, list | dict):
        inside = value.values() if isinstance(value, dict) else value
        return 1 + max(map(depth, inside), default=0)
    return 0


@settings(max_examples=200, deadline=None)
@given(JSON, st.integers(1, 4), st.booleans())
def test_depth_is_counted_outside_strings_alone(value, most, plain):
    text = json.dumps(value, ensure_ascii=plain).encode()
    limits = Limits(json_depth=most)
    fits = nullcontext() if depth(value) <= most else pytest.raises(Refusal, match="nested deeper")
    with fits:
        check_json(KIND, text, limits)


SLOW = {
    "an open string": b'"' + b'\\"' * 524_287,
    "many open strings": b'"' * (1 << 20),
    "an open string that ends in a backslash": b'"' + b'\\"' * 524_286 + b"\\",
    "brackets in an open string": b'"' + b"[" * ((1 << 20) - 1),
    "backslashes": b"\\" * (1 << 20),
    "empty lists": b"[" + b"[]," * 349_524 + b"[]]",
    "deep": b"[" * (1 << 20),
}
CPU_SECONDS = 120  # linear reading takes less than one; the pattern of version 0.1 took an hour


def test_the_largest_bodies_are_read_in_bounded_time(tmp_path):
    """The system ends a process that computes for longer than it may: no clock is read here."""
    bodies = []
    for number, content in enumerate(SLOW.values()):
        assert len(content) <= Limits().body_bytes
        bodies.append(tmp_path / str(number))
        bodies[-1].write_bytes(content)
    program = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_CPU, ({CPU_SECONDS}, {CPU_SECONDS}))\n"
        "from pathlib import Path\n"
        "from regard.studio.refusal import check_json\n"
        "from regard.studio.refusal import Refusal\n"
        "from regard.studio.settings import Limits\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        check_json({b'content-type': b'application/json'}, Path(path).read_bytes(), Limits())\n"
        "        print('read')\n"
        "    except Refusal as refusal:\n"
        "        print(refusal.status)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, *map(str, bodies)], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    said = dict(zip(SLOW, ended.stdout.split(), strict=True))
    assert said.pop("empty lists") == "read"
    assert set(said.values()) == {"422"}


def test_limits_are_the_documented_ones():
    limits = Limits()
    assert (limits.body_bytes, limits.json_depth) == (1 << 20, 32)
    assert (limits.receive_seconds, limits.drain_seconds) == (10, 30)
