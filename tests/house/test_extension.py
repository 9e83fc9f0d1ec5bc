"""The extension drill: a task that nobody foresaw, in one file, through public seams alone.

It reads a word and a small picture, and says the colour of the cell that the word names.
"""

import json
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from rich.console import Console
from starlette.testclient import TestClient

import regard
from regard.attention.attention import INPUTS, TARGET
from regard.data import toys
from regard.data.example import Example
from regard.evaluate import exact_match
from regard.models import Sizes, SourceSize
from regard.question import Image, Question
from regard.show.heatmap import site_map
from regard.show.svg_png import drawing
from regard.studio.app import create_app
from regard.studio.settings import StudioSettings
from regard.studio.state import Studio
from regard.tasks.axis import Grid, Tokens
from regard.tasks.objective import Entropy
from regard.tasks.task import Forced, Task
from regard.tasks.verbs import register

CELLS, COLOURS, END = ("top", "bottom"), ("", "", "</s>", "red", "green", "blue"), 2


@dataclass(frozen=True)
class Seen(Example):
    picture: Question
    colour: int
    noun, wanted = "picture", "draw one"
    asked = property(lambda self: self.picture)

    def shown(self):
        return self.asked, COLOURS[self.colour]


def draw(random: Random) -> Seen:
    """Two cells in one column, each 2 x 2 pixels of one colour and a little noise."""
    cell, colours = random.randrange(2), [random.choice((3, 4, 5)) for _ in CELLS]
    noise = np.array([random.random() / 9 for _ in range(12)]).reshape(2, 2, 3)
    pixels = (np.eye(3)[np.array(colours) - 3][:, None] + noise).reshape(1, 12).repeat(2, 0)
    return Seen(Question({"word": CELLS[cell], "picture": Image(pixels)}), colours[cell])


class Name(Task):
    name, verb, method = "name-a-cell", "name cells", "predict"
    sources = ("word", "picture")
    sizes = Sizes(
        target=6, sources={"word": SourceSize(2), "picture": SourceSize(features=12, rows=4)}
    )
    trial_sizes = classmethod(lambda cls, *, shared: cls.sizes)

    def encode(self, text):
        asked = self.ask(text).sources
        word = np.array([CELLS.index(asked["word"])], np.int32)
        return {"word": word, "picture": asked["picture"].array}

    def rows(self, examples):
        target = lambda one: np.array([one.colour, END], np.int32)  # noqa: E731
        return [{**self.encode(one.asked), "target": target(one)} for one in examples]

    def forced(self, text, answer):
        target, ids = Tokens.whole((*answer.symbols, "</s>")), [*answer.ids, END]
        word = Tokens.whole((self.ask(text).sources["word"],))
        axes = {"word": word, "picture": Grid(2, 1), TARGET: target, INPUTS: target.later("<s>")}
        return Forced({**self.encode(text), "target": np.array(ids, np.int32)}, axes, ids)

    terms = lambda self: (Entropy(0.01),)  # noqa: E731
    symbol = lambda self, number: COLOURS[number]  # noqa: E731
    question, answer = (lambda self, one: one.asked), (lambda self, one: COLOURS[one.colour])
    judge = lambda self, predicted, answers: [exact_match(predicted, answers)]  # noqa: E731


def settings(kind):
    """A small model: an encoder for each source, the picture cut into patches."""
    heads = {"kind": "transformer", "width": 24, "dropout": 0.0, "layers": 1, "heads": 2}
    side = heads if kind == "transformer" else {"kind": "rnn", "width": 24, "dropout": 0.0}
    picture = {**heads, "front": {"kind": "patches", "size": 2}}
    return {
        "task": Name.name, "model": {"encoders": {"word": side, "picture": picture}, "reader": side},
        "train.steps": 250, "train.rate": 5e-3, "train.warmup": 20, "train.evaluate_every": 250,
        "train.log_every": 50, "data.examples": 600, "batch.tokens": 256, "batch.max_length": 8,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [pytest.param("rnn", marks=pytest.mark.slow), "transformer"])
def test_a_task_that_nobody_foresaw(kind, tmp_path):
    toy = toys.Toy("cells", "Cells", "One cell.", draw(Random(7)), draw)
    with register(Name, Seen, "language"), toys.register(toy):
        out = tmp_path / "run"
        model = regard.train(toy="cells", out=out, settings=settings(kind), device="cpu")
        seen = [draw(Random(seed)) for seed in range(40)]
        answers = [answer.text for answer in model.predict([one.asked for one in seen])]
        assert sum(a == COLOURS[one.colour] for a, one in zip(answers, seen, strict=True)) >= 36
        terms = json.loads((out / "metrics.jsonl").read_text().split("\n")[1])["terms"]
        assert {"likelihood", "entropy"} <= terms.keys()
        trace = model.look(seen[0].asked.sources)
        looks = {site.keys: site for site in trace.sites if site.queries == TARGET}
        assert looks.keys() == {"word", "picture"}
        for site in looks.values():
            (console := Console(record=True, width=100)).print(site_map(trace, site.path))
            assert "row 1" in console.export_text() or site.keys == "word"
            assert "<svg" in drawing(trace, site.path)
        studio = Studio([out], StudioSettings(), tmp_path / "demo", {}, "cpu")
        with TestClient(create_app(studio), base_url="http://127.0.0.1:8321") as client:
            page = client.post("/api/trace", json={"run": "run", "text": seen[0].asked}).json()
            for site in (one for one in page["sites"] if one["queries"] == TARGET):
                drawn = client.get(f"/api/trace/{page['id']}/weights/{site['index']}/0").content
                weights = looks.pop(site["keys"]).weights[0]
                assert np.allclose(np.frombuffer(drawn, "<f4"), weights.ravel(), atol=1e-6)
        assert not looks, "the studio has both attentions"
