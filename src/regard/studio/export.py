"""A trace taken away as a file: all of it, or one map."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import Literal

from regard.inspect.trace import Trace
from regard.studio.traces import head_of, number_of, site_of

Kind = Literal["json", "npz", "html", "svg", "csv"]
KINDS: dict[Kind, str] = {
    "json": "application/json",
    "npz": "application/octet-stream",
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml",
    "csv": "text/csv; charset=utf-8",
}

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(trace: Trace, kind: Kind, site: int | None, head: str) -> bytes:
    """The file's content; `site` and `head` choose the map of a drawing or a table."""
    match kind:
        case "json":
            return trace.to_json().encode()
        case "npz":
            return _npz(trace)
        case "html":
            from regard.show.page import page

            return page(trace).encode()
        case "svg":
            from regard.show.svg import drawing

            number = None if site is None else trace.sites.index(site_of(trace, site))
            head_number = None if head == "mean" else _checked(trace, number, head)
            return drawing(trace, number, head_number).encode()
        case "csv":
            return _csv(trace, site, head).encode()


def _checked(trace: Trace, site: int | None, head: str) -> int:
    return number_of(head, trace.site(site).heads)


def _npz(trace: Trace) -> bytes:
    with tempfile.TemporaryDirectory(prefix="regard-") as folder:
        path = Path(folder) / "attention.npz"
        trace.save(path)
        return path.read_bytes()


def _csv(trace: Trace, site: int | None, head: str) -> str:
    """One map with its tokens; a cell that a spreadsheet would run as a formula is made text (P7)."""
    found = trace.site(site) if site is None else site_of(trace, site)
    rows, columns = trace.axes[found.queries].pieces, trace.axes[found.keys].pieces
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\r\n")
    table.writerow(["", *map(_as_text, columns)])
    for name, weights in zip(rows, head_of(found.weights, head).tolist(), strict=True):
        table.writerow([_as_text(name), *(f"{weight:.6g}" for weight in weights)])
    return file.getvalue()


def _as_text(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
