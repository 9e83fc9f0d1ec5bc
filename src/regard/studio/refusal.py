"""How the server says no: a status, and the same what, where and remedy as everywhere in `regard`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, final

from fastapi.responses import Response
from starlette.types import Message, Receive

from regard import strict_json
from regard.errors import (
    DataError,
    MemoryLimitError,
    ModelFileError,
    RegardError,
    ResumeError,
    UsageError,
)
from regard.studio.settings import Limits

STATUS_OF: dict[type[RegardError], int] = {
    UsageError: 422,
    DataError: 422,
    ModelFileError: 409,  # the run, as it is on disk, cannot do this now
    ResumeError: 409,
    MemoryLimitError: 413,
}
NAMES = {
    400: "BadRequest",
    401: "TokenMissing",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    413: "TooLarge",
    415: "NotJson",
    421: "WrongHost",
    422: "Unusable",
    429: "Busy",
    499: "ClientLeft",
    500: "Fault",
    503: "Stopping",
    504: "TooSlow",
}


@final
class Refusal(Exception):  # noqa: N818  a refusal is an answer, too
    """A request that is not served, and why; nothing of the request is repeated but what it named."""

    def __init__(
        self,
        status: int,
        what: str,
        where: str = "",
        remedy: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(what)
        self.status, self.what, self.where, self.remedy = status, what, where, remedy
        self.headers = dict(headers or {})

    @classmethod
    def of(cls, fault: RegardError) -> Refusal:
        """An error of the library, as a status."""
        status = next((code for kind, code in STATUS_OF.items() if isinstance(fault, kind)), 500)
        where = "run" if status in (409, 500) else fault.where  # a path is nobody's business
        return cls(status, fault.what, where, fault.remedy)

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        name = NAMES.get(self.status, "Refused")
        return {"error": name, "what": self.what, "where": self.where, "remedy": self.remedy}

    def response(self) -> Response:
        """What is sent."""
        return as_json(self.as_dict(), self.status, self.headers)


def as_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer; a number that is not finite is a fault of ours and never sent."""
    body = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(body.encode(), status, headers, media_type="application/json")


# A request's body: counted while it comes, refused before it is parsed, and plain strict JSON or nothing.

_CLOSE = {"connection": "close"}  # the rest of the body is not read


async def read_body(headers: Mapping[bytes, bytes], receive: Receive, limits: Limits) -> bytes:
    """All of the body, or a refusal as soon as it is known to be too large or of the wrong kind."""
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refusal(415, "compressed bodies are not read", "content-encoding", headers=_CLOSE)
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or int(declared[:20]) > limits.body_bytes:
        raise _too_large(limits)
    kept = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refusal(499, "the client left")
        kept += message.get("body", b"")
        if len(kept) > limits.body_bytes:
            raise _too_large(limits)
        if not message.get("more_body", False):
            return bytes(kept)


def check_json(headers: Mapping[bytes, bytes], body: bytes, limits: Limits) -> None:
    """Refuse a form, a plain text, or JSON that two readers could understand differently.

    One reader, whose time is proportional to the body's size whatever is in it, counts the depth as well.
    """
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json" and (body or kind):
        raise Refusal(415, "only JSON is read", "content-type", "send application/json")
    if not body:
        return
    try:
        strict_json.loads(
            body, max_bytes=limits.body_bytes, max_depth=limits.json_depth, where="body"
        )
    except ModelFileError as fault:
        raise Refusal(422, fault.what, fault.where) from None


def replay(body: bytes, receive: Receive) -> Receive:
    """The body once more, for the application; after it comes what the connection has to say."""
    told = False

    async def next_message() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message


def _too_large(limits: Limits) -> Refusal:
    what = f"the body is larger than {limits.body_bytes:,} bytes"
    return Refusal(413, what, "body", "ask for less at once", headers=_CLOSE)
