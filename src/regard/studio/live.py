"""What happens while models train, told to every open page: events, the demo, the lines of a run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Literal, final

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


# The demo, trained live: another process learns, and each line it writes becomes an event on the page.

State = Literal["absent", "running", "done", "failed"]
PATIENCE = 10.0  # seconds to save and leave


@final
class Demo:
    """A process of its own, so that training never makes an answer wait, and the server never a step."""

    def __init__(self, name: str, folder: Path, broadcast: Broadcast) -> None:
        self.name, self.folder = name, folder
        self.message = ""
        self._broadcast = broadcast
        self._process: asyncio.subprocess.Process | None = None
        self._telling: asyncio.Task[None] | None = None
        self._failed = False

    @property
    def state(self) -> State:
        """Where it stands."""
        if self._telling is not None and not self._telling.done():
            return "running"
        if self._failed:
            return "failed"
        return "done" if (self.folder / "model.safetensors").is_file() else "absent"

    def as_dict(self) -> dict[str, Any]:
        """For the page."""
        return {"state": self.state, "run": self.name, "message": self.message}

    async def start(self) -> None:
        """Begin, or go on where it was stopped; while it runs, to start it again changes nothing."""
        if self.state == "running":
            return
        self._failed, self.message = False, ""
        command = [sys.executable, "-m", "regard", "demo", "--json", "--out", str(self.folder)]
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=1 << 20,
        )
        self._telling = asyncio.create_task(self._tell(self._process))

    async def stop(self) -> None:
        """Ask it to save and leave."""
        process, telling = self._process, self._telling
        if process is None or telling is None or telling.done():
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(telling), PATIENCE)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            with contextlib.suppress(
                TimeoutError
            ):  # its end is heard while there is a loop to hear it
                await asyncio.wait_for(asyncio.shield(telling), PATIENCE)

    async def _tell(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        last: dict[str, Any] = {}
        async for line in process.stdout:
            with contextlib.suppress(ValueError):
                last = json.loads(line)
                if "kind" in last:
                    self._broadcast.tell(self.name, last)
        code = await process.wait()
        if code and code not in (130, 143):
            self._failed = True
            self.message = str(last.get("what", f"training ended with code {code}"))
            self._broadcast.tell(self.name, {"kind": "failed", "message": self.message})


# Lines of JSON that another process writes: read whole, believed only where they are what they should be.

CHUNK = 1 << 20


def parsed(line: bytes) -> dict[str, Any] | None:
    """The object of one line, numbers that JSON has no word for as null; None for anything else."""
    try:
        entry = json.loads(line, parse_constant=lambda _name: None, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All whole lines of a file that may still be growing."""
    try:
        *whole, _torn = path.read_bytes().split(b"\n")
    except OSError:
        return []
    return [entry for line in whole if (entry := parsed(line)) is not None]


def first_line(path: Path) -> dict[str, Any]:
    """The first entry of a file that may be long; nothing where there is none."""
    try:
        with path.open("rb") as file:
            return parsed(file.readline(CHUNK)) or {}
    except OSError:
        return {}


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
            text = file.read(CHUNK)
        whole, newline, _torn = text.rpartition(b"\n")
        self._read += len(whole) + len(newline)
        return [entry for line in whole.split(b"\n") if (entry := parsed(line)) is not None]

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None
