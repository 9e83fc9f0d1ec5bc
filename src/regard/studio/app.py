"""The application: routes behind one guard, every fault as what, where and remedy, every answer counted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
import traceback
from collections.abc import AsyncIterator
from typing import Any, final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard import __version__
from regard.errors import RegardError
from regard.studio import (
    routes_answer,
    routes_demo,
    routes_health,
    routes_lesson,
    routes_run,
    routes_study,
    routes_trace,
)
from regard.studio.refusal import Refusal
from regard.studio.schema import FAULTS
from regard.studio.security import Guard
from regard.studio.state import Studio, warmed

log = logging.getLogger("regard.studio")

ABOUT = """Answers of trained attention models, and where they looked for them.

Begin with `GET /api/about`, then `POST /api/trace` with one of its runs and a text, or `POST /api/answer` for
one of several sentences, each answered as it comes. The answer has an id; by
it come the matrices, one head at a time, row by row: float32, little-endian, exactly as they were computed.

Every refusal has the same shape: what is wrong, where, and what to do. Bodies are JSON, at most 1 MiB. Beyond
this machine each request brings the token: `Authorization: Bearer ...`."""


def create_app(studio: Studio) -> FastAPI:
    """The studio as an ASGI application."""

    @contextlib.asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(warmed())
        watching = [asyncio.create_task(one) for one in (studio.watch(), studio.meter.beat())]
        yield
        await warming
        for one in watching:
            one.cancel()
        await studio.close()

    app = FastAPI(
        title="regard studio",
        version=__version__,
        description=ABOUT,
        docs_url=None,  # these pages fetch scripts from elsewhere
        redoc_url=None,
        lifespan=life,
        responses=FAULTS,
    )
    app.state.studio = studio
    rooms = (routes_run, routes_answer, routes_trace, routes_study, routes_lesson, routes_demo)
    for part in (*rooms, routes_health):
        app.include_router(part.router)
    app.include_router(routes_health.page_router)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RegardError, _refused)
    app.add_exception_handler(RequestValidationError, _misshapen)
    app.add_exception_handler(HTTPException, _plain)
    app.add_middleware(
        Guard,
        settings=studio.settings,
        draining=lambda: studio.draining,
        admit=studio.queue.admit,
    )
    app.add_middleware(Counted, studio=studio)
    return app


@final
class Counted:
    """Counts every answer; what nobody foresaw is one 500 with a number, and the server lives on (S8)."""

    def __init__(self, app: ASGIApp, studio: Studio) -> None:
        self.app, self.studio = app, studio

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass through, and listen for the status."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def heard(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, heard)
        except Exception as fault:
            refusal = _unforeseen(fault, _route(scope))
            if not status:
                await refusal.response()(scope, receive, heard)
        finally:
            self.studio.meter.count(_route(scope), status, time.monotonic() - began)


def _route(scope: Scope) -> str:
    """The pattern of a route, never what was asked for: that may be anything (S16)."""
    return str(getattr(scope.get("route"), "path", "none"))


def _unforeseen(fault: Exception, route: str) -> Refusal:
    """Where it arose goes to the log, under a number; what was asked does not."""
    number = secrets.token_hex(4)
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    log.error("%s: %s at %s:%s", number, type(fault).__name__, frame.filename, frame.lineno)
    log.error("%s: while serving %s", number, route)
    what = f"this is a fault of regard ({type(fault).__name__}, number {number})"
    return Refusal(500, what, route, "the server's log has the same number; please report it")


async def _refused(_request: Request, fault: Exception) -> Response:
    if isinstance(fault, RegardError):
        return Refusal.of(fault).response()
    assert isinstance(fault, Refusal)
    return fault.response()


async def _misshapen(_request: Request, fault: Exception) -> Response:
    """What is wrong with the shape of a request, in our words; its values are not repeated."""
    assert isinstance(fault, RequestValidationError)
    faults: list[dict[str, Any]] = list(fault.errors())
    first = faults[0] if faults else {"loc": (), "msg": "unusable"}
    where = ".".join(str(part)[:60] for part in first["loc"])
    return Refusal(422, str(first["msg"]), where, "see /openapi.json").response()


async def _plain(_request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    return Refusal(fault.status_code, str(fault.detail), headers=fault.headers).response()
