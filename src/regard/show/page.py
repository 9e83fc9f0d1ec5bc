"""A trace as one HTML file that needs nothing else: no network, no server, no notebook kernel.

The views are the studio's own, built from `web/` into one script and one style (`make page`). Data and
program never mix: the trace lies in blocks that no browser runs, and a policy in the page lets only the
script with our own hash run at all (P2). In a notebook the page lives in a sandboxed frame.
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

from regard import __version__
from regard.errors import UsageError
from regard.question import Question
from regard.show.label import one_line, shortened
from regard.tasks.axis import Grid, Times
from regard.tasks.verbs import TASKS
from regard.traces.overview import candidates, overview, task_about
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

View = Literal["answer", "map", "lines", "model", "neurons"]
Theme = Literal["dark", "light"]

MOST_BYTES = 8 * 2**20  # what a notebook or a mail still carries
HEIGHT = 680
TALL = 900  # what a picture word by word, or a sound below its map, needs
FOLDER = Path(__file__).parent / "explorer"
_SCORED = ("query", "key", "scores", "neuron_weight", "bias")  # what a score is made of


def page(
    trace: Trace,
    *,
    view: View | None = None,
    site: str | int | None = None,
    head: int | None = None,
    words: bool = False,
    theme: Theme | None = None,
) -> str:
    """The whole page; it opens at this view, site and head, in the reader's own theme.

    Without a view it opens at the map, and where more than a text was read at the answer, which plays it.
    Without a head it shows the mean of those that the model's card names, else of all.
    """
    if view is None:
        view = "answer" if site is head is None and is_beyond_text(trace) else "map"
    start: dict[str, Any] = {"view": "heat" if view == "map" else view, "words": words}
    if trace.sites:
        chosen = trace.site(site)
        start |= {} if site is None else {"site": chosen.path}
        start |= {} if head is None else {"head": chosen.checked(head)}
    opening = {"selection": start} | ({} if theme is None else {"theme": theme})
    made = _composed(trace, opening, neurons=True)
    if len(made) > MOST_BYTES:
        made = _composed(trace, opening, neurons=False)
    size = len(made.encode())
    if size > MOST_BYTES:
        raise UsageError(
            f"this page would have {size / 2**20:.1f} MB, more than {MOST_BYTES / 2**20:g} MB",
            where=f"{len(trace.sites)} sites, {sum(s.weights.size for s in trace.sites):,} weights",
            remedy="look at it in `regard studio`, or save the trace: .save(path), --npz FILE",
        )
    return made


def is_beyond_text(trace: Trace) -> bool:
    """Whether a picture, a sound or several sources were read for an answer."""
    heard = any(isinstance(axis, Grid | Times) for axis in trace.axes.values())
    several = isinstance(trace.question, Question) and len(trace.question.sources) > 1
    return bool(trace.steps) and (heard or several)


def frame(trace: Trace, *, view: View | None = None, height: int | None = None) -> str:
    """The page in a sandboxed frame, for a notebook; what is too large says so, with its size (P10)."""
    try:
        inside = page(trace, view=view)
    except UsageError as fault:
        return f"<p>{escape(fault.what)}: {escape(fault.remedy)}.</p>"
    return framed(inside, height or (TALL if is_beyond_text(trace) else HEIGHT))


def framed(inside: str, height: int = HEIGHT) -> str:
    """Any page of ours in a frame that cannot reach the notebook around it."""
    style = f"width:100%;height:{height}px;border:0"
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" title="attention" style="{style}" '
        f'srcdoc="{escape(inside)}"></iframe>'
    )


def _composed(trace: Trace, opening: dict[str, Any], neurons: bool) -> str:
    numbers, layout = _numbers(trace.sites, neurons)
    answer = trace.answer.text or ("nothing" if trace.steps else "")
    task = TASKS.get(trace.task)
    description = {
        "version": __version__,
        "task": {} if task is None else task_about(task),
        "trace": {"id": "inside", **overview(trace)},
        "tree": candidates(trace),
        "opening": opening,
        "layout": layout,
    }
    title = shortened(one_line(f"{trace.title} → {answer}" if answer else trace.title), 100)
    script, style = _built("explorer.js"), _built("explorer.css")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data: blob:; media-src data:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types svelte-trusted-html"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style></head>\n<body>\n"
        '<div id="page"></div>\n'
        "<noscript>This page needs JavaScript; all of it is in this file.</noscript>\n"
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
    """All arrays as float32, deflated in one block; and where each begins and how many numbers it has."""
    parts: list[np.ndarray] = []
    layout, start = [], 0
    for site in sites:
        # The page works scores out of query and key alone; where a score notices more, it shows none.
        wanted = ("weights", *(_SCORED if neurons and site.noticed is None else ()))
        arrays = {name: array for name, array in site.arrays().items() if name in wanted}
        places = {}
        for name, array in arrays.items():
            places[name] = (start, array.size)
            start += array.size
            parts.append(array.astype("<f4").ravel())
        layout.append(places)
    # The first bytes of all numbers together, then the second ones: equal bytes stand side by side.
    planes = np.concatenate(parts or [np.zeros(0, "<f4")]).view(np.uint8).reshape(-1, 4).T
    return base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii"), layout


def _built(name: str) -> str:
    """A file that was built from `web/`; in it nothing may look like the end of its element."""
    path = FOLDER / name
    if not path.is_file():
        raise UsageError(
            "the page that holds a trace is not built, and this copy of regard came without it",
            where=str(path),
            remedy="build it once, with Node 20 or newer: make page; an installed release has it built in",
        )
    text = path.read_text("utf-8")
    return text.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"
