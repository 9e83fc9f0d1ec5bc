"""A request's body: counted while it comes, refused before it is parsed, and plain strict JSON or nothing."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Message, Receive

from regard import strict_json
from regard.errors import ModelFileError
from regard.studio.refusal import Refusal
from regard.studio.settings import Limits

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
