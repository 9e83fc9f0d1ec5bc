"""A Transformer whose every head was made by hand to do one known thing.

A state is three one-hot parts side by side: the token, its position, and (written by the decoder's first
head) the token before it. A head is a query map, a key map, or a constant query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.attention import Heads
from regard.models import (
    Model,
    ModelSettings,
    TransformerReaderSettings,
    TransformerSettings,
    build,
)
from regard.tasks import Prediction, Translate
from regard.tasks.search import Found
from regard.text import END, Codec, TextSettings
from regard.traces.head_survey import Sentence
from regard.traces.trace import Trace, replayed

WORDS = tuple(f"w{number:02d}" for number in range(20))
POSITIONS = 48
SHARP = 40.0
PARTNER = {f"w{n:02d}": f"w{n + 10:02d}" for n in range(10)}  # a dependent, and its head
ENCODER = (("previous", "rare", "broad", "syntax"), ("next", "duplicate", "self", "offset -2"))
DECODER = (("previous", "broad", "first", "self"), ("induction", "broad", "duplicate", "previous"))
CROSS = (("alignment", "broad", "separator", "broad"), ("broad", "alignment", "first", "broad"))


@dataclass(frozen=True)
class Plan:
    """Where the parts of a state lie."""

    codec: Codec

    @property
    def width(self) -> int:
        return 2 * self.codec.size + POSITIONS

    @property
    def head(self) -> int:
        return self.codec.size + POSITIONS

    def token(self) -> Tensor:
        """Picks the token's part."""
        return (
            torch.eye(self.head, self.width) * (torch.arange(self.head) < self.codec.size)[:, None]
        )

    def position(self, offset: int = 0) -> Tensor:
        """Picks the position's part, moved: position j is seen as j + offset."""
        picked = torch.zeros(self.head, self.width)
        for place in range(POSITIONS):
            if 0 <= place + offset < POSITIONS:
                picked[self.codec.size + place + offset, self.codec.size + place] = 1
        return picked

    def before(self) -> Tensor:
        """Picks the part where the token before was written."""
        picked = torch.zeros(self.head, self.width)
        size = self.codec.size
        picked[:size, size + POSITIONS :] = torch.eye(size)
        return picked

    def maps(self, what: str, counts: dict[str, int]) -> tuple[Tensor, Tensor, Tensor]:
        """Query map, key map, and constant query of a head that does this."""
        nothing, none = torch.zeros(self.head, self.width), torch.zeros(self.head)
        size = self.codec.size
        match what:
            case "broad":
                return nothing, nothing, none
            case "previous" | "self" | "next" | "offset -2" | "alignment":
                offset = {"previous": 1, "next": -1, "offset -2": 2}.get(what, 0)
                return self.position(), self.position(offset), none
            case "duplicate":
                return self.token() + self.position(), self.token() - self.position(), none
            case "induction":
                return self.token(), self.before(), none
            case "first":
                none[size] = 1
                return nothing, self.position(), none
            case "separator":
                none[END] = 1
                return nothing, self.token(), none
            case "rare":
                for word, count in counts.items():
                    (number,) = self.codec.encode(word)
                    none[number] = 3 - 0.25 * np.log2(count)
                return nothing, self.token(), none * 2
            case "syntax":
                wanted = torch.zeros(self.head, self.width)
                for one, other in PARTNER.items():
                    (dependent,), (head,) = self.codec.encode(one), self.codec.encode(other)
                    wanted[head, dependent] = 1
                return wanted, self.token(), none
        raise ValueError(what)


@dataclass(frozen=True)
class Planted:
    """What each head of each layer was made to do."""

    encoder: tuple[tuple[str, ...], ...] = ENCODER
    decoder: tuple[tuple[str, ...], ...] = DECODER
    cross: tuple[tuple[str, ...], ...] = CROSS


def planted(
    counts: dict[str, int], made: Planted | None = None, words: tuple[str, ...] = WORDS
) -> tuple[Translate, Model]:
    """The task and the model; `counts` says how often each word is in the text."""
    made = made or Planted()
    codec = Codec.train([" ".join(words)] * 4, TextSettings(kind="word", min_count=1))
    task = Translate(codec, codec)
    plan = Plan(codec)
    sizes = {
        "width": plan.width,
        "layers": len(made.encoder),
        "heads": len(made.encoder[0]),
        "key_width": plan.head,
        "value_width": plan.head,
        "feedforward": 4,
        "position": "learned",
        "max_length": POSITIONS,
        "scale_embedding": False,
        "dropout": 0.0,
    }
    model = build(
        ModelSettings(
            encoder=TransformerSettings(**sizes), reader=TransformerReaderSettings(**sizes)
        ),
        task.sizes,
    )
    with torch.no_grad():
        for embedding in (model.encoder.embedding, model.reader.embedding):
            embedding.table.weight.copy_(torch.eye(codec.size, plan.width))
            embedding.position.weight.copy_(
                torch.eye(plan.width)[codec.size : codec.size + POSITIONS]
            )
        for layer in range(len(made.encoder)):
            blocks = model.encoder.blocks[layer], model.reader.blocks[layer]
            _plant(plan, blocks[0].attention, made.encoder[layer], counts)
            _plant(plan, blocks[1].attention, made.decoder[layer], counts)
            _plant(plan, blocks[1].cross, made.cross[layer], counts)
            for block in blocks:
                for parameter in block.feedforward.parameters():
                    parameter.zero_()
        _write_previous(plan, model.reader.blocks[0].attention)
    return task, model.eval()


def _plant(plan: Plan, heads: Heads, wanted: tuple[str, ...], counts: dict[str, int]) -> None:
    for parameter in heads.parameters():
        parameter.zero_()
    for number, what in enumerate(wanted):
        rows = slice(number * plan.head, (number + 1) * plan.head)
        query, key, constant = plan.maps(what, counts)
        heads.query.weight[rows], heads.query.bias[rows] = query * SHARP, constant * SHARP
        heads.key.weight[rows] = key


def _write_previous(plan: Plan, heads: Heads) -> None:
    """The first head writes the token that it looks at where `before` reads it."""
    heads.value.weight[: plan.head] = plan.token()
    size = plan.codec.size
    heads.output.weight[size + POSITIONS :, :size] = torch.eye(size)


def sentences(
    count: int,
    seed: int = 0,
    vocabulary: tuple[str, ...] = WORDS,
    lengths: tuple[int, int] = (8, 14),
) -> list[Sentence]:
    """Random words, each its own translation; a word depends on its partner, wherever that stands."""
    from regard.traces.head_roles import Arc

    generator = np.random.default_rng(seed)
    odds = 1 / (1 + np.arange(len(vocabulary)))
    found = []
    for _ in range(count):
        size = int(generator.integers(*lengths))
        words = generator.choice(vocabulary, size, replace=False, p=odds / odds.sum()).tolist()
        place = {word: number for number, word in enumerate(words)}
        tree = tuple(
            Arc(place[one], place[other], "obj")
            for one, other in PARTNER.items()
            if one in place and other in place
        )
        found.append(Sentence(" ".join(words), tuple(words), " ".join(words), tree))
    return found


def looker(task: Translate, model: Model):
    """Traces of this model, the answer always given."""

    def look(text: str, target: str) -> Trace:
        answer = task.told(text, target) or Prediction("")
        return replayed(task, model, text, Found(answer), "planted")

    return look
