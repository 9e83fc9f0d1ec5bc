"""Pictures in the studio: one is chosen or dropped as the question, and each step shows where it looked."""

import base64
import re
from random import Random
from unittest.mock import patch

import pytest

import regard
from regard.data import png
from regard.data.toys.drawings import strip
from regard.training import Listener
from tests.studio.browser import PATIENCE, needed
from tests.studio.kit import server

pytestmark = needed
FILM = "ol[aria-label='Where each step looked'] button"


@pytest.fixture(scope="module")
def studio_server(tmp_path_factory):
    """A studio over a reader of digits that has hardly begun to learn: what it says does not matter here."""
    folder = tmp_path_factory.mktemp("pictures")
    every = {"train.steps": 4, "train.evaluate_every": 4, "train.checkpoint_every": 4}
    settings = every | {"decode.max_length": 5}
    with patch.dict("regard.data.toys.toy._COUNTS", {"train": 300, "valid": 10}):
        regard.train(
            preset="xu2015-soft",
            out=folder / "runs" / "digits",
            settings=settings,
            listener=Listener(),
            device="cpu",
        )
    with server(folder / "runs" / "digits", folder=folder, more=("--no-open",)) as one:
        yield one
        assert one.process.poll() is None, one.log.read_text()


@pytest.fixture
def drawn():
    """The bytes of a strip that the model has not seen."""
    return png.encode(strip("407", Random(3))[0])


def test_a_chosen_picture_is_answered_and_lies_under_the_map_of_each_step(page, address, drawn):
    page.goto(f"{address}#view=answer")
    page.locator(FILM).first.wait_for()
    file = {"name": "strip.png", "mimeType": "image/png", "buffer": drawn}
    page.set_input_files("input[type=file]", file)
    own = "data:image/png;base64," + base64.b64encode(drawn).decode()
    page.wait_for_function(
        "own => document.querySelector('img.seen')?.src === own", arg=own
    )  # the form of these pictures keeps a strip of this height as it is
    steps = page.locator("ol.steps button").count()
    page.locator(FILM).nth(steps - 1).wait_for()
    assert page.locator(FILM).count() == steps
    assert page.locator(f"{FILM} svg image").first.get_attribute("href") == own
    cells = page.locator(".places svg image").count()
    page.get_by_role("button", name="Smooth").first.click()
    page.wait_for_function("() => location.hash.includes('smooth=1')")
    assert page.locator(".places svg image").count() == cells + 1  # the picture, and gold over it
    assert "interpolated" in page.locator(".places").text_content()
    if steps > 1:
        page.locator(FILM).first.focus()
        page.keyboard.press("ArrowRight")
        assert page.locator(FILM).nth(1).get_attribute("aria-pressed") == "true"


def test_the_answer_is_played_picture_by_picture(page, address):
    page.goto(f"{address}#view=answer")
    page.locator(FILM).nth(1).wait_for()
    page.wait_for_selector("ol.steps.playing", state="detached")
    page.evaluate(
        """film => {
            window.reached = new Set();
            const look = () => document.querySelectorAll(film).forEach((one, at) => {
                if (one.classList.contains("here")) window.reached.add(at);
            });
            new MutationObserver(look).observe(document.querySelector("main"),
                { subtree: true, attributes: true, attributeFilter: ["class"] });
        }""",
        FILM,
    )
    page.get_by_role("button", name="Play", exact=True).click()
    steps = page.locator("ol.steps button").count()
    page.wait_for_function("count => window.reached.size === count", arg=steps)


def test_a_dropped_picture_is_asked_about_and_other_files_are_refused(page, address, drawn):
    page.goto(f"{address}#view=answer")
    page.locator(FILM).first.wait_for()
    drop = """([data, type]) => {
        const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
        const given = new DataTransfer();
        given.items.add(new File([bytes], "given", { type }));
        document.querySelector("form").dispatchEvent(
            new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true }));
    }"""
    packed = base64.b64encode(drawn).decode()
    page.evaluate(drop, [packed, "text/plain"])
    assert "give it a picture" in page.get_by_role("alert").first.text_content()
    page.evaluate(drop, [packed, "image/png"])
    own = "data:image/png;base64," + packed
    page.wait_for_function("own => document.querySelector('img.seen')?.src === own", arg=own)


def test_a_broken_picture_is_a_clear_error_and_the_studio_lives_on(chromium, address, drawn):
    page = chromium.new_page()  # a refusal stands in the browser's log, so nobody watches it here
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}#view=answer")
    page.locator(FILM).first.wait_for()
    broken = {
        "name": "broken.jpg",
        "mimeType": "image/jpeg",
        "buffer": b"\xff\xd8\xff\xe0" + b"x" * 40,
    }
    page.set_input_files("input[type=file]", broken)
    page.get_by_text("This picture cannot be read").wait_for()
    good = {"name": "strip.png", "mimeType": "image/png", "buffer": drawn}
    page.set_input_files("input[type=file]", good)
    page.locator("img.seen").wait_for()
    page.close()


def test_heads_are_measured_over_pictures_that_have_no_words(page, address):
    """It spoke of sentences, offered a box to type some, and had a column of shuffled words, all empty."""
    page.goto(f"{address}#view=heads&headText=typed+for+a+model+that+reads+text")
    page.wait_for_selector("table tbody tr")
    said = page.locator("main").inner_text()
    assert re.search(r"Measured over \d+ pictures that the model was tested on", said)
    assert "1 head;" in said
    assert "sentence" not in said
    assert page.locator("main textarea").count() == 0
    titles = page.locator("thead th").all_inner_texts()
    assert "random" in titles
    assert "shuffled" not in titles
    assert page.locator(".key").count() == 0  # of one number there is no scale
