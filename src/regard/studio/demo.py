"""The demo, trained live: another process learns, and each line it writes becomes an event on the page."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any, Literal, final

from regard.studio.events import Broadcast

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
