"""A model from a folder that nobody has to trust: every claim is checked before memory is taken for it.

The settings say what the model is, the weights file says what it holds; only where both agree, and only if
it fits into memory, is a number read or a module built.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.box.card import stated_hash
from regard.config import Settings
from regard.errors import MemoryLimitError, ModelFileError, UsageError
from regard.models import Model, ModelSettings, Sizes, build, count_parameters, with_open_gates
from regard.models.compress import SCALE, widened
from regard.run import files, weights
from regard.run.device import free_memory, is_out_of_memory
from regard.run.find import read_bounded
from regard.run.header import Header
from regard.run.settings import RunSettings
from regard.strict_json import loads
from regard.tasks import TASKS, Task

LONGEST_TASK = 1 << 28  # bytes of tokenizer.json
_MEND = "put back the tokenizer.json that `regard train` wrote for this run"
WIDEST = 1 << 20  # no width, and no number of heads, of any model has ever come near
DEEPEST = 1 << 12  # nor any number of layers
_OF_HEADS = ("heads", "key_width", "value_width")
_DEPTHS = ("layers", "blocks")
_AXES = ("width", "feedforward", "channels", *_OF_HEADS, *(f"cross_{name}" for name in _OF_HEADS))
_CPU = torch.device("cpu")
_SMALL = 1 << 16  # numbers that may be touched
_DRAWS = (
    Tensor.uniform_,
    Tensor.normal_,
    nn.init.uniform_,
    nn.init.normal_,
    nn.init.kaiming_uniform_,
)


def read_task(path: Path, name: str) -> Task:
    """The task and its vocabularies, from tokenizer.json."""
    content = read_bounded(path, "tokenizer", LONGEST_TASK)
    stated = stated_hash(path)
    if stated not in (None, hashlib.sha256(content).hexdigest()):
        raise ModelFileError(
            "tokenizer.json is not what was written: its SHA-256 is not that of the card beside it",
            where=str(path),
            remedy="use another copy; of a model in the box, install regard again",
        )
    document = loads(content, max_bytes=LONGEST_TASK, max_values=100, where=str(path))
    if not isinstance(document, dict) or document.get("format") != "regard-task":
        raise ModelFileError("this is no tokenizer of ours", where=str(path), remedy=_MEND)
    parts = document.get("parts")
    if document.get("task") != name or not isinstance(parts, dict):
        raise ModelFileError(
            f"the tokenizer belongs to task {document.get('task')!r}, not {name!r}",
            where=str(path),
            remedy=_MEND,
        )
    if not all(isinstance(part, str) for part in parts.values()):
        raise ModelFileError(
            "each part of a tokenizer is a document", where=str(path), remedy=_MEND
        )
    try:
        return TASKS[name].from_dict(parts)
    except KeyError as fault:
        raise ModelFileError(
            f"the tokenizer lacks its part {fault}", where=str(path), remedy=_MEND
        ) from None


def write_task(path: Path, task: Task, name: str) -> None:
    """What `read_task` reads."""
    document = {"format": "regard-task", "task": name, "parts": task.to_dict()}
    files.write_atomic(path, json.dumps(document, ensure_ascii=False).encode())


def load(path: Path, settings: ModelSettings, sizes: Sizes, device: torch.device) -> Model:
    """The model that the settings describe, with the weights of this file."""
    model, state = outline(path, settings, sizes, device, promised=True)
    return filled(model, state, path, emptied=True).to(device)


@torch.no_grad()
def load_some(path: Path, model: Model) -> Model:
    """The model with those of its weights replaced that this file holds; all of the file must fit."""
    stored = widened(weights.read(path), str(path))
    own = model.state_dict()
    expected = {name: (tuple(own[name].shape), own[name].dtype) for name in stored if name in own}
    weights.check_against(expected, stored, str(path))
    for name, value in stored.items():
        own[name].copy_(value)
    return model


@torch.no_grad()
def filled(model: Model, state: dict[str, Tensor], path: Path, *, emptied: bool = False) -> Model:
    """The model with the tensors of its file; if `emptied`, few of them are in memory twice at a time."""
    for name, own in model.state_dict().items():
        names = [part for part in (name, name + SCALE) if part in state]
        parts = {part: state.pop(part) if emptied else state[part] for part in names}
        own.copy_(widened(parts, str(path))[name])
    return model.eval()


def outline(
    path: Path,
    settings: ModelSettings,
    sizes: Sizes,
    device: torch.device = _CPU,
    *,
    promised: bool = False,
) -> tuple[Model, dict[str, Tensor]]:
    """The model without its weights, and these as they are stored: they fit.

    If `promised`, there is memory in the model to put them there. If not, none is left lying about: it would
    be holes between what comes next.
    """
    head = weights.read_header(path)
    _refuse_absurd(settings, head, path)
    model = _untouched(settings, sizes, path)
    expected = {
        name: (tuple(value.shape), value.dtype) for name, value in model.state_dict().items()
    }
    outlined = with_open_gates(model, widened(weights.outline(head), str(path)))
    weights.check_against(expected, outlined, str(path))
    _refuse_too_big(head, device, path)
    if not promised:
        for tensor in model.parameters():  # one number, seen from everywhere
            tensor.data = tensor.new_zeros(1).expand(tensor.shape)
    stored = with_open_gates(model, weights.read(path, sha256=stated_hash(path)))
    # Another file may have taken its place.
    after = {name: torch.empty_like(tensor, device="meta") for name, tensor in stored.items()}
    weights.check_against(expected, widened(after, str(path)), str(path))
    return model, stored


@final
class _Undrawn(TorchFunctionMode):
    """Large tensors are neither drawn by chance nor even touched: what is not touched takes no memory.

    Torch can also build on no device at all, but loads an algebra system for it, which is larger than many
    models.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        given: tuple[Any, ...] = (),
        named: dict[str, Any] | None = None,
    ) -> Any:
        named = named or {}
        if func in _DRAWS:
            tensor: Tensor = given[0] if given else named["tensor"]
            if tensor.numel() <= _SMALL:
                tensor.detach().zero_()
            return tensor
        if func is torch.linalg.qr:  # for orthogonal first values: any of these shapes will do
            return given[0], given[0][: given[0].shape[1]]
        return (torch.zeros if func is torch.randn else func)(*given, **named)


def _sizes_of(settings: ModelSettings) -> Iterator[tuple[str, str, int]]:
    """(`model.reader.width`, `width`, 256) for every setting that says how large something is."""
    own = {f"encoders.{name}": encoder for name, encoder in settings.encoders.items()}
    groups: dict[str, Any] = {"encoder": settings.encoder, **own, "reader": settings.reader}
    fronts = {f"{side}.front": getattr(group, "front", None) for side, group in groups.items()}
    for side, group in (groups | fronts).items():
        for name, value in group or ():
            if value is not None and (name in _DEPTHS or name in _AXES):
                several = value if isinstance(value, tuple) else (value,)
                yield from ((f"model.{side}.{name}", name, one) for one in several)


def _refuse_absurd(settings: ModelSettings, head: Header, path: Path) -> None:
    """A width is an axis of some tensor and a layer has tensors; else building alone could last for ever."""
    axes = [axis for entry in head.entries for axis in entry.shape]
    widest = min(max(axes, default=0), WIDEST)
    deepest = len(head.entries) + len(head.tied)
    for where, name, value in _sizes_of(settings):
        most = deepest if name in _DEPTHS else widest
        if value > most:
            raise ModelFileError(
                f"{where} is {value:,}, and these weights have room for {most:,}",
                where=str(path),
                remedy="take the weights and the settings from the same run",
            )


def _untouched(settings: ModelSettings, sizes: Sizes, path: Path) -> Model:
    """The model with tensors whose memory is promised, but not taken before weights are put there."""
    try:
        with torch.random.fork_rng(devices=[]), _Undrawn():
            return build(settings, sizes)
    except (UsageError, RuntimeError, OverflowError, TypeError) as fault:
        what = fault.what if isinstance(fault, UsageError) else str(fault)
        raise ModelFileError(
            f"no model can be built from these settings: {what[:200]}",
            where=str(path.with_name("config.toml")),
            remedy="put back the config.toml that `regard train` wrote",
        ) from None


def refuse_unbuildable(settings: RunSettings) -> None:
    """Some choices exclude each other, and only building tells: tried before anything is read or learned."""
    for where, name, value in _sizes_of(settings.model):
        if value > (DEEPEST if name in _DEPTHS else WIDEST):
            raise UsageError(
                f"{value:,} is more than any model has",
                where=where,
                remedy="choose a smaller number: `regard config PRESET` shows sensible ones",
            )
    sizes = TASKS[settings.task].trial_sizes(shared=settings.text.shared)
    if sizes is None:  # only data can say
        return
    _refuse_lost_words(settings, sizes)
    free = free_memory(_CPU)
    needed = 4 * sum(_least(group) for group in (settings.model.encoder, settings.model.reader))
    if free is None or needed <= free:
        try:
            with torch.random.fork_rng(devices=[]), _Undrawn():
                needed = 4 * count_parameters(build(settings.model, sizes))
        except RuntimeError as fault:
            if not is_out_of_memory(fault):
                raise
            free = 0
    if free is not None and needed > free:
        raise MemoryLimitError(
            "this model does not fit into memory, even before it is trained",
            where="model",
            remedy="lower its width, its feedforward or its layers; its max_length, if mixing is whole",
        )


def _refuse_lost_words(settings: RunSettings, sizes: Sizes) -> None:
    """Whole words that no vocabulary holds are copied by tasks alone that number them (See 2017)."""
    copies = getattr(settings.model.reader, "copies", False)
    if copies and settings.text.kind == "word" and sizes.unknown is None:
        able = [
            name
            for name, task in TASKS.items()
            if (own := task.trial_sizes(shared=True)) and own.unknown is not None
        ]
        raise UsageError(
            f"the task {settings.task} gives unknown words no numbers, so none of them could be copied",
            where="model.reader.copies",
            remedy=f'choose task = "{able[0]}", or text.kind = "bpe", which knows every word in pieces',
        )


def _least(group: Settings | None) -> int:
    """A layer of any kind has at least the square of its width in numbers."""
    sizes = dict(group or ())
    return int(sizes.get("layers", 0) * sizes.get("width", 0) ** 2)


def _refuse_too_big(head: Header, device: torch.device, path: Path) -> None:
    """While it is loaded a model may be in memory twice: as read, and as built."""
    built = sum(max(entry.end - entry.begin, 4 * math.prod(entry.shape)) for entry in head.entries)
    places = {device: built, torch.device("cpu"): head.size + built}
    for place, needed in places.items():
        free = free_memory(place)
        if free is not None and needed > free:
            raise MemoryLimitError(
                f"this model needs {needed:,} bytes of memory; {free:,} are free on {place}",
                where=str(path),
                remedy="close other programs, or use a machine with more memory",
            )
