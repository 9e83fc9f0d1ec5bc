"""The server: listens, and leaves politely. One signal lets everybody finish, a second ends it all."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import final

import uvicorn

from regard.studio.app import create_app
from regard.studio.port import bind
from regard.studio.protocol import PatientProtocol
from regard.studio.state import Studio

GRACE = 2  # seconds to send what is ready, once all work is done
LAST_WORDS = 0.2
SWITCH = 0.0001  # seconds a model may hold the interpreter while a refusal waits to be sent
KEEP_ALIVE = (
    10  # seconds between two requests; longer than most clients keep a line they do not use
)


@final
class StudioServer(uvicorn.Server):
    """Uvicorn with a drain of our own: new requests hear 503 while those inside finish (S7)."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.asked: int | None = None
        config = uvicorn.Config(
            create_app(studio),
            http=PatientProtocol,
            ws="none",
            lifespan="on",
            access_log=False,  # an address may hold a person's text
            log_level="error",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=GRACE,
        )
        super().__init__(config)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Only a flag, at first."""
        del frame
        if self.asked is not None:
            os._exit(128 + sig)
        self.asked = sig
        self.studio.draining = True
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for the work inside, still answering that we are leaving; then close."""
        self.studio.drain()
        await asyncio.sleep(LAST_WORDS)  # anyone who knocked before is let in, to hear of it
        limit = self.studio.limits.drain_seconds
        try:
            async with asyncio.timeout(limit):
                await self.studio.queue.idle(limit)
                while any(not task.done() for task in self.server_state.tasks):
                    await asyncio.sleep(0.02)
        except TimeoutError:
            pass
        for listener in self.servers:
            listener.close()
        await asyncio.sleep(LAST_WORDS)  # and so is anyone who is connected already
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does, but the signal is not raised again: we have done what it asks for."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        both = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in both}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(studio: Studio, opened: Callable[[int], None] | None = None) -> int | None:
    """Listen until asked to stop; the signal that asked. `opened` hears the port once it is ours."""
    settings = studio.settings
    listening = bind(settings.host, settings.port)
    server = StudioServer(studio)
    sys.setswitchinterval(SWITCH)
    PatientProtocol.seconds = studio.limits.receive_seconds
    # Anyone who was told where we are may already ask us to stop.
    with contextlib.closing(listening), server.capture_signals():
        if opened is not None:
            opened(listening.getsockname()[1])
        server.run(sockets=[listening])
    return server.asked
