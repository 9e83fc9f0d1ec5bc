"""Debian's Chromium at a studio of its own: what every browser test shares.

The page is the built one, the server a process of its own. Waiting is long, since machines may be busy; what
is asserted never depends on time.
"""

import json
import os
import shutil
from unittest.mock import patch
from urllib.parse import urlencode

import pytest

import regard
from regard import box
from regard.studio.state import FOLDER, read_page
from regard.training import Listener
from tests.box import standin
from tests.studio.kit import inside, server

CHROMIUM = os.environ.get("REGARD_CHROMIUM") or shutil.which("chromium") or ""
PATIENCE = 90_000  # milliseconds
TEXT = "the black cat ate the mouse"
VIEWS = {
    "answer": "Translate",
    "heat": "Heat map",
    "lines": "Lines",
    "model": "Model",
    "heads": "Heads",
    "graph": "Graph",
    "neurons": "Neurons",
    "beam": "Beam tree",
    "senses": "Senses",
    "learning": "Learning",
    "compare": "Compare",
    "lessons": "Lessons",
}
# What a view shows once it is there.
SHOWN = {
    "answer": "ol.steps button",
    "heat": "canvas[aria-roledescription='heat map']",
    "lines": "svg path.edge",
    "model": ".layer button canvas",
    "heads": "table tbody tr",
    "graph": "svg path.edge",
    "neurons": "tbody canvas",
    "beam": "g.node.wins",
    "senses": "main .sheet h3",  # its map, or why a model without layers has none
    "learning": "figure svg path",
    "compare": "section[aria-label='Second'] canvas",
    "lessons": "ol.steps li.result",
}
# A view that not every model has: where it is seen.
STUDIED = {"run": "transformer", "word": "a", "senseText": "a b c\nb a d\nc d a a"}
WHERE = {"senses": STUDIED}
IN_THE_BOX = {"translator": "translate", "tagger": "tag", "sentiment": "classify"}
needed = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not CHROMIUM or not (FOLDER / "index.html").is_file(),
        reason="needs chromium and the built page",
    ),
]


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A run that was trained a little, where `runs/` is looked for."""
    folder = tmp_path_factory.mktemp("studio")
    settings = {"train.steps": 30, "train.evaluate_every": 10, "train.checkpoint_every": 30}
    with patch.dict("regard.data.toys.toy._COUNTS", {"train": 1000, "valid": 20}):
        regard.train(
            toy="phrases",
            preset="demo",
            out=folder / "runs" / "phrases",
            settings=settings,
            listener=Listener(),
            device="cpu",
        )
    return folder / "runs" / "phrases"


@pytest.fixture(scope="module")
def studio_server(runs, trained):
    """A studio over that run and untrained ones of every kind; it must still be there at the end."""
    with server(trained, *runs.values(), folder=trained.parents[1], more=("--no-open",)) as one:
        yield one
        ended = one.process.poll()
        assert ended is None, f"ended with {ended}: {one.log.read_text()}"


@pytest.fixture(scope="module")
def boxed(make, tmp_path_factory):
    """A studio over a box of stand-ins, in the order in which the command finds them, in this process."""
    place = tmp_path_factory.mktemp("box")
    for name, task in IN_THE_BOX.items():
        standin.make(place, name, task, tmp_path_factory.mktemp("scratch") / name)
    patch = pytest.MonkeyPatch()
    patch.setattr(box, "PLACE", place)
    with inside(make([box.folder(name) for name in box.names()], page=read_page())) as (
        url,
        _server,
    ):
        yield url
    patch.undo()


@pytest.fixture
def address(studio_server):
    return studio_server.url


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=["light", "dark"])
def theme(request):
    return request.param


@pytest.fixture
def page(chromium, address, theme):
    """A page that fails the test by any error, blocked content, or request to elsewhere."""
    context = chromium.new_context(
        viewport={"width": 1280, "height": 860},
        color_scheme=theme,
        permissions=["clipboard-read", "clipboard-write"],
    )
    one = context.new_page()
    faults = watched(one, address)
    yield one
    context.close()
    assert not faults, faults


def watched(page, *places):
    """What goes wrong on a page: errors, dialogs, and requests to anywhere but these places."""
    faults: list[str] = []
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
    known = (*places, "data:", "blob:")
    page.on(
        "request",
        lambda asked: None if asked.url.startswith(known) else faults.append(asked.url),
    )
    return faults


def changed(page, change):
    """Every trace is changed on its way to the page."""

    def one(route):
        answer = route.fetch()
        told = answer.json()
        change(told)
        route.fulfill(response=answer, json=told)

    def lines(route):
        answer = route.fetch()
        told = [json.loads(line) for line in answer.text().splitlines()]
        for line in told:
            if line["kind"] == "answered":
                change(line["trace"])
        route.fulfill(response=answer, body="\n".join(json.dumps(line) for line in told))

    page.route("**/api/trace", one)
    page.route("**/api/answer", lines)


def open_at(page, address, **selection):
    page.goto("about:blank")
    page.goto(f"{address}/#{urlencode(selection)}")


def settled(page, view=None):
    """Wait until a view shows what was asked for."""
    page.wait_for_selector(SHOWN[view] if view else ".exports, main .sheet", state="attached")
    for busy in (".loading", ".stale", "ol.steps.playing"):
        page.wait_for_selector(busy, state="detached")


def press_until(page, reached, key="Tab", most=120):
    """Press a key until a script says that the right thing has the focus."""
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate(reached):
            return
    raise AssertionError(f"{key} never reached {reached}")
