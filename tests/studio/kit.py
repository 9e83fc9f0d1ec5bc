"""A studio as people start it: a process of its own, with a port, asked over a real socket."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from regard.studio.state import FOLDER


class Server:
    def __init__(
        self,
        *runs: Path,
        folder: Path,
        more: tuple[str, ...] = (),
        python: str = sys.executable,
    ) -> None:
        self.log = folder / "log.txt"
        bare = () if (FOLDER / "index.html").is_file() else ("--no-page",)
        options = ["--port", "0", "--json", *bare, *more]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [python, "-m", "regard", "studio", *map(str, runs), *options],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        line = self.process.stdout.readline()
        self.told = json.loads(line) if line else {}
        self.url = self.told.get("url", "").rstrip("/")
        self.port = self.told.get("port", 0)

    def stop(self, number: int = signal.SIGTERM, seconds: float = 40) -> int:
        self.process.send_signal(number)
        return self.process.wait(seconds)


@contextlib.contextmanager
def server(*runs: Path, folder: Path, more: tuple[str, ...] = (), python: str = sys.executable):
    one = Server(*runs, folder=folder, more=more, python=python)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        one.process.stdout.close()


@contextlib.contextmanager
def inside(studio, port=0):
    """The same server in a thread of this process, on a free port; for tests that shorten its limits."""
    from regard.studio.server import PatientProtocol, StudioServer, bind

    listening = bind("127.0.0.1", port)
    running = StudioServer(studio)
    before, PatientProtocol.seconds = PatientProtocol.seconds, studio.limits.receive_seconds
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", running
    finally:
        running.should_exit = True
        thread.join(60)
        listening.close()
        PatientProtocol.seconds = before
        assert not thread.is_alive()
