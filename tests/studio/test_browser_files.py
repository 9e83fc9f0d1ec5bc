"""What leaves the page: every kind of file from every view, read again where it will be opened."""

import csv
import runpy
import struct

import pytest

import regard
from tests.studio.browser import TEXT, VIEWS, WHERE, needed, open_at, settled, watched

pytestmark = needed

FILES = ("PNG", "SVG", "CSV", "HTML")
# Words that a file of this view must hold: its title, its labels, its legend.
HELD = {
    "answer": (TEXT, "What else it could have said", "answer (queries)", "text (keys) →", "weight"),
    "heat": ("Decoder attention", "answer (queries)", "text (keys) →", "mouse", "weight"),
    "lines": ("Decoder attention", "looks at", "mouse"),
    "model": ("Every head of phrases", "additive", "weight"),
    "heads": ("What the heads of phrases do", "entropy", "Decoder attention"),
    "graph": ("Decoder attention as a graph", "mouse"),
    "neurons": ("Why “", "q, the query", "v · tanh(q + k)", "softmax"),
    "beam": ("Beam search with a beam of 4", "Gold: in the answer"),
    "senses": ("4 occurrences of “a”", "The static vector", "Layer 2 of 2"),
    "learning": ("How phrases learned", "held out", "step"),
    "compare": ("phrases against phrases", "Second minus first", "value"),
    "lessons": ("Words as vectors", "Result: most alike", "Given: "),
}
DAY, NIGHT = "rgb(251, 250, 246)", "rgb(236, 234, 228)"  # paper by day, ink by night
ATTACK = "<script>alert(1)</script> </svg><img src=x onerror=alert(2)> =1+1 \u202e"


@pytest.fixture
def theme():
    return "dark"


@pytest.fixture
def disk(chromium):
    """A page without network that opens files; it must find nothing to fetch and nothing to run."""
    context = chromium.new_context(offline=True)
    page = context.new_page()
    faults = watched(page, "file:")
    yield page
    context.close()
    assert faults == []


def saved(page, kind, folder):
    with page.expect_download() as waiting:
        page.locator(".exports").get_by_role("button", name=kind, exact=True).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.suffix == f".{kind.lower()}"
    return path


@pytest.mark.parametrize("view", VIEWS)
def test_every_file_of_every_view(page, disk, address, tmp_path, monkeypatch, trained, view):
    chosen = {"view": view, "run": "phrases", "text": TEXT, "otherRun": "phrases", "row": 1}
    open_at(page, address, **{**chosen, **WHERE.get(view, {})})
    settled(page, view)
    png, svg, table, html = (saved(page, kind, tmp_path) for kind in FILES)
    mark, width, height = struct.unpack(">12x4sII", png.read_bytes()[:24])
    assert (mark, width > 900, height > 300) == (b"IHDR", True, True)
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) > 1
    disk.goto(svg.as_uri())
    assert disk.evaluate("() => document.documentElement.tagName") == "svg"
    drawn = disk.evaluate("() => document.documentElement.textContent")
    for words in HELD[view]:
        assert words in drawn
    assert "var(" not in svg.read_text()
    assert NIGHT not in svg.read_text(), "files are light, as paper is"
    disk.goto(html.as_uri())
    assert HELD[view][0] in disk.title()
    assert disk.evaluate("() => getComputedStyle(document.body).backgroundColor") == DAY
    assert disk.locator("figure svg text").count() > 5
    assert disk.locator("tr").count() == len(rows)
    assert disk.locator("script, link, iframe, img").count() == 0

    page.get_by_role("button", name="Copy as Python").click()
    page.wait_for_selector("text=Python copied")
    code = tmp_path / "copied.py"
    code.write_text(page.evaluate("() => navigator.clipboard.readText()"))
    monkeypatch.chdir(trained.parents[1])
    runpy.run_path(str(code))
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_selector("text=Link copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == page.url


@pytest.mark.parametrize("view", [view for view in VIEWS if view not in ("learning", "lessons")])
def test_a_hostile_text_leaves_as_text(page, disk, address, tmp_path, view):
    lines = f"{ATTACK} a b\na b {ATTACK}"
    chosen = {"run": "rnn", "text": ATTACK, "otherRun": "rnn", "otherText": ATTACK}
    studied = {**WHERE.get(view, {}), "headText": lines, "senseText": lines}
    open_at(page, address, **{"view": view, **chosen, **studied})
    settled(page)
    if view == "beam" and not page.locator(".exports").count():
        return
    for kind in ("SVG", "HTML"):
        path = saved(page, kind, tmp_path)
        disk.goto(path.as_uri())
        inside = disk.evaluate(
            "() => [...document.querySelectorAll('script, img, [onerror], parsererror')].length"
        )
        assert inside == 0
        assert "<script" not in path.read_text()
        assert "<img" not in path.read_text()
    with saved(page, "CSV", tmp_path).open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell.lstrip().startswith(("=", "+", "@"))]


def test_the_whole_trace_opens_from_disk(page, disk, address, tmp_path):
    open_at(page, address, view="heat", run="transformer", text="a b c")
    settled(page, "heat")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="explorer").click()
    waiting.value.save_as(tmp_path / "trace.html")
    disk.goto((tmp_path / "trace.html").as_uri())
    disk.wait_for_selector("canvas, svg")


def test_two_views_in_one_notebook_leave_each_other_alone(disk, runs, tmp_path):
    """P9: each in a sandboxed frame of its own; neither touches the address or the other."""
    seen = regard.trace(runs["transformer"], "a b c")
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><meta charset=utf-8>{2 * seen._repr_html_()}", "utf-8")
    disk.goto(notebook.as_uri())
    first, second = (disk.frame_locator("iframe").nth(place) for place in (0, 1))
    shown = [frame.locator("#view canvas").first for frame in (first, second)]
    for canvas in shown:
        canvas.wait_for()
    drawn = "canvas => canvas.toDataURL()"
    before = [canvas.evaluate(drawn) for canvas in shown]
    assert before[0] == before[1]
    first.locator(".heads button").nth(2).click()
    first.locator(".heads button[aria-pressed=true]:text-is('2')").wait_for()
    after = [canvas.evaluate(drawn) for canvas in shown]
    assert after[0] != before[0]
    assert after[1] == before[1]
    assert disk.url == notebook.as_uri()
