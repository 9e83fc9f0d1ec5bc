"""The page's files, read once into memory: a request can name one of them, and nothing else on any disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import final

from regard.errors import UsageError

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
    found: dict[str, File] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not path.is_symlink() and path.suffix in KINDS:
            found[name] = File(path.read_bytes(), KINDS[path.suffix], name.startswith("assets/"))
    return found
