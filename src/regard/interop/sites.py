"""Every attention that was seen in a model somebody brings, as sites of a trace: who looks at whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from regard.attention import Aligned
from regard.attention.attention import INPUTS, TARGET
from regard.attention.score import DotScore, ScaledDot
from regard.interop.aligned import Written, known
from regard.interop.recorder import Recorder
from regard.models import SOURCE
from regard.tasks.axis import Axis, Items
from regard.traces.head_names import Kind
from regard.traces.site import TracedSite


def sites_of(
    model: nn.Module, recorder: Recorder, axes: dict[str, Axis], states: Tensor | None
) -> tuple[TracedSite, ...]:
    """Every attention that was seen, on the axes that its queries and keys lie on.

    What lies along none of the known ones gets an axis of numbered places.
    """
    encoder = _encoder_path(model, recorder) if SOURCE in axes and INPUTS in axes else None
    counts: dict[Kind, int] = {}
    sites = []
    for path, number, own in _calls(recorder):
        kind = _kind(path, own, recorder, axes, encoder, states)
        sides = {"encoder-self": (SOURCE, SOURCE), "decoder-self": (INPUTS, INPUTS)}
        names = sides.get(kind, (TARGET, SOURCE))
        call = _unpadded(own, axes.get(names[0]))
        sizes = call.weights.shape[2:]
        names = _axis(axes, names[0], sizes[0]), _axis(axes, names[1], sizes[1])
        layer = counts.get(kind, 0)
        counts[kind] = layer + 1
        place = path if number == 0 else f"{path}#{number + 1}"
        sites.append(_site(place, kind, layer, names, call))
    return tuple(sites)


def _calls(recorder: Recorder) -> Iterator[tuple[str, int, Aligned]]:
    """Each call of each module: layers may share one."""
    for path in recorder.seen:
        for number, call in enumerate(recorder.seen[path]):
            yield path, number, call


def _encoder_path(model: nn.Module, recorder: Recorder) -> str | None:
    """Where the encoder is, as the model itself says or by its name."""
    own = getattr(model, "get_encoder", None)
    part = own() if own is not None else getattr(model, "encoder", None)
    return recorder.names.get(part) if isinstance(part, nn.Module) and part is not model else None


def _kind(
    path: str,
    call: Aligned,
    recorder: Recorder,
    axes: Mapping[str, Axis],
    encoder: str | None,
    states: Tensor | None,
) -> Kind:
    """Whose queries look at whose keys: by where the module is, what it was given, and sizes at last."""
    if INPUTS not in axes:
        return "encoder-self"
    if SOURCE not in axes:
        return "decoder-self"
    if encoder is not None and path.startswith(f"{encoder}."):
        return "encoder-self"
    given = [one for one in recorder.reads.get(path, ()) if isinstance(one, Tensor)]
    if path in recorder.crossing or any(_is_same(one, states) for one in given):
        return "cross"
    queries, keys = call.weights.shape[2:]
    if queries != keys:
        return "cross"
    ahead = torch.triu(call.weights, 1)
    return "cross" if encoder is not None and bool(ahead.any()) else "decoder-self"


def _is_same(one: Tensor, other: Tensor | None) -> bool:
    return other is not None and one.shape == other.shape and one.data_ptr() == other.data_ptr()


def _unpadded(call: Aligned, axis: Axis | None) -> Aligned:
    """Without what a model with windows adds behind a text, to fill its last one, and nobody looks at."""
    size, (queries, keys) = 0 if axis is None else len(axis), call.weights.shape[2:]
    if not 0 < size < queries == keys or call.query.shape[-1]:
        return call
    if bool(call.weights[:, :, :size, size:].any()):
        return call
    return known(call.weights[:, :, :size, :size], call.scores[:, :, :size, :size])


def _axis(axes: dict[str, Axis], name: str, size: int) -> str:
    """The axis of this name if it fits, else one of numbered places."""
    if name in axes and len(axes[name]) == size:
        return name
    name = f"{size} places"
    axes.setdefault(name, Items(tuple(str(number + 1) for number in range(size))))
    return name


def _site(path: str, kind: Kind, layer: int, sides: tuple[str, str], call: Aligned) -> TracedSite:
    """One call as a site; of a batch that is heads laid out, every part is a head."""
    score, bias = call.attention.score, call.attention.bias
    scale = score.scale(call.memory.key.shape[-1]) if isinstance(score, DotScore) else 1.0
    width = call.query.shape[-1]
    return TracedSite(
        path,
        kind,
        layer,
        *sides,
        "scaled-dot" if isinstance(score, ScaledDot) and width else "dot",
        "softmax",
        "product",
        scale if width else 1.0,
        _plain(call.weights),
        _plain(call.scores),
        _plain(call.query),
        _plain(call.memory.key),
        _plain(call.memory.value),
        None,
        _plain(bias.added.expand_as(call.weights)) if isinstance(bias, Written) else None,
    )


def _plain(tensor: Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().flatten(0, 1).float().cpu().numpy())
