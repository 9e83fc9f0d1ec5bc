"""What happens while models train, told to every open page; the last events are kept for latecomers."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
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
        """The stream of one page: what is kept and newer than `after`, then what comes."""
        if len(self._listeners) >= self._most:
            what = f"{self._most} pages are listening already"
            raise Refusal(429, what, remedy="close one", headers={"retry-after": "5"})
        queue: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
        for event in self._kept:
            if event[0] > after or after > self._number:
                queue.put_nowait(event)
        self._listeners.add(queue)
        return self._stream(queue)

    def close(self) -> None:
        """The last word to everyone."""
        for queue in self._listeners:
            queue.put_nowait(_END)
        self._listeners.clear()

    async def _stream(self, queue: asyncio.Queue[tuple[int, str]]) -> AsyncIterator[bytes]:
        yield b"retry: 2000\n\n"
        try:
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


@final
class Tail:
    """New lines of a file that somebody else appends to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = self._size()

    def lines(self) -> list[dict[str, Any]]:
        """Whole lines that came since the last time; a file that shrank was begun anew."""
        size = self._size()
        if size < self._read:
            self._read = 0
        if size == self._read:
            return []
        with self.path.open("rb") as file:
            file.seek(self._read)
            text = file.read(1 << 20)
        whole, newline, _torn = text.rpartition(b"\n")
        self._read += len(whole) + len(newline)
        return [entry for line in whole.split(b"\n") if (entry := _parsed(line)) is not None]

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line, parse_constant=lambda _name: None)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None
