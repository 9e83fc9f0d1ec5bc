"""A trace taken away as a file: all of it, or one map."""

from __future__ import annotations

import csv
import io
import unicodedata

from regard.show.page import page
from regard.show.svg_png import drawing
from regard.studio.refusal import Refusal
from regard.studio.trace_store import Kind, head_of, number_of, site_of
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

WRITTEN_OUT = 4_000_000
_FORMULA = ("=", "+", "-", "@")
_BREAKS = ("\t", "\r", "\n")


def write(trace: Trace, kind: Kind, site: int | None, head: str) -> bytes:
    """The file's content; `site` and `head` choose the map of a drawing or a table."""
    _within(trace, kind, site)
    match kind:
        case "json":
            return trace.to_json().encode()
        case "npz":
            return trace.to_bytes()
        case "html":
            return page(trace, site=site, head=_number(trace, site, head)).encode()
        case "svg":
            return drawing(trace, site, _number(trace, site, head)).encode()
        case "csv":
            return _csv(trace, site, head).encode()


def _within(trace: Trace, kind: Kind, site: int | None) -> None:
    """Numbers written out as text are large and slow; where they are too many, there is a better form."""
    sites = trace.sites if kind == "json" else (_site(trace, site),) if kind == "csv" else ()
    cells = sum(one.weights.size // (one.heads if kind == "csv" else 1) for one in sites)
    if cells > WRITTEN_OUT:
        what = f"this would write out {cells:,} weights; the limit is {WRITTEN_OUT:,}"
        raise Refusal(413, what, "kind", "take the npz")


def _site(trace: Trace, site: int | None) -> TracedSite:
    return trace.site() if site is None else site_of(trace, site)


def _number(trace: Trace, site: int | None, head: str) -> int | None:
    """The number of a head that exists, or None for the mean of all."""
    if not trace.sites:
        return None
    chosen = _site(trace, site)
    return None if head == "mean" else number_of(head, chosen.heads)


def _csv(trace: Trace, site: int | None, head: str) -> str:
    """One map with its tokens; a cell that a spreadsheet would run as a formula is made text (P7)."""
    chosen = _site(trace, site)
    rows, columns = trace.axes[chosen.queries].pieces, trace.axes[chosen.keys].pieces
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\r\n")
    table.writerow(["", *map(_as_text, columns)])
    # The shortest digits that are read back as the same float32.
    for name, weights in zip(rows, head_of(chosen.weights, head).astype(str), strict=True):
        table.writerow([_as_text(name), *weights.tolist()])
    return file.getvalue()


def _as_text(cell: str) -> str:
    """A quotation mark in front of what a spreadsheet might work out, however it hides its first sign."""
    plain = unicodedata.normalize("NFKC", cell)  # a wide = is one, too
    seen = "".join(one for one in plain if not unicodedata.category(one).startswith(("C", "Z")))
    return f"'{cell}" if seen.startswith(_FORMULA) or cell.startswith(_BREAKS) else cell
