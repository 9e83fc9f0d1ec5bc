"""Looking into any model: ours, Hugging Face's, `nn.Transformer`, or a module of somebody's own.

Three ways are open at once, and an attention is seen by the first that meets it: ours tell of themselves,
Hugging Face's models ask an interface (`huggingface`), everything else calls torch's functions (`functions`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, final

import torch
from torch import Tensor, nn

from regard.attention import Aligned, Attention
from regard.attention.watch import Edit, Seen, require_model
from regard.attention.watch import watch as watch_ours
from regard.errors import UsageError
from regard.interop.aligned import Arguments, Nested, unnested
from regard.interop.functions import Functions
from regard.interop.huggingface import interface
from regard.interop.laid_out import laid_out

TRIED = (
    "attentions of regard; the attention interface of transformers; scaled_dot_product_attention, "
    "multi_head_attention_forward and softmax of torch"
)


@final
@dataclass(eq=False)
class _Frame:
    """One call of a module: what it was given, and how many attentions it worked out itself."""

    module: nn.Module
    given: tuple[Any, ...]
    nested: Nested | None = None
    count: int = 0


@final
@dataclass(eq=False)
class Recorder:
    """Which module is at work, and what attention it works out.

    `crossing` holds the paths whose keys came from another sequence, as far as the call showed it; `reads`
    what the module of each path was given, for anyone who knows what is whose. With `eager`, what fused
    kernels of transformers read is read by the model's own eager formula.
    """

    names: dict[nn.Module, str]
    seen: Seen
    edit: Edit | None = None
    eager: bool = False
    crossing: set[str] = field(default_factory=set)
    reads: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    called: bool = False
    _frames: list[_Frame] = field(default_factory=list)
    _hushed: int = 0

    def enter(
        self, module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]
    ) -> Arguments | None:
        """A module begins; rows of different lengths are padded for it."""
        self.called = True
        frame = _Frame(module, (*given, *named.values()))
        self._frames.append(frame)
        flat = unnested(module, given, named)
        if flat is not None:
            frame.nested = Nested(frame.given[0])
        return flat

    def leave(self, module: nn.Module, _: object, output: Any) -> Any:
        """A module ends, and with it whatever it left behind by an error."""
        while self._frames:
            frame = self._frames.pop()
            if frame.module is module:
                nested = frame.nested
                return None if nested is None or output is None else nested.restored(output)
        return None

    def ready(self) -> bool:
        """Whether a module that is watched is at work, and not one that tells of itself."""
        if self._hushed or all(isinstance(frame.module, nn.Softmax) for frame in self._frames):
            return False
        return not any(isinstance(frame.module, Attention) for frame in self._frames)

    def settled(self) -> bool:
        """Whether the module at work is one of transformers', whose eager form says what its weights are."""
        return type(self._working().module).__module__.startswith("transformers.")

    def _working(self) -> _Frame:
        """The innermost call of a module that may attend."""
        return next(one for one in reversed(self._frames) if not isinstance(one.module, nn.Softmax))

    def knows(self, module: nn.Module) -> bool:
        """Whether it is part of the model."""
        return module in self.names

    @contextmanager
    def hush(self) -> Iterator[None]:
        """Nothing is heard in this `with`."""
        self._hushed += 1
        try:
            yield
        finally:
            self._hushed -= 1

    def hear(self, found: Aligned, crosses: bool = False) -> Tensor | None:
        """The innermost module at work worked this out; its second attention has a number behind its path."""
        frame = self._working()
        path = self.names[frame.module] + (f"[{frame.count}]" if frame.count else "")
        frame.count += 1
        with self.hush():
            found = laid_out(found, frame.module, frame.given)
        return self._record(path, found, frame.given, crosses)

    def told(self, module: nn.Module, found: Aligned) -> Tensor | None:
        """This module worked it out."""
        frames = [frame for frame in self._frames if frame.module is module]
        given = frames[-1].given if frames else ()
        return self._record(self.names[module], found, given, crosses=False)

    def _record(
        self, path: str, found: Aligned, given: tuple[Any, ...], crosses: bool
    ) -> Tensor | None:
        self.seen.record(path, found)
        self.reads[path] = given
        if crosses:
            self.crossing.add(path)
        if self.edit is None:
            return None
        with self.hush():  # what is worked out to be edited is no attention of the model's
            return self.edit(path, found)


@contextmanager
def watch(model: nn.Module, edit: Edit | None = None) -> Iterator[Seen]:
    """Record every attention of a model inside the `with`, by its module's path: any model, not ours alone.

    `edit(path, aligned)` may return weights to use instead of the model's own: a what-if. Where nothing
    attends inside the `with`, it says so.
    """
    with recording(model, edit) as recorder:
        yield recorder.seen
    if not recorder.seen:
        require_calls(model, recorder)


@contextmanager
def recording(
    model: nn.Module, edit: Edit | None = None, *, eager: bool = False
) -> Iterator[Recorder]:
    """The same for those who need more of a call than its alignment, or a replay in the eager form."""
    require_model(model)
    with ExitStack() as stack:
        seen = stack.enter_context(watch_ours(model, edit))
        names = {module: path or type(model).__name__ for path, module in model.named_modules()}
        recorder = Recorder(names, seen, edit, eager)
        if _tells_of_itself(names):
            yield recorder
            return
        _refuse_scripts(names)
        if (dynamo := sys.modules.get("torch._dynamo")) is not None:
            stack.enter_context(
                dynamo.set_stance("force_eager")
            )  # what is compiled calls no function
        for module in names:
            begin = module.register_forward_pre_hook(recorder.enter, with_kwargs=True)
            end = module.register_forward_hook(recorder.leave, always_call=True)
            stack.callback(begin.remove)
            stack.callback(end.remove)
        stack.enter_context(interface(model, recorder))
        stack.enter_context(Functions(recorder))
        yield recorder


def _refuse_scripts(names: Mapping[nn.Module, str]) -> None:
    """What TorchScript runs calls no function of Python."""
    for module, path in names.items():
        if isinstance(module, torch.jit.ScriptModule):
            raise UsageError(
                "this module runs as TorchScript: nothing inside it can be seen",
                where=path,
                remedy="watch the module as it was before torch.jit",
            )


def _tells_of_itself(modules: Iterable[nn.Module]) -> bool:
    """Whether every attention inside is one of ours: then nothing of torch's has to be listened to."""
    kinds = {type(module) for module in modules}
    foreign = (nn.MultiheadAttention, nn.Transformer, nn.TransformerEncoder, nn.TransformerDecoder)
    return Attention in kinds and all(
        kind.__module__.startswith(("regard.", "torch.nn.")) and not issubclass(kind, foreign)
        for kind in kinds
    )


def require_calls(model: nn.Module, recorder: Recorder) -> None:
    """Say why nothing was seen."""
    name = type(model).__name__
    if not recorder.called and not _tells_of_itself(recorder.names):
        raise UsageError(
            f"this {name} was not called while it was watched",
            where="watch(model)",
            remedy="call it inside: `with regard.watch(model) as seen: model(...)`",
        )
    raise UsageError(
        f"no attention was seen in this {name}",
        where="watch(model)",
        remedy=f"call the model inside the `with`; tried: {TRIED}. A model that works its weights out "
        "otherwise cannot be watched",
    )
