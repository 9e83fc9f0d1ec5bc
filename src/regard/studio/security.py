"""Who may speak to the server: the page it sent itself, on the machine it was told to trust, and nobody else.

A browser on this machine runs pages of strangers, and any of them can send requests to 127.0.0.1. So a
request must name us (Host), come from our own page or from no page (Origin, Sec-Fetch-Site), and beyond
loopback bring the token. Nothing is ever shared with another origin.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import socket
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import final
from urllib.parse import parse_qs

from fastapi.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.studio.refusal import Refusal, check_json, read_body, replay
from regard.studio.settings import StudioSettings

COOKIE = "regard-token"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
_ADDRESS = "open the address that `regard studio` printed"
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
# To write here is to ask for a model's time.
_WORK = ("/api/trace", "/api/answer", "/api/heads", "/api/senses", "/api/lessons/")
_SMALL = 1 << 16  # bytes of a body that is checked faster than a thread takes it over

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' blob: data:",
        "media-src data:",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types svelte-trusted-html",  # the one policy that the page's framework makes
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), microphone=(self), geolocation=()",
}
_RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


@final
class Guard:
    """The outermost layer: nothing behind it sees a request that was not checked here."""

    def __init__(
        self,
        app: ASGIApp,
        settings: StudioSettings,
        draining: Callable[[], bool],
        admit: Callable[[], None],
    ) -> None:
        self.app, self.settings = app, settings
        self.draining, self.admit = draining, admit
        self.names = _LOOPBACK if settings.is_local else _LOOPBACK | _names_of(settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, read the body within its bounds, hand on; or refuse."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, _with_headers(send))
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = _single(scope)
            self._check_host(headers)
            _check_origin(scope, headers)
            entrance = self._check_token(scope, headers)
            if self.draining() and scope["path"] not in _ALWAYS:
                raise Refusal(503, "the studio is stopping", headers={"connection": "close"})
            if scope["method"] in _WRITES and scope["path"].startswith(_WORK):
                self.admit()  # a refusal waits for no body
            body = await read_body(headers, receive, self.settings.limits)
            if scope["method"] in _WRITES:
                await _check(headers, body, self.settings)
        except Refusal as refusal:
            await refusal.response()(scope, receive, send)
            return
        if entrance is not None:
            await entrance(scope, receive, send)
            return
        await self.app(scope, replay(body, receive), send)

    def _check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """DNS rebinding gives a stranger's name our address; the name still shows in Host."""
        name = _name(headers.get(b"host", b"").decode("latin-1"))
        known = name in self.names or (not self.settings.is_local and _is_address(name))
        if not known:
            raise Refusal(421, "this server does not go by that name", "host", _ADDRESS)

    def _check_token(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Response | None:
        """None to go on; or, for the address with the token in it, a cookie and the address without."""
        if self.settings.token is None:
            return None
        bearer = headers.get(b"authorization", b"")
        if bearer[:7].lower() == b"bearer " and self._fits(bearer[7:].strip()):
            return None
        if hmac.compare_digest(_cookie(headers), _digest(self.settings.token)):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        walks_in = scope["path"] == "/" and scope["method"] == "GET"
        if walks_in and self._fits(given.encode()):
            answer = Response(status_code=303, headers={"location": "/"})
            own = _digest(self.settings.token).decode()
            answer.set_cookie(COOKIE, own, httponly=True, samesite="strict", path="/")
            return answer
        if walks_in and b"text/html" in headers.get(b"accept", b""):
            return door(bool(given))
        raise Refusal(
            401,
            "the token is missing or wrong",
            "authorization",
            _ADDRESS,
            {"www-authenticate": "Bearer"},
        )

    def _fits(self, given: bytes) -> bool:
        return hmac.compare_digest(given, (self.settings.token or "").encode())


def _check_origin(scope: Scope, headers: Mapping[bytes, bytes]) -> None:
    """A browser says which page asks. Only our own may; a person may come from anywhere to the front door."""
    origin = headers.get(b"origin")
    ours = [scheme + headers.get(b"host", b"") for scheme in (b"http://", b"https://")]
    if origin is not None and origin not in ours:
        raise Refusal(403, "another page asks", "origin", "use the studio's own page")
    site = headers.get(b"sec-fetch-site", b"none")
    walks_in = (
        scope["path"] == "/"
        and scope["method"] == "GET"
        and headers.get(b"sec-fetch-mode") == b"navigate"
        and headers.get(b"sec-fetch-dest", b"document") == b"document"
    )
    if site not in (b"none", b"same-origin") and not walks_in:
        raise Refusal(403, "another page asks", "sec-fetch-site", "use the studio's own page")


def _single(scope: Scope) -> dict[bytes, bytes]:
    """Headers by name; one that decides something may come only once."""
    headers: dict[bytes, bytes] = {}
    deciding = (b"host", b"origin", b"content-length", b"content-type", b"authorization")
    for name, value in scope["headers"]:
        if name in headers and name in deciding:
            raise Refusal(400, "a header comes twice", name.decode("latin-1"))
        headers[name] = value
    return headers


def _name(host: str) -> str:
    """The name in `name:port` or `[::1]:port`; empty when it is neither."""
    if host.startswith("["):
        address, bracket, port = host[1:].partition("]")
        whole = bracket and (not port or (port[0] == ":" and port[1:].isdecimal()))
        return address.lower() if whole else ""
    name, colon, port = host.partition(":")
    return name.lower() if not colon or port.isdecimal() else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _names_of(host: str) -> frozenset[str]:
    machine = socket.gethostname().lower()
    return frozenset({host.strip("[]").lower(), machine, machine.partition(".")[0]})


def _digest(token: str) -> bytes:
    """What a browser keeps in place of the token: letters and digits alone, so that nothing is quoted."""
    return hashlib.sha256(token.encode()).hexdigest().encode()


def _cookie(headers: Mapping[bytes, bytes]) -> bytes:
    """Our own cookie; http.cookies takes quadratic time over quoted ones in Python 3.11."""
    for pair in headers.get(b"cookie", b"").split(b";"):
        name, _, value = pair.strip().partition(b"=")
        if name == COOKIE.encode():
            return value
    return b""


async def _check(headers: Mapping[bytes, bytes], body: bytes, settings: StudioSettings) -> None:
    if len(body) <= _SMALL:
        check_json(headers, body, settings.limits)
    else:  # everybody else is answered meanwhile
        await asyncio.to_thread(check_json, headers, body, settings.limits)


def _with_headers(send: Send) -> Send:
    """Every answer carries the policy, refusals too."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            names = {name.lower() for name, _ in given}
            extra = [pair for pair in _RAW if pair[0] not in names]
            if b"cache-control" not in names:
                extra.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*given, *extra]}
        await send(message)

    return sent


# The door of a studio that others can reach: a page that asks for the token, and nothing else.

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { display: grid; place-items: center; min-height: 90vh; margin: 1rem; }
form { display: grid; gap: 0.75rem; width: min(26rem, 100%); }
h1, p { margin: 0; }
input, button { font: inherit; padding: 0.6rem 0.8rem; }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>regard studio</title>
<style>{style}</style>
</head>
<body>
<main>
<form method="get" action="/">
<h1>regard studio</h1>
<p{role}>{said}</p>
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Open</button>
</form>
</main>
</body>
</html>
"""


def door(is_wrong: bool) -> Response:
    """A form; what is typed comes back as the address that `regard studio` printed would."""
    asks = "This studio asks for its token: it stands in the address that `regard studio` printed."
    message = "That is not the token. " + asks if is_wrong else asks
    role = ' role="alert"' if is_wrong else ""
    return Response(
        _PAGE.format(style=_STYLE, said=message, role=role),
        401,
        {"content-security-policy": _POLICY, "www-authenticate": "Bearer"},
        "text/html; charset=utf-8",
    )
