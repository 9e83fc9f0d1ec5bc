"""What happens while models train, told to every open page; the last events are kept for latecomers."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, final

from regard.studio.refusal import Refusal

KEPT = 400  # events, for a page that opens late or comes back
HEARTBEAT = 15.0  # seconds of silence after which a comment shows that the line is open
WAITING = 1_000  # events that a slow page may be behind
KIND_OF = {"train": "stepped", "valid": "evaluated", "sample": "sampled", "note": "noted"}
_END = (0, "")


def renamed(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of metrics.jsonl or a line of `--json` progress, under the name of the event it tells."""
    kind = str(entry.get("kind", "noted"))
    return {**entry, "kind": KIND_OF.get(kind, kind)}


@final
class Broadcast:
    """Everyone who listens hears every event, in order; who comes back hears what was missed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._number = 0
        self._is_closed = False
        self._kept: deque[tuple[int, str]] = deque(maxlen=KEPT)
        self._listeners: set[asyncio.Queue[tuple[int, str]]] = set()

    def __len__(self) -> int:
        return len(self._listeners)

    def tell(self, run: str, entry: Mapping[str, Any]) -> None:
        """One more event; a page that does not keep up loses its line and may come again."""
        self._number += 1
        text = json.dumps({**renamed(entry), "run": run}, ensure_ascii=False, allow_nan=False)
        event = (self._number, text)
        self._kept.append(event)
        for queue in list(self._listeners):
            if queue.qsize() >= WAITING:
                self._listeners.discard(queue)
                queue.put_nowait(_END)
            else:
                queue.put_nowait(event)

    def listen(self, after: int = -1) -> AsyncIterator[bytes]:
        """The stream of one page: what is kept and newer than `after`, then what comes.

        A stream counts from its first part on; one that nobody begins to read leaves nothing behind.
        """
        if len(self._listeners) >= self._most:
            what = f"{self._most} pages are listening already"
            raise Refusal(429, what, remedy="close one", headers={"retry-after": "5"})
        return self._stream(after)

    def close(self) -> None:
        """The last word to everyone, and to anyone who was let in but has not begun to read."""
        self._is_closed = True
        for queue in self._listeners:
            queue.put_nowait(_END)
        self._listeners.clear()

    async def _stream(self, after: int) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
        for event in self._kept:
            if (
                event[0] > after or after > self._number
            ):  # a number of an earlier server is no number
                queue.put_nowait(event)
        if self._is_closed:
            queue.put_nowait(_END)
        else:
            self._listeners.add(queue)
        try:
            yield b"retry: 2000\n\n"
            while True:
                try:
                    number, text = await asyncio.wait_for(queue.get(), HEARTBEAT)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if not text:
                    return
                yield f"id: {number}\ndata: {text}\n\n".encode()
        finally:
            self._listeners.discard(queue)
