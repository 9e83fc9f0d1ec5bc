"""The server: listens, and leaves politely. One signal lets everybody finish, a second ends it all."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, final

import h11
import uvicorn
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from regard.errors import PortError
from regard.studio.app import create_app
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
    if not sys.warnoptions:
        # All threads share one list of filters: where one thread imports torch, which hides a warning
        # of its own, another that ends `catch_warnings` shows it. What users must know is in answers.
        warnings.simplefilter("ignore")
    PatientProtocol.seconds = studio.limits.receive_seconds
    # Anyone who was told where we are may already ask us to stop.
    with contextlib.closing(listening), server.capture_signals():
        if opened is not None:
            opened(listening.getsockname()[1])
        server.run(sockets=[listening])
    return server.asked


# A port of our own, or a sentence that says who has it.

BACKLOG = 512


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; whatever prevents it names the port (S15)."""
    where = f"{host}:{port}"
    if not 0 <= port <= 65_535:
        raise PortError(f"there is no port {port}", "--port", "choose one from 1024 to 65535")
    try:
        kind, address = _resolved(host, port)
    except OSError:
        raise PortError("no such address on this machine", where, "use --host 127.0.0.1") from None
    listener = socket.socket(kind, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as fault:
        listener.close()
        raise _explained(fault, where, port) from None
    listener.setblocking(False)
    return listener


def _resolved(host: str, port: int) -> tuple[int, tuple[str, int]]:
    kind, _, _, _, address = socket.getaddrinfo(
        host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return kind, (str(address[0]), int(address[1]))


def _explained(fault: OSError, where: str, port: int) -> PortError:
    if fault.errno == errno.EADDRINUSE:
        pid = holder(port)
        by = f" by process {pid}" if pid else ""
        return PortError(f"port {port} is in use{by}", where, f"another one: --port {port + 1}")
    if fault.errno == errno.EACCES:
        remedy = "choose a port above 1023"
        return PortError(f"port {port} needs rights that this user does not have", where, remedy)
    return PortError(
        f"port {port} is not available: {fault.strerror}", where, "use --host 127.0.0.1"
    )


def holder(port: int) -> int | None:
    """The process that listens on a port, where the system lets us see it."""
    listening = {f"socket:[{number}]" for number in _inodes(port)}
    for folder in Path("/proc").glob("[0-9]*") if listening else ():
        try:
            if any(str(entry.readlink()) in listening for entry in (folder / "fd").iterdir()):
                return int(folder.name)
        except OSError:
            continue
    return None


def _inodes(port: int) -> set[str]:
    names: set[str] = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        rows = [line.split() for line in lines]
        names |= {
            row[9] for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port
        }
    return names


# HTTP as uvicorn speaks it, with a deadline: a request that does not arrive in time is cut off (S4).

RECEIVE_SECONDS = 10.0


@final
class PatientProtocol(H11Protocol):
    """The clock runs from the start of a connection, and from the first byte of each later request."""

    seconds = RECEIVE_SECONDS

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Silence is a slow request, too."""
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        """Stop the clock when the request is whole; never wind it back."""
        self._start()
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY) or self._is_between():
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._stop()
        super().connection_lost(exc)

    def _is_between(self) -> bool:
        """The last request is answered and no byte of the next has come: uvicorn's own timer runs."""
        return self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    def _start(self) -> None:
        if self._clock is None:
            self._clock = self.loop.call_later(self.seconds, self._expire)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _expire(self) -> None:
        self._clock = None
        self.transport.abort()
