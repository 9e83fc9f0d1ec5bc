"""Every route, no matter who asks: our own page and nobody else (S10, S11)."""

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Route
from starlette.testclient import TestClient

from regard.studio.app import create_app
from regard.studio.security import COOKIE, HEADERS, _cookie
from regard.studio.settings import StudioSettings
from tests.studio.conftest import BASE

HOSTILE = [
    ({"host": "evil.example"}, 421),
    ({"host": "evil.example:8321"}, 421),
    ({"host": "127.0.0.1.evil.example:8321"}, 421),
    ({"host": "127.0.0.1@evil.example"}, 421),
    ({"host": "localhost:8321:80"}, 421),
    ({"host": "[::1]evil:8321"}, 421),
    ({"host": "192.168.1.7:8321"}, 421),
    ({"host": ""}, 421),
    ({"origin": "http://evil.example"}, 403),
    ({"origin": "null"}, 403),
    ({"origin": "http://127.0.0.1:8322"}, 403),
    ({"origin": "http://localhost:8321"}, 403),
    ({"origin": "http://127.0.0.1:8321.evil.example"}, 403),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"sec-fetch-site": "same-site"}, 403),
    ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
]


def routes(app):
    """Every method and path that the application answers, with something in each place."""

    def flat(level):
        for route in level:
            if isinstance(route, Route | APIRoute):
                yield route
            else:
                inner = getattr(route, "routes", None) or getattr(route, "original_router", None)
                yield from flat(getattr(inner, "routes", inner))

    for route in flat(app.routes):
        path = route.path
        for name in ("id", "site", "head", "query", "layer", "name", "kind"):
            path = path.replace(f"{{{name}}}", "0")
        path = path.replace("{path:path}", "")
        for method in sorted(route.methods - {"HEAD"}):
            yield method, path


def test_no_route_is_forgotten(client):
    found = set(routes(client.app))
    assert ("POST", "/api/trace") in found
    assert ("GET", "/openapi.json") in found
    assert ("GET", "/") in found
    assert len(found) > 20


@pytest.mark.parametrize(("headers", "status"), HOSTILE, ids=lambda value: str(value))
def test_every_route_refuses_strangers(client, headers, status):
    before = client.get("/metrics").text.count("regard_queue_inside 0")
    for method, path in routes(client.app):
        answer = client.request(
            method, path, headers=headers, json={} if method == "POST" else None
        )
        assert answer.status_code == status, (method, path)
        assert set(answer.json()) == {"error", "what", "where", "remedy"}
        assert not [name for name in answer.headers if name.startswith("access-control")]
    assert client.get("/metrics").text.count("regard_queue_inside 0") == before


@pytest.mark.parametrize("host", ["127.0.0.1:8321", "localhost:9000", "[::1]:8321", "LOCALHOST"])
def test_our_own_names(client, host):
    own = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    assert client.get("/healthz", headers=own).status_code == 200


def test_a_person_may_come_from_anywhere_to_the_front_door(client):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=headers).status_code == 200
    assert client.get("/api/about", headers=headers).status_code == 403
    framed = {**headers, "sec-fetch-dest": "iframe"}
    assert client.get("/", headers=framed).status_code == 403


def test_a_header_that_decides_comes_once(client):
    twice = [("host", "127.0.0.1:8321"), ("origin", BASE), ("origin", "http://evil.example")]
    assert client.get("/healthz", headers=twice).status_code == 400


def test_every_answer_carries_the_policy(client):
    for path in ("/", "/api/about", "/nowhere", "/openapi.json"):
        answer = client.get(path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    refused = client.get("/", headers={"origin": "null"})
    assert refused.headers["content-security-policy"] == policy


def test_a_websocket_is_closed(client):
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/events"):
        pass


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.3.5.7", True),
        ("localhost", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.7", False),
        ("studio.example", False),
    ],
)
def test_what_is_this_machine(host, local):
    assert StudioSettings(host=host).is_local is local


TOKEN = "a-token-that-is-long"


@pytest.fixture(scope="module")
def public(make):
    with TestClient(
        create_app(make(host="0.0.0.0", token=TOKEN)),
        base_url="http://10.0.0.7:8321",
        follow_redirects=False,
    ) as one:
        yield one


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"cookie": f"{COOKIE}=wrong"},
        {"cookie": f"other={TOKEN}"},
    ],
    ids=str,
)
def test_every_route_wants_the_token(public, headers):
    for method, path in routes(public.app):
        body = {} if method == "POST" else None
        answer = public.request(method, path, headers=headers, json=body)
        assert answer.status_code == 401, (method, path)
        assert TOKEN not in answer.text
    assert public.get("/api/about", params={"token": TOKEN}).status_code == 401


def test_the_token_in_each_place_it_may_be(public):
    assert public.get("/healthz", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    answer = public.get("/", params={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert TOKEN not in answer.headers["set-cookie"], "a browser keeps a digest of it"
    own = public.cookies[COOKIE]
    public.cookies.clear()
    for cookies in (f"{COOKIE}={own}", f"other=1; {COOKIE}={own};b", f"a;{COOKIE}={own}"):
        assert public.get("/healthz", headers={"cookie": cookies}).status_code == 200
    assert public.get("/healthz", headers={"cookie": f"{COOKIE}={TOKEN}"}).status_code == 401
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    public.cookies.clear()
    assert public.get("/", params={"token": "wrong"}).status_code == 401


def test_cookies_are_read_in_one_pass(monkeypatch):
    """http.cookies takes 7 s over the 60 kB of a header, and everybody would wait for it."""

    def quadratic(*_):
        raise AssertionError("http.cookies was asked")

    monkeypatch.setattr("http.cookies.BaseCookie.load", quadratic)
    hostile = b'regard-token="' + b'\\"' * 30_000 + b'"'
    assert _cookie({b"cookie": hostile}) == hostile.partition(b"=")[2]


def test_a_person_without_the_token_is_asked_for_it(public):
    public.cookies.clear()
    asked = {"accept": "text/html,*/*", "sec-fetch-mode": "navigate", "sec-fetch-site": "none"}
    first = public.get("/", headers=asked)
    assert (first.status_code, first.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert 'name="token"' in first.text
    assert "form-action 'self'" in first.headers["content-security-policy"]
    assert "script" not in first.headers["content-security-policy"]
    again = public.get("/", params={"token": "<script>"}, headers=asked)
    assert again.status_code == 401
    assert "That is not the token." in again.text
    assert "<script>" not in again.text
    assert public.get("/api/about", headers=asked).headers["content-type"] == "application/json"


def test_beyond_loopback_a_strange_name_is_still_refused(public):
    headers = {"authorization": f"Bearer {TOKEN}", "host": "evil.example"}
    assert public.get("/healthz", headers=headers).status_code == 421
