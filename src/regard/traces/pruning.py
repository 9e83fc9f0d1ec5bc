"""A run with fewer heads, written so that it loads everywhere and trains on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from regard.attention.site import Site
from regard.config import to_toml
from regard.errors import DataError, UsageError
from regard.models import Model
from regard.models.prune import heads_by_site, prune_heads
from regard.run import files
from regard.run.folder import Run
from regard.run.load import write_task
from regard.traces.importance import Measure, Place, curve, places


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
    """A run folder without these heads: settings, vocabulary and weights, and no checkpoints."""
    if folder.exists():
        raise DataError("this folder is there already", str(folder), "name another one: --out")
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
    written = run.settings.model_copy(update={"model": settings, "start": None})
    write_task(folder / "tokenizer.json", run.task, written.task)
    made = Run(folder, written, run.task)
    made.save_model(smaller.state_dict())
    files.write_atomic(folder / "config.toml", to_toml(written).encode())
    return made


def counted(model: Model, remove: Collection[Place]) -> Mapping[str, tuple[int, int]]:
    """How many heads of each kind are left, of how many."""
    known = places(model)
    kinds = dict.fromkeys(known.values())
    gone = [known[place] for place in remove]
    total = list(known.values())
    return {kind: (total.count(kind) - gone.count(kind), total.count(kind)) for kind in kinds}
