"""Several sources, copying and pointing in the studio: what stands beside the weights is the trace's."""

import json
from random import Random
from unittest.mock import patch

import pytest

import regard
from regard.data import png
from regard.data.toys.drawings import painted, said, scene
from regard.training import Listener
from tests.studio.browser import changed, needed, open_at, settled
from tests.studio.kit import server

pytestmark = needed
SMALL = {
    f"model.{side}.{key}": value
    for side in ("encoder", "reader")
    for key, value in (("width", 16), ("layers", 1), ("heads", 2), ("feedforward", 16))
}
HEARD = {"anna": "the king ... a red boat", "ben": "... king saw a ... boat"}
STORY = "on Friday Mirakolu , a painter from Zestovan , sold 48213 violins near the river ."


@pytest.fixture(scope="module")
def studio_server(tmp_path_factory):
    """A studio over models that have hardly begun to learn: what they say does not matter here."""
    folder = tmp_path_factory.mktemp("sources")
    every = {"train.steps": 4, "train.evaluate_every": 4, "train.checkpoint_every": 4}
    every |= {"decode.max_length": 6}
    kinds = {
        "witnesses": {"toy": "witnesses", "preset": "libovicky2017", "settings": every | SMALL},
        "headlines": {"preset": "see2017", "settings": every},
        "tour": {"preset": "vinyals2015-tour", "settings": every},
    }
    runs = []
    with patch.dict("regard.data.toys.toy._COUNTS", {"train": 300, "valid": 10}):
        for name, how in kinds.items():
            runs.append(folder / "runs" / name)
            regard.train(out=runs[-1], listener=Listener(), device="cpu", **how)
    runs.append(sentence_and_picture(folder, every))
    with server(*runs, folder=folder, more=("--no-open",)) as one:
        yield one
        assert one.process.poll() is None, one.log.read_text()


def sentence_and_picture(folder, settings):
    """A run that reads a sentence and a picture beside it."""
    things = scene(Random(3))
    (folder / "scene.png").write_bytes(png.encode(painted(things)))
    table = folder / "all.tsv"
    table.write_text("en\tpicture\tde\n" + f"{said(*things)}\tscene.png\tzwei Formen\n" * 60)
    place, small = folder / "runs" / "both", {"model.encoder.width": 16, "model.reader.width": 16}
    how = {"to": "de", "sources": ["en", "picture"], "valid": table, "settings": settings | small}
    regard.train(table, out=place, listener=Listener(), device="cpu", **how)
    return place


def traced(page):
    """The traces that the page is given."""
    kept: list[dict] = []
    changed(page, kept.append)
    return kept


def cells(page, title):
    rows = page.get_by_role("region", name=f"{title}: all tokens").locator("tbody tr")
    return [
        [cell.strip() for cell in rows.nth(at).locator("td").all_text_contents()]
        for at in range(rows.count())
    ]


def is_said(share):
    """Whether a percentage of the page is that share."""
    return lambda text: (
        text == "<0.1%" if share < 0.0005 else abs(float(text[:-1]) / 100 - share) < 0.006
    )


def test_each_step_has_the_share_of_every_source(page, address):
    traces = traced(page)
    open_at(page, address, run="witnesses", view="answer", text=json.dumps(HEARD))
    settled(page, "answer")
    page.get_by_role("region", name="Share of attention of each source", exact=True).wait_for()
    shown = cells(page, "Share of attention of each source")
    true = [one["values"] for one in traces[-1]["ribbons"]]
    assert len(shown) == len(true) == 2
    for texts, shares in zip(shown, true, strict=True):
        assert len(texts) == len(shares)
        assert all(is_said(share)(text) for text, share in zip(texts, shares, strict=True))
    assert page.locator(".sources dt").all_text_contents() == list(HEARD)
    assert page.locator(".sources dd").all_inner_texts() == list(HEARD.values())


def test_what_was_copied_and_covered_is_shown(page, address):
    traces = traced(page)
    open_at(page, address, run="headlines", view="answer", text=STORY)
    settled(page, "answer")
    page.get_by_role("region", name="Coverage", exact=True).wait_for()
    true = {one["name"]: one["values"] for one in traces[-1]["ribbons"]}
    (generated,) = cells(page, "Generated or copied")
    assert all(is_said(share)(text) for text, share in zip(generated, true["p_gen"], strict=True))
    (covered,) = cells(page, "Coverage")
    assert covered == [f"{value:.2f}" for value in true["coverage"]]


def test_a_position_is_shown_with_its_item_and_the_tour_is_drawn(page, address):
    points = ["0.1,0.2", "0.9,0.3", "0.5,0.8", "0.2,0.7", "0.6,0.1"]
    open_at(page, address, run="tour", view="answer", text=" ".join(points))
    settled(page, "answer")
    steps = page.locator("ol.steps button")
    order = [
        int(text)
        for text in page.locator("ol.steps button > bdi").all_inner_texts()
        if text.isdigit()
    ]
    named = page.locator("ol.steps .item").all_inner_texts()
    assert named == [points[at] for at in order]
    assert steps.count() >= len(order) >= 3
    assert page.locator(".places svg line").count() == len(order)


def test_a_picture_among_the_sources_is_seen_and_not_spelled(page, address):
    """Its path was written where a picture of one source is shown."""
    open_at(page, address, run="both", view="answer")
    settled(page, "answer")
    assert page.locator(".sources dt").all_text_contents() == ["en", "picture"]
    picture = page.locator(".sources dd img")
    assert picture.count() == 1
    assert picture.evaluate("one => [one.naturalWidth, one.naturalHeight]") == [48, 48]
