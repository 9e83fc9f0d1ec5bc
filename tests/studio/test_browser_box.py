"""The first minute: a box with a translator of three languages in it, opened from an empty folder.

The translator is a stand-in with untrained weights; what it says is nonsense, what the page does is not.
"""

import pytest

from tests.studio.browser import changed, needed, open_at, settled, watched

pytestmark = needed
EXAMPLE = "the black cat ate the mouse ."


@pytest.fixture
def address(boxed):
    return boxed


def to(page):
    return page.locator("form label:has(span:text-is('To')) select")


def shown(select):
    """What a person reads on it."""
    return select.evaluate("(one) => one.selectedOptions[0].text")


def answer(page):
    return page.locator(".answer .all").inner_text()


def test_it_opens_on_an_example_already_translated(page, address):
    page.goto(address)
    settled(page, "answer")
    assert page.locator("form textarea").first.input_value() == EXAMPLE
    assert page.locator("header select").input_value() == "translator"
    assert shown(to(page)) == "Automatic (French)"
    assert page.locator("canvas[aria-roledescription='heat map']").count() == 1
    assert "head 2. This head is the default: the model's card names it" in (
        page.locator("section p.small").first.inner_text()
    )
    page.wait_for_url("**text=the+black+cat**")


def test_another_language_is_chosen_and_the_link_keeps_it(page, address, chromium):
    page.goto(address)
    settled(page, "answer")
    assert to(page).locator("option").all_inner_texts() == [
        "Automatic (French)",
        "English",
        "French",
        "German",
    ]
    to(page).select_option("de")
    page.wait_for_url("**to=de**")
    page.wait_for_selector("p.source:has-text('>>de<<')")
    settled(page, "answer")
    said = answer(page)
    context = chromium.new_context()
    other = context.new_page()
    faults = watched(other, address)
    other.goto(page.url)
    settled(other, "answer")
    assert to(other).input_value() == "de"
    assert answer(other) == said
    context.close()
    assert faults == []


def test_a_german_text_goes_into_english_by_itself(page, address):
    open_at(page, address, text="die schwarze Katze fraß die Maus .")
    settled(page, "answer")
    assert shown(to(page)) == "Automatic (English)"
    to(page).select_option("de")
    page.wait_for_selector("text=This looks like German already.")
    to(page).select_option("fr")
    page.wait_for_selector("text=German to French is not among the pairs it learned.")


def test_each_model_begins_with_its_own_example_until_somebody_types(page, address):
    page.goto(address)
    settled(page, "answer")
    page.locator("header select").select_option("tagger")
    page.wait_for_selector("nav a:text-is('Tag')")
    settled(page, "answer")
    assert to(page).count() == 0
    page.locator("form textarea").first.fill("my own words")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=my+own+words**")
    page.locator("header select").select_option("sentiment")
    page.wait_for_selector("nav a:text-is('Classify')")
    settled(page, "answer")
    assert page.locator("form textarea").first.input_value() == "my own words"


def test_what_is_copied_as_python_names_the_box(page, address):
    page.goto(address)
    settled(page, "answer")
    page.get_by_role("button", name="Copy as Python").click()
    page.wait_for_selector("text=Python copied")
    code = page.evaluate("() => navigator.clipboard.readText()")
    assert f'regard.trace("translator", "{EXAMPLE}"' in code


@pytest.mark.parametrize("view", ["heat", "lines", "compare"])
def test_many_heads_fit_a_phone(page, address, view):
    """Sixteen are the most that get a button each."""
    changed(page, lambda told: [site.update(heads=16) for site in told["sites"]])
    page.set_viewport_size({"width": 390, "height": 844})
    open_at(page, address, view=view)
    settled(page, view)
    assert page.get_by_role("button", name="16", exact=True).count() > 0
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_the_signs_of_a_translator_are_explained(page, address):
    open_at(page, address, view="heat", to="de")
    settled(page, "heat")
    assert ">>de<< asks for German; </s> marks the end" in page.locator(".sheet").inner_text()


def test_every_view_begins_at_a_word(page, address):
    """Not at the tag of a language; that is one step of the arrow keys away."""
    open_at(page, address, view="graph", to="de")
    settled(page, "graph")
    assert "the" in page.locator("text.top.here").text_content()
    page.locator("svg[role=application]").focus()
    page.keyboard.press("ArrowUp")
    page.wait_for_selector("text.top.here:has-text('>>de<<')")
    page.wait_for_url("**row=0**")
    for view in ("heat", "compare"):
        open_at(page, address, view=view, to="de")
        settled(page, view)
        assert ", key the: " in page.locator("p[aria-live]").first.inner_text(), view
    open_at(page, address, view="neurons", to="de", site="encoder.blocks.0.attention.attention")
    settled(page, "neurons")
    assert page.locator(".queries [aria-pressed=true]").inner_text() == "the"


def test_what_it_cannot_spell_is_told_rather_than_made_up(chromium, address):
    page = chromium.new_page()
    page.set_default_timeout(90_000)
    open_at(page, address, text="أكلت القطة السوداء الفأر")
    assert "nothing here to translate" in page.wait_for_selector("[role=alert]").inner_text()
    page.close()


def test_every_view_of_a_model_with_languages(page, address):
    for view in ("heat", "lines", "model", "graph", "neurons", "beam", "compare", "learning"):
        open_at(page, address, view=view)
        settled(page)
        assert page.locator("[role=alert]").count() == 0, view
