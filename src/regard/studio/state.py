"""All that the routes share: models, traces, the queue, events, the demo, the page, and the counts."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from starlette.requests import Request

from regard.errors import UsageError
from regard.studio.live import Broadcast, Demo, Tail
from regard.studio.settings import StudioSettings
from regard.studio.shelf import Shelf, is_live
from regard.studio.trace_store import TraceStore
from regard.studio.work_queue import Meter, WorkQueue

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
        self.studies: OrderedDict[Hashable, dict[str, Any]] = OrderedDict()
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

    def keep(self, key: Hashable, answer: dict[str, Any]) -> None:
        """What a study came to, until many others came."""
        self.studies[key] = answer
        while len(self.studies) > self.limits.studies:
            self.studies.popitem(last=False)

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
        entries = []
        for name, folder in self.shelf.folders.items():
            mine = name == self.demo.name and self.demo.state == "running"
            if mine or (name not in self._tails and not is_live(folder)):
                continue
            if name not in self._tails:
                self._tails[name] = [
                    Tail(folder / f"{kind}.jsonl") for kind in ("metrics", "samples")
                ]
            metrics, samples = self._tails[name]
            entries += [(name, entry) for entry in metrics.lines()]
            steps = {entry.get("step") for entry in samples.lines()}
            entries += [(name, {"kind": "sampled", "step": step}) for step in steps]
        return entries


def studio_of(request: Request) -> Studio:
    """The studio that a request came to."""
    studio = request.app.state.studio
    assert isinstance(studio, Studio)
    return studio


async def warm_studio(request: Request) -> Studio:
    """The same, once all that works with models is loaded."""
    await warmed()
    return studio_of(request)


# The page's files, read once into memory: a request can name one of them, and nothing else on any disk.

FOLDER = Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/vnd.microsoft.icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
}


@final
@dataclass(frozen=True)
class File:
    """One file of the page, ready to be sent."""

    content: bytes
    kind: str
    lasting: bool  # its name changes with its content, so that it can be kept for ever

    @property
    def mark(self) -> str:
        """A tag that changes with the content."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:20]}"'


def read_page(folder: Path | None = None) -> dict[str, File]:
    """Every plain file of the built page by its path; without a page, an error before anything is served."""
    folder = FOLDER if folder is None else folder
    if not (folder / "index.html").is_file():
        raise UsageError(
            "the studio's page is not built, and this copy of regard came without it",
            where=str(folder),
            remedy="build it once, with Node 20 or newer: make page; an installed release has it built in; "
            "regard studio --no-page serves the programming interface alone",
        )
    files: dict[str, File] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not path.is_symlink() and path.suffix in KINDS:
            files[name] = File(path.read_bytes(), KINDS[path.suffix], name.startswith("assets/"))
    return files


# The heavy half of the library, imported once, by one thread, while the page is already being drawn.
# Two threads that import modules which need each other can each see half of one; so nobody else may begin.

_one_at_a_time = threading.Lock()
_done = threading.Event()


def warm_up() -> None:
    """Import all that routes use; at once, the second time."""
    with _one_at_a_time:
        if not _done.is_set():
            import regard.answer.studies
            import regard.data.toys
            import regard.studio.trace_export
            import regard.traces.trace
            import regard.worked  # noqa: F401

            # A full collection walks all that libraries hold, 0.1 s each time, and everybody waits.
            gc.collect()
            gc.freeze()
            _done.set()


async def warmed() -> None:
    """Wait until it is done."""
    if not _done.is_set():
        await asyncio.to_thread(warm_up)
