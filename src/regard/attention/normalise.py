"""From scores to weights: how a query shares its attention among the keys it may see.

Every normaliser gives 0 to a masked key, and only zeros to a query that may see nothing, with finite
gradients: masked scores never take part, so not even NaN in them can leak.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.errors import UsageError, require_number

Scores = Float[Tensor, "batch heads query key"]
Weights = Float[Tensor, "batch heads query key"]
Allowed = Bool[Tensor, "#batch #heads #query key"]


class Normaliser(nn.Module, ABC):
    """weights_i = normalise(scores_i) over the allowed keys."""

    name: ClassVar[str]  # in settings: `normalise = "softmax"`
    sums_to_one: ClassVar[bool] = True

    @property
    def is_random(self) -> bool:
        """Whether calling it twice may give two answers."""
        return False

    def chances(self, scores: Scores, allowed: Allowed | None = None) -> Weights:
        """The distribution behind the weights; of all but those that choose, the weights themselves."""
        return self(scores, allowed)

    @abstractmethod
    def share(self, scores: Scores, allowed: Allowed) -> Weights:
        """The weights, where every row has at least one allowed key."""

    def forward(self, scores: Scores, allowed: Allowed | None = None) -> Weights:
        """Weights over the allowed keys; a row with none of them gets zeros."""
        if scores.shape[-1] == 0:
            return scores
        if allowed is None:
            return self.share(scores, torch.ones_like(scores[:1, :1, :1], dtype=torch.bool))
        empty = ~allowed.any(-1, keepdim=True)
        # An empty row is worked out as if all were allowed, over zeros, then dropped: no NaN is ever formed.
        finite = scores.masked_fill(~allowed, 0.0)
        return self.share(finite, allowed | empty).masked_fill(~allowed, 0.0)


@final
class Softmax(Normaliser):
    """exp(e_j) / sum_l exp(e_l)."""

    name = "softmax"

    def share(self, scores: Scores, allowed: Allowed) -> Weights:
        """Masked scores are -inf, so that their exponential is exactly 0."""
        return scores.masked_fill(~allowed, -torch.inf).softmax(-1)


@final
class Sparsemax(Normaliser):
    """max(0, e_j - tau): the nearest point of the simplex, with true zeros (Martins 2016)."""

    name = "sparsemax"

    def share(self, scores: Scores, allowed: Allowed) -> Weights:
        """Tau is worked out over the support, which the sorted scores reveal."""
        dtype, scores = scores.dtype, _top_zero(scores, allowed, floor=-2.0)
        with torch.no_grad():
            ranked = scores.sort(-1, descending=True).values
            size = _ranks(scores)
            support = (1 + size * ranked > ranked.cumsum(-1)).sum(-1, keepdim=True)
            cut = ranked.gather(-1, support.clamp(min=1) - 1)
        inside = ~(scores < cut)  # so that a row of NaN stays NaN, and harms no other
        tau = (torch.where(inside, scores, 0.0).sum(-1, keepdim=True) - 1) / inside.sum(
            -1, keepdim=True
        )
        return torch.where(inside, scores - tau, 0.0).clamp(min=0).to(dtype)


@final
class Entmax15(Normaliser):
    """max(0, e_j / 2 - tau)^2: between softmax and sparsemax (Peters 2019)."""

    name = "entmax-1.5"

    def share(self, scores: Scores, allowed: Allowed) -> Weights:
        """Given the support, tau solves a quadratic: mean - sqrt((1 - sum of squares) / size)."""
        halves = _top_zero(scores, allowed, floor=-4.0) / 2
        with torch.no_grad():
            ranked = halves.sort(-1, descending=True).values
            tau = _quadratic_tau(ranked.cumsum(-1), (ranked**2).cumsum(-1), _ranks(halves))
            support = (tau <= ranked).sum(-1, keepdim=True)
            cut = ranked.gather(-1, support.clamp(min=1) - 1)
        inside = ~(halves < cut)
        chosen = torch.where(inside, halves, 0.0)
        tau = _quadratic_tau(
            chosen.sum(-1, keepdim=True),
            (chosen**2).sum(-1, keepdim=True),
            inside.sum(-1, keepdim=True),
        )
        return (torch.where(inside, halves - tau, 0.0).clamp(min=0) ** 2).to(scores.dtype)


@final
class Relu(Normaliser):
    """max(0, e_j) / n, n the keys allowed (Wortsman 2023): a query may also look at nothing."""

    name = "relu"

    sums_to_one = False

    def share(self, scores: Scores, allowed: Allowed) -> Weights:
        """Each key on its own: no other key's score matters."""
        return scores.relu() / _count(scores, allowed)


@final
class Sigmoid(Normaliser):
    """1 / (1 + n exp(-e_j)), n the keys allowed (Ramapuram 2024): each key on its own, in 0..1."""

    name = "sigmoid"

    sums_to_one = False

    def share(self, scores: Scores, allowed: Allowed) -> Weights:
        """The log n keeps the total near 1 at the start of learning."""
        return torch.sigmoid(scores - _count(scores, allowed).log())


class Choosing(Normaliser):
    """One key has weight 1, and the others 0: hard attention (L26).

    What differs is how the key is chosen while learning, and what its gradient is. A model that answers takes
    the likeliest key, whichever of these it has.
    """

    def chances(self, scores: Scores, allowed: Allowed | None = None) -> Weights:
        """The softmax, from which the key is drawn, or whose largest it is."""
        return Softmax()(scores, allowed)


@final
class Hard(Choosing):
    """1 for the best key, 0 for the others; gradients flow as if it were softmax (straight through)."""

    name = "hard"

    def share(self, scores: Scores, allowed: Allowed) -> Weights:
        """Ties go to the first key."""
        return _straight_through(scores.masked_fill(~allowed, -torch.inf), temperature=1.0)


@final
class Gumbel(Choosing):
    """Hard, with the key drawn by its softmax probability while training (Jang 2017)."""

    name = "gumbel"

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        require_number("Gumbel", temperature=temperature)
        self.temperature = temperature

    @property
    def is_random(self) -> bool:
        """Only while training."""
        return self.training

    def share(self, scores: Scores, allowed: Allowed) -> Weights:
        """The largest of score + Gumbel noise is a draw from the softmax."""
        if self.training:
            # Half precision has too few numbers in 0..1 to draw from.
            uniform = torch.rand_like(scores, dtype=torch.float32).clamp(1e-9, 1 - 1e-6)
            scores = scores - (-uniform.log()).log().to(scores.dtype)
        return _straight_through(scores.masked_fill(~allowed, -torch.inf), self.temperature)


@final
class Sampled(Choosing):
    """Hard, with the key drawn while training, and no gradient through the choice (Xu 2015).

    What a choice is worth is only known when the answer has been judged; then REINFORCE makes it likelier or
    less likely (Williams 1992; `tasks.objective.Reinforce`). `baseline` is what was usual so far, the mean
    log p of a symbol. So that values learn something before the choices are any good, each query may read by
    softmax all the same with a probability of `soft_share`, which is 0.5 in the paper.
    """

    name = "sampled"

    baseline: Float[Tensor, ""]

    def __init__(self, soft_share: float = 0.0) -> None:
        super().__init__()
        if not 0 <= soft_share < 1:
            raise UsageError(
                f"a share is from 0 to below 1, not {soft_share}",
                where="Sampled(soft_share)",
                remedy="give 0 to draw always, or 0.5 as the paper does",
            )
        self.soft_share = soft_share
        self.register_buffer("baseline", torch.zeros(()))

    @property
    def is_random(self) -> bool:
        """Only while training."""
        return self.training

    def share(self, scores: Scores, allowed: Allowed) -> Weights:
        """Of waiting times with rates p_j the shortest is that of j with probability p_j."""
        ranked = scores.detach().masked_fill(~allowed, -torch.inf)
        chances = ranked.softmax(-1)
        if self.training:
            wide = chances.to(torch.promote_types(chances.dtype, torch.float32))
            ranked = wide / torch.empty_like(wide).exponential_()
        one_hot = torch.zeros_like(chances).scatter(-1, ranked.argmax(-1, keepdim=True), 1.0)
        one_hot = one_hot + (chances - chances)  # a row of NaN stays NaN
        if not (self.training and self.soft_share):
            return one_hot
        softly = torch.rand(scores.shape[:3], device=scores.device) < self.soft_share
        soft = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
        return torch.where(softly.unsqueeze(-1), soft, one_hot)

    @staticmethod
    def log_chance(scores: Scores, weights: Weights) -> Float[Tensor, "batch heads query"]:
        """ln p of the key that has all the weight, with its gradient; 0 for a query that chose none."""
        wide = torch.promote_types(scores.dtype, torch.float32)
        blind = weights.amax(-1, keepdim=True) != 1
        steady = scores.to(wide).masked_fill(blind, 0.0)
        chosen = steady.gather(-1, weights.argmax(-1, keepdim=True))
        log_chance = chosen - steady.logsumexp(-1, keepdim=True)
        return log_chance.masked_fill(blind, 0.0).squeeze(-1)


@final
class Proportional(Normaliser):
    """max(0, e_j) / sum_l max(0, e_l): with a positive feature map, what linear attention divides by."""

    name = "proportional"

    def share(self, scores: Scores, allowed: Allowed) -> Weights:
        """A row with no positive score looks at nothing."""
        scores = scores.relu().masked_fill(~allowed, 0.0)
        total = scores.sum(-1, keepdim=True)
        return scores / total.masked_fill(total == 0, 1.0)


def _count(scores: Scores, allowed: Allowed) -> Float[Tensor, "#batch #heads #query 1"]:
    return allowed.sum(-1, keepdim=True).to(scores.dtype)


def _ranks(scores: Scores) -> Float[Tensor, " key"]:
    return torch.arange(1, scores.shape[-1] + 1, device=scores.device, dtype=scores.dtype)


def _top_zero(scores: Scores, allowed: Allowed, floor: float) -> Scores:
    """Shift each row so that its best allowed score is 0; what lies below the floor can have no weight.

    At least in float32: the sums over a sorted row would drift in half precision.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    masked = scores.masked_fill(~allowed, -torch.inf)
    shifted = scores - masked.amax(-1, keepdim=True).detach()
    return shifted.masked_fill(~allowed, floor).clamp(min=floor)


def _quadratic_tau(total: Tensor, squares: Tensor, size: Tensor) -> Tensor:
    mean = total / size
    spread = squares - size * mean**2
    return mean - ((1 - spread) / size).clamp(min=0).sqrt()


def _straight_through(scores: Scores, temperature: float) -> Weights:
    soft = (scores / temperature).softmax(-1)
    one_hot = torch.zeros_like(soft).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)
    return one_hot + (soft - soft.detach())  # the bracket is exactly 0, and carries the gradient
