"""A link brings back exactly what was seen, in another browser that never saw it; and the door of a studio
that others can reach.
"""

import pytest

from tests.studio.browser import TEXT, VIEWS, WHERE, needed, open_at, settled, watched
from tests.studio.kit import server

pytestmark = needed

# Each with something in it that is not as at the start.
STATES = {
    "answer": {"text": TEXT, "beam": 2, "row": 2},
    "heat": {"text": TEXT, "row": 3, "column": 2, "words": 1},
    "lines": {"text": TEXT, "row": -1},
    "model": {"text": "the witch chased a frog"},
    "heads": {"measure": "confidence", "order": "most", "headText": "the cat ate\na b c d"},
    "graph": {"text": TEXT, "row": 2},
    "neurons": {"text": TEXT, "row": 3},
    "beam": {"text": TEXT, "beam": 3, "dropped": 0},
    "senses": {"layer": 0, "tint": "group", "dot": 2},
    "learning": {"step": 10, "probe": 1},
    "compare": {"text": TEXT, "otherText": "the witch chased a frog", "row": 1},
    "lessons": {"lesson": "soft-table", "inputs": '{"sharpness":[2,8]}'},
}
SEEN = """() => [
  document.querySelector('main').innerText,
  ...[...document.querySelectorAll('input, select')].map((one) => `${one.value} ${one.checked}`),
  ...[...document.querySelectorAll('main canvas')].map((one) => one.toDataURL()),
  ...[...document.querySelectorAll('main svg')].map((one) => one.innerHTML),
]"""


@pytest.fixture
def theme():
    return "light"


def seen(page, view):
    settled(page, view)
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)  # the address is written a moment after the view
    return page.evaluate(SEEN)


@pytest.mark.parametrize("view", VIEWS)
def test_a_link_brings_back_what_was_seen(page, chromium, address, view):
    chosen = {"view": view, "run": "phrases", "text": TEXT, **WHERE.get(view, {})}
    open_at(page, address, **chosen)
    plain = seen(page, view)
    open_at(page, address, **{**chosen, **STATES[view]})
    first = seen(page, view)
    assert first != plain
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    other = context.new_page()
    faults = watched(other, address)
    other.goto(page.url)
    assert seen(other, view) == first
    assert other.url == page.url
    context.close()
    assert faults == []


def test_one_selection_for_all_views(page, address):
    """A row that is chosen in one view is the row of the next."""
    open_at(page, address, view="heat", run="phrases", text=TEXT, row=2, column=1)
    settled(page, "heat")
    page.get_by_role("link", name="Neurons").click()
    settled(page, "neurons")
    chosen = page.locator(".queries [aria-pressed=true]").inner_text()
    page.get_by_role("link", name="Lines").click()
    settled(page, "lines")
    said = page.locator("p[aria-live]").inner_text()
    assert said.startswith(f"{chosen} looks at")


@pytest.mark.parametrize("view", ["answer", "lessons"])
def test_a_studio_for_others_asks_for_its_token(chromium, runs, tmp_path, view):
    more = ("--no-open", "--host", "0.0.0.0", "--token", "a-long-token")
    with server(runs["rnn"], folder=tmp_path, more=more) as one:
        front = f"http://127.0.0.1:{one.port}"
        context = chromium.new_context()
        page = context.new_page()
        page.set_default_timeout(90_000)
        page.goto(f"{front}/#view={view}&text=a+b+c")
        page.get_by_label("Token").fill("another-token")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=alert]")
        assert "That is not the token." in page.locator("[role=alert]").inner_text()
        page.get_by_label("Token").fill("a-long-token")
        page.keyboard.press("Enter")
        page.wait_for_selector("nav[aria-label=Views]")
        assert "token" not in page.url
        faults = watched(page, front)
        open_at(page, front, view=view, run="rnn", text="a b c")
        settled(page, view)
        assert faults == []
        context.clear_cookies()
        page.goto(front)
        assert page.get_by_label("Token").count() == 1
        context.close()
