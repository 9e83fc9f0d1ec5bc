"""Trainings that end by the clock: stopped politely when their time is up, and gone on with when typed again.

A recipe that trains several models in one process gives each its seconds. The best model so far is what is
judged afterwards, so that evaluations should come more often than the time can run out.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import regard
from regard.signals import Stopped


def learn_for(seconds: float | None, *files: Path, **options: Any) -> bool:
    """`regard.train` for at most so many seconds; whether there is a model to judge."""
    clock = threading.Timer(seconds or 0, os.kill, (os.getpid(), signal.SIGINT))
    clock.daemon = True
    if seconds is not None:
        clock.start()
    try:
        regard.train(*files, **options)
    except (KeyboardInterrupt, Stopped):
        print(f"stopped after {seconds:.0f} seconds", flush=True)
    finally:
        clock.cancel()
    return (Path(options["out"]) / "model.safetensors").is_file()
