"""The extension drill: a new task, its examples, their file and a toy, through public seams alone."""

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
from regard.data.formats.format import OneFile, Row
from regard.models import Sizes, SourceSize
from regard.question import Image, Question
from regard.run.resolve import resolve
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


class Cells(OneFile):
    kind, shape = property(lambda self: Seen), "cells and their colours"

    def read(self, reading):
        for line in reading.sound_lines(self.path):
            asked, colour = line.text.split("\t")
            yield Row(self.path, line.number, Seen(Question.read(asked, Name.sources), int(colour)))


@dataclass(frozen=True)
class Seen(Example):
    picture: Question
    colour: int
    noun, wanted, several, format = "picture", "draw one", True, Cells
    asked = property(lambda self: self.picture)
    shown, answer = lambda self: (self.asked,), property(lambda self: COLOURS[self.colour])


def draw(random: Random) -> Seen:
    """Two cells in one column, each 2 x 2 pixels of one colour and a little noise."""
    cell, colours = random.randrange(2), [random.choice((3, 4, 5)) for _ in CELLS]
    noise = np.array([random.random() / 9 for _ in range(12)]).reshape(2, 2, 3)
    pixels = (np.eye(3)[np.array(colours) - 3][:, None] + noise).reshape(1, 12).repeat(2, 0)
    return Seen(Question({"word": CELLS[cell], "picture": Image(pixels)}), colours[cell])


class Name(Task):
    name, verb, method = "name-a-cell", "name cells", "predict"
    sources, seen = ("word", "picture"), SourceSize(features=12, rows=4)
    sizes = Sizes(target=6, sources={"word": SourceSize(2), "picture": seen})
    trial_sizes = classmethod(lambda cls, *, shared: cls.sizes)

    def encode(self, text):
        asked = self.ask(text).sources
        return {"word": np.int32([CELLS.index(asked["word"])]), "picture": asked["picture"].array}

    def rows(self, examples):
        return [{**self.encode(e.asked), "target": np.int32([e.colour, END])} for e in examples]

    def forced(self, text, answer):
        target, ids = Tokens.whole((*answer.symbols, "</s>")), [*answer.ids, END]
        word = Tokens.whole((self.ask(text).sources["word"],))
        axes = {"word": word, "picture": Grid(2, 1), TARGET: target, INPUTS: target.later("<s>")}
        return Forced({**self.encode(text), "target": np.int32(ids)}, axes, ids)

    terms, symbol = (lambda self: (Entropy(0.01),)), (lambda self, number: COLOURS[number])
    judge = lambda self, predicted, answers: [self.share_right(predicted, answers)]  # noqa: E731


def settings(kind):
    heads = {"kind": "transformer", "width": 24, "dropout": 0.0, "layers": 1, "heads": 2}
    side = heads if kind == "transformer" else {"kind": "rnn", "width": 24, "dropout": 0.0}
    encoders = {"word": side, "picture": {**heads, "front": {"kind": "patches", "size": 2}}}
    return {
        "task": Name.name, "model": {"encoders": encoders, "reader": side}, "batch.tokens": 256,
        "train.steps": 250, "train.rate": 5e-3, "train.warmup": 20, "train.evaluate_every": 250,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [pytest.param("rnn", marks=pytest.mark.slow), "transformer"])
def test_a_task_that_nobody_foresaw(kind, tmp_path):
    toy = toys.Toy("cells", "Cells", "One cell.", draw(Random(7)), draw)
    file, out, seen = tmp_path / "c.txt", tmp_path / "run", [draw(Random(n)) for n in range(640)]
    file.write_text("".join(f"{one.asked}\t{one.colour}\n" for one in seen[40:]))
    with register(Name, Seen, "libovicky2017"), toys.register(toy):
        for usual in (resolve(toy="cells"), resolve(train=[file], task=Name.name)):
            assert usual.model.encoders["picture"].front.kind == "convolution"
        model = regard.train(file, valid=file, out=out, settings=settings(kind), device="cpu")
        answers = [answer.text for answer in model.predict([one.asked for one in seen[:40]])]
        assert sum(a == COLOURS[one.colour] for a, one in zip(answers, seen, strict=False)) >= 36
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
