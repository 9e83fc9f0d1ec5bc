"""The studio in a real browser: every view, by keyboard alone, in both themes, with nothing from elsewhere.

The page is the built one, the server a process of its own, the browser Debian's Chromium.
"""

import os
import shutil
from pathlib import Path
from urllib.parse import urlencode

import pytest

import regard
from regard.studio.page import FOLDER
from regard.train import Listener
from tests.studio.kit import server

CHROMIUM = os.environ.get("REGARD_CHROMIUM") or shutil.which("chromium") or ""
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
TEXT = "the black cat ate the mouse"
VIEWS = {
    "translate": "Translate",
    "heat": "Heat map",
    "lines": "Lines",
    "model": "Model",
    "graph": "Graph",
    "neurons": "Neurons",
    "beam": "Beam tree",
    "learning": "Learning",
    "compare": "Compare",
    "lessons": "Lessons",
}
# What a view shows once it is there.
SHOWN = {
    "translate": "ol.steps button",
    "heat": "canvas[aria-roledescription='heat map']",
    "lines": "svg path.edge",
    "model": ".layer button canvas",
    "graph": "svg path.edge",
    "neurons": "tbody canvas",
    "beam": "g.node.wins",
    "learning": "figure svg path",
    "compare": "section[aria-label='Second'] canvas",
    "lessons": "ol.steps li.result",
}
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> ${7*7} \u202eabc\u200b =1+1"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not CHROMIUM or not (FOLDER / "index.html").is_file(),
        reason="needs chromium and the built page",
    ),
]


@pytest.fixture(scope="module")
def address(runs, tmp_path_factory):
    """A studio over a run that was trained a little and untrained ones of every kind."""
    folder = tmp_path_factory.mktemp("studio")
    settings = {"train.steps": 30, "train.evaluate_every": 10, "train.checkpoint_every": 30}
    trained = folder / "phrases"
    regard.train(
        toy="phrases",
        preset="demo",
        out=trained,
        settings=settings,
        listener=Listener(),
        device="cpu",
    )
    with server(trained, *runs.values(), folder=folder, more=("--no-open",)) as one:
        yield one.url


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
    context = chromium.new_context(viewport={"width": 1280, "height": 860}, color_scheme=theme)
    one = context.new_page()
    faults: list[str] = []
    one.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    one.on("pageerror", lambda error: faults.append(str(error)))
    one.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
    one.on(
        "request",
        lambda asked: (
            None if asked.url.startswith((address, "data:", "blob:")) else faults.append(asked.url)
        ),
    )
    yield one
    context.close()
    assert faults == []


def open_at(page, address, **selection):
    page.goto("about:blank")
    page.goto(f"{address}/#{urlencode(selection)}")


def press_until(page, reached, key="Tab", most=80):
    """Press a key until a script says that the right thing has the focus."""
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate(reached):
            return
    raise AssertionError(f"{key} never reached {reached}")


def test_every_view_by_keyboard(page, address, theme, tmp_path):
    """Type, press Enter, and Tab to each view in turn; nothing is ever clicked."""
    open_at(page, address, run="phrases")
    page.wait_for_selector("form input")
    press_until(page, "() => document.activeElement.matches('form input')")
    page.keyboard.type(TEXT)
    page.keyboard.press("Enter")
    page.wait_for_selector("ol.steps button")
    keep = Path(os.environ.get("REGARD_SCREENSHOTS") or tmp_path)
    for view, label in VIEWS.items():
        here = f"() => document.activeElement.matches('nav a') && document.activeElement.text === '{label}'"
        page.evaluate("() => document.activeElement.blur()")
        press_until(page, here)
        page.keyboard.press("Enter")
        page.wait_for_selector(SHOWN[view], state="attached", timeout=20_000)
        assert page.title() == f"{label} · regard studio"
        assert page.locator("nav[aria-label=Views] a[aria-current=page]").inner_text() == label
        assert page.locator("[role=alert]").count() == 0
        page.screenshot(path=keep / f"{view}-{theme}.png", full_page=True)


def test_nothing_stands_in_the_way(chromium, address, theme):
    """axe-core finds no serious fault in any view."""
    if not AXE.is_file():
        pytest.skip("needs web/node_modules")
    context = chromium.new_context(color_scheme=theme, bypass_csp=True)
    page = context.new_page()
    for view in VIEWS:
        open_at(page, address, view=view, run="phrases", text=TEXT)
        page.wait_for_selector(SHOWN[view], state="attached", timeout=20_000)
        page.evaluate(AXE.read_text())
        found = page.evaluate("() => axe.run()")["violations"]
        serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
        assert serious == [], view
    context.close()


def test_cell_cursor_is_read_out(page, address):
    open_at(page, address, view="heat", run="phrases", text=TEXT)
    page.wait_for_selector("canvas")
    press_until(page, "() => document.activeElement.matches('canvas')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    said = page.locator("p[aria-live]")
    assert "key black: " in said.inner_text()
    assert "row=1" in page.url
    assert "column=1" in page.url
    before = page.url
    page.reload()
    page.wait_for_selector("canvas")
    assert page.url == before
    assert "key black: " in page.locator("p[aria-live]").inner_text()


def test_another_symbol_is_forced(page, address):
    open_at(page, address, run="phrases", text=TEXT)
    page.wait_for_selector("button.force")
    other = page.locator("button.force:not(.chosen)").first
    word = other.inner_text()
    other.click()
    page.wait_for_selector(".forced")
    first = page.locator("ol.steps button bdi").first
    page.wait_for_selector(f"ol.steps li:first-child bdi:text-is('{word}')")
    assert first.inner_text() == word
    page.get_by_role("button", name="Let it choose").click()
    page.wait_for_selector(".forced", state="detached")


@pytest.mark.parametrize(
    ("run", "text"),
    [
        ("rnn", "a b c"),
        ("transformer", "a b c"),
        ("tag", "the cat sleeps"),
        ("classify", "what a lovely day"),
        ("point", "3 1 2"),
        ("language", "the"),
    ],
)
def test_every_kind_of_model(page, address, run, text):
    for view in ("translate", "heat", "lines", "model", "graph", "neurons", "beam", "compare"):
        open_at(page, address, view=view, run=run, text=text, otherRun=run, otherText=text)
        page.wait_for_selector(".exports, main .sheet", timeout=20_000)
        page.wait_for_selector(".loading", state="detached")
        assert page.locator("[role=alert]").count() == 0, (run, view)


def test_hostile_text_stays_text(page, address):
    for view in ("translate", "heat", "lines", "model", "graph", "neurons", "beam", "compare"):
        open_at(page, address, view=view, run="rnn", text=HOSTILE, otherText=HOSTILE)
        page.wait_for_selector(".exports", timeout=20_000)
        assert page.locator("main script, main img").count() == 0
    assert page.locator("form input").first.input_value() == HOSTILE


def test_lessons_take_the_readers_numbers(page, address):
    open_at(page, address, view="lessons", lesson="flying-arrows")
    page.wait_for_selector("li.result")
    page.get_by_label("x", exact=True).fill("1")
    page.keyboard.press("Enter")
    page.wait_for_selector("button:text('Back to the lecture')")
    page.wait_for_selector("li.result bdi:text-is('1')")
    assert page.locator(".slip").count() == 2


def test_every_lesson_opens(page, address):
    open_at(page, address, view="lessons")
    page.wait_for_selector("li.result")
    names = page.locator("nav[aria-label=Lessons] a")
    for place in range(names.count()):
        names.nth(place).click()
        page.wait_for_selector(f"article h2:text-is('{names.nth(place).inner_text()}')")
        page.wait_for_selector("li.result")
        assert page.locator("[role=alert]").count() == 0


def test_typed_text_survives_a_dead_server(chromium, runs, tmp_path):
    with server(runs["rnn"], folder=tmp_path, more=("--no-open",)) as one:
        page = chromium.new_page()
        open_at(page, one.url, text="a b c")
        page.wait_for_selector("ol.steps button")
        one.stop()
        page.locator("form input").first.fill("c b a")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=alert]")
        assert page.locator("form input").first.input_value() == "c b a"
        assert page.locator("ol.steps").count() == 0
        assert "does not answer" in page.locator("[role=alert]").inner_text()
        page.close()
