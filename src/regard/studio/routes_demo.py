"""The demo trained live, and everything that happens told as it happens."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header
from fastapi.responses import Response, StreamingResponse

from regard.studio import schema
from regard.studio.refusal import as_json
from regard.studio.state import Studio, studio_of

router = APIRouter(prefix="/api", tags=["demo"])
Here = Annotated[Studio, Depends(studio_of)]


@router.post(
    "/demo", response_model=schema.DemoAbout, status_code=202, summary="Train the demo, or go on"
)
async def start(studio: Here) -> Response:
    """It learns in a process of its own; `GET /api/events` tells how it goes. Asked twice, it learns once."""
    await studio.demo.start()
    return as_json(studio.demo.as_dict(), 202)


@router.get(
    "/events",
    response_class=StreamingResponse,
    summary="What happens, as it happens",
    responses={200: {"content": {"text/event-stream": {}}, "description": "Server-sent events"}},
)
async def events(
    studio: Here, last_event_id: Annotated[str | None, Header(max_length=20)] = None
) -> Response:
    """Server-sent events, each a JSON object with its `kind` and the `run` it speaks of.

    Kinds: stepped (a loss), evaluated (scores), sampled (new lines of samples), noted, finished, failed. The
    last few hundred come first; who sends Last-Event-ID hears what came after it.
    """
    known = last_event_id is not None and last_event_id.isascii() and last_event_id.isdecimal()
    stream = studio.broadcast.listen(int(last_event_id or 0) if known else -1)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(stream, headers=headers, media_type="text/event-stream")
