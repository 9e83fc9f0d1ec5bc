"""What a person reads on the page and takes away from it is the trace's number, to the digits shown."""

import csv
import re
from unittest.mock import patch

import numpy as np
import pytest

import regard
from regard.run.folder import Run
from regard.run.resolve import resolve
from regard.studio.state import read_page
from tests.studio.browser import TEXT, needed, open_at, settled
from tests.studio.kit import inside
from tests.studio.test_browser_files import saved

pytestmark = needed

QUESTIONS = {"phrases": TEXT, "transformer": "a b c d e", "classify": "a good film"}


@pytest.fixture
def theme():
    return "light"


@pytest.fixture(scope="module")
def seen(runs, trained):
    """The library's own trace of the same question, with the page's beam."""
    folders = {**runs, "phrases": trained}
    return {run: regard.trace(folders[run], text, beam=4) for run, text in QUESTIONS.items()}


def three(weight):
    """A weight as a table shows it."""
    return "<0.001" if 0 < weight < 0.0005 else f"{weight:.3f}"


def agree(shown, weights):
    """Each text is its weight to three digits; of a tie, either neighbour."""
    assert len(shown) == len(weights)
    for text, weight in zip(shown, weights, strict=True):
        near = {three(weight), three(np.nextafter(weight, 2)), three(np.nextafter(weight, 0))}
        assert text in near, (text, float(weight))


@pytest.mark.parametrize("run", QUESTIONS)
def test_table_read_out_and_file_have_the_traces_weights(page, address, seen, tmp_path, run):
    trace = seen[run]
    number, site = next(
        (place, one) for place, one in enumerate(trace.sites) if one.path == trace.site().path
    )
    for head in (*range(site.heads), "mean")[-3:]:
        weights = site.weights.mean(0, dtype=np.float32) if head == "mean" else site.weights[head]
        asked = {"run": run, "text": QUESTIONS[run], "site": site.path, "head": head}
        open_at(page, address, view="heat", table=1, **asked)
        settled(page)
        page.wait_for_selector("tbody td")
        agree(page.locator("tbody td").all_inner_texts(), weights.ravel())
        with saved(page, "CSV", tmp_path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))[1:]
        told = np.array([row[1:] for row in rows], np.float32)
        assert np.array_equal(told, weights), "a file has the weight itself"
        assert np.abs(told.sum(-1, dtype=np.float64) - 1).max() < 1e-5
        row, column = (int(place) for place in np.unravel_index(weights.argmax(), weights.shape))
        open_at(page, address, view="heat", row=row, column=column, **asked)
        settled(page, "heat")
        agree([page.locator("p.said").inner_text().rpartition(": ")[2]], [weights[row, column]])
        panel = page.locator("aside .number").all_inner_texts()
        agree(panel, np.sort(weights[row])[::-1][: len(panel)])
    assert trace.sites[number] is site


def test_the_difference_of_two_heads_is_that_of_their_weights(page, address, seen, tmp_path):
    trace = seen["transformer"]
    site = trace.site()
    same = {"run": "transformer", "otherRun": "transformer", "text": QUESTIONS["transformer"]}
    heads = {"site": site.path, "otherSite": site.path, "head": 0, "otherHead": 1}
    open_at(page, address, view="compare", **same, **heads)
    settled(page, "compare")
    page.wait_for_selector("section[aria-label='Difference'] canvas")
    with saved(page, "CSV", tmp_path).open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    size = site.weights.shape[1] + 1
    tables = [rows[start + 1 : start + size] for start in (0, size, 2 * size)]
    first, second, apart = (np.array([row[1:] for row in one], np.float32) for one in tables)
    assert np.array_equal(first, site.weights[0])
    assert np.array_equal(second, site.weights[1])
    assert np.array_equal(apart, site.weights[1] - site.weights[0])


def test_neurons_and_sharpness_are_of_the_weights(page, address, seen):
    trace = seen["transformer"]
    site = trace.site()
    asked = {"run": "transformer", "text": QUESTIONS["transformer"], "site": site.path}
    open_at(page, address, view="neurons", head=1, row=2, **asked)
    settled(page, "neurons")
    shown = [float(text.strip("%<")) for text in page.locator("td .weight").all_inner_texts()]
    assert np.abs(np.array(shown) - 100 * site.weights[1, 2]).max() <= 0.5
    open_at(page, address, view="model", **asked)
    settled(page, "model")
    told = [
        float(re.search(r"([\d.]+)%$", text)[1])
        for text in page.locator(".layer button small").all_inner_texts()
    ]
    kinds = list(dict.fromkeys(one.kind for one in trace.sites))
    walls = sorted(trace.sites, key=lambda one: kinds.index(one.kind))
    right = [100 * head.max(-1).mean() for one in walls for head in one.weights]
    assert np.abs(np.array(told) - right).max() <= 0.5 + 1e-6


@pytest.fixture(scope="module")
def filling(make, tmp_path_factory):
    """A studio over a run that fills in masked words, in this process."""
    small = {"width": 12, "layers": 2, "heads": 3, "feedforward": 17}
    changes = [f"model.encoder.{name}={value}" for name, value in small.items()]
    with patch.dict("regard.data.toys.toy._COUNTS", {"train": 40, "valid": 5}):
        run = Run.create(
            tmp_path_factory.mktemp("filling") / "fill", resolve(name="devlin2019", changes=changes)
        )
    run.save_model(run.build_model().state_dict())
    with inside(make([run.folder], page=read_page())) as (url, _server):
        yield url, run.folder


class TestFilling:
    @pytest.fixture
    def address(self, filling):
        return filling[0]

    def test_a_filled_word_has_the_row_of_its_mask(self, page, filling):
        address, run = filling
        text = "mia had a key . she <mask> it under the bridge ."
        trace = regard.trace(run, text)
        (step,) = trace.steps
        assert trace.axes["source"].pieces[step.place].endswith("<mask>")
        assert step.place > 0, "else the first row would do"
        weights = trace.site().weights.mean(0, dtype=np.float32)[step.place]
        open_at(page, address, run="fill", text=text)
        settled(page, "answer")
        panel = page.locator("section[aria-label='Where this step looked']")
        panel.locator(".bars li").first.wait_for()
        shown = [float(one.strip("%<")) for one in panel.locator(".bars .number").all_inner_texts()]
        right = [100 * one for one in weights if one >= 0.01 and one >= weights.max() / 20]
        assert np.abs(np.array(shown) - right).max() <= 0.5
