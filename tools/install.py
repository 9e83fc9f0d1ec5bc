"""Installs regard from this checkout into a virtual environment: `python tools/install.py .venv [EXTRA ...]`.

pip works for minutes; on a terminal one line says what it is at and for how long, elsewhere each large
download is a line. What pip printed is shown in full only if it failed. Standard library only.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
import venv
from pathlib import Path
from queue import Empty, Queue

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
_FETCHED = re.compile(
    r"\s*(?:Downloading|Processing|Using cached) (\S+?)(?: \(([\d.]+ [kMG]B)\))?$"
)
_WHEEL = re.compile(r"([A-Za-z0-9_.]+?)-(\d[^-]*)-.*\.whl")


def activity(line: str) -> str | None:
    """What pip is doing, in words, as one of its lines tells it; None where the line tells nothing."""
    if fetched := _FETCHED.match(line):
        name = fetched[1].rsplit("/", 1)[-1]
        wheel = _WHEEL.fullmatch(name)
        what = f"{wheel[1]} {wheel[2]}" if wheel else name
        return f"fetching {what}" + (f" ({fetched[2]})" if fetched[2] else "")
    if line.startswith("Collecting "):
        return f"looking for {line.split()[1]}"
    if line.startswith("Installing collected packages"):
        return f"unpacking {line.count(',') + 1} packages"
    if line.startswith("Building editable"):
        return "preparing regard"
    return None


def follow(process: subprocess.Popen[str], watched: bool) -> list[str]:
    """Every line of the process, while it is told what it does: in one changing line, or in a few lines."""
    lines: Queue[str | None] = Queue()
    threading.Thread(target=_read, args=(process, lines), daemon=True).start()
    said, doing, began = [], "starting", time.monotonic()
    while True:
        try:
            line = lines.get(timeout=0.5)
        except Empty:
            line = ""
        if line is None:
            break
        if line:
            said.append(line)
        news = activity(line)
        doing = news or doing
        if watched:
            text = f"  {time.monotonic() - began:4.0f} s  {doing}"
            print(f"\r\033[K{text[:78]}", end="", flush=True)
        elif news and (" MB)" in news or news.startswith("unpacking")):
            print(f"  {news}", flush=True)
    if watched:
        print("\r\033[K", end="", flush=True)
    return said


def install(folder: Path, extras: list[str]) -> int:
    """Make the environment if it is not there, and install this checkout with its extras into it."""
    if sys.version_info < OLDEST:
        print(
            f"error: regard needs Python 3.11 or newer, and this is {sys.version.split()[0]}\n"
            "  try:   make setup PYTHON=python3.12",
            file=sys.stderr,
        )
        return 2
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True, symlinks=True)
    wanted = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    print(
        f"Installing regard and its libraries into {folder}: this takes a few minutes.", flush=True
    )
    pip = [str(python), "-m", "pip", "install", "--progress-bar", "off", "--no-color"]
    with subprocess.Popen(
        [*pip, "-c", str(ROOT / "constraints.txt"), "-e", wanted],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **os.environ,
            "REGARD_NO_WEB": "1",
        },  # `make page` builds the page, where one can watch
    ) as process:
        said = follow(process, sys.stdout.isatty())
    if process.returncode:
        print("".join(said), file=sys.stderr)
        print("error: pip could not install regard; its last lines say why", file=sys.stderr)
    return process.returncode


def _read(process: subprocess.Popen[str], lines: Queue[str | None]) -> None:
    for line in process.stdout or ():
        lines.put(line)
    lines.put(None)


if __name__ == "__main__":
    sys.exit(install(Path(sys.argv[1]), sys.argv[2:]))
