"""What is copied as Python runs: from every view, of every kind of model, whatever is chosen on the page."""

import runpy

import numpy as np
import pytest

from tests.studio.browser import TEXT, VIEWS, needed, open_at, settled

pytestmark = needed

# What can be chosen on the page, and where. All of it is in the address.
STATES = {
    "plain": ({}, VIEWS),
    "one head": ({"head": 1}, ("answer", "heat", "lines", "graph", "neurons", "compare")),
    "all heads": ({"head": "mean"}, ("answer", "heat", "lines", "graph", "compare")),
    "words": ({"words": 1}, ("heat", "lines", "compare")),
    "greedy": ({"beam": 1}, ("answer", "heat", "beam")),
    "a row": ({"row": 1}, ("answer", "heat", "lines", "graph", "neurons")),
    "all rows": ({"row": -1}, ("lines", "graph")),
}
ODD = 'the "black"\\ cat 👩\u200d👧 \u00e9 true {0}'  # what Python must be told with care
KINDS = {
    "rnn": "a b c",
    "transformer": "a b c",
    "tag": "the cat sleeps",
    "classify": "what a lovely day",
    "point": "3 1 2",
    "language": "the",
}
LINES = "a b c d\nthe cat a b"  # to study heads and senses by
LESSON = {"view": "lessons", "lesson": "painted-masks"}


@pytest.fixture
def theme():
    return "light"


@pytest.fixture
def run_copied(page, tmp_path, monkeypatch, trained):
    """Press "Copy as Python" and run what is in the clipboard, where the studio was started."""
    monkeypatch.chdir(trained.parents[1])

    def run():
        button = page.get_by_role("button", name="Copy as Python")
        if not button.count():  # no tree without a search, no map without attention
            assert page.locator("main .sheet h3").count(), "nothing is shown, and nothing says why"
            return {}
        page.wait_for_selector("text=Python copied", state="detached")
        button.click()
        page.wait_for_selector("text=Python copied")
        code = tmp_path / "copied.py"
        code.write_text(page.evaluate("() => navigator.clipboard.readText()"), "utf-8")
        return runpy.run_path(str(code))

    return run


def shown_answer(page):
    return page.evaluate("() => document.querySelector('.answer .all')?.innerText")


def all_states(page, address, run_copied, kind, text):
    for state, (more, views) in STATES.items():
        for view in views:
            if view == "lessons":
                continue
            chosen = {"view": view, "run": kind, "text": text, "otherRun": kind, **more}
            lines = "3 1 2 4\n2 1 3" if kind == "point" else LINES
            chosen |= {"headText": lines, "word": "a", "senseText": lines}
            open_at(page, address, **chosen)
            settled(page)
            told = run_copied()
            assert page.locator("[role=alert]").count() == 0, (kind, state, view)
            if view == "answer":
                assert told["seen"].answer.text.strip() == shown_answer(page).strip() or (
                    told["seen"].answer.text == "" or kind in ("tag", "tagger")
                )


@pytest.mark.parametrize("kind", KINDS)
def test_every_view_of_every_kind(page, address, run_copied, kind):
    all_states(page, address, run_copied, kind, KINDS[kind])


def test_a_run_that_was_trained_here(page, address, run_copied):
    all_states(page, address, run_copied, "phrases", TEXT)


@pytest.mark.parametrize("text", [ODD, "\u202ea\u200bb", "a\nb\tc"])
def test_a_text_that_is_hard_to_quote(page, address, run_copied, text):
    open_at(page, address, run="rnn", text=text)
    settled(page, "answer")
    assert run_copied()["seen"].question == text


@pytest.mark.parametrize("kind", ["phrases", "transformer", "point", "language"])
def test_a_forced_beginning(page, address, run_copied, kind):
    """Chosen on the page, in Translate and in the tree; the program gives the answer that is shown."""
    text = {**KINDS, "phrases": TEXT}[kind]
    open_at(page, address, run=kind, text=text)
    settled(page, "answer")
    typed = page.locator("ol.steps small:has-text('typed')").count()
    page.locator("ol.steps button").nth(typed).click()
    page.locator("button.force:not(:disabled)").first.click()
    page.wait_for_selector("ol.steps .forced")
    settled(page, "answer")
    told = run_copied()["seen"]
    shown = page.locator("ol.steps small").all_inner_texts()
    assert [step.given for step in told.steps] == [
        "typed" in one or "forced" in one for one in shown
    ]
    page.get_by_role("link", name="Beam tree").click()
    settled(page)
    run_copied()


def test_two_maps_of_one_shape_are_subtracted_and_two_of_different_shape_are_not(
    page, address, run_copied
):
    open_at(page, address, view="compare", run="transformer", text="a b c", head=0)
    settled(page, "compare")
    page.get_by_label("Against").select_option("transformer")
    page.wait_for_selector("h3:has-text('Second: transformer, head 2')")
    settled(page, "compare")
    told = run_copied()
    np.testing.assert_array_equal(told["difference"], told["others"] - told["weights"])
    page.get_by_label("Another text to compare with").fill("a b c d e")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_selector("h3:has-text('No difference to draw')")
    told = run_copied()
    assert "difference" not in told
    assert told["weights"].shape != told["others"].shape


def test_lessons_with_the_readers_numbers(page, address, run_copied):
    open_at(page, address, **LESSON)
    settled(page, "lessons")
    assert run_copied()["worked"]
    page.get_by_role("button", name="none").click()
    page.get_by_role("textbox", name="words", exact=True).fill("true null false it is so")
    page.keyboard.press("Enter")
    page.wait_for_selector("th:has-text('null')")
    settled(page, "lessons")
    assert "null" in str(run_copied()["worked"])


class TestBox:
    """Models that know several languages, and are called by their names."""

    @pytest.fixture
    def address(self, boxed):
        return boxed

    @pytest.mark.parametrize("name", ["translator", "tagger", "sentiment"])
    def test_every_view(self, page, address, run_copied, name):
        all_states(page, address, run_copied, name, "the black cat ate the mouse .")

    @pytest.mark.parametrize("to", ["", "de", "fr"])
    def test_the_language_is_the_one_that_was_used(self, page, address, run_copied, to):
        """The page's first screen, where nobody has chosen a language, and with one chosen."""
        open_at(page, address, **({"to": to} if to else {}))
        settled(page, "answer")
        told = run_copied()["seen"]
        assert told.axes["source"].pieces[0] == f">>{to or 'fr'}<<"
