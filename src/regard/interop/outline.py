"""A model of ours as others can hold it: plain tensors, and what a format must hold, clause by clause."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention import Heads
from regard.errors import UsageError
from regard.layers import Embedding
from regard.models import Model, TransformerReaderSettings, TransformerSettings
from regard.run.folder import Run
from regard.settings.architecture import ModelSettings, StackSettings

LONGEST = 1024  # positions of a table where the model itself has no last one
UNSAID = -1e4  # the bias of a symbol that may not be said


@final
@dataclass(frozen=True)
class Clause:
    """One setting, and what a format holds of it."""

    setting: str
    value: Any
    holds: str


def refuse(clauses: Sequence[Clause], form: str, where: str, instead: str) -> None:
    """Say every clause that a format does not hold; nothing where it holds all."""
    if not clauses:
        return
    reasons = "; ".join(
        f"{one.setting} is {_shown(one.value)}, and it holds {one.holds}" for one in clauses
    )
    raise UsageError(f"{form} cannot hold this model: {reasons}", where=where, remedy=instead)


def _shown(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


@final
@dataclass(frozen=True, eq=False)
class Outgoing:
    """A run that leaves: its settings, its model as it answers, and its tensors without gates and gaps."""

    run: Run
    model: Model

    @classmethod
    def of(cls, run: Run) -> Outgoing:
        """The trained model of a run, in float32."""
        return cls(run, run.load_model().eval())

    @property
    def settings(self) -> ModelSettings:
        """What the model is made of."""
        return self.run.settings.model

    @property
    def stacks(self) -> dict[str, StackSettings]:
        """The Transformer stacks by where their settings are."""
        stacks: dict[str, StackSettings] = {}
        if (
            isinstance(self.settings.encoder, TransformerSettings)
            and self.model.encoder is not None
        ):
            stacks["encoder"] = self.settings.encoder
        if isinstance(self.settings.reader, TransformerReaderSettings):
            stacks["reader"] = self.settings.reader
        return stacks

    def heads(self, name: str) -> int:
        """How many heads of this width fill the stack; pruned ones count, as heads that say nothing."""
        return self.stacks[name].width // self._key_width(name)

    def _heads(self, name: str) -> list[Heads]:
        """Every attention of a stack."""
        return [one for one in getattr(self.model, name).modules() if isinstance(one, Heads)]

    def _key_width(self, name: str) -> int:
        """Of each head in a stack; where they differ, which no format holds, of the narrowest."""
        return min(heads.key_width for heads in self._heads(name))

    def table(self, name: str, length: int | None = None) -> Tensor:
        """The vectors of positions that a stack adds to its input; zeros where it adds none."""
        own = self.stacks[name]
        embedding = getattr(self.model, name).embedding
        room = own.max_length if own.position == "learned" else max(LONGEST, own.max_length)
        length = room if length is None else min(length, room)
        if not isinstance(embedding, Embedding) or embedding.position is None:
            return torch.zeros(length, own.width)
        return embedding.position.table(length).detach().clone()

    def state(self) -> dict[str, Tensor]:
        """All tensors by our names: gates multiplied into outputs, pruned heads back as zeros."""
        state = {name: one.detach().clone() for name, one in self.model.state_dict().items()}
        for path, module in self.model.named_modules():
            if not isinstance(module, Heads):
                continue
            state[f"{path}.output.weight"] = module.gated_output().detach().clone()
            del state[f"{path}.gate"]
            more = self.heads(path.split(".")[0]) - module.num_heads
            if more <= 0:
                continue
            for name in ("query", "key", "value"):
                gap = more * (module.value_width if name == "value" else module.key_width)
                state[f"{path}.{name}.weight"] = F.pad(
                    state[f"{path}.{name}.weight"], (0, 0, 0, gap)
                )
                state[f"{path}.{name}.bias"] = F.pad(state[f"{path}.{name}.bias"], (0, gap))
            gap = more * module.value_width
            state[f"{path}.output.weight"] = F.pad(state[f"{path}.output.weight"], (0, gap))
        return state

    def clauses(
        self,
        name: str,
        *,
        activations: Collection[str],
        positions: Collection[str],
        norms: Collection[str] = ("pre", "post"),
        eps: float | None = None,
    ) -> Iterator[Clause]:
        """What a plain stack of blocks does not hold of one of ours."""
        own = self.stacks[name]
        where = f"model.{name}"
        wanted: dict[str, Collection[str]] = {
            "norm": norms,
            "activation": activations,
            "position": positions,
            "score": ("scaled-dot",),
            "normalise": ("softmax",),
            "reach": ("full",),
            "norm_form": ("standard",),
        }
        for setting, held in wanted.items():
            if getattr(own, setting) not in held:
                yield Clause(f"{where}.{setting}", getattr(own, setting), " or ".join(held))
        if own.position_at == "heads" and own.position not in ("rotary", "alibi", "none"):
            yield Clause(f"{where}.position_at", "heads", "positions at the input")
        if eps is not None and own.norm_eps != eps:
            yield Clause(f"{where}.norm_eps", own.norm_eps, f"{eps}")
        widths = {
            one for heads in self._heads(name) for one in (heads.key_width, heads.value_width)
        }
        if len(widths) > 1 or any(own.width % width for width in widths):
            held = "keys and values of one width in all heads, which divides the model's"
            yield Clause(f"{where}.key_width", " and ".join(map(str, sorted(widths))), held)
        if not own.residual:
            yield Clause(f"{where}.residual", False, "residual connections")
        if not own.feedforward:
            yield Clause(f"{where}.feedforward", 0, "a feed-forward network in each block")
        if isinstance(own, TransformerSettings) and own.mixing != "attention":
            yield Clause(f"{where}.mixing", own.mixing, "self-attention")
        if isinstance(own, TransformerSettings) and own.front.kind != "plain":
            yield Clause(f"{where}.front", own.front.kind, "a table of vectors")


def kinds(settings: ModelSettings, encoder: str | None, reader: str) -> list[Clause]:
    """Whether the two parts are of the kinds that a format holds; none holds one that copies (See 2017)."""
    faults = []
    own = None if settings.encoder is None else settings.encoder.kind
    if settings.encoders:
        faults.append(Clause("model.encoders", ", ".join(settings.encoders), "one source"))
    if own != encoder:
        faults.append(Clause("model.encoder.kind", own or "none", encoder or "none"))
    if settings.reader.kind != reader:
        faults.append(Clause("model.reader.kind", settings.reader.kind, reader))
    if getattr(settings.reader, "copies", False):
        faults.append(Clause("model.reader.copies", True, "a decoder that does not copy"))
    return faults


_RESIDUAL_ROWS = (".attention.output", ".cross.output", ".narrow")
_RESIDUAL_COLUMNS = (".query", ".key", ".value", ".widen", "table", "reader.output")


def reordered(state: dict[str, Tensor], order: Tensor) -> dict[str, Tensor]:
    """The same model with the neurons between blocks in another order: nothing but sums changes."""
    ordered = {}
    for name, tensor in state.items():
        place, _, end = name.rpartition(".")
        if place.endswith("norm") or (place.endswith(_RESIDUAL_ROWS)):
            ordered[name] = tensor[order]
        elif end == "weight" and place.endswith(_RESIDUAL_COLUMNS):
            ordered[name] = tensor[:, order]
        else:
            ordered[name] = tensor
    return ordered


def interleaved_to_halves(width: int) -> Tensor:
    """The order in which sines come first and cosines last."""
    places = torch.arange(width)
    return torch.cat([places[0::2], places[1::2]])
