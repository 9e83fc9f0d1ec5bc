"""Looking is free until you look: `with watch(model) as seen:` records every alignment by module path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.attention import Aligned, Attention
from regard.attention.normalise import Choosing
from regard.errors import RegardError, UsageError, kind_of, nearest

Edit = Callable[[str, Aligned], Tensor | None]


@final
class UnknownPathError(UsageError, KeyError):
    """Nothing was recorded under this path."""

    __str__ = RegardError.__str__  # a KeyError would show the message in quotation marks


@final
class Gauge(nn.Module):
    """A number for each place of an axis that a model works out on its way, shown to those who watch: a gate.

    `name` is what the literature calls it, `axis` the axis its places lie on (`site.py`).
    """

    def __init__(self, name: str, axis: str) -> None:
        super().__init__()
        self.name, self.axis = name, axis
        self.watcher: Callable[[Tensor], None] | None = None

    def forward(self, values: Float[Tensor, "batch place"]) -> Float[Tensor, "batch place"]:
        """The same values."""
        if self.watcher is not None:
            self.watcher(values)
        return values


@final
class Seen(Mapping[str, list[Aligned]]):
    """Module path -> its alignments, in the order they were made; `gauges` has what each gauge showed."""

    def __init__(self) -> None:
        self._calls: dict[str, list[Aligned]] = {}
        self.gauges: dict[str, tuple[Gauge, list[Tensor]]] = {}

    def shown(self, path: str) -> Float[Tensor, "batch place"]:
        """All values of a gauge, whether they came at once or step by step."""
        return torch.cat(self.gauges[path][1], 1)

    def __getitem__(self, path: str) -> list[Aligned]:
        if path not in self._calls:
            raise self._unknown(path)
        return self._calls[path]

    def _unknown(self, path: object) -> UnknownPathError:
        if not self._calls:
            remedy = "call the model inside `with watch(model) as seen:`, and look afterwards"
            return UnknownPathError("nothing was recorded", where="seen", remedy=remedy)
        remedy = nearest(str(path), self._calls)
        return UnknownPathError(f"nothing was recorded at '{path}'", where="seen", remedy=remedy)

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def record(self, path: str, aligned: Aligned) -> None:
        """One more alignment of this module."""
        self._calls.setdefault(path, []).append(aligned)

    def weights(self, path: str) -> Float[Tensor, "batch heads query key"]:
        """All queries of a module in one matrix, whether it saw them at once or step by step."""
        return self._stacked(path, lambda aligned: aligned.weights, 0.0)

    def chances(self, path: str) -> Float[Tensor, "batch heads query key"]:
        """The distribution behind `weights`: of one that chooses, what it chose from."""
        return self._stacked(path, _chances, 0.0)

    def scores(self, path: str) -> Float[Tensor, "batch heads query key"]:
        """The scores behind `weights`; -inf where a query could not look."""
        return self._stacked(path, lambda aligned: aligned.scores, -torch.inf)

    def _stacked(self, path: str, number: Callable[[Aligned], Tensor], fill: float) -> Tensor:
        rows = []
        for aligned in self[path]:
            # What was recorded in inference mode can only be worked out in it, also when it is over.
            with torch.inference_mode() if aligned.query.is_inference() else nullcontext():
                rows.append(number(aligned))
        keys = max(row.shape[-1] for row in rows)
        return torch.cat([F.pad(row, (0, keys - row.shape[-1]), value=fill) for row in rows], 2)


def _chances(aligned: Aligned) -> Tensor:
    own = aligned.attention.normaliser
    chooses = isinstance(own, Choosing)
    return own.chances(aligned.scores, aligned.allowed) if chooses else aligned.weights


@contextmanager
def watch(model: nn.Module, edit: Edit | None = None) -> Iterator[Seen]:
    """Record every attention of the model inside the `with`.

    `edit(path, aligned)` may return weights to use instead of the model's own: a what-if.
    """
    require_model(model)
    sites = {path: m for path, m in model.named_modules() if isinstance(m, Attention)}
    if any(site.watcher is not None for site in sites.values()):
        raise UsageError(
            "this model is being watched already",
            where="watch(model)",
            remedy="leave the first `with watch(...)` before the second",
        )
    seen = Seen()
    gauges = {path: m for path, m in model.named_modules() if isinstance(m, Gauge)}
    try:
        for path, site in sites.items():
            site.watcher = partial(_seen, seen, path, edit)
        for path, gauge in gauges.items():
            gauge.watcher = partial(_shown, seen, path, gauge)
        yield seen
    finally:
        for site in sites.values():
            site.watcher = None
        for gauge in gauges.values():
            gauge.watcher = None


def _seen(seen: Seen, path: str, edit: Edit | None, aligned: Aligned) -> Tensor | None:
    seen.record(path, aligned)
    return None if edit is None else edit(path, aligned)


def _shown(seen: Seen, path: str, gauge: Gauge, values: Tensor) -> None:
    seen.gauges.setdefault(path, (gauge, []))[1].append(values)


def require_model(model: object) -> None:
    """Refuse to watch what is no module."""
    if not isinstance(model, nn.Module):
        raise UsageError(
            f"{kind_of(model)} cannot be watched",
            where="watch(model)",
            remedy="give a model: of `regard.load(...)` that is `.model`",
        )
