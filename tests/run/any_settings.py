"""Settings drawn at random from the tree of settings itself, so that a new setting is drawn, too.

Numbers come from the bounds that the settings declare: their ends, their defaults, and some between. Where a
large number would only be slow (a width, a step count), `SMALL` keeps it small.
"""

from __future__ import annotations

import random
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt

from regard.config import Settings
from regard.data.toys import TOYS
from regard.run.settings import RunSettings
from regard.tasks.names import task_for

# What would only be slow in a large size: (dotted path or last part) -> choices.
SMALL: dict[str, tuple[Any, ...]] = {
    "width": (4, 6, 8, 12),
    "heads": (1, 2, 3, 4),
    "key_width": (1, 2, 5),
    "value_width": (1, 2, 5),
    "feedforward": (1, 3, 9),
    "layers": (1, 2),
    "reach_size": (1, 2, 5, 32),
    "train.steps": (1, 2),
    "train.accumulate": (1, 2, 3),
    "train.evaluate_examples": (0, 1, 3),
    "train.workers": (0, 1, 2),
    "train.compile": (False,),  # a compiler's minutes, and no other settings file
    "text.vocabulary": (5, 40, 300, 310, 8000, 262_144),
    "data.examples": (None, 20, 40, 262_144),
    "decode.beam": (1, 2, 3, 7),
    "decode.top_beams": (1, 2, 3, 7),
    "decode.max_length": (1, 2, 5, 9),
    "decode.min_length": (0, 0, 1, 5, 300),
    "start": (None,),
    "cross_heads": (None, 1, 2, (2,), (1, 2)),
    "cross_key_width": (None, None, 2, (2,), (2, 4)),
    "cross_value_width": (None, None, 1, (3,), (5, 2)),
    "channels": ((4,), (4, 6)),
}
OWN_READER = ("tag", "classify", "point")  # tasks whose readers have their name
SYMBOLS = (
    (),
    (),
    (),
    (),
    ("<keep0>",),
    (">>de<<", ">>fr<<"),
    ("<a>", "<a>"),
    ("<<a>>", "<a>"),
    ("é-x",),
)


class Chance(random.Random):
    """Where drawing comes from; `share` is how many of the settings that may be left out are drawn."""

    share = 0.5


def draw(seed: int, share: float = 0.5) -> dict[str, Any]:
    """A tree for `parse`: most are accepted, some are not. Settings that are left out keep their defaults.

    The smaller the `share` that is drawn, the fewer of them exclude each other.
    """
    chance = Chance(f"settings/{seed}")
    chance.share = share
    tree = _group(RunSettings, chance, "")
    toy = TOYS[chance.choice(sorted(TOYS))]
    tree["data"] = {"toy": toy.name, **_some(tree.get("data", {}), ("examples", "on_bad_utf8"))}
    task = tree["task"] = task_for(toy.kind)
    kinds = (task,) if task in OWN_READER else ("rnn", "transformer")
    while tree["model"]["reader"]["kind"] not in kinds or _reads(tree) == (task == "language"):
        tree["model"] = _group(RunSettings.model_fields["model"].annotation, chance, "model.")
    if (
        tree["model"].get("encoder", {}).get("mixing") == "whole"
    ):  # its square in numbers, or 300 MB
        tree["model"]["encoder"]["max_length"] = 64
    return tree


def _reads(tree: dict[str, Any]) -> bool:
    return "encoder" in tree["model"]


def _some(tree: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: tree[name] for name in names if name in tree}


def _group(kind: Any, chance: Chance, path: str) -> dict[str, Any]:
    """Some of a group's settings: those that are required, and the share of the others."""
    tree = {}
    for name, field in kind.model_fields.items():
        # A group is always drawn, for what is slow in it; the kind says which group it is.
        is_drawn = name == "kind" or _small(f"{path}{name}") or _is_group(field.annotation)
        if is_drawn or field.is_required() or chance.random() < chance.share:
            annotation = (
                Annotated[(field.annotation, *field.metadata)]
                if field.metadata
                else field.annotation
            )
            value = _value(annotation, chance, f"{path}{name}")
            if value is not None:
                tree[name] = value
    return tree


def _small(path: str) -> tuple[Any, ...]:
    return SMALL.get(path) or SMALL.get(path.rpartition(".")[2], ())


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Settings)


def _value(annotation: Any, chance: Chance, path: str) -> Any:
    if small := _small(path):
        return chance.choice(small)
    if path == "text.symbols":
        return list(chance.choice(SYMBOLS))
    bounds: list[Any] = []
    while get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        bounds += more
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        chosen = chance.choice(get_args(annotation))
        bounded = bounds and chosen is not type(None)
        return _value(Annotated[(chosen, *bounds)] if bounded else chosen, chance, path)
    if origin is Literal:
        return chance.choice(get_args(annotation))
    if origin is tuple:
        inner = get_args(annotation)
        kinds = inner[:1] if Ellipsis in inner else inner
        return [_value(one, chance, path) for one in kinds]
    if origin is dict:  # groups by name, of which most tasks have none
        inner = get_args(annotation)[1]
        return {"left": _value(inner, chance, f"{path}.left")} if chance.random() < 0.1 else {}
    if annotation is type(None):
        return None
    if annotation is bool:
        return chance.random() < 0.5
    if annotation is str:
        return "x"
    if annotation in (int, float):
        return _number(annotation, bounds, chance)
    if _is_group(annotation):
        return _group(annotation, chance, f"{path}.")
    raise AssertionError(f"{path}: no way to draw {annotation}")


def _number(kind: type, bounds: list[Any], chance: Chance) -> Any:
    lows, highs, step = [], [], 1 if kind is int else 1e-3
    for bound in _flat(bounds):
        match bound:
            case Ge(ge=value):
                lows.append(value)
            case Gt(gt=value):
                lows.append(value + step)
            case Le(le=value):
                highs.append(value)
            case Lt(lt=value):
                highs.append(value - step)
    low, high = max(lows, default=-3), min(highs, default=None)
    choices = [low, low + 1, low + 7, low + 100] if high is None else [low, high, (low + high) / 2]
    choices = choices if kind is float else [int(one) for one in choices] + [low + 2**40]
    if high is None and kind is float:
        choices += [low + 1e-9, 1e6]
    return kind(chance.choice([one for one in choices if high is None or one <= high]))


def _flat(bounds: list[Any]) -> list[Any]:
    found = []
    for bound in bounds:
        found += _flat(bound.metadata) if hasattr(bound, "metadata") else [bound]
    return found
