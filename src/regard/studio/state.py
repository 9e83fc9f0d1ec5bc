"""All that the routes share: models, traces, the queue, events, the demo, the page, and the counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

from starlette.requests import Request

from regard.studio.demo import Demo
from regard.studio.events import Broadcast
from regard.studio.line import Tail
from regard.studio.meter import Meter
from regard.studio.models import Shelf, is_live
from regard.studio.page import File
from regard.studio.queue import WorkQueue
from regard.studio.settings import StudioSettings
from regard.studio.traces import TraceStore
from regard.studio.warm import warmed

LOOK = 1.0  # seconds between two looks at runs that others train
DEMO = Path("runs/demo")


@final
class Studio:
    """One studio: its runs, those named at the start or all that a function finds, and what came of them."""

    def __init__(
        self,
        runs: Sequence[Path] | Callable[[], Sequence[Path]] = (),
        settings: StudioSettings | None = None,
        demo: Path = DEMO,
        page: dict[str, File] | None = None,
        device: str = "auto",
    ) -> None:
        self.settings = settings or StudioSettings()
        self.limits = self.settings.limits
        self._find = runs if callable(runs) else lambda: runs
        self.shelf = Shelf(
            [*self._find(), demo],
            self.limits.models,
            device,
            self._coming,
            is_own=self.settings.is_local,
        )
        self.traces = TraceStore(self.limits)
        self.queue = WorkQueue(self.limits)
        self.broadcast = Broadcast(self.limits.listeners)
        self.demo = Demo(self.shelf.name_of(demo), demo, self.broadcast)
        self.meter = Meter()
        self.page = page or {}
        self.draining = False
        self._tails: dict[str, list[Tail]] = {}

    def look_again(self) -> None:
        """Find the runs that were made since the last time, where they were not named one by one."""
        self.shelf.add(self._find())

    def drain(self) -> None:
        """From now on nothing new is begun; what is inside may finish."""
        self.draining = True
        self.broadcast.close()

    async def watch(self) -> None:
        """Tell what other processes write into the runs shown here, for as long as anybody listens."""
        while True:
            await asyncio.sleep(LOOK)
            if not len(self.broadcast):
                self._tails.clear()
                continue
            for name, entry in await asyncio.to_thread(self._news):
                self.broadcast.tell(name, entry)

    async def close(self) -> None:
        """Everything that was begun ends."""
        self.drain()
        await self.demo.stop()
        self.queue.stop()

    def _coming(self) -> str | None:
        return self.demo.name if self.demo.state == "running" else None

    def _news(self) -> list[tuple[str, dict[str, Any]]]:
        found = []
        for name, folder in self.shelf.folders.items():
            mine = name == self.demo.name and self.demo.state == "running"
            if mine or (name not in self._tails and not is_live(folder)):
                continue
            if name not in self._tails:
                self._tails[name] = [
                    Tail(folder / f"{kind}.jsonl") for kind in ("metrics", "samples")
                ]
            metrics, samples = self._tails[name]
            found += [(name, entry) for entry in metrics.lines()]
            steps = {entry.get("step") for entry in samples.lines()}
            found += [(name, {"kind": "sampled", "step": step}) for step in steps]
        return found


def studio_of(request: Request) -> Studio:
    """The studio that a request came to."""
    studio = request.app.state.studio
    assert isinstance(studio, Studio)
    return studio


async def warm_studio(request: Request) -> Studio:
    """The same, once all that works with models is loaded."""
    await warmed()
    return studio_of(request)
