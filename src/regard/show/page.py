"""A trace as one HTML file that needs nothing else: no network, no server, no notebook kernel.

Data and program never mix: the trace lies in blocks that no browser runs, and a policy in the page lets
only the script with our own hash run at all (P2). In a notebook the page lives in a sandboxed frame.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regard.errors import UsageError
from regard.show.colour import ANCHORS
from regard.show.label import one_line, piece_names, shortened
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

View = Literal["map", "lines", "model", "neurons"]
Theme = Literal["dark", "light"]

MOST_BYTES = 8 * 2**20  # what a notebook or a mail still carries
HEIGHT = 680
SCRIPTS = ("data.js", "map.js", "views.js", "app.js")
_FILES = Path(__file__).parent / "standalone"


def page(
    trace: Trace,
    *,
    view: View = "map",
    site: str | int | None = None,
    head: int | None = None,
    words: bool = False,
    theme: Theme | None = None,
) -> str:
    """The whole page; it opens at this view, site and head (else their mean), in the reader's own theme."""
    start: dict[str, Any] = {"view": view, "words": words}
    start |= {} if theme is None else {"theme": theme}
    if trace.sites:
        chosen = trace.site(site)
        start["site"] = trace.sites.index(chosen)
        start |= {} if head is None else {"head": chosen.checked(head)}
    made = _composed(trace, start, neurons=True)
    if len(made) > MOST_BYTES:
        made = _composed(trace, start, neurons=False)
    size = len(made.encode())
    if size > MOST_BYTES:
        raise UsageError(
            f"this page would have {size / 2**20:.1f} MB, more than {MOST_BYTES / 2**20:g} MB",
            where=f"{len(trace.sites)} sites, {sum(s.weights.size for s in trace.sites):,} weights",
            remedy="look at it in `regard studio`, or save the trace: .save(path), --npz FILE",
        )
    return made


def frame(trace: Trace, *, view: View = "map", height: int = HEIGHT) -> str:
    """The page in a sandboxed frame, for a notebook; what is too large says so, with its size (P10)."""
    try:
        inside = page(trace, view=view)
    except UsageError as fault:
        return f"<p>{escape(fault.what)}: {escape(fault.remedy)}.</p>"
    return framed(inside, height)


def framed(inside: str, height: int = HEIGHT) -> str:
    """Any page of ours in a frame that cannot reach the notebook around it."""
    style = f"width:100%;height:{height}px;border:0"
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" title="attention" style="{style}" '
        f'srcdoc="{escape(inside)}"></iframe>'
    )


def _composed(trace: Trace, start: dict[str, Any], neurons: bool) -> str:
    numbers, layout = _numbers(trace.sites, neurons)
    answer = trace.answer.text or ("nothing" if trace.steps else "")
    description = {
        "trace": trace.describe(),
        "names": {
            name: {"pieces": _safe(piece_names(axis.pieces)), "words": _safe(axis.words)}
            for name, axis in trace.axes.items()
        },
        "steps": _steps(trace),
        "shown": {"question": one_line(trace.question), "answer": one_line(answer)},
        "start": start,
        "layout": layout,
        "anchors": ANCHORS,
    }
    title = shortened(one_line(f"{trace.question} → {answer}" if answer else trace.question), 100)
    script = "\n".join(_read(name) for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    style = _read("page.css")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style></head>\n<body>\n"
        f"{_read('page.html')}"
        f'<script type="application/json" id="description">{inert(description)}</script>\n'
        f'<script type="text/plain" id="numbers">{numbers}</script>\n'
        f"<script>{script}</script>\n</body></html>\n"
    )


def inert(value: Any) -> str:
    """JSON that ends no element, opens none, and is no line break to any reader."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))  # all ASCII: U+2028 goes, too
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _numbers(
    sites: Sequence[TracedSite], neurons: bool
) -> tuple[str, list[dict[str, tuple[int, int]]]]:
    """All arrays deflated in one block, and where each begins and how many numbers it has."""
    block, layout = bytearray(), []
    for site in sites:
        arrays = {"weights": site.weights}
        if neurons:
            wanted = ("query", "key", "neuron_weight", "bias")
            arrays |= {name: own for name, own in site.arrays().items() if name in wanted}
        places = {}
        for name, array in arrays.items():
            block += bytes(-len(block) % 4)  # where a reader may look at four bytes at once
            places[name] = (len(block), array.size)
            block += _roots(array) if name == "weights" else array.astype("<f4").tobytes()
        layout.append(places)
    return base64.b64encode(zlib.compress(bytes(block), 6)).decode("ascii"), layout


def _roots(weights: np.ndarray) -> bytes:
    """Square roots in 16 bits: small weights keep their digits, and equal bytes stand together."""
    roots = np.rint(np.sqrt(np.clip(np.nan_to_num(weights), 0, 1)) * 65535).astype(np.uint16)
    return (roots >> 8).astype(np.uint8).tobytes() + (roots & 255).astype(np.uint8).tobytes()


def _steps(trace: Trace) -> list[list[str]]:
    """For each step, the names of what it could have said."""
    rows = [[other.symbol for other in step.alternatives] for step in trace.steps]
    flat = iter(_safe(piece_names([symbol for row in rows for symbol in row])))
    return [[next(flat) for _ in row] for row in rows]


def _safe(names: Sequence[str]) -> list[str]:
    return [one_line(name) for name in names]


def _read(name: str) -> str:
    return (_FILES / name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"
