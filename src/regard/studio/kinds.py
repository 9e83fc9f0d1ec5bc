"""The kinds of file that a trace can be taken away as."""

from __future__ import annotations

from typing import Literal

Kind = Literal["json", "npz", "html", "svg", "csv"]
KINDS: dict[Kind, str] = {
    "json": "application/json",
    "npz": "application/octet-stream",
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml",
    "csv": "text/csv; charset=utf-8",
}
