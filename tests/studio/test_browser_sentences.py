"""Running text on the page: sentences appear as they come, one is looked at, and Cancel ends the work."""

import threading

import pytest

from regard.studio.routes_answer import _Work
from regard.studio.work_queue import AbandonedError, go_on
from tests.run import kinds
from tests.studio.browser import needed, open_at, settled, watched
from tests.studio.kit import inside

pytestmark = needed
TEXT = "a b c. A b d! C d e? 17"


@pytest.fixture
def theme():
    return "light"


@pytest.fixture
def fresh(chromium):
    """A page, and a function that opens it at a server of the test's own."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860}, color_scheme="light")
    yield context.new_page()
    context.close()


def rows(page):
    return page.locator(".sentences li button").all_inner_texts()


def test_each_sentence_can_be_looked_at(page, address):
    open_at(page, address, run="rnn", text=TEXT, reading="sentences", view="heat")
    settled(page, "heat")
    page.wait_for_selector(".cancel", state="detached")
    assert [text.split("\n")[1] for text in rows(page)] == ["a b c.", "A b d!", "C d e?", "17"]
    assert page.locator(".sentences li button").nth(3).is_disabled(), "there is nothing in a number"
    page.locator(".sentences li button").nth(2).click()
    page.wait_for_function("() => location.hash.includes('part=2')")
    settled(page, "heat")
    page.get_by_role("link", name="Translate").click()
    settled(page, "answer")
    assert page.locator(".question").inner_text() == "C d e?"
    page.go_back()
    page.go_back()
    page.wait_for_function("() => !location.hash.includes('part=2')")
    page.get_by_role("button", name="Read the text as one").click()
    page.wait_for_selector("text=This text has 4 sentences and was read as one.")
    page.get_by_role("button", name="Answer each sentence").click()
    page.wait_for_selector(".sentences li")


def test_sentences_appear_as_they_come_and_cancel_ends_the_work(fresh, make, runs, monkeypatch):
    original, begun, ended = _Work.answered, threading.Event(), threading.Event()

    def answered(self, text, to=None):
        if not text.startswith("A"):
            return original(self, text, to)
        begun.set()
        try:
            while True:
                ended.wait(0.001)
                go_on()
        except AbandonedError:
            ended.set()
            raise

    monkeypatch.setattr(_Work, "answered", answered)
    studio = make([runs["rnn"]], page=built())
    with inside(studio) as (url, _):
        faults = watched(fresh, url)
        open_at(fresh, url, run="rnn", text=TEXT, reading="sentences")
        fresh.wait_for_selector("ol.steps button")
        assert begun.wait(90)
        assert "1 of 3 sentences answered." in fresh.locator(".sentences").inner_text()
        assert rows(fresh)[1].endswith("…")
        fresh.get_by_role("button", name="Cancel").click()
        assert ended.wait(90), "the server stops, too"
        fresh.wait_for_selector("text=1 of 3 sentences answered, then cancelled.")
        assert fresh.locator("ol.steps button").count(), "what has come stays"
        fresh.locator(".sentences li button").nth(1).click()
        fresh.wait_for_selector("text=You cancelled this.")
        monkeypatch.setattr(_Work, "answered", original)
        fresh.get_by_role("button", name="Try again").click()
        fresh.wait_for_selector("text=3 of 3 sentences answered.")
        assert not faults


def test_runs_made_meanwhile_appear_and_a_server_that_is_back_is_noticed(fresh, make, tmp_path):
    kinds.make(tmp_path / "first", "rnn")
    found = lambda: sorted(path for path in tmp_path.iterdir() if path.is_dir())  # noqa: E731
    fresh.set_default_timeout(90_000)
    with inside(make(found, page=built())) as (url, _):
        open_at(fresh, url, text="a b c")
        settled(fresh, "answer")
        kinds.make(tmp_path / "second", "tag")
        fresh.evaluate("() => window.dispatchEvent(new Event('focus'))")
        fresh.wait_for_selector("header option[value=second]", state="attached")
    fresh.wait_for_selector("text=The studio does not answer.")
    assert fresh.locator("ol.steps button").count(), "what is on the page stays"
    port = int(url.rpartition(":")[2])
    with inside(make(found, page=built()), port) as (_, _):
        fresh.wait_for_selector("text=The studio does not answer.", state="detached")


def test_the_demo_is_named_from_its_first_second(fresh, make, runs, monkeypatch):
    """While its sentences are being made ready the header says demo, and nothing is refused."""
    studio = make([runs["rnn"]], page=built())
    monkeypatch.setattr(type(studio.demo), "state", "absent")

    async def start():
        monkeypatch.setattr(type(studio.demo), "state", "running")

    monkeypatch.setattr(studio.demo, "start", start)
    with inside(studio) as (url, _):
        faults = watched(fresh, url)
        open_at(fresh, url, view="learning", run="rnn")
        fresh.get_by_role("button", name="Train the demo model").click()
        fresh.wait_for_function("() => document.querySelector('header select').value === 'demo'")
        fresh.wait_for_selector("text=The first numbers appear in a few seconds.")
        assert "demo (training)" in fresh.locator("header option:checked").inner_text()
        assert not faults


def built():
    from regard.studio.state import read_page

    return read_page()
