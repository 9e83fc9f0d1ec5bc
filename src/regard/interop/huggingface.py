"""Attention seen at the door that Hugging Face's models have for it: their attention interface.

A model asks its configuration for the name of an attention function. While it is watched, each name becomes
`regard_NAME`: a function that tells what it was given, and calls the one it stands for. So whatever ran
before, eager, fused or flash, runs as before, and its mask is made as before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, final, runtime_checkable

import torch
from torch import Tensor, nn

from regard.attention import Aligned
from regard.errors import UsageError
from regard.interop.aligned import aligned, explains, known, with_weights

States = tuple[Tensor, Tensor, Tensor]

PREFIX = "regard_"
UNLIKE = ("softcap", "s_aux")  # what makes a weight another than softmax of a sum over neurons
OWN = "_attn_implementation_internal"  # set on one configuration alone; the property sets all below it


@runtime_checkable
class Told(Protocol):
    """Whom an attention module's call is told to."""

    @property
    def eager(self) -> bool:
        """Whether a fused kernel's numbers are exchanged for those of the model's own eager formula."""

    def knows(self, module: nn.Module) -> bool:
        """Whether this module is part of what is watched."""

    def told(self, module: nn.Module, found: Aligned) -> Tensor | None:
        """What one module's attention was; other weights where they shall be used."""

    def hush(self) -> Any:
        """A `with` in which nobody else is heard: the function below was told of already."""


_LISTENERS: list[Told] = []


@contextmanager
def interface(model: nn.Module, listener: Told) -> Iterator[bool]:
    """Listen at the interface of every Hugging Face model in this module; whether there is one."""
    configurations = _configurations(model)
    if any(str(getattr(one, OWN)).startswith(PREFIX) for one in configurations):
        raise UsageError(
            "this model is being watched already",
            where="watch(model)",
            remedy="leave the first `with watch(...)` before the second",
        )
    before = [getattr(one, OWN) for one in configurations]
    _LISTENERS.append(listener)
    try:
        for one, name in zip(configurations, before, strict=True):
            setattr(one, OWN, _registered(name or "eager"))
        yield bool(configurations)
    finally:
        _LISTENERS.remove(listener)
        for one, name in zip(configurations, before, strict=True):
            setattr(one, OWN, name)


def _configurations(model: nn.Module) -> list[Any]:
    """The configurations of all models inside that ask the interface, each once."""
    library = sys.modules.get("transformers")
    if library is None:
        return []
    configurations: dict[int, Any] = {}
    for module in model.modules():
        if not isinstance(module, library.PreTrainedModel):
            continue
        if module._can_set_attn_implementation():
            for part in module.modules():
                own = getattr(part, "config", None)
                if isinstance(own, library.PreTrainedConfig):
                    configurations.setdefault(id(own), own)
    return list(configurations.values())


def _registered(name: str) -> str:
    """The name under which our function stands before this one."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS as MASKS

    AttentionInterface.register(PREFIX + name, _Before(name))
    if name in MASKS:
        AttentionMaskInterface.register(PREFIX + name, MASKS[name])
    return PREFIX + name


@final
class _Before:
    """Tells what an attention function is given, then calls it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Any = None,
        **named: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Context (batch, query, heads, width), and weights where the function gives some."""
        # What a model gives beside these is its own affair, and is passed on as it is.
        states, own = (query, key, value), _function(module, self.name)
        listener = next((one for one in reversed(_LISTENERS) if one.knows(module)), None)
        if listener is None:
            return own(module, *states, attention_mask, **dict(named))
        with listener.hush():
            context, weights = own(module, *states, attention_mask, **dict(named))
            alignment = self._explained(module, states, attention_mask, named, context, weights)
            if alignment is not None and listener.eager and self.name == "sdpa":
                context, alignment = _as_eager(
                    module, alignment, states, attention_mask, named, context
                )
        if alignment is None:  # nothing here says what it did: torch's functions are listened to
            return own(module, *states, attention_mask, **dict(named))
        edited = listener.told(module, alignment)
        if edited is None:
            return context, weights
        values = value.repeat_interleave(edited.shape[1] // value.shape[1], 1)
        return (edited.to(value.dtype) @ values).transpose(1, 2).contiguous(), edited

    def _explained(
        self,
        module: nn.Module,
        states: States,
        mask: Any,
        named: dict[str, Any],
        context: Tensor,
        weights: Tensor | None,
    ) -> Aligned | None:
        """The alignment that explains this context: of queries and keys, or of weights that are known."""
        alignment = _found(self.name, module, states, mask, named)
        drops = module.training and bool(named.get("dropout"))
        # torch's own function knows of nothing that would make weights other than a softmax.
        unlike = self.name != "sdpa" and any(named.get(name) is not None for name in UNLIKE)
        if drops or (not unlike and explains(alignment, states[2], context)):
            return alignment if drops or weights is None else with_weights(alignment, weights)
        if weights is None or weights.dim() != 4:
            added = _added(alignment.allowed, states[0].dtype)
            weights = _eager(module, states, added, named)[1]
        if weights is None:
            return None
        keys = states[1].shape[2]  # a sink may stand behind the keys
        alignment = known(weights[..., :keys])
        return alignment if explains(alignment, states[2], context) else None


def _function(module: nn.Module, name: str) -> Callable[..., tuple[Tensor, Tensor | None]]:
    """The function of this name as the module's own file would find it; each file has an eager one."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS as ALL

    file = sys.modules.get(type(module).__module__)
    table = getattr(file, "ALL_ATTENTION_FUNCTIONS", ALL)
    if name in table:
        return table[name]
    return getattr(file, "eager_attention_forward", None) or ALL["sdpa"]


def _found(
    name: str, module: nn.Module, states: States, mask: Any, named: dict[str, Any]
) -> Aligned:
    """The alignment of these states; where no mask was made, the module says whether it looks ahead."""
    causal = named.get("is_causal")
    causal = bool(getattr(module, "is_causal", False) if causal is None else causal)
    ahead = causal and states[0].shape[2] > 1
    allowed = _allowed(mask, states)
    if "flash" in name:
        allowed, ahead = _flash(allowed, states, causal, named.get("sliding_window")), False
    return aligned(
        *states,
        allowed,
        causal=ahead and allowed is None,
        scale=named.get("scaling"),
        bias=named.get("position_bias"),
    )


def _allowed(mask: Any, states: States) -> Tensor | None:
    """A mask in any of the forms that attention functions take: four axes, padding alone, or blocks."""
    if isinstance(mask, Tensor):
        return mask[:, None, None, -states[1].shape[2] :].bool() if mask.dim() == 2 else mask
    if mask is None:
        return None
    from torch.nn.attention.flex_attention import create_mask  # a BlockMask knows its rule

    batch, heads, queries = states[0].shape[:3]
    keys, place = states[1].shape[2], states[0].device.type
    return create_mask(mask.mask_mod, batch, heads, queries, keys, device=place)


def _flash(allowed: Tensor | None, states: States, causal: bool, window: int | None) -> Tensor:
    """What a flash kernel allows: its mask says padding alone, and the last query sees the last key."""
    queries, keys = states[0].shape[2], states[1].shape[2]
    place = torch.arange(queries, device=states[0].device)[:, None] + keys - queries
    ahead = torch.arange(keys, device=states[0].device) - place
    near = ahead <= 0 if causal else torch.ones_like(ahead, dtype=torch.bool)
    if window is not None:
        near = near & (ahead.abs() < window)
    return near[None, None] if allowed is None else near & allowed


def _as_eager(
    module: nn.Module,
    alignment: Aligned,
    states: States,
    mask: Any,
    named: dict[str, Any],
    fused: Tensor,
) -> tuple[Tensor, Aligned]:
    """What the model's own eager formula reads from these states, where that is what was read, rounded.

    Half precision is left as it is: eager rounds its weights to it.
    """
    if fused.dtype not in (torch.float32, torch.float64) or module.training:
        return fused, alignment
    floats = isinstance(mask, Tensor) and mask.dim() == 4 and mask.is_floating_point()
    added = mask if floats else _added(alignment.allowed, fused.dtype)
    context, weights = _eager(module, states, added, named)
    if context is None or weights is None or context.shape != fused.shape:
        return fused, alignment
    near = 2e-5 * float(states[2].abs().max()) if fused.numel() else 0.0
    if not bool(((context - fused).abs() <= near).all()):
        return fused, alignment
    return context, with_weights(alignment, weights)


def _added(allowed: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """A mask as eager forms take it: hugely negative where nobody may look."""
    if allowed is None:
        return None
    added = torch.zeros_like(allowed, dtype=dtype)
    return added.masked_fill(~allowed, torch.finfo(dtype).min)


def _eager(
    module: nn.Module, states: States, added: Tensor | None, named: dict[str, Any]
) -> tuple[Tensor | None, Tensor | None]:
    """Context and weights by the formula in the model's own file, where there is one."""
    file = sys.modules.get(type(module).__module__)
    own = getattr(file, "eager_attention_forward", None)
    return (None, None) if own is None else own(module, *states, added, **dict(named))
