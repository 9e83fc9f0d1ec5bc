"""Soft and hard attention: how much each estimator's gradient varies, how wrong it is, what a step costs.

    python bench/estimators.py [--draws 100] [--out estimators.json] [--picture docs/pictures/estimators.svg]

The model is that of the preset wu2018 at half its width, without dropout. It learns to reverse letters by the
exact sum over choices; every so many steps all estimators work out the gradient of the attention's own
weights at the same point, for the same 32 pairs, as often as `--draws` says. The true gradient is that of the
expected loss of a model that draws its choices, by the exact sum over them. Costs are CPU time, in turns,
medians, one thread.
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from itertools import islice
from math import log10
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard import reference
from regard.attention import Attention, Sampled, make_normaliser, make_score
from regard.data.toys import toy
from regard.measure import Table, summary
from regard.models import Marginal, Model, RnnDecoder, build
from regard.models.readers import losses
from regard.run.resolve import resolve
from regard.settings.decode import ObjectiveSettings
from regard.show.plot import curves
from regard.show.svg_png import written
from regard.tasks import TASKS, Batch, Task
from regard.tasks.objective import Objective

WIDTH, ROWS = 64, 32
SOFT, HARD, GUMBEL = "soft", "straight-through", "Gumbel"
PLAIN, BASED, EXACT = "REINFORCE, no baseline", "REINFORCE", "exact sum"
NAMES = {SOFT: "softmax", HARD: "hard", GUMBEL: "gumbel", PLAIN: "sampled", BASED: "sampled"}


class Scene:
    """One model, its data, and every estimator over the same weights."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        settings = resolve(name="wu2018")
        examples = list(islice(toy(settings.data.toy).examples("train"), 4000))
        self.task: Task = TASKS[settings.task].learn(lambda: iter(examples), settings.text)
        rows = self.task.rows(examples)
        self.batches = [self._batch(rows[n : n + ROWS]) for n in range(0, len(rows), ROWS)]
        tree = settings.model.model_dump()
        tree["encoder"] |= {"width": WIDTH, "dropout": 0.0}
        tree["reader"] |= {"width": WIDTH, "dropout": 0.0, "normalise": "softmax"}
        self.model = build(type(settings.model).model_validate(tree), self.task.sizes).train()
        assert isinstance(self.model.reader, RnnDecoder)
        self.decoder = self.model.reader
        self.exact = Model(self.model.encoder, Marginal(self.decoder)).train()
        self.optimiser = torch.optim.Adam(self.model.parameters(), 2e-3)
        self.usual = 0.0  # the mean reward, where a moving baseline comes to rest

    def _batch(self, rows: Any) -> Batch:
        longest = [max(len(row[side]) for row in rows) for side in ("source", "target")]
        return self.task.collate(rows, *longest)

    @property
    def attention(self) -> Attention:
        assert isinstance(self.decoder.attention, Attention)
        return self.decoder.attention

    def learn(self, step: int) -> None:
        """One step of Adam by the exact sum."""
        self.attention.normaliser = make_normaliser("softmax")
        batch = self.batches[1 + step % (len(self.batches) - 1)]
        self.optimiser.zero_grad()
        (self.task.loss(self.exact, batch) / batch.count).backward()
        self.optimiser.step()

    def expected(self, batch: Batch) -> Tensor:
        """sum_t sum_i a_ti L_ti: what drawing pays on average."""
        assert batch.inputs is not None
        encoded = self.model.encode(batch.sources)
        state = self.decoder.start(encoded, 1)
        hidden = self.decoder.run(state, self.decoder.embedding(batch.inputs))
        chances = self.attention.align(hidden.unsqueeze(1), state.memory).scores.softmax(-1)[:, 0]
        logits = self.decoder.output(self.decoder.readouts(hidden, state.memory.value[:, 0]))
        targets = batch.targets.unsqueeze(2).expand(logits.shape[:3])
        return (chances * losses(logits, targets, 0.0)).sum()

    def loss(self, name: str, batch: Batch) -> Tensor:
        """One draw of what an estimator minimises."""
        if name == EXACT:
            self.attention.normaliser = make_normaliser("softmax")
            return self.task.loss(self.exact, batch)
        own = make_normaliser(NAMES[name])
        self.attention.normaliser = own.train()
        if isinstance(own, Sampled):
            own.baseline.fill_(self.usual if name == BASED else 0.0)
        objective = Objective.of(ObjectiveSettings(smoothing=0.0), self.task, self.model)
        return objective(self.task, self.model, batch)

    def gradient(self, loss: Tensor, batch: Batch) -> Tensor:
        """Of the attention's own weights, a target."""
        own = list(self.attention.score.parameters())
        found = torch.autograd.grad(loss, own, allow_unused=True)
        kept = [torch.zeros_like(p) if g is None else g for g, p in zip(found, own, strict=True)]
        return torch.cat([one.flatten() for one in kept]) / batch.count


def varied(scene: Scene, step: int, draws: int) -> list[dict[str, Any]]:
    """The mean and the variance of each estimator at these weights, beside the true gradient."""
    batch = scene.batches[0]
    expected = scene.expected(batch)
    scene.usual = -float(expected.detach()) / batch.count
    true = scene.gradient(expected, batch)
    rows = []
    for name in (SOFT, HARD, GUMBEL, PLAIN, BASED, EXACT):
        several = draws if name in (GUMBEL, PLAIN, BASED) else 2
        found = []
        for number in range(several):
            torch.manual_seed(1000 * step + number)
            found.append(scene.gradient(scene.loss(name, batch), batch))
        each = torch.stack(found).double()
        mean, square = each.mean(0), float(true.double().square().sum())
        row: dict[str, Any] = {"step": step, "estimator": name}
        row["variance"] = float(each.var(0).sum()) / square
        row["distance"] = float((mean - true).norm()) / square**0.5
        row["error of it"] = (row["variance"] / several) ** 0.5
        row["cosine"] = float(torch.cosine_similarity(mean, true.double(), 0))
        row["length"] = square**0.5
        rows.append(row)
    return rows


def in_turns(works: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """CPU seconds of one call of each, the median: a busy machine takes longer, and no more work."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 2):
        for name, work in works.items():
            start = time.process_time()
            work()
            if number >= 2:
                taken[name].append(time.process_time() - start)
    return {name: summary(found).median for name, found in taken.items()}


def learning_costs(scene: Scene, rounds: int) -> list[dict[str, Any]]:
    """A forward and a backward pass by each estimator."""
    batch = scene.batches[0]
    works = {
        name: lambda name=name: scene.loss(name, batch).backward()
        for name in (SOFT, HARD, GUMBEL, BASED, EXACT)
    }
    found = in_turns(works, rounds)
    return [
        {"step of learning": name, "ms": 1000 * took, "beside soft": took / found[SOFT]}
        for name, took in found.items()
    ]


@torch.inference_mode()
def reading_costs(score: str, length: int, rounds: int) -> dict[str, Any]:
    """One step of a decoder that answers, 8 rows of width 256: soft and hard, as run and by the formula."""
    width, rows = 256, 8
    torch.manual_seed(1)
    query, key = torch.randn(rows, 1, 1, width), torch.randn(rows, 1, length, width)
    own = make_score(score, query_width=width, key_width=width)
    soft, hard = (Attention(own, name).eval() for name in ("softmax", "hard"))
    memory = soft.remember(key, key)

    def many(attention: Attention) -> None:
        for _ in range(20):
            attention(query, memory)

    def by_formula(attention: Attention) -> None:
        with reference():
            many(attention)

    works = {
        "soft": lambda: many(soft),
        "soft, formula": lambda: by_formula(soft),
        "hard": lambda: many(hard),
        "hard, formula": lambda: by_formula(hard),
    }
    found = in_turns(works, rounds)
    row: dict[str, Any] = {"score": score, "source": length, "soft (us)": 5e4 * found["soft"]}
    row |= {
        f"{name} / soft": took / found["soft"] for name, took in found.items() if name != "soft"
    }
    return row


def drawn(rows: list[dict[str, Any]]) -> str:
    """The variance of those that draw, against the steps of learning."""
    lines = {
        name: [(row["step"], log10(row["variance"])) for row in rows if row["estimator"] == name]
        for name in (PLAIN, BASED, GUMBEL)
    }
    figure = curves(
        lines,
        "How much a gradient of hard attention varies",
        "steps of learning",
        "log10 of variance / |true gradient|^2",
    )
    return written(figure)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--steps", type=int, nargs="*", default=[0, 25, 50, 100, 200, 400])
    parser.add_argument("--lengths", type=int, nargs="*", default=[16, 64, 256, 1024])
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    scene, rows = Scene(options.seed), []
    for step in range(max(options.steps) + 1):
        if step in options.steps:
            rows += varied(scene, step, options.draws)
        scene.learn(step)
    note = "All divided by the squared length, or the length, of the true gradient."
    tables = [Table("Gradients of the attention's weights", rows, note)]
    tables.append(Table("Learning, CPU time", learning_costs(scene, options.rounds)))
    reads = [
        reading_costs(s, n, options.rounds) for s in ("dot", "additive") for n in options.lengths
    ]
    tables.append(Table("Reading, CPU time of one step", reads))
    for table in tables:
        print(table)
    if options.out:
        options.out.write_text(json.dumps([table.as_dict() for table in tables], indent=1) + "\n")
    if options.picture:
        options.picture.write_text(drawn(rows))


if __name__ == "__main__":
    main()
