"""The studio in a real browser: every view, by keyboard alone, in both themes, nothing from elsewhere."""

import os
from pathlib import Path

import pytest

from tests.studio.browser import TEXT, VIEWS, WHERE, needed, open_at, press_until, settled
from tests.studio.kit import server

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> ${7*7} \u202eabc\u200b =1+1"
KINDS = {
    "rnn": "a b c",
    "transformer": "a b c",
    "tag": "the cat sleeps",
    "classify": "what a lovely day",
    "point": "3 1 2",
    "language": "the",
}

pytestmark = needed


def walk(page, address, theme, keep):
    """Type, press Enter, and Tab to each view in turn; nothing is ever clicked."""
    open_at(page, address, run="phrases")
    page.wait_for_selector("form textarea")
    press_until(page, "() => document.activeElement.matches('form textarea')")
    page.keyboard.type(TEXT)
    page.keyboard.press("Enter")
    page.wait_for_selector("ol.steps button")
    for view, label in VIEWS.items():
        here = f"() => document.activeElement.matches('nav a') && document.activeElement.text === '{label}'"
        page.evaluate("() => document.activeElement.blur()")
        press_until(page, here)
        page.keyboard.press("Enter")
        settled(page, view)
        assert page.title() == f"{label} · regard studio"
        assert page.locator("nav[aria-label=Views] a[aria-current=page]").inner_text() == label
        assert page.locator("[role=alert]").count() == 0
        page.screenshot(path=keep / f"{view}-{theme}.png", full_page=True)


def test_every_view_by_keyboard(page, address, theme, tmp_path):
    walk(page, address, theme, Path(os.environ.get("REGARD_SCREENSHOTS") or tmp_path))


def serious(page):
    """What axe-core finds that would stand in somebody's way."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("() => axe.run()")["violations"]
    return [fault for fault in found if fault["impact"] in ("serious", "critical")]


@pytest.mark.parametrize(("run", "text"), [("phrases", TEXT), ("transformer", "a b c")])
def test_nothing_stands_in_the_way(chromium, address, theme, run, text):
    """No serious fault in any view, its table open, and no view wider than a phone."""
    if not AXE.is_file():
        pytest.skip("needs web/node_modules")
    size = {"width": 390, "height": 844}
    context = chromium.new_context(color_scheme=theme, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(90_000)
    for view in VIEWS:
        page.set_viewport_size({"width": 1280, "height": 860})
        open_at(page, address, view=view, run=run, text=text, table=1 if view != "heat" else 0)
        settled(page, None if view == "learning" else view)
        assert serious(page) == [], view
        page.set_viewport_size(size)
        settled(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= size["width"], view
    context.close()


# Where a view says what it shows, in words.
TOLD = {
    "answer": ".how",
    "heat": ".sheet .caption",
    "model": ".lead p",
    "lessons": "article .caption",
    **dict.fromkeys(("lines", "heads", "graph", "neurons", "beam", "senses"), ".lead"),
    **dict.fromkeys(("learning", "compare"), ".lead"),
}


@pytest.mark.parametrize("theme", ["light"], indirect=True)
def test_every_view_says_what_it_shows(page, address):
    assert set(TOLD) == set(VIEWS)
    for view, place in TOLD.items():
        open_at(page, address, view=view, run="phrases", text=TEXT)
        settled(page, view)
        assert page.locator(place).first.inner_text().endswith("."), view


@pytest.mark.parametrize("theme", ["light"], indirect=True)
def test_the_weights_of_the_neurons_are_in_sight(page, address):
    """However many neurons: the last column is the one that all the others are for."""
    page.set_viewport_size({"width": 1000, "height": 800})
    open_at(page, address, view="neurons", run="phrases", text=TEXT)
    settled(page, "neurons")
    fits = "(sheet) => sheet.scrollWidth <= sheet.clientWidth"
    assert page.locator("main .sheet").first.evaluate(fits)


@pytest.mark.parametrize("theme", ["dark"], indirect=True)
def test_paper_is_light(page, address):
    """Letters and maps are drawn for paper before it is printed, and as they were after it."""
    open_at(page, address, view="heat", run="phrases", text=TEXT)
    settled(page, "heat")
    corner = """() => {
        const map = document.querySelector('main canvas');
        return [...map.getContext('2d').getImageData(1, 1, 1, 1).data].slice(0, 3)
    }"""
    dark = page.evaluate(corner)
    page.evaluate("() => { window.dispatchEvent(new Event('beforeprint')) }")
    assert page.evaluate("() => getComputedStyle(document.documentElement).colorScheme") == "light"
    assert page.evaluate(corner) == [255, 255, 255]
    page.evaluate("() => { window.dispatchEvent(new Event('afterprint')) }")
    assert page.evaluate(corner) == dark
    assert max(dark) < 64
    page.get_by_role("button", name="Light").click()
    assert page.evaluate(corner) == [255, 255, 255], "a map follows the theme at once"


@pytest.mark.parametrize("theme", ["dark"], indirect=True)
def test_nought_does_not_glare_by_night(page, address):
    """Where colours have a sign, their middle is the sheet they lie on, and near white on paper."""
    open_at(page, address, view="neurons", run="phrases", text=TEXT)
    settled(page, "neurons")
    middle = """() => getComputedStyle(document.querySelectorAll('.scales .strip i')[11])
        .backgroundColor.match(/\\d+/g).map(Number)"""
    drawn = """() => {
        const strip = document.querySelectorAll('tbody canvas')[1];
        const all = strip.getContext('2d').getImageData(0, 0, strip.width, 1).data;
        return all.reduce((sum, one, at) => sum + (at % 4 < 3 ? one : 0), 0) / all.length / 0.75
    }"""
    assert max(page.evaluate(middle)) < 64
    dark = page.evaluate(drawn)
    page.evaluate("() => { window.dispatchEvent(new Event('beforeprint')) }")
    assert min(page.evaluate(middle)) > 200
    assert dark < 128 < page.evaluate(drawn)


@pytest.mark.parametrize("theme", ["light"], indirect=True)
def test_compare_takes_the_run_most_alike(page, address):
    """Two of one toy stand side by side; of those that differ it says so, also in a file."""
    open_at(page, address, view="compare", run="transformer", text="a b c")
    settled(page, "compare")
    assert page.locator("section[aria-label=Second] h3").inner_text().startswith("Second: rnn")
    assert page.locator(".unlike").count() == 0
    page.get_by_label("Against").select_option("phrases")
    page.wait_for_selector("text=These two models were trained on different texts.")


@pytest.mark.parametrize("theme", ["light"], indirect=True)
@pytest.mark.parametrize("view", ["heat", "graph", "beam", "compare"])
def test_nothing_is_cut_on_paper(page, address, view):
    """A printed page cannot be scrolled."""
    open_at(page, address, view=view, run="phrases", text=f"{TEXT} and {TEXT}")
    settled(page, view)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 640, "height": 900})
    ends = """() => [...document.querySelectorAll('main svg, main canvas')].map((one) =>
        one.getBoundingClientRect().right - one.closest('.sheet').getBoundingClientRect().right)"""
    assert max(page.evaluate(ends)) <= 0


@pytest.mark.parametrize("width", [1280, 390])
def test_the_box_grows_with_its_text(page, address, width):
    """A long sentence is seen whole; of a very long one, a few lines and the rest by scrolling."""
    page.set_viewport_size({"width": width, "height": 844})
    open_at(page, address, run="phrases", text=TEXT)
    settled(page, "answer")
    box = page.locator("form textarea").first
    sizes = "(box) => [box.clientHeight, box.scrollHeight]"
    one, _ = box.evaluate(sizes)
    assert one == 44, "one line"
    box.fill(" ".join([TEXT] * (width // 180)))
    high, whole = box.evaluate(sizes)
    assert one < high, "more than one line"
    assert high == whole, "nothing is cut"
    box.fill(" ".join([TEXT] * 80))
    high, whole = box.evaluate(sizes)
    assert high < 6 * one
    assert high < whole
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    box.fill(TEXT)
    assert box.evaluate(sizes) == [one, one]


def test_enter_asks_and_shift_begins_a_line(page, address):
    open_at(page, address, run="phrases", text=TEXT)
    settled(page, "answer")
    box = page.get_by_role("textbox", name="Type a sentence to translate")
    box.fill("the cat")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("ate")
    assert box.input_value() == "the cat\nate"
    assert page.url.endswith(TEXT.replace(" ", "+")), "not asked yet"
    page.keyboard.press("Enter")
    page.wait_for_url("**text=the+cat%0Aate**")
    settled(page, "answer")
    assert box.input_value() == "the cat\nate"
    box.fill(" ")
    page.keyboard.press("Enter")
    assert "text=the+cat%0Aate" in page.url, "nothing to ask"


def test_cell_cursor_is_read_out(page, address):
    open_at(page, address, view="heat", run="phrases", text=TEXT)
    page.wait_for_selector("canvas")
    press_until(page, "() => document.activeElement.matches('canvas')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**row=1&column=1**")
    assert "key black: " in page.locator("p[aria-live]").inner_text()
    before = page.url
    page.reload()
    page.wait_for_selector("canvas")
    assert page.url == before
    assert "key black: " in page.locator("p[aria-live]").inner_text()


# Where the focus must be, a key, and what is then read out.
READ_OUT = {
    "answer": ("ol.steps button", "ArrowRight", "section p[aria-live]"),
    "lines": ("svg[role=application]", "ArrowDown", "p[aria-live]"),
    "graph": ("svg[role=application]", "ArrowDown", "p[aria-live]"),
    "neurons": (".queries button", "ArrowRight", "p[aria-live]"),
    "beam": ("g.node", "ArrowDown", "p[aria-live]"),
    "compare": ("canvas", "ArrowDown", "section[aria-label=First] p[aria-live]"),
    "learning": ("canvas", "ArrowDown", "p[aria-live]"),
}


@pytest.mark.parametrize("view", READ_OUT)
def test_what_the_keys_choose_is_read_out(page, address, view):
    place, key, live = READ_OUT[view]
    open_at(page, address, view=view, run="phrases", text=TEXT)
    settled(page, view)
    press_until(page, f"() => document.activeElement.matches('{place}')")
    before = page.locator(live).first.inner_text()
    page.keyboard.press(key)
    page.wait_for_function(
        "([live, before]) => document.querySelector(live).innerText !== before", arg=[live, before]
    )
    assert page.locator(live).first.inner_text().strip()


def test_heads_are_one_stop_of_the_tab_key(page, address):
    """Arrows go from tile to tile; Enter opens the head that has the focus."""
    open_at(page, address, view="model", run="transformer", text="a b c")
    settled(page, "model")
    press_until(page, "() => document.activeElement.matches('.layer button')")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => document.activeElement.dataset.tile") == "1 1"
    name = page.evaluate("() => document.activeElement.ariaLabel")
    assert name.startswith("2 · ")
    assert "sharpness: Encoder self-attention, layer 2, head 2" in name
    page.keyboard.press("Enter")
    settled(page, "heat")
    assert page.locator(".sheet h2").inner_text() == "Encoder self-attention, layer 2, head 2"


def test_the_tree_is_walked_by_arrows(page, address):
    open_at(page, address, view="beam", run="phrases", text=TEXT)
    settled(page, "beam")
    press_until(page, "() => document.activeElement.matches('g.node')")
    way = "() => [...document.querySelectorAll('g.node')].indexOf(document.activeElement)"
    first = page.evaluate(way)
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.classList.contains('wins')")
    second = page.evaluate(way)
    assert second != first
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(way) == first
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.closest('.exports') !== null")


@pytest.mark.parametrize("view", [view for view in VIEWS if view not in ("heat", "heads")])
def test_every_view_as_a_table(page, address, view):
    """What is drawn can be read; heat maps turn into their table, heads are one, others have it below."""
    chosen = {"run": "phrases", "text": TEXT, "otherText": "the witch chased a frog"}
    open_at(page, address, **{"view": view, **chosen, **WHERE.get(view, {})})
    settled(page, view)
    assert page.locator("[role=region] table").count() == 0
    page.locator(".exports").get_by_role("button", name="As a table").click()
    table = page.locator("[role=region] table").last
    assert table.locator("tr").count() > 1
    page.wait_for_url("**table=1**")
    page.reload()
    settled(page, view)
    assert page.locator("[role=region] table").count() == 1


def test_the_answer_is_said_step_by_step(page, address):
    """A new answer plays once; the button plays it again, and each step shows where it looked."""
    # A short answer has played before a busy machine looks: the page itself takes note.
    page.add_init_script("""new MutationObserver(() => {
        window.played ||= document.querySelector('ol.steps.playing') !== null
    }).observe(document, {subtree: true, childList: true, attributes: true})""")
    open_at(page, address, run="phrases", text=TEXT)
    settled(page, "answer")
    assert page.evaluate("() => window.played")
    second = page.locator("ol.steps bdi").nth(1).inner_text()
    page.get_by_role("button", name="Play").click()
    page.wait_for_selector("ol.steps.playing .later")
    page.wait_for_selector(f"section h3:has-text('Where “{second}” looked')")
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector("ol.steps.playing", state="detached")


def test_another_symbol_is_forced(page, address):
    open_at(page, address, run="phrases", text=TEXT)
    settled(page, "answer")
    other = page.locator("button.force:not(.chosen)").first
    word = other.inner_text()
    other.click()
    page.wait_for_selector(".forced")
    first = page.locator("ol.steps button bdi").first
    page.wait_for_selector(f"ol.steps li:first-child bdi:text-is('{word}')")
    assert first.inner_text() == word
    page.get_by_role("button", name="Let the model choose").click()
    page.wait_for_selector(".forced", state="detached")


@pytest.mark.parametrize("run", KINDS)
def test_every_kind_of_model(page, address, run):
    text = KINDS[run]
    for view in ("answer", "heat", "lines", "model", "graph", "neurons", "beam", "compare"):
        open_at(page, address, view=view, run=run, text=text, otherRun=run, otherText=text)
        settled(page)
        assert page.locator("[role=alert]").count() == 0, (run, view)
        if (run, view) == ("tag", "answer"):  # a tag means nothing without its word
            assert page.locator("ol.steps .word").all_inner_texts() == text.split()


def test_hostile_text_stays_text(page, address):
    for view in ("answer", "heat", "lines", "model", "graph", "neurons", "beam", "compare"):
        open_at(page, address, view=view, run="rnn", text=HOSTILE, otherText=HOSTILE)
        settled(page)
        assert page.locator("main script, main img").count() == 0
    assert page.locator("form textarea").first.input_value() == HOSTILE


def test_typed_text_survives_a_dead_server(chromium, runs, tmp_path):
    with server(runs["rnn"], folder=tmp_path, more=("--no-open",)) as one:
        page = chromium.new_page()
        page.set_default_timeout(90_000)
        open_at(page, one.url, text="a b c")
        page.wait_for_selector("ol.steps button")
        one.stop()
        page.locator("form textarea").first.fill("c b a")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=alert]")
        assert page.locator("form textarea").first.input_value() == "c b a"
        assert page.locator("ol.steps").count() == 0
        assert "does not answer" in page.locator("[role=alert]").inner_text()
        page.close()


def test_a_refusal_says_what_and_what_to_do(chromium, address):
    page = chromium.new_page()
    page.set_default_timeout(90_000)
    open_at(page, address, run="rnn", text="a " * 2500)
    alert = page.wait_for_selector("[role=alert]")
    assert "the limit is 2,000" in alert.inner_text()
    assert page.get_by_role("button", name="Try again").count() == 0, "it would not help"
    page.close()
