"""The extension drill: a task that nobody foresaw, in one file, through public seams alone.

It reads a word and a small picture, and says the colour of the cell that the word names.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import ClassVar, final

import numpy as np
import pytest

from regard.answer.predictor import Predictor
from regard.attention.site import INPUTS, TARGET
from regard.data import toys
from regard.data.columns import Frames, Ids
from regard.data.example import Example
from regard.data.toys import Toy
from regard.evaluate import exact_match
from regard.models import Padded, Sizes, SourceSize
from regard.models.loss import IGNORE
from regard.presets import DEFAULT_OF
from regard.show.heatmap import site_map
from regard.show.svg import drawing
from regard.tasks.axis import Grid, Tokens
from regard.tasks.batch import Batch, framed, lengths_of, padded, shifted
from regard.tasks.choose import TASKS, register
from regard.tasks.names import LEARNS_FROM
from regard.tasks.objective import Entropy
from regard.tasks.search import generate
from regard.tasks.task import Forced, Task

PLACES, COLOURS = ("top", "bottom"), ("", "", "", "red", "green", "blue")
END = 2


@final
@dataclass(frozen=True, slots=True)
class Seen(Example):
    word: str
    cells: tuple[tuple[float, ...], ...]  # one frame a column: rows x channels
    colour: int
    noun: ClassVar[str] = "picture"
    wanted: ClassVar[str] = "draw one"

    def shown(self):
        return self.asked, COLOURS[self.colour]

    def line(self):
        return " -> ".join(self.shown())

    @property
    def asked(self):
        return json.dumps({"word": self.word, "picture": self.cells})


def draw(random: Random) -> Seen:
    """Two rows and one column; each cell is 2 x 2 pixels of one colour."""
    colours = [random.choice((3, 4, 5)) for _ in PLACES]
    noise = [random.random() / 9 for _ in range(12)]
    column = tuple(
        float(channel == colour - 3) + noise[row * 6 + inner * 3 + channel]
        for row, colour in enumerate(colours)
        for inner in range(2)
        for channel in range(3)
    )
    place = random.randrange(2)
    return Seen(PLACES[place], (column, column), colours[place])


class Name(Task):
    name, verb, method = "name-a-cell", "name cells", "predict"
    sources = ("word", "picture")
    sizes = Sizes(
        target=6, sources={"word": SourceSize(2), "picture": SourceSize(features=12, rows=4)}
    )
    columns: ClassVar[Mapping] = {"word": Ids(), "picture": Frames(12), "target": Ids()}
    learn = classmethod(lambda cls, examples, settings, progress=None: cls())
    trial_sizes = classmethod(lambda cls, *, shared: cls.sizes)
    to_dict, from_dict = (lambda self: {"kind": "0"}), classmethod(lambda cls, documents: cls())
    terms = lambda self: (Entropy(0.01),)  # noqa: E731
    symbol = lambda self, number: COLOURS[number] or "</s>"  # noqa: E731
    question, answer = (lambda self, one: one.asked), (lambda self, one: COLOURS[one.colour])
    judge = lambda self, predicted, answers: [exact_match(predicted, answers)]  # noqa: E731

    def encode(self, text):
        asked = json.loads(text)
        word = np.array([PLACES.index(asked["word"])], np.int32)
        return {"word": word, "picture": np.array(asked["picture"], np.float32)}

    def rows(self, examples):
        return [
            {**self.encode(e.asked), "target": np.array([e.colour, END], np.int32)}
            for e in examples
        ]

    def collate(self, rows, source_length, target_length):
        words, pictures, targets = ([row[name] for row in rows] for name in self.columns)
        sources = {
            "word": Padded(padded(words, 1, 0)),
            "picture": Padded(framed(pictures, 2, 12), lengths_of(pictures, 2)),
        }
        right = padded(targets, target_length, IGNORE)
        return Batch(sources, shifted(targets, target_length), right, sum(map(len, targets)))

    def predict(self, model, inputs, settings, *, tokens=4096, advance=None):
        return generate(model, list(map(self.encode, inputs)), settings, self.write, tokens=tokens)

    def forced(self, text, answer):
        target = Tokens.whole((*answer.symbols, "</s>"))
        word = Tokens.whole((json.loads(text)["word"],))
        axes = {"word": word, "picture": Grid(2, 1), TARGET: target, INPUTS: target.later("<s>")}
        ids = [*answer.ids, END]
        return Forced({**self.encode(text), "target": np.array(ids, np.int32)}, axes, ids)


@pytest.fixture
def known():
    """The task and its toy are known, for a while."""
    register(Name, Seen, "language")
    toys.register(Toy("cells", "Cells", "One cell.", draw(Random(7)), draw))
    yield
    for table, name in ((TASKS, Name.name), (LEARNS_FROM, Name.name), (DEFAULT_OF, Name.name)):
        del table[name]
    del toys._KNOWN["cells"]


@pytest.mark.parametrize("kind", [pytest.param("rnn", marks=pytest.mark.slow), "transformer"])
def test_a_task_that_nobody_foresaw(kind, tmp_path, known):
    from rich.console import Console

    import regard

    side = {
        "kind": kind,
        "width": 24,
        "dropout": 0.0,
        **({"heads": 2, "layers": 1} if kind != "rnn" else {}),
    }
    grid = {"kind": "transformer", "width": 24, "layers": 1, "heads": 2, "dropout": 0.0}
    settings = {
        "task": "name-a-cell",
        "model": {
            "encoders": {"word": side, "picture": {**grid, "front": {"kind": "patches", "size": 2}}},
            "reader": side,
        },
        "train.steps": 250, "train.rate": 5e-3, "train.warmup": 20, "train.evaluate_every": 250,
        "train.log_every": 50, "data.examples": 600, "batch.tokens": 256, "batch.max_length": 8,
    }  # fmt: skip
    model = regard.train(
        toy="cells",
        out=tmp_path / "run",
        settings=settings,
        listener=regard.Listener(),
        device="cpu",
    )
    assert isinstance(model, Predictor)
    asked = [draw(Random(seed)) for seed in range(40)]
    answers = [answer.text for answer in model.predict([one.asked for one in asked])]
    right = sum(answer == COLOURS[one.colour] for answer, one in zip(answers, asked, strict=True))
    assert right >= 36
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().split("\n")
    assert {"likelihood", "entropy"} <= json.loads(lines[1])["terms"].keys()
    seen = model.look(asked[0].asked)
    sites = {site.keys: site for site in seen.sites if site.queries == TARGET}
    assert sites.keys() == {"word", "picture"}
    for site in sites.values():
        console = Console(record=True, width=100, file=None, quiet=True)
        console.print(site_map(seen, site.path))
        assert "<svg" in drawing(seen, site.path)
        page = seen.describe()["axes"][site.keys]  # what the studio draws from
        assert page["kind"] == ("grid" if site.keys == "picture" else "tokens")
        assert len(page["pieces"]) == site.weights.shape[2]
