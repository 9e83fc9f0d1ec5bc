"""HTTP as uvicorn speaks it, with a deadline: a request that does not arrive in time is cut off (S4)."""

from __future__ import annotations

import asyncio
from typing import Any, final

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

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
