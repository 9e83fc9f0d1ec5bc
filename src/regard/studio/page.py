"""The page's files, read once into memory: a request can name one of them, and nothing else on any disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import final

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
UNBUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>regard studio: not built</title>
<h1>The studio's page is not built</h1>
<p>The server works, and this copy of regard came without its page. Build it once, with Node 20 or newer:</p>
<pre>cd web
npm ci
npm run build</pre>
<p>and start <code>regard studio</code> again. An installed release has the page in it.</p>
<p>Until then: <a href="/openapi.json">what the server can be asked</a>.</p>
</html>
"""


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


def read_page(folder: Path = FOLDER) -> dict[str, File]:
    """Every plain file of the built page by its path; without a page, one that says how to build it (S17)."""
    found: dict[str, File] = {}
    for path in sorted(folder.rglob("*")) if (folder / "index.html").is_file() else ():
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not path.is_symlink() and path.suffix in KINDS:
            found[name] = File(path.read_bytes(), KINDS[path.suffix], name.startswith("assets/"))
    return found or {"index.html": File(UNBUILT.encode(), KINDS[".html"], False)}
