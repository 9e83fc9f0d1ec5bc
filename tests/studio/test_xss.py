"""More than two hundred tricks through every view in a real browser, and through all it lets one take away.

The server answers with traces in which every token, symbol, path and name is a trick; the run's folder, its
metrics and its samples are named by tricks, too. Nothing may run, nothing may become an element, and the
browser's own policy must find nothing to refuse (P1, P2).
"""

import json
import shutil
from contextlib import contextmanager

import pytest

from regard.show.page import frame, page
from regard.studio import routes_trace
from regard.training.judge import sample_entry
from regard.worked import EXAMPLES
from tests.show.hostile import PARTS, hostile
from tests.show.payloads import CORPUS, IMAGE
from tests.studio.browser import PATIENCE, SHOWN, needed, open_at, settled
from tests.studio.kit import inside

pytestmark = needed
RUN = '"><img src=x onerror=pwn(1)>'  # the name of a folder
LOOKING = [view for view in SHOWN if view not in ("learning", "lessons")]
TRACES = {" ".join(part): hostile(part) for part in PARTS}
LISTEN = """
window.pwned = []; window.refused = [];
window.pwn = (which) => { window.pwned.push(which ?? 0); };
addEventListener("securitypolicyviolation", (one) => window.refused.push(one.violatedDirective));
"""
# What ran, what the policy refused, and what is in the page that no view of ours ever makes.
LOOK = """() => {
  const strange = "script, img, iframe, frame, object, embed, link, base, meta, style, marquee, math, " +
    "template, video, audio";
  const all = [...document.querySelectorAll("body *")];
  const acts = all.filter((one) => [...one.attributes].some(
    (own) => own.name.startsWith("on") ||
      (/(href|src|action|data|to|values)$/.test(own.name) && /^\\s*(java|vb)script:/i.test(own.value))));
  return [window.pwned, window.refused, acts.map((one) => one.outerHTML.slice(0, 200)),
    [...document.querySelectorAll("main :is(" + strange + ")")].map((one) => one.outerHTML.slice(0, 200))];
}"""


@pytest.fixture(scope="module")
def trapped(make, runs, tmp_path_factory):
    """A studio that answers with tricks alone."""
    folder = tmp_path_factory.mktemp("trapped") / RUN
    shutil.copytree(runs["transformer"], folder)
    _record(folder)
    patch = pytest.MonkeyPatch()
    patch.setattr(routes_trace, "check_cost", lambda *_: None)
    patch.setattr(
        routes_trace, "_trace", lambda _model, asked, _settings: TRACES.get(asked.text, _first())
    )
    with inside(make([folder])) as (url, _server):
        yield url
    patch.undo()


def _first():
    return next(iter(TRACES.values()))


def _record(folder):
    """Metrics and samples as a run would write them, had everything in it such a name."""
    metrics, samples = [], []
    for number, (_text, trace) in enumerate(TRACES.items()):
        name = PARTS[number][0]
        metrics.append({"kind": "train", "step": number + 1, "loss": 1.0, "note": name})
        valid = {"kind": "valid", "step": number + 1, "loss": 1.0}
        metrics.append({**valid, "metrics": [{"name": name, "value": 1.0, "signature": name}]})
        metrics.append({"kind": "note", "step": number + 1, "message": name})
        samples.append(sample_entry(number + 1, trace))
    for kind, entries in (("metrics", metrics), ("samples", samples)):
        lines = (json.dumps(entry) + "\n" for entry in entries)
        (folder / f"{kind}.jsonl").write_text("".join(lines))


@contextmanager
def watched(chromium):
    """A page that is asked, after each view, whether anything ran; dialogs and new windows count, too."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860}, accept_downloads=True)
    context.add_init_script(LISTEN)
    one = context.new_page()
    one.set_default_timeout(PATIENCE)
    faults: list[str] = []
    one.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
    one.on("pageerror", lambda error: faults.append(str(error)))
    one.on("popup", lambda other: faults.append(other.url))
    one.on("request", lambda asked: faults.append(asked.url) if "evil" in asked.url else None)
    yield one
    context.close()
    assert faults == []


def check(one, *place):
    assert one.evaluate(LOOK) == [[], [], [], []], place


def touch(one):
    """What a person does to a page: move over it, and walk through what can be focused."""
    for x, y in ((300, 300), (500, 420), (640, 500)):
        one.mouse.move(x, y)
    for _ in range(4):
        one.keyboard.press("Tab")


def test_a_page_without_care_would_run_them(chromium):
    """A control: the traps close when somebody steps into them."""
    context = chromium.new_context()
    context.add_init_script(LISTEN)
    one = context.new_page()
    one.goto("data:text/html,<main></main>")
    one.evaluate("html => { document.querySelector('main').innerHTML = html }", IMAGE)
    one.wait_for_function("() => window.pwned.length > 0")
    found = one.evaluate(LOOK)
    assert found[0] == [1]
    assert found[2]
    assert found[3]
    context.close()


@pytest.mark.parametrize("part", range(len(PARTS)))
def test_every_view(chromium, trapped, part):
    text = list(TRACES)[part]
    with watched(chromium) as one:
        for view in LOOKING:
            open_at(one, trapped, view=view, run=RUN, text=text, otherText=text, otherRun=RUN)
            settled(one, view)
            touch(one)
            check(one, view)
            typed = one.locator("form textarea").first.input_value()
            assert typed == text.replace("\r\n", "\n").replace("\r", "\n")
        open_at(one, trapped, view="heat", run=RUN, text=text, table="1", words="1")
        one.wait_for_selector("table")
        check(one, "table")
        open_at(one, trapped, view="learning", run=RUN, step=part + 1, probe=part)
        settled(one, "learning")
        check(one, "learning")


@pytest.mark.parametrize(
    "lesson", ["painted-masks", "position-table", "word-order", "six-word-loss"]
)
def test_lessons(chromium, trapped, lesson):
    usual = EXAMPLES[lesson].inputs
    with watched(chromium) as one:
        for start in range(0, len(CORPUS), 48):
            short = [trick for trick in CORPUS[start : start + 48] if len(trick) <= 80]
            inputs = {
                name: short[: len(value)]
                for name, value in usual.items()
                if isinstance(value, list) and value and isinstance(value[0], str)
            }
            open_at(one, trapped, view="lessons", lesson=lesson, inputs=json.dumps(inputs))
            one.wait_for_selector("ol.steps li.result, [role=alert]")
            check(one, lesson, start)


def test_addresses(chromium, trapped):
    """Each part of the address, which anybody can send in a link."""
    fields = ("view", "run", "site", "head", "lesson", "inputs", "otherRun", "otherSite", "prefix")
    with watched(chromium) as one:
        for number, trick in enumerate(CORPUS[::9]):
            own = {"run": RUN, "text": trick, "view": LOOKING[number % len(LOOKING)]}
            open_at(one, trapped, **{**own, fields[number % len(fields)]: trick})
            one.wait_for_selector("nav a")
            check(one, trick)


def test_trusted_types_are_on(chromium, trapped):
    with watched(chromium) as one:
        open_at(one, trapped)
        one.wait_for_selector("nav a")
        for sink in (
            "document.body.innerHTML = '<b>x</b>'",
            "document.createElement('script').text = 'pwn(1)'",
            "new DOMParser().parseFromString('<b>x</b>', 'text/html')",
            "trustedTypes.createPolicy('mine', {createHTML: (x) => x})",
        ):
            told = one.evaluate(
                f"() => {{ try {{ {sink}; return 'ran' }} catch (e) {{ return e.name }} }}"
            )
            assert told == "TypeError", sink


@pytest.mark.parametrize("view", SHOWN)
def test_what_is_taken_away(chromium, trapped, view, tmp_path):
    """Files that the page itself writes, opened from disk as a person would."""
    mixed = list(TRACES)[len(TRACES) // 2]
    with watched(chromium) as one:
        open_at(one, trapped, view=view, run=RUN, text=mixed, otherText=mixed, otherRun=RUN)
        settled(one, view)
        files = []
        for kind in ("SVG", "HTML", "CSV"):
            button = one.locator(f".exports button:text-is('{kind}')")
            if not button.count():
                continue
            with one.expect_download() as waiting:
                button.click()
            files.append(tmp_path / f"taken.{kind.lower()}")
            waiting.value.save_as(files[-1])
        check(one, view)
    assert files
    for file in files:
        if file.suffix == ".csv":
            assert not [
                row for row in file.read_text().splitlines() if row.startswith(("=", '"=', "@"))
            ]
            continue
        with watched(chromium) as one:
            one.goto(file.as_uri())
            touch(one)
            assert one.evaluate("() => window.pwned") == [], (view, file.name)


@pytest.mark.parametrize("part", range(len(PARTS)))
def test_what_the_server_writes(chromium, trapped, part, tmp_path):
    """The standalone page in each of its views, a notebook's frame, and the drawing."""
    from regard.show import svg_png

    trace = hostile(PARTS[part])
    files = {
        f"{view}.html": page(trace, view=view) for view in ("map", "lines", "model", "neurons")
    }
    files["notebook.html"] = f"<!doctype html><meta charset=utf-8><body>{frame(trace)}"
    files["map.svg"] = svg_png.drawing(trace)
    with watched(chromium) as one:
        for name, content in files.items():
            (tmp_path / name).write_text(content, "utf-8")
            one.goto((tmp_path / name).as_uri())
            touch(one)
            for inner in one.frames:
                assert inner.evaluate("() => window.pwned") == [], (part, name)
                assert inner.evaluate("() => window.refused") == [], (part, name)
