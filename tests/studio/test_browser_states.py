"""Before there is anything to see, and when something is in the way: every view waits, says so, and recovers.

The server is a real one; the browser holds back, breaks or refuses its answers on the way.
"""

import json
import re

import pytest

from tests.studio.browser import SHOWN, TEXT, WHERE, needed, open_at, settled
from tests.studio.kit import server
from tests.studio.test_browser import AXE, serious

pytestmark = needed

# What each view asks for last, before it can draw.
ASKED = {
    "answer": "**/api/answer",
    "heat": "**/weights/**",
    "lines": "**/weights/**",
    "model": "**/thumbnails",
    "heads": "**/api/heads",
    "graph": "**/weights/**",
    "neurons": "**/neurons/**",
    "beam": "**/tree",
    "senses": "**/api/senses",
    "learning": "**/samples",
    "compare": "**/weights/**",
    "lessons": re.compile(r"/api/lessons/"),
}
BUSY = {
    "error": "Busy",
    "what": "16 requests are waiting already",
    "where": "",
    "remedy": "try again in a moment",
}


@pytest.fixture
def plain(chromium, theme):
    """A page on which refusals are expected."""
    context = chromium.new_context(color_scheme=theme, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(90_000)
    yield page
    context.close()


@pytest.mark.skipif(not AXE.is_file(), reason="needs web/node_modules")
@pytest.mark.parametrize("view", SHOWN)
def test_every_view_waits_is_refused_and_recovers(plain, address, view):
    held = []
    plain.route(ASKED[view], lambda route: held.append(route))
    open_at(plain, address, **{"view": view, "run": "phrases", "text": TEXT, **WHERE.get(view, {})})
    plain.wait_for_selector(".loading[role=status]")
    assert plain.locator(SHOWN[view]).count() == 0
    assert serious(plain) == []
    while not held:
        plain.wait_for_timeout(20)
    for route in held:
        route.fulfill(status=429, body=json.dumps(BUSY), content_type="application/json")
    alert = plain.wait_for_selector("[role=alert]")
    assert "The studio is busy" in alert.inner_text()
    assert "16 requests are waiting already" in alert.inner_text().replace("\xa0", " ")
    assert plain.locator(SHOWN[view]).count() == 0, "nothing stale is shown"
    assert serious(plain) == []
    plain.unroute(ASKED[view])
    plain.route(ASKED[view], lambda route: route.abort())
    plain.get_by_role("button", name="Try again").first.click()
    plain.wait_for_selector("[role=alert]:has-text('does not answer')")
    plain.unroute(ASKED[view])
    for _ in range(plain.get_by_role("button", name="Try again").count()):
        plain.get_by_role("button", name="Try again").first.click()
    settled(plain, view)
    assert plain.locator("[role=alert]").count() == 0


def test_what_is_no_json_is_a_fault_that_can_be_tried_again(plain, address):
    plain.route("**/api/answer", lambda route: route.fulfill(body="<html>a proxy</html>"))
    open_at(plain, address, run="phrases", text=TEXT)
    alert = plain.wait_for_selector("[role=alert]")
    assert "could not be read" in alert.inner_text()
    assert plain.locator("form textarea").first.input_value() == TEXT
    plain.unroute("**/api/answer")
    plain.get_by_role("button", name="Try again").click()
    settled(plain, "answer")


def test_a_long_wait_says_why(plain, address):
    plain.clock.install()
    plain.route("**/api/answer", lambda route: None)
    with plain.expect_request("**/api/answer"):  # before it, the page waits for its own parts
        open_at(plain, address, run="phrases", text=TEXT)
    plain.wait_for_selector(".loading")
    plain.clock.run_for(3000)
    assert "also loads it" in plain.locator(".loading").inner_text()


def test_a_server_that_forgot_is_asked_again(chromium, runs, tmp_path):
    """After a restart every trace is gone; the page asks for it anew, and nobody notices."""
    page = chromium.new_page()
    page.set_default_timeout(90_000)
    with server(runs["transformer"], folder=tmp_path, more=("--no-open",)) as one:
        open_at(page, one.url, view="heat", text="a b c")
        settled(page, "heat")
        port = str(one.port)
        one.stop()
    with server(runs["transformer"], folder=tmp_path, more=("--no-open", "--port", port)) as one:
        page.get_by_role("button", name="3", exact=True).click()
        page.wait_for_selector("h2:has-text('head 3')")
        settled(page, "heat")
        page.get_by_role("link", name="Model").click()
        settled(page, "model")
        assert page.locator("[role=alert]").count() == 0
    page.close()


def test_a_model_without_records_offers_to_train_one(plain, address):
    open_at(plain, address, view="learning", run="rnn")
    plain.wait_for_selector(".nothing")
    assert plain.get_by_role("button", name="Train the demo model").count() == 1


def test_a_demo_is_trained_in_the_page_and_its_map_moves(chromium, runs, tmp_path):
    """One click, and then nothing: the page follows by itself, from evaluation to evaluation."""
    page = chromium.new_page()
    page.set_default_timeout(400_000)
    with server(runs["rnn"], folder=tmp_path, more=("--no-open",)) as one:
        open_at(page, one.url, view="learning", run="rnn")
        page.get_by_role("button", name="Train the demo model").click()
        page.wait_for_selector(".live")
        page.wait_for_selector("canvas[aria-roledescription='heat map']")
        assert page.locator("header select").input_value() == "demo"
        seen = "() => document.querySelector('main canvas').toDataURL()"
        step, drawn = page.locator("output").inner_text(), page.evaluate(seen)
        page.wait_for_function(
            "(before) => document.querySelector('output')?.innerText !== before", arg=step
        )
        page.wait_for_function(f"(before) => ({seen})() !== before", arg=drawn)
        assert page.locator("[role=alert]").count() == 0
        page.close()
        assert one.stop() == 0
