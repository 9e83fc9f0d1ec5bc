"""The lessons in a real browser: every one opens, and every number can be turned."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.studio.browser import needed, open_at, press_until, settled

pytestmark = needed

# A lesson, the slider to turn, and how its input is called.
SLIDERS = {
    "position-table": ("width", "width"),
    "position-periods": ("base", "base"),
    "score-variance": ("widths number 1", "widths"),
    "six-word-loss": ("outputs row 1 number 1", "outputs"),
    "rnn-step": ("x number 1", "x"),
    "backpropagation": ("targets number 1", "targets"),
    "score-functions": ("query number 1", "query"),
    "beam-of-two": ("beam size", "beam_size"),
}


@pytest.fixture
def theme():
    return "light"


def inputs_of(page):
    page.wait_for_url("**inputs=**")
    return json.loads(parse_qs(urlsplit(page.url).fragment)["inputs"][0])


def test_every_lesson_opens(page, address):
    open_at(page, address, view="lessons")
    page.wait_for_selector("li.result")
    names = page.locator("nav[aria-label=Lessons] a")
    for place in range(names.count()):
        names.nth(place).click()
        title = json.dumps(names.nth(place).inner_text())  # a title may have an apostrophe
        page.wait_for_selector(f"article h2:text-is({title})")
        page.wait_for_selector("li.result")
        assert page.locator("pre.formula").inner_text().strip()
        page.locator(".pictures svg text").nth(2).wait_for()
        assert page.locator("ol.steps table, ol.steps bdi").count() > 1
        assert page.locator("[role=alert]").count() == 0


def test_lessons_take_the_readers_numbers(page, address):
    open_at(page, address, view="lessons", lesson="flying-arrows")
    page.wait_for_selector("li.result")
    page.get_by_label("x", exact=True).fill("1")
    page.keyboard.press("Enter")
    page.wait_for_selector("button:text('Back to the lecture')")
    page.wait_for_selector("li.result bdi:text-is('1')")
    assert page.locator(".slip").count() == 2


@pytest.mark.parametrize("lesson", SLIDERS)
def test_a_slider_turns_a_number(page, address, lesson):
    """By keyboard; the numbers, the picture and the address follow."""
    label, name = SLIDERS[lesson]
    open_at(page, address, view="lessons", lesson=lesson)
    settled(page, "lessons")
    assert page.locator("pre.formula").inner_text().strip()
    picture = page.locator(".pictures")
    slider = page.get_by_label(f"Slide {label}")
    before, drawn = page.locator("ol.steps").inner_text(), picture.inner_html()
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert name in inputs_of(page)
    page.wait_for_function(
        "(before) => document.querySelector('ol.steps').innerText !== before", arg=before
    )
    settled(page, "lessons")
    assert picture.inner_html() != drawn
    assert page.locator("[role=alert]").count() == 0


def test_inputs_that_share_a_size_change_together(page, address):
    open_at(page, address, view="lessons", lesson="six-steps")
    settled(page, "lessons")
    drawn = page.locator(".pictures").inner_html()
    page.get_by_label("neurons").fill("3")
    page.wait_for_selector("li code:text('score / 1.73205')")
    assert page.locator(".pictures").inner_html() != drawn
    found = inputs_of(page)
    assert (len(found["query"]), [len(key) for key in found["keys"]]) == (3, [3, 3])


def test_a_mask_is_painted_by_mouse(page, address):
    open_at(page, address, view="lessons", lesson="painted-masks")
    settled(page, "lessons")
    page.get_by_role("button", name="none").click()
    cells = page.locator("td.cell")
    first, last = cells.nth(2 * 6 + 1).bounding_box(), cells.nth(2 * 6 + 4).bounding_box()
    page.mouse.move(first["x"] + 9, first["y"] + 9)
    page.mouse.down()
    page.mouse.move(last["x"] + 9, last["y"] + 9, steps=24)
    page.mouse.up()
    page.wait_for_selector("li bdi:text-is('0.25')")
    page.wait_for_url("**0%2C1%2C1%2C1%2C1%2C0**")  # the address follows what is drawn
    painted = inputs_of(page)["painted"]
    assert painted == [[0] * 6, [0] * 6, [0, 1, 1, 1, 1, 0], [0] * 6, [0] * 6, [0] * 6]


def test_a_mask_is_painted_by_keyboard(page, address):
    open_at(page, address, view="lessons", lesson="painted-masks")
    settled(page, "lessons")
    page.get_by_role("button", name="none").click()
    press_until(page, "() => document.activeElement.matches('td.cell')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    page.keyboard.press("Shift+ArrowRight")
    said = page.locator(".painter p[aria-live]")
    assert said.inner_text() == "am may look at am"
    page.wait_for_function("() => location.hash.includes('%5B1%2C1%2C0')")
    assert inputs_of(page)["painted"][1] == [1, 1, 0, 0, 0, 0]
