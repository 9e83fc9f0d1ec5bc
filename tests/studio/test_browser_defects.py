"""What a reader of the page must be able to rely on: each of these was once not so."""

import re

import pytest

from tests.studio.browser import TEXT, VIEWS, changed, needed, open_at, press_until, settled

pytestmark = needed


@pytest.fixture
def theme():
    return "light"


def view_of(page):
    return page.locator("nav[aria-label=Views] a[aria-current=page]").inner_text()


class TestBackAndForward:
    def test_each_step_of_navigation_can_be_undone(self, page, address):
        open_at(page, address, run="transformer", text="a b c")
        settled(page, "answer")
        page.get_by_role("link", name="Heat map").click()
        settled(page, "heat")
        page.get_by_role("button", name="3", exact=True).click()
        page.wait_for_selector("h2:has-text('head 3')")
        page.get_by_role("link", name="Lessons").click()
        settled(page, "lessons")
        page.go_back()
        page.wait_for_selector("h2:has-text('head 3')")
        page.go_back()
        page.wait_for_selector("h2:has-text('mean of all 3 heads')")
        assert view_of(page) == "Heat map"
        page.go_back()
        settled(page, "answer")
        assert view_of(page) == "Translate"
        page.go_forward()
        settled(page, "heat")
        assert view_of(page) == "Heat map"

    def test_another_text_can_be_undone_and_a_cell_is_no_step(self, page, address):
        open_at(page, address, view="heat", run="transformer", text="a b c")
        settled(page, "heat")
        steps = page.evaluate("() => history.length")
        press_until(page, "() => document.activeElement.matches('canvas')")
        for key in ("ArrowDown", "ArrowRight", "ArrowDown"):
            page.keyboard.press(key)
        page.wait_for_url("**row=2**")
        assert page.evaluate("() => history.length") == steps
        page.locator("form textarea").first.fill("c b")
        page.keyboard.press("Enter")
        page.wait_for_url("**text=c+b**")
        settled(page, "heat")
        page.go_back()
        page.wait_for_url("**row=2**")
        assert page.locator("form textarea").first.input_value() == "a b c"


class TestLinks:
    def test_an_unknown_run_is_said_and_no_other_answers(self, page, address):
        asked = []
        page.on(
            "request",
            lambda one: (
                asked.append(one.url) if re.search("/api/(trace|answer)", one.url) else None
            ),
        )
        open_at(page, address, run="nosuch", text="hello")
        alert = page.wait_for_selector("[role=alert]")
        assert "There is no run called “nosuch” here." in alert.inner_text()
        assert page.locator("header select").input_value() == "nosuch"
        assert asked == []
        page.locator("main").get_by_role("button", name="transformer").click()
        settled(page, "answer")
        assert page.locator("[role=alert]").count() == 0

    @pytest.mark.parametrize(
        ("part", "said"),
        [
            ({"view": "nowhere"}, "view=nowhere"),
            ({"view": "heat", "site": "no.such"}, "the attention “no.such”"),
            ({"view": "heat", "head": 7}, "head 8"),
            ({"view": "heat", "row": 99}, "row 100"),
            ({"view": "lines", "column": 50}, "column 51"),
            ({"row": 44}, "row 45"),
            ({"view": "lessons", "lesson": "no-such"}, "the lesson “no-such”"),
            ({"view": "compare", "otherRun": "gone"}, "the run “gone”"),
            ({"beam": "many"}, "beam=many"),
            ({"to": "xx"}, "the language “xx”"),
        ],
    )
    def test_what_is_not_here_is_said(self, page, address, part, said):
        open_at(page, address, **{"run": "transformer", "text": "a b c", **part})
        page.wait_for_selector(f".notices:has-text('{said}')")
        page.get_by_role("button", name="OK").click()
        assert page.locator(".notices").count() == 0

    def test_a_link_to_what_is_here_says_nothing(self, page, address):
        for view in VIEWS:
            open_at(page, address, view=view, run="transformer", text="a b c", row=0, head=1)
            settled(page, None if view == "learning" else view)
            assert page.locator(".notices").count() == 0, view


class TestLanguage:
    @pytest.fixture
    def address(self, boxed):
        return boxed

    def test_the_language_shown_is_the_one_used_while_loading_and_after_an_error(
        self, chromium, address
    ):
        page = chromium.new_page()
        page.set_default_timeout(90_000)
        held = []
        page.route("**/api/answer", lambda route: held.append(route))
        open_at(page, address, text="the black cat")
        to = page.locator("form label:has(span:text-is('To')) select")
        shown = "(one) => one.selectedOptions[0].text"
        page.wait_for_selector(".loading")
        assert to.evaluate(shown) == "Automatic"
        while not held:
            page.wait_for_timeout(20)
        held.pop().abort()
        page.wait_for_selector("[role=alert]")
        assert to.evaluate(shown) == "Automatic"
        page.unroute("**/api/answer")
        page.get_by_role("button", name="Try again").click()
        settled(page, "answer")
        used = page.locator("p.source .key").first.inner_text()
        assert used == ">>fr<<"
        assert to.evaluate(shown) == "Automatic (French)"
        to.select_option("de")
        page.wait_for_selector("p.source:has-text('>>de<<')")
        page.route("**/api/answer", lambda route: route.abort())
        page.locator("form textarea").first.fill("the mouse")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=alert]")
        assert to.evaluate(shown) == "German"
        page.close()

    def test_one_default_of_heads_in_all_views_and_it_can_be_changed(self, page, address):
        """The same cell has the same number in Translate, Heat map and Lines, by default and as chosen."""

        def weights():
            found = {}
            for view in ("Translate", "Heat map", "Lines"):
                page.locator("nav[aria-label=Views]").get_by_role("link", name=view).click()
                settled(page, {"Translate": "answer"}.get(view, view.split()[0].lower()))
                if view == "Lines":
                    texts = page.locator("aside .number").all_inner_texts()
                    found[view] = max(float(one.strip("<")) for one in texts)
                else:
                    said = page.locator("p[aria-live]:has-text('query')").inner_text()
                    found[view] = said.rpartition(": ")[2]
            return found

        open_at(page, address, to="de", row=1)
        settled(page, "answer")
        assert "This head is the default" in page.locator("section p.small").first.inner_text()
        page.locator("canvas[aria-roledescription='heat map']").click(position={"x": 5, "y": 5})
        before = weights()
        lines = before.pop("Lines")
        assert before["Translate"] == f"{lines:.3f}"
        page.locator("nav[aria-label=Views]").get_by_role("link", name="Translate").click()
        settled(page, "answer")
        page.get_by_role("button", name="mean of all").click()
        page.wait_for_selector("section p.small:has-text('mean of all 3 heads')")
        settled(page, "answer")
        after = weights()
        assert after["Translate"] == f"{after['Lines']:.3f}" != before["Translate"]

    def test_what_cannot_be_translated_is_not_offered_again(self, chromium, address):
        page = chromium.new_page()
        page.set_default_timeout(90_000)
        open_at(page, address, text="أكلت القطة السوداء الفأر")
        page.wait_for_selector("[role=alert]")
        assert page.get_by_role("button", name="Try again").count() == 0
        page.close()


class TestBeamTree:
    def test_a_forced_token_has_one_probability_and_is_marked(self, page, address):
        open_at(page, address, run="phrases", text=TEXT)
        settled(page, "answer")
        page.locator("button.force:not(:disabled)").nth(3).click()
        page.wait_for_selector("ol.steps .forced")
        settled(page, "answer")
        share = page.locator("ol.steps .forced small").inner_text()
        page.get_by_role("link", name="Beam tree").click()
        settled(page, "beam")
        first = page.locator("g.node").first
        assert "forced" in page.locator(".legend").inner_text()
        assert first.evaluate("(one) => one.matches('.given:not(.wins)')")
        assert share == f"{first.locator('text.small').nth(1).text_content()} forced"
        totals = [
            float(one.replace("−", "-"))
            for one in page.locator(
                "g.node text.small[y='37'][text-anchor=end]"
            ).all_text_contents()
        ]
        assert max(totals) < 0, "what was forced counts in every sum"

    @pytest.mark.parametrize("width", [700, 1440, 1920])
    def test_what_is_wider_than_the_page_says_so_and_can_be_fitted(self, page, address, width):
        page.set_viewport_size({"width": width, "height": 900})
        open_at(page, address, view="beam", run="phrases", text=f"{TEXT} and {TEXT}", beam=3)
        settled(page, "beam")
        cut = "() => { const box = document.querySelector('.scroll:has(svg.tree)');" + (
            "return box.scrollWidth - box.clientWidth }"
        )
        more = page.get_by_role("button", name="More steps")
        assert (page.evaluate(cut) > 1) == (more.count() == 1)
        if more.count():
            more.click()
            page.wait_for_selector("button[aria-label='Earlier steps']")
            page.get_by_label("Fit to width").check()
            page.wait_for_function(f"() => ({cut})() <= 1")
            assert more.count() == 0

    def test_a_wide_screen_is_used(self, page, address):
        page.set_viewport_size({"width": 1920, "height": 1080})
        open_at(page, address, view="beam", run="phrases", text=TEXT)
        settled(page, "beam")
        assert page.locator("main .sheet").first.bounding_box()["width"] > 1800


class TestHeatMap:
    def test_the_panel_and_the_value_follow_the_pointer(self, page, address):
        page.set_viewport_size({"width": 1440, "height": 900})
        open_at(page, address, view="heat", run="phrases", text=TEXT)
        settled(page, "heat")
        canvas = page.locator("canvas[aria-roledescription='heat map']")
        box = canvas.bounding_box()
        steps = page.locator("aside h3")
        seen = set()
        for part in (0.5, 0.6, 0.75, 0.9):
            page.mouse.move(box["x"] + box["width"] * 0.55, box["y"] + box["height"] * part)
            note = page.wait_for_selector(".note")
            said = page.locator("p.said").inner_text()
            query = re.match(r"query (.*), key", said)[1]
            value = said.rpartition(": ")[2]
            assert steps.inner_text() == f"{query} looks at"
            assert note.inner_text().startswith(value)
            place = note.bounding_box()
            near = abs(place["y"] - (box["y"] + box["height"] * part))
            assert near < 140
            seen.add(query)
        assert len(seen) > 1
        page.mouse.move(0, 0)
        page.wait_for_selector(".note", state="detached")


def test_a_graph_of_a_long_text_draws_only_tokens_that_exist(page, address):
    open_at(page, address, view="graph", run="classify", text="what a lovely day " * 60, site="")
    settled(page, "graph")
    page.locator(".controls select").first.select_option("Pooling attention")
    page.wait_for_selector("svg text.title:has-text('Pooling attention')")
    settled(page, "graph")
    assert page.locator("svg text.top").count() == 1
    assert page.locator("svg circle").count() == 96 + 1


def test_a_sentence_is_shown_as_text_and_controls_only_in_tokens(page, address):
    text = "the 👩\u200d👩\u200d👧 mouse"

    changed(page, lambda told: told["answer"].update(text=text))
    open_at(page, address, run="phrases", text=text)
    settled(page, "answer")
    assert page.locator(".answer .all").inner_text() == text
    assert page.locator(".question").inner_text() == text
    page.get_by_role("link", name="Compare").click()
    settled(page, "compare")
    assert page.locator("section[aria-label=First] .answer").inner_text() == text


def test_an_unknown_word_is_shown_beside_its_mark(page, address):
    open_at(page, address, run="phrases", text="The zebra ate the mouse")
    settled(page, "answer")
    page.locator("p.source .key").first.wait_for()  # drawn after the answer has come
    chips = page.locator("p.source .key").all_inner_texts()
    assert "<unk> The" in chips
    assert "<unk> zebra" in chips
    assert "is not in its vocabulary" in page.locator("main").inner_text()


def test_alternatives_sum_to_one(page, address):
    open_at(page, address, run="phrases", text=TEXT)
    settled(page, "answer")
    rows = page.locator("section[aria-label^='What else'] .fill")
    widths = rows.evaluate_all("(all) => all.map((one) => parseFloat(one.style.width))")
    assert sum(widths) == pytest.approx(100, abs=1e-3)


def test_lessons_do_not_jump(page, address):
    """What is on the page once a lesson is there stays where it is when the next numbers come."""
    held = []
    page.route("**/api/lessons/*", lambda route: held.append(route))
    open_at(page, address, view="lessons", lesson="score-functions")
    page.wait_for_selector("article .loading")
    assert page.locator("section[aria-label='Your numbers']").count() == 0
    while not held:
        page.wait_for_timeout(20)
    held.pop().continue_()
    page.unroute("**/api/lessons/*")
    settled(page, "lessons")
    places = """() => [...document.querySelectorAll('article > *')].map((one) =>
        Math.round(one.getBoundingClientRect().top))"""
    before = page.evaluate(places)
    page.get_by_label("query number 1", exact=True).fill("0.7")
    page.keyboard.press("Enter")
    page.wait_for_url("**inputs=**")
    settled(page, "lessons")
    assert page.evaluate(places) == before


class TestCharts:
    def test_a_value_is_read_under_the_pointer_and_by_the_keys(self, page, address):
        open_at(page, address, view="learning", run="phrases")
        settled(page, "learning")
        chart = page.locator(".chart").first
        box = chart.bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.6)
        read = chart.locator(".read")
        page.wait_for_selector(".guide", state="attached")
        assert re.match(r"step \d+: training [\d.]+", read.inner_text())
        page.mouse.move(0, 0)
        chart.focus()
        page.keyboard.press("ArrowRight")
        first = read.inner_text()
        page.keyboard.press("ArrowRight")
        assert read.inner_text() != first != ""

    def test_while_it_trains_the_axis_goes_to_the_end(self, page, address):
        def training(route):
            answer = route.fetch()
            told = answer.json()
            for run in told["runs"]:
                run["live"] = True
            route.fulfill(response=answer, json=told)

        page.route("**/api/about", training)
        page.route(
            "**/api/runs/phrases/settings",
            lambda route: route.fulfill(json={"train": {"steps": 600, "epochs": None}}),
        )
        open_at(page, address, view="learning", run="phrases")
        settled(page, "learning")
        assert "600" in page.locator(".chart svg text").all_text_contents()


def test_compare_opens_on_two_sides_that_differ(page, address):
    open_at(page, address, view="compare", run="transformer", text="a b c", otherRun="transformer")
    settled(page, "compare")
    titles = page.locator(".pair h3").all_inner_texts()
    assert titles[0] != titles[1].replace("Second", "First")
    page.wait_for_selector("h2:has-text('Second minus first')")


def test_one_step_is_not_spoken_of_as_several(page, address):
    open_at(page, address, run="classify", text="what a lovely day")
    settled(page, "answer")
    assert page.locator(".how").inner_text() == "Below the answer is its probability."


def test_a_tab_that_was_touched_does_not_stay_dark(chromium, address):
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.set_default_timeout(90_000)
    open_at(page, address, run="phrases", text=TEXT)
    settled(page, "answer")
    page.locator("nav[aria-label=Views] a:text-is('Lines')").tap()
    settled(page, "lines")
    colours = page.locator("nav[aria-label=Views] a:not([aria-current])").evaluate_all(
        "(all) => [...new Set(all.map((one) => getComputedStyle(one).color))]"
    )
    assert len(colours) == 1
    context.close()
