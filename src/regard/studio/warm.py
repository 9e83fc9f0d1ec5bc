"""The heavy half of the library, imported once, by one thread, while the page is already being drawn.

Two threads that import modules which need each other can each see half of one; so nobody else may begin.
"""

from __future__ import annotations

import asyncio
import gc
import threading

_one_at_a_time = threading.Lock()
_done = threading.Event()


def warm_up() -> None:
    """Import all that routes use; at once, the second time."""
    with _one_at_a_time:
        if not _done.is_set():
            import regard.data.toys
            import regard.studio.export
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
