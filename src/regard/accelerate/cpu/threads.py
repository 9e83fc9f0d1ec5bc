"""One thread works, unless there is enough to do for all.

To wake another thread and to wait for it takes longer than most of what a step does between its products.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, TypeVarTuple

import torch

Given = TypeVarTuple("Given")
Found = TypeVar("Found")

ENOUGH = 6_000_000  # multiplications of integers that are worth sharing: 50 us
_here = threading.local()  # `all`: how many threads there are where this one works alone


@contextmanager
def alone(*, whole: bool) -> Iterator[None]:
    """Within, the others rest until `shared` calls them; without integers all is as it was."""
    threads = torch.get_num_threads()
    if not whole or threads == 1 or hasattr(_here, "all"):
        yield
        return
    _here.all = threads
    torch.set_num_threads(1)
    try:
        yield
    finally:
        del _here.all
        torch.set_num_threads(threads)


def shared(work: int, do: Callable[[*Given], Found], *given: *Given) -> Found:
    """What `do` finds, by all threads if there is enough to do."""
    threads = getattr(_here, "all", 1)
    if threads == 1 or work < ENOUGH:
        return do(*given)
    torch.set_num_threads(threads)
    try:
        return do(*given)
    finally:
        torch.set_num_threads(1)
