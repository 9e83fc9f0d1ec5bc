"""Heads and Senses in the browser: sorted, filtered, walked by keys, opened, cancelled and kept."""

import re

import pytest

from regard.answer.predictor import Predictor
from regard.answer.studies import heads, senses
from tests.studio.browser import STUDIED, needed, open_at, press_until, settled

pytestmark = needed

TEXTS = ["a b c d", "b c d a b", "d c b a"]
HEADS = {"view": "heads", "run": "transformer", "headText": "\n".join(TEXTS)}
MANY = "\n".join(f"{text} {other}" for text in TEXTS * 8 for other in ("a b", "c d", "d a", "b"))


@pytest.fixture
def theme():
    return "light"


@pytest.fixture(scope="module")
def found(runs):
    return heads(Predictor.load(runs["transformer"], "cpu"), TEXTS)


def column(page, name):
    """The numbers of one column of the table, row by row."""
    titles = [title.rstrip(" ↓↑") for title in page.locator("thead th").all_inner_texts()]
    at = titles.index(name)
    rows = page.locator("tbody tr").evaluate_all(
        "(all) => all.map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    return [row[at] for row in rows]


def three(value):
    return "–" if value is None else "<0.001" if 0 < value < 0.0005 else f"{value:.3f}"


class TestHeads:
    def test_the_table_has_the_librarys_numbers_and_controls(self, page, address, found):
        open_at(page, address, **HEADS, measure="previous")
        settled(page, "heads")
        assert column(page, "entropy") == [three(head.measures["entropy"]) for head in found]
        assert column(page, "previous") == [three(head.measures["previous"]) for head in found]
        assert column(page, "random") == [three(head.random["previous"]) for head in found]
        assert column(page, "shuffled") == [three(head.shuffled["previous"]) for head in found]
        assert page.locator(".tile").count() == len(found)

    def test_sorted_by_a_click_and_filtered_by_kind(self, page, address, found):
        open_at(page, address, **HEADS)
        settled(page, "heads")
        for order, is_down in (("descending", True), ("ascending", False)):
            page.get_by_role("button", name=re.compile("^confidence")).click()
            page.wait_for_selector(f"th[aria-sort={order}]")
            all_of = [head.measures["confidence"] for head in found]
            wanted = sorted((one for one in all_of if one is not None), reverse=is_down)
            rest = ["–"] * (len(all_of) - len(wanted))  # what was not counted comes last
            assert column(page, "confidence") == [*map(three, wanted), *rest]
        page.locator(".controls select").nth(2).select_option("cross")
        page.wait_for_selector("text=6 of 18 heads")
        assert page.locator("tbody tr").count() == 6
        assert page.locator(".tile.dim").count() == 12
        page.wait_for_url("**kind=cross**")
        page.reload()
        settled(page, "heads")
        assert page.locator("tbody tr").count() == 6

    def test_a_head_is_opened_by_keys_and_back_costs_nothing(self, page, address):
        open_at(page, address, **HEADS, text="a b c")
        settled(page, "heads")
        press_until(page, "() => document.activeElement.matches('.tile')")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.wait_for_selector("h2:has-text('Encoder self-attention, layer 2, head 2')")
        with_work = []
        page.on("request", lambda asked: with_work.append(asked.url))
        page.go_back()
        page.go_back()
        settled(page, "heads")
        assert not [url for url in with_work if url.endswith("/api/heads")]

    def test_it_says_how_far_it_is_and_can_be_cancelled(self, page, address):
        open_at(page, address, view="heads", run="transformer", headText=MANY)
        page.wait_for_selector(".loading:has-text('of 216 texts')")
        page.get_by_role("button", name="Cancel").click()
        page.wait_for_selector("text=You cancelled this.")
        assert page.locator("table").count() == 0
        page.get_by_role("button", name="Begin again").click()
        page.wait_for_selector(".loading:has-text('of 216 texts')")
        page.get_by_role("link", name="Heat map").click()
        page.wait_for_timeout(300)
        page.get_by_role("link", name="Heads").click()  # it went on
        settled(page, "heads")

    def test_what_has_no_heads_says_so(self, page, address):
        """On a page of its own: a refusal is an error in the browser's console."""
        other = page.context.browser.new_page()
        other.set_default_timeout(90_000)
        open_at(other, address, view="heads", run="tag", headText="\n".join(TEXTS))
        other.wait_for_selector("h3:has-text('Nothing to look at here')")
        assert "no attention heads" in other.locator("main .sheet").inner_text()
        other.close()


class TestSenses:
    def test_a_dot_for_each_occurrence_walked_by_keys(self, page, address, runs):
        open_at(page, address, view="senses", **STUDIED)
        page.wait_for_selector(".map .dot")
        assert page.locator(".map .dot:not(.selected)").count() == 4
        texts = STUDIED["senseText"].split("\n")
        own = senses(Predictor.load(runs["transformer"], "cpu"), "a", texts)
        near = page.locator("aside ol button").all_inner_texts()
        wanted = own.neighbours(0)
        assert [one.split("\n")[-1] for one in near] == [f"{value:.2f}" for _, value in wanted]
        assert "the same embedding: one point" in page.locator("aside").inner_text()
        first = page.locator(".sentence").inner_text()
        page.locator(".map").focus()
        for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
            page.keyboard.press(key)
            if page.locator(".sentence").inner_text() != first:
                break
        else:
            raise AssertionError("no key leads to another dot")
        page.wait_for_url("**dot=**")

    def test_layers_and_colours_are_in_the_link(self, page, address):
        open_at(page, address, view="senses", **STUDIED)
        page.wait_for_selector(".map .dot")
        top = page.locator(".map svg").inner_html()
        page.locator(".layer input").fill("0")
        page.wait_for_selector("output:has-text('0 of 2')")
        assert page.locator(".map svg").inner_html() != top
        page.wait_for_url("**layer=0**")
        options = page.get_by_label("Colour").locator("option").all_inner_texts()
        assert options == ["group (k-means)"]  # nobody said which sense, and nothing was translated

    def test_a_pointer_shows_the_sentence(self, page, address):
        open_at(page, address, view="senses", **STUDIED)
        page.wait_for_selector(".map .dot")
        page.locator(".map .dot").nth(2).locator("path").hover()
        assert page.locator(".sentence").inner_text().split() == ["3", "c", "d", "a", "a"]
        assert page.locator(".sentence mark").inner_text() == "a"
