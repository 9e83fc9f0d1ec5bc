"""How much each head matters, and how few a model can do with.

gradient   E |dL / d gate| over examples, the gate a factor of 1 on the head (Michel 2019, equation 2); within
           each layer divided by the norm of its heads, as the paper does
ablation   how much a loss or a score changes when the head alone is closed (Michel 2019, section 3)
l0         the chance that its learned gate is open (Voita 2019), of a model trained with `objective.l0`

A gate multiplies a head's weights, which is the same as multiplying its context: the model stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import torch
from torch import Tensor

from regard.attention import Aligned, Attention, Heads
from regard.attention.attention import Site
from regard.attention.gate import chance_open
from regard.config import to_toml
from regard.data.example import Example
from regard.errors import DataError, UsageError
from regard.models import Model
from regard.models.compress import heads_by_site, prune_heads
from regard.run import files
from regard.run.folder import Run
from regard.run.load import write_task
from regard.settings.decode import DecodeSettings
from regard.tasks.batch import Batch, groups
from regard.tasks.task import Task, device_of
from regard.traces.head_names import Kind
from regard.traces.site import kind_of_site

Place = tuple[str, int]  # the path of an attention, and a head of it
Measure = Callable[[], float]
TOKENS = 2048  # a batch
PRUNABLE: tuple[Kind, ...] = ("encoder-self", "decoder-self", "cross")


@final
@dataclass(frozen=True)
class Point:
    """A model with some heads left, and what it is worth."""

    left: int
    value: float
    closed: tuple[Place, ...]


def places(model: Model) -> dict[Place, Kind]:
    """Every head of a Transformer's attentions, and the kind of attention it belongs to."""
    kinds: dict[Place, Kind] = {}
    for path, attention in _attentions(model).items():
        assert attention.site is not None
        kind = kind_of_site(attention.site)
        for head in range(_count(model, path)):
            kinds[path, head] = kind
    return kinds


@contextmanager
def gated(model: Model, gates: Mapping[str, Tensor]) -> Iterator[None]:
    """Inside the `with`, the heads of these attentions are multiplied by these numbers, one a head."""
    chosen = {path: _attentions(model)[path] for path in gates}
    if any(attention.watcher is not None for attention in chosen.values()):
        raise UsageError(
            "this model is being watched", "gates", "leave the `with watch(...)` first"
        )

    def gate(path: str) -> Callable[[Aligned], Tensor]:
        return lambda aligned: aligned.weights * gates[path].view(-1, 1, 1).to(aligned.weights)

    try:
        for path, attention in chosen.items():
            attention.watcher = gate(path)
        yield
    finally:
        for attention in chosen.values():
            attention.watcher = None


@contextmanager
def closed(model: Model, heads: Sequence[Place]) -> Iterator[None]:
    """Inside the `with`, these heads say nothing."""
    gates: dict[str, Tensor] = {}
    for path, head in heads:
        gates.setdefault(path, torch.ones(_count(model, path)))[head] = 0.0
    with gated(model, gates):
        yield


def batches(task: Task, examples: Sequence[Example], tokens: int = TOKENS) -> list[Batch]:
    """The examples as batches of like length."""
    rows = task.rows(examples)
    sizes = [[len(row[name]) for name in (*task.sources, "target")] for row in rows]
    batches = []
    for group in groups([max(size) for size in sizes], tokens):
        own = [rows[member] for member in group.members]
        source = max(1, *(len(row[name]) for row in own for name in task.sources))
        batches.append(task.collate(own, source, max(len(row["target"]) for row in own)))
    if not batches:
        raise DataError("there is no example to learn from", "data", "give a file with examples")
    return batches


@torch.inference_mode()
def loss_of(task: Task, model: Model, some: Sequence[Batch]) -> float:
    """The mean loss of a target, in nats."""
    model.eval()
    device = device_of(model)
    total = sum(float(task.loss(model, batch.to(device))) for batch in some)
    return total / sum(batch.count for batch in some)


def by_gradient(task: Task, model: Model, examples: Sequence[Example]) -> dict[Place, float]:
    """E |dL / d gate| at gates of 1, an example at a time; each layer's heads have norm 1 (Michel 2019)."""
    model.eval()
    device = device_of(model)
    counts = {path: _count(model, path) for path in _attentions(model)}
    total = {path: torch.zeros(count, device=device) for path, count in counts.items()}
    for example in examples:
        (batch,) = batches(task, [example])
        gates = {
            path: torch.ones(count, device=device, requires_grad=True)
            for path, count in counts.items()
        }
        with torch.enable_grad(), gated(model, gates):
            loss = task.loss(model, batch.to(device)) / max(1, batch.count)
            gradients = torch.autograd.grad(loss, list(gates.values()), allow_unused=True)
        for path, gradient in zip(counts, gradients, strict=True):
            if gradient is not None:
                total[path] += gradient.abs()
    return {
        (path, head): float(value)
        for path, sums in total.items()
        for head, value in enumerate((sums / sums.norm().clamp(min=1e-12)).tolist())
    }


def score_of(
    task: Task, model: Model, examples: Sequence[Example], settings: DecodeSettings
) -> float:
    """The task's own score of the model's answers, such as BLEU; one where less is better is negative."""
    model.eval()
    answers = task.predict(model, [task.question(one) for one in examples], settings)
    metric, *_ = task.judge([one.text for one in answers], [task.answer(one) for one in examples])
    return metric.value if metric.higher_is_better else -metric.value


def by_gates(model: Model) -> dict[Place, float]:
    """The chance that each learned gate is open; 0, where it is closed in the model that answers."""
    model.eval()
    values: dict[Place, float] = {}
    has_learned = False
    for path in _attentions(model):
        owner = model.get_submodule(path.removesuffix(".attention"))
        assert isinstance(owner, Heads)
        chances = torch.ones_like(owner.gate)  # where gates are not learned, nothing may be removed
        if owner.openness is not None:
            has_learned = True
            chances = chance_open(owner.openness.detach()) * (owner.gate > 0)
        values |= {(path, head): value for head, value in enumerate(chances.tolist())}
    if not has_learned:
        raise UsageError(
            "this model was trained without gates that can be learned",
            where="l0",
            remedy="train it with a price for open heads: "
            "regard train ... --start-from RUN --set objective.l0=0.01",
        )
    return values


def by_ablation(model: Model, measure: Measure) -> dict[Place, float]:
    """By how much a measure grows when each head alone is closed: of a loss, what the head is worth."""
    whole = measure()
    importance = {}
    for place in places(model):
        with closed(model, [place]):
            importance[place] = measure() - whole
    return importance


def curve(
    model: Model, measure: Measure, order: Sequence[Place], lefts: Sequence[int]
) -> list[Point]:
    """The measure with so many heads left, the heads closed in this order."""
    known = places(model)
    unknown = [place for place in order if place not in known]
    if unknown or len(set(order)) < len(known):
        raise UsageError(
            "an order names every head once", "order", "take the keys of an importance"
        )
    points = []
    for left in lefts:
        gone = tuple(order[: max(0, len(known) - left)])
        with closed(model, gone):
            points.append(Point(left, measure(), gone))
    return points


def orders(importance: Mapping[Place, float], seed: int = 0) -> dict[str, list[Place]]:
    """Three orders to close heads in: the least important first, at random, and the most important first."""
    rising = sorted(importance, key=lambda place: importance[place])
    shuffled = np.random.default_rng(seed).permutation(len(rising)).tolist()
    return {
        "least important first": rising,
        "random order": [rising[number] for number in shuffled],
        "most important first": rising[::-1],
    }


def _attentions(model: Model) -> dict[str, Attention]:
    """The attentions in the blocks of Transformers, whose heads can be removed, by their paths."""
    in_blocks = set(map(id, heads_by_site(model).values()))
    return {
        f"{path}.attention": module.attention
        for path, module in model.named_modules()
        if isinstance(module, Heads)
        and id(module) in in_blocks
        and module.attention.site is not None
        and kind_of_site(module.attention.site) in PRUNABLE
    }


def _count(model: Model, path: str) -> int:
    owner = model.get_submodule(path.removesuffix(".attention"))
    assert isinstance(owner, Heads)
    return owner.num_heads


# A run with fewer heads, written so that it loads everywhere and trains on.


def least_needed(
    model: Model, measure: Measure, order: Sequence[Place], most: float
) -> list[Place]:
    """As many heads of this order as can be closed while the measure grows by `most` at the most.

    Found by bisection: a loss grows, by and large, with every head that goes.
    """
    whole = measure()
    low, high = 0, len(order)  # `low` can be closed; more than `high` cannot
    while low < high:
        middle = (low + high + 1) // 2
        (point,) = curve(model, measure, order, [len(order) - middle])
        if point.value <= whole + most:
            low = middle
        else:
            high = middle - 1
    return list(order[:low])


def write_pruned(run: Run, model: Model, remove: Collection[Place], folder: Path) -> Run:
    """A run folder without these heads: settings, vocabulary, weights and questions, and no checkpoints."""
    if folder.exists():
        raise UsageError("this folder is there already", str(folder), "name another one: --out")
    known = places(model)
    if unknown := [place for place in remove if place not in known]:
        raise UsageError(f"there is no head {unknown[0]}", "remove", "take them from `places`")
    by_site: dict[Site, set[int]] = {}
    sites = {id(heads): site for site, heads in heads_by_site(model).items()}
    for path, head in remove:
        owner = model.get_submodule(path.removesuffix(".attention"))
        by_site.setdefault(sites[id(owner)], set()).add(head)
    smaller, settings = prune_heads(model, run.settings.model, by_site)
    files.make_folder(folder)
    objective = run.settings.objective.model_copy(update={"l0": 0.0})  # its gates are settled
    changes = {"model": settings, "start": None, "objective": objective}
    written = run.settings.model_copy(update=changes)
    write_task(folder / "tokenizer.json", run.task, written.task)
    made = Run(folder, written, run.task)
    made.save_model(smaller.state_dict())
    made.keep_probes(run)
    files.write_atomic(folder / "config.toml", to_toml(written).encode())
    return made


def counted(model: Model, remove: Collection[Place]) -> Mapping[str, tuple[int, int]]:
    """How many heads of each kind are left, of how many."""
    known = places(model)
    kinds = dict.fromkeys(known.values())
    gone = [known[place] for place in remove]
    total = list(known.values())
    return {kind: (total.count(kind) - gone.count(kind), total.count(kind)) for kind in kinds}
