"""What the studio's page costs: the first paint, and every action over a text of 2,000 tokens.

    python bench/studio.py [--tokens 1990] [--rounds 3] [--chromium /usr/bin/chromium]

A tiny untrained model answers, in a server of its own; the page runs in a headless Chromium. `page` is the
processor time of the page's main thread, which other work on the machine hardly changes; `until seen` is
what a person waits, the server's part and everybody else's included. Both are the least of several rounds,
each in a browser context that has seen nothing before.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).parents[1]))

from regard.measure import Seconds, Table
from tests.run import kinds
from tests.studio.kit import server

SITE = "encoder.blocks.1.attention.attention"
KEY = "new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true})"
CALM = """async (code) => {
  const pause = (time) => new Promise((go) => setTimeout(go, time));
  const before = performance.now();
  await eval(`(async () => { ${code} })()`);
  await pause(10);
  const busy = () => document.querySelector('[aria-busy=true], .stale, .loading');
  for (let n = 0; n < 1000 && busy(); n++) await pause(5);
  await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
  return (performance.now() - before) / 1000;
}"""


def named(label: str, kind: str = "button") -> str:
    """The control that says this."""
    inside = ".querySelector('input')" if kind == "label" else ""
    return (
        f"[...document.querySelectorAll('{kind}')]"
        f".find((one) => one.textContent.trim() === '{label}'){inside}.click()"
    )


def press(target: str) -> str:
    return f'document.querySelector("{target}").dispatchEvent({KEY})'


MAP, DRAWING = "canvas[role=application]", "svg[role=application]"
ACTIONS = (
    ("heat map: cursor", press(MAP)),
    ("heat map: another head", named("2")),
    ("heat map: whole words", named("Whole words", "label")),
    ("heat map: table", named("As a table", "label")),
    ("heat map: map again", named("As a table", "label")),
    ("lines: open", named("Lines", "nav a")),
    ("lines: another query", press(DRAWING)),
    ("lines: all queries", named("All queries")),
    ("model: open", named("Model", "nav a")),
    ("graph: open", named("Graph", "nav a")),
    ("graph: another token", press(DRAWING)),
    ("neurons: open", named("Neurons", "nav a")),
    ("compare: open", named("Compare", "nav a")),
    ("compare: another head", named("3")),
    ("compare: cursor", press(MAP)),
    ("answer: open", named("Classify", "nav a")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=1990)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    options = parser.parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        raise SystemExit("needs playwright (the dev extra)") from None
    if not options.chromium:
        raise SystemExit("needs a chromium: --chromium PATH")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        run = kinds.make(Path(place) / "classify", "classify")
        browser = playwright.chromium.launch(
            executable_path=options.chromium, args=["--no-sandbox"]
        )
        with server(run, folder=Path(place), more=("--no-open",)) as studio:
            paints(browser, studio.url)
            found = [actions(browser, studio.url, options.tokens) for _ in range(options.rounds)]
            rows = [
                {
                    "action": name,
                    "page": Seconds(min(one[name][0] for one in found)),
                    "until seen": Seconds(min(one[name][1] for one in found)),
                }
                for name, _ in ACTIONS
            ]
            print(Table(f"Actions over {options.tokens:,} tokens", rows))


def paints(browser: object, url: str) -> None:
    rows = []
    for view in ("translate", "lessons"):
        page = browser.new_page()  # type: ignore[attr-defined]
        page.goto(f"{url}/#view={view}")
        page.wait_for_selector("h1")
        page.wait_for_timeout(500)
        found = page.evaluate("() => performance.getEntriesByType('paint').at(-1).startTime")
        rows.append({"page": view, "first contentful paint": Seconds(found / 1000)})
        page.close()
    print(Table("The first paint", rows))


def actions(browser: object, url: str, tokens: int) -> dict[str, tuple[float, float]]:
    """What each action took: of the page's main thread, and until it was seen."""
    page = browser.new_page()  # type: ignore[attr-defined]
    text = " ".join(("a", "lovely", "day", "what", "the")[n % 5] for n in range(tokens))
    page.goto(f"{url}/#{urlencode({'view': 'heat', 'text': text, 'site': SITE})}")
    page.wait_for_selector(MAP, timeout=120_000)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        found = devtools.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in found if one["name"] == "TaskDuration")

    found = {}
    for name, code in ACTIONS:
        before = spent()
        seen = page.evaluate(CALM, code)
        found[name] = (spent() - before, seen)
    page.close()
    return found


if __name__ == "__main__":
    main()
