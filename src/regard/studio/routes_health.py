"""For anyone who watches over the server: alive, ready, and in numbers. And the page itself."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse, Response

from regard.studio import schema
from regard.studio.refusal import Refusal, as_json
from regard.studio.state import Studio, studio_of

router = APIRouter(tags=["health"])
page_router = APIRouter(include_in_schema=False)
Here = Annotated[Studio, Depends(studio_of)]


@router.get("/healthz", response_class=PlainTextResponse, summary="Alive")
async def healthz() -> PlainTextResponse:
    """The process answers."""
    return PlainTextResponse("ok\n")


@router.get("/readyz", response_model=schema.Health, summary="Ready to answer")
def readyz(studio: Here) -> Response:
    """503 while stopping; a run whose folder broke is named, while its model in memory answers on."""
    ready = not studio.draining
    state = {"ready": ready, "waiting": studio.queue.inside, "troubles": studio.shelf.troubles()}
    return as_json(state, 200 if ready else 503)


@router.get("/metrics", response_class=PlainTextResponse, summary="In numbers")
async def metrics(studio: Here) -> PlainTextResponse:
    """Prometheus' text form."""
    gauges = {
        "queue_inside": studio.queue.inside,
        "traces_kept": len(studio.traces),
        "listeners": len(studio.broadcast),
        "draining": int(studio.draining),
    }
    return PlainTextResponse(studio.meter.text(gauges))


@page_router.get("/{path:path}")
async def page(path: str, request: Request, studio: Here) -> Response:
    """A file of the page, by its exact name in the list that was read at the start (S12)."""
    file = studio.page.get(path or "index.html")
    if file is None:
        remedy = (
            "the studio is at /" if studio.page else "this studio has no page: see /openapi.json"
        )
        raise Refusal(404, "there is no such page", "path", remedy)
    lasting = "public, max-age=31536000, immutable" if file.lasting else "no-cache"
    headers = {"etag": file.mark, "cache-control": lasting}
    if request.headers.get("if-none-match") == file.mark:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.kind)
