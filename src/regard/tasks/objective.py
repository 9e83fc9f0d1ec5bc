"""What training minimises: a named sum of terms; `[objective]` in the settings gives each its weight.

likelihood    -log p of the right answer, with label smoothing; what every task has (L71)
agreement     two passes that dropout makes differ should say the same (R-Drop, Liang 2021)
coverage      sum over source positions of min(attention now, attention so far) (See 2017): no repetition
entropy       how spread out the attention is; a positive weight sharpens it, a negative one spreads it (L92)
disagreement  how alike the heads of one attention look, by cosine; minimised, heads part ways (Li 2018)
reinforce     a choice of sampled attention grows likelier by as much as it did better than usual (Xu 2015)
l0            how many heads are open, on average over the noise of their gates (Louizos 2018, Voita 2019)

Every term is summed over the targets of a batch, like the loss, so that one count divides them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Heads, Sampled, watch
from regard.attention.gate import chance_open
from regard.attention.watch import Seen
from regard.errors import UsageError
from regard.models import Model, RnnDecoder
from regard.models.readers import IGNORE, losses
from regard.settings.architecture import Credit
from regard.settings.decode import ObjectiveSettings
from regard.tasks.batch import Batch
from regard.tasks.task import Task

Value = Float[Tensor, ""]


@final
@dataclass(frozen=True, eq=False)
class Pass:
    """One forward pass over a batch: what a term may look at. `seen` holds what every attention did."""

    task: Task
    model: Model
    batch: Batch
    seen: Seen | None = None
    losses: Float[Tensor, "batch target"] | None = None  # of each target, where a term asks for it

    def weights(self, *roles: str) -> Iterator[Float[Tensor, "batch heads query key"]]:
        """The weights of every attention of these roles, as part of the graph of gradients."""
        return (seen.weights(path) for seen, path in self._sites(roles))

    def chances(self, *roles: str) -> Iterator[Float[Tensor, "batch heads query key"]]:
        """The same; of an attention that chooses one key, the distribution that it chose from."""
        return (seen.chances(path) for seen, path in self._sites(roles))

    def _sites(self, roles: tuple[str, ...]) -> Iterator[tuple[Seen, str]]:
        assert self.seen is not None
        for path, calls in self.seen.items():
            site = calls[0].attention.site
            if site is not None and site.role in roles:
                yield self.seen, path


class Term(ABC):
    """One part of what is minimised."""

    name: str
    weight: float = 1.0
    needs_weights: bool = False  # whether it looks at what the attentions did
    needs_losses: bool = False  # whether it looks at the loss of each target
    has_value: bool = True  # whether its value counts in the sum, or its gradient alone

    @abstractmethod
    def value(self, forward: Pass) -> Value:
        """Its value before weighting, summed over the targets of the batch."""

    def beside(self, forward: Pass) -> Mapping[str, Value]:  # noqa: ARG002
        """What else the metrics tell of it by name, summed in the same way."""
        return {}


@final
@dataclass(frozen=True)
class Coverage(Term):
    """Attention to what has had attention already: sum_i min(a_i, c_i), c_t = a_1 + .. + a_{t-1}."""

    weight: float
    name: str = "coverage"
    needs_weights: bool = True

    def value(self, forward: Pass) -> Value:
        """Over all cross-attentions, the mean of their heads."""
        return _mean(
            torch.minimum(weights, weights.cumsum(2) - weights).sum(3) * _judged(weights, forward)
            for weights in forward.weights("cross")
        )


@final
@dataclass(frozen=True)
class Entropy(Term):
    """H = -sum_j a_j ln a_j of every row of attention, in nats; of a choice, that of its chances."""

    weight: float
    name: str = "entropy"
    needs_weights: bool = True

    def value(self, forward: Pass) -> Value:
        """Over all attentions that give one row a target, the mean of their heads."""
        return _mean(
            -torch.special.xlogy(weights, weights).sum(3) * _judged(weights, forward)
            for weights in forward.chances("cross", "self", "pool")
        )


@final
@dataclass(frozen=True)
class Disagreement(Term):
    """Mean cosine between the weights of two heads of one attention, minimised (Li 2018)."""

    weight: float
    name: str = "disagreement"
    needs_weights: bool = True

    def value(self, forward: Pass) -> Value:
        """Over all attentions with more than one head."""
        several = [w for w in forward.weights("cross", "self") if w.shape[1] > 1]
        if not several:
            raise UsageError(
                "no attention of this model has two heads that could disagree",
                where="objective.disagreement",
                remedy="leave it at 0, or give the model more heads",
            )
        return _mean(_likeness(weights) * _judged(weights, forward)[:, :1] for weights in several)


@final
@dataclass(frozen=True)
class Reinforce(Term):
    """-sum_t (R_t - b n_t) ln p(choice_t): its mean gradient is that of the expected loss (Williams 1992).

    R_t is minus the loss of the n_t targets that choice t is credited with; b, the moving baseline, is minus
    what the loss of a target was of late. Whatever b is, the mean of the gradient stays the same; with a
    good b the gradient varies less.
    """

    weight: float
    keeps: float = 0.9
    credit: Credit = "later"
    name: str = "reinforce"
    needs_weights: bool = True
    needs_losses: bool = True
    has_value: bool = False

    def value(self, forward: Pass) -> Value:
        """Over all attentions that sample; their baselines then move towards this batch."""
        assert forward.losses is not None
        rewards, total = -forward.losses.detach(), []
        judged = (forward.batch.targets != IGNORE).to(rewards.dtype)
        reward, count = (self._credited(each, judged, forward) for each in (rewards, judged))
        for own, log_chance in _choices(forward):
            advantage = reward - own.baseline * count
            total.append(-(advantage.unsqueeze(1) * log_chance).sum())
            if forward.model.training:
                usual = rewards.sum() / judged.sum().clamp(min=1)
                own.baseline.copy_(self.keeps * own.baseline + (1 - self.keeps) * usual)
        return torch.stack(total).sum()

    def beside(self, forward: Pass) -> Mapping[str, Value]:
        """The baseline after this batch: divided by the targets, like everything, it is itself again."""
        baselines = [own.baseline for own, _ in _choices(forward)]
        return {"baseline": torch.stack(baselines).mean() * forward.batch.count}

    def _credited(self, each: Tensor, judged: Tensor, forward: Pass) -> Tensor:
        """Of a number for each target, the sum over those that each choice is credited with."""
        if self.credit == "sentence":
            return each.sum(1, keepdim=True) * (_from_here(judged) > 0)  # none behind the end
        reader = forward.model.reader
        stepwise = isinstance(reader, RnnDecoder) and reader.is_stepwise
        # A choice that no state remembers can change its own word alone.
        return _from_here(each) if stepwise else each


def _from_here(each: Float[Tensor, "batch target"]) -> Float[Tensor, "batch target"]:
    """The sum of each number and of all behind it."""
    return each.flip(1).cumsum(1).flip(1)


def _choices(forward: Pass) -> Iterator[tuple[Sampled, Float[Tensor, "batch heads query"]]]:
    """Every attention that samples, and ln p of what it chose at each step."""
    assert forward.seen is not None
    for path, calls in forward.seen.items():
        own = calls[0].attention.normaliser
        if isinstance(own, Sampled):
            yield own, own.log_chance(forward.seen.scores(path), forward.seen.weights(path))


def samples(model: nn.Module) -> bool:
    """Whether an attention of this model chooses by chance and has no gradient of its own."""
    return any(isinstance(part, Sampled) for part in model.modules())


@final
@dataclass(frozen=True)
class OpenHeads(Term):
    """The expected L0 norm of the gates: sum over heads of P(z != 0), for every target (Voita 2019)."""

    weight: float
    name: str = "l0"

    def value(self, forward: Pass) -> Value:
        """The expected number of open heads, times the targets of the batch."""
        return open_heads(forward.model) * forward.batch.count


def open_heads(model: Model) -> Value:
    """How many heads with learned gates are open on average, as part of the graph of gradients."""
    gates = [part.openness for part in model.modules() if isinstance(part, Heads)]
    learned = [chance_open(one).sum() for one in gates if one is not None]
    if not learned:
        raise UsageError(
            "no head of this model has a gate that is learned",
            where="objective.l0",
            remedy='take a Transformer with model.encoder.gates = "learned"; or leave l0 at 0',
        )
    return torch.stack(learned).sum()


def _likeness(weights: Float[Tensor, "batch heads query key"]) -> Float[Tensor, "batch 1 query"]:
    """The mean over pairs of heads, from |sum of unit vectors|^2 = heads + 2 sum of cosines."""
    heads = weights.shape[1]
    unit = weights / weights.norm(dim=3, keepdim=True).clamp(min=1e-6)
    together = unit.sum(1, keepdim=True).square().sum(3)
    alone = unit.square().sum((1, 3)).unsqueeze(1)
    return (together - alone) / (heads * (heads - 1))


def _judged(weights: Tensor, forward: Pass) -> Float[Tensor, "batch 1 query"]:
    """1 for the rows of attention that belong to a judged target, 0 for padding.

    Rows of an encoder, or of a pooled source, are shared out: together they count as the row's targets.
    """
    judged = forward.batch.targets != IGNORE
    judged = judged.unsqueeze(-1) if judged.dim() == 1 else judged
    if weights.shape[2] == judged.shape[1]:
        return judged.unsqueeze(1).to(weights.dtype)
    real = weights.detach().sum((1, 3)) > 0
    share = judged.sum(1, keepdim=True) / real.sum(1, keepdim=True).clamp(min=1)
    return (real * share).unsqueeze(1).to(weights.dtype)


def _mean(rows: Iterator[Tensor]) -> Value:
    """Summed over rows, averaged over heads and attentions."""
    values = [row.mean(1).sum() for row in rows]
    if not values:
        raise UsageError(
            "this model has no attention of the kind that the objective looks at",
            where="objective",
            remedy="leave the terms about attention at 0",
        )
    return torch.stack(values).mean()


@final
@dataclass(frozen=True, eq=False)
class Objective:
    """The sum that training minimises."""

    smoothing: float = 0.0
    agreement: float = 0.0
    terms: tuple[Term, ...] = ()
    parts: dict[str, Tensor] = field(default_factory=dict)  # of the last batch, before weighting

    @classmethod
    def of(cls, settings: ObjectiveSettings, task: Task, model: Model | None = None) -> Objective:
        """The terms that the settings name, and those that the task and the model themselves bring."""
        terms: list[Term] = [
            kind(weight)
            for kind, weight in (
                (Coverage, settings.coverage),
                (Entropy, settings.entropy),
                (Disagreement, settings.disagreement),
                (OpenHeads, settings.l0),
            )
            if weight != 0
        ]
        if model is not None and samples(model):
            terms.insert(0, Reinforce(settings.reinforce, settings.baseline, settings.credit))
        return cls(settings.smoothing, settings.agreement, (*terms, *task.terms()))

    def __call__(self, task: Task, model: Model, batch: Batch) -> Value:
        """The weighted sum; `parts` then holds each term by its name."""
        if not self.terms:
            return self._likelihood(task, model, batch)
        looks = any(term.needs_weights for term in self.terms)
        if looks and batch.packing is not None:
            raise UsageError(
                "packed rows have no weights to look at",
                where="batch.packed",
                remedy="leave batch.packed = false where the objective looks at attention",
            )
        each = None
        with watch(model) if looks else nullcontext() as seen:
            if any(term.needs_losses for term in self.terms):
                each = self._losses(task, model, batch)
            total = self._likelihood(task, model, batch) if each is None else each.sum()
        self.parts["likelihood"] = total.detach()
        forward = Pass(task, model, batch, seen, each)
        for term in self.terms:
            value = term.value(forward)
            self.parts[term.name] = value.detach()
            total = total + term.weight * (value if term.has_value else value - value.detach())
            self.parts.update(term.beside(forward))
        return total

    def _losses(self, task: Task, model: Model, batch: Batch) -> Float[Tensor, "batch target"]:
        if self.agreement:
            raise UsageError(
                "two passes of sampled attention choose differently, and are not meant to agree",
                where="objective.agreement",
                remedy="leave objective.agreement at 0 where attention is sampled",
            )
        return losses(task.logits(model, batch), batch.targets, self.smoothing)

    def _likelihood(self, task: Task, model: Model, batch: Batch) -> Value:
        if self.agreement:
            return task.loss_of_two(model, batch, self.smoothing, self.agreement)
        return task.loss(model, batch, self.smoothing)
