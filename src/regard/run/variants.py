"""From `--vary reader.score=dot,additive` to settings: every combination, no two of them the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import final

from regard.errors import UsageError
from regard.run.settings import RunSettings

Resolve = Callable[[str | None, Sequence[str]], RunSettings]


@final
@dataclass(frozen=True)
class Variant:
    """One model of a comparison; its name is its folder's."""

    name: str
    settings: RunSettings


@final
@dataclass(frozen=True)
class Axis:
    """Settings that move together, and the values they take one after the other."""

    keys: tuple[str, ...]
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Axis:
        """`a.b=1,2`, or `a.b,c.d=1,2` where both take the same value."""
        keys, equals, values = text.partition("=")
        axis = cls(tuple(key.strip() for key in keys.split(",")), _listed(values))
        if not equals or not all(axis.keys) or not all(axis.values):
            raise UsageError(
                f"'{text}' is nothing to vary",
                where=f'vary="{text}"',
                remedy="write it as model.reader.score=dot,additive",
            )
        return axis

    def changes(self, value: str) -> list[str]:
        """This value as changes of settings."""
        return [f"{key}={value}" for key in self.keys]


def variants(presets: Sequence[str], vary: Sequence[str], resolve: Resolve) -> list[Variant]:
    """Every preset with every combination of values; no two are the same."""
    axes = [Axis.parse(text) for text in vary]
    labels = _labels(axes)
    found = []
    values_of_all = list(product(*(axis.values for axis in axes)))
    for preset, values in product(presets or (None,), values_of_all):
        changes = [c for axis, value in zip(axes, values, strict=True) for c in axis.changes(value)]
        parts = [f"{label}-{value}" for label, value in zip(labels, values, strict=True)]
        if preset is not None and (len(presets) > 1 or not parts):
            parts.insert(0, preset)
        name = re.sub(r"[^\w.+-]+", "_", "-".join(parts) or "model").strip("_.")
        try:
            variant = Variant(name, resolve(preset, changes))
        except UsageError as fault:
            raise _varied(fault, changes) from None
        found.append(variant)
    _refuse_twins(found)
    return found


def _listed(text: str) -> tuple[str, ...]:
    """Values between commas, but not between those inside brackets."""
    return tuple(value.strip() for value in re.split(r",(?![^\[]*\])", text))


def _labels(axes: Sequence[Axis]) -> list[str]:
    """The last word of each setting; where two share it, the whole of it."""
    last = [axis.keys[0].rpartition(".")[2] for axis in axes]
    often = Counter(last)
    return [
        word if often[word] == 1 else axis.keys[0] for word, axis in zip(last, axes, strict=True)
    ]


def _varied(fault: UsageError, changes: Sequence[str]) -> UsageError:
    """A slip in a value to vary is told where it was made; every change was written as `--set` writes it."""
    change = fault.where.removeprefix("--set ")
    where = f'vary="{change}"' if change in changes else fault.where
    return UsageError(fault.what, where, fault.remedy)


def _refuse_twins(found: Sequence[Variant]) -> None:
    names = Counter(variant.name for variant in found)
    name, often = names.most_common(1)[0]
    if often > 1:
        raise UsageError(
            f"'{name}' is there {often} times",
            where="the presets, and what is varied",
            remedy="name each preset and each value once",
        )
    if len(found) < 2:
        raise UsageError(
            "one model alone cannot be compared",
            where="the presets, and what is varied",
            remedy='name two presets, or vary a setting: vary="model.reader.score=dot,additive"',
        )
    for number, variant in enumerate(found):
        for other in found[:number]:
            if variant.settings == other.settings:
                raise UsageError(
                    f"{other.name} and {variant.name} have the same settings",
                    where="compare",
                    remedy="leave one of them out, or change a setting of it",
                )
