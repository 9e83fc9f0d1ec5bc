"""How well a query matches a key: one number, and always a sum over neurons.

Shapes: query (batch, heads, query, width), key (batch, heads, key, width), scores (batch, heads, query, key).
Because every score is a sum of contributions, one neuron view serves all of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import UsageError, require_integers, require_number

Query = Float[Tensor, "#batch #heads query query_width"]
Key = Float[Tensor, "#batch #heads key key_width"]
Adapted = Float[Tensor, "#batch #heads query adapted_width"]
Prepared = Float[Tensor, "#batch #heads key prepared_width"]
Scores = Float[Tensor, "batch heads query key"]
Contributions = Float[Tensor, "batch heads query key neuron"]

EPSILON = 1e-6  # the least norm a cosine divides by; half precision cannot hold 1e-8


class Score(nn.Module, ABC):
    """e_ij = score(q_i, k_j) = sum over neurons n of contributions(q_i, k_j)_n.

    `sees` names what the score looks at beside query and key, and a memory then carries from one query to the
    next: `previous`, what the last query gave each key, and `coverage`, what all queries gave it so far.
    """

    name: ClassVar[str]  # in settings: `score = "dot"`
    sees: ClassVar[tuple[str, ...]] = ()

    def prepare(self, key: Key, first: int = 0) -> Prepared:  # noqa: ARG002
        """The work on keys that no query changes, done once a memory; `first` is their position."""
        return key

    def see(self, key: Prepared, carried: Mapping[str, Tensor]) -> Prepared:  # noqa: ARG002
        """Prepared keys after a look at what the memory carries about each; most scores do not look."""
        return key

    def adapt(self, query: Query) -> Adapted:
        """The work on queries that no key changes."""
        return query

    @abstractmethod
    def contributions(self, query: Query, key: Prepared) -> Contributions:
        """What each neuron adds to each score; `key` is prepared."""

    def forward(self, query: Query, key: Prepared) -> Scores:
        """The scores themselves; a subclass may know a cheaper way to the same numbers."""
        return self.contributions(query, key).sum(-1)

    def keep(self, heads: list[int]) -> None:
        """Forget every head but these."""
        for name, parameter in list(self.named_parameters(recurse=False)):
            if parameter.dim() > 1 and parameter.shape[0] > 1:
                setattr(self, name, nn.Parameter(parameter.detach()[heads].clone()))


class DotScore(Score):
    """A score that is one dot product, of an adapted query and a prepared key: the fused kernels take it."""

    def scale(self, width: int) -> float:  # noqa: ARG002
        """What the dot product is multiplied by."""
        return 1.0

    def contributions(self, query: Query, key: Prepared) -> Contributions:
        """q' * k', neuron by neuron."""
        query = self.adapt(query)
        return query.unsqueeze(-2) * key.unsqueeze(-3) * self.scale(key.shape[-1])

    def forward(self, query: Query, key: Prepared) -> Scores:
        """The same sum as a matrix product."""
        return (self.adapt(query) * self.scale(key.shape[-1])) @ key.mT


@final
class Dot(DotScore):
    """s . h (Luong 2015)."""

    name = "dot"


@final
class ScaledDot(DotScore):
    """s . h / sqrt(n) (Vaswani 2017): with unit-variance neurons the score has variance 1, not n."""

    name = "scaled-dot"

    def scale(self, width: int) -> float:
        """1 / sqrt(n), n the width of a key."""
        return 1.0 / math.sqrt(width)


@final
class General(DotScore):
    """s . W h (Luong 2015): query and key may have different widths."""

    name = "general"

    def __init__(self, query_width: int, key_width: int, num_heads: int = 1) -> None:
        super().__init__()
        sizes = {"query_width": query_width, "key_width": key_width, "num_heads": num_heads}
        require_integers("General", **sizes)
        self.weight = _weight(num_heads, key_width, query_width)

    def prepare(self, key: Key, first: int = 0) -> Prepared:  # noqa: ARG002
        """W h."""
        return _through(key, self.weight)


@final
class Cosine(DotScore):
    """cosine(s, h), times a learned sharpness (Graves 2014 calls it beta, the key strength).

    Without it no weight could exceed another by more than e^2.
    """

    name = "cosine"

    def __init__(self, sharpness: float = 1.0, learn: bool = False) -> None:
        super().__init__()
        require_number("Cosine", sharpness=sharpness)
        log = torch.tensor(math.log(sharpness))
        self.log_sharpness = nn.Parameter(log) if learn else nn.Buffer(log, persistent=False)

    def prepare(self, key: Key, first: int = 0) -> Prepared:  # noqa: ARG002
        """h / |h|."""
        return F.normalize(key, dim=-1, eps=EPSILON)

    def adapt(self, query: Query) -> Adapted:
        """Sharpness times s / |s|."""
        return F.normalize(query, dim=-1, eps=EPSILON) * self.log_sharpness.exp()


@final
class Location(DotScore):
    """(W s)_j (Luong 2015): the query alone says where to look; the keys only say how many there are.

    Row j of W is a learned key for position j, so this too is a dot product.
    """

    name = "location"

    def __init__(self, query_width: int, max_length: int, num_heads: int = 1) -> None:
        super().__init__()
        sizes = {"query_width": query_width, "max_length": max_length, "num_heads": num_heads}
        require_integers("Location", **sizes)
        self.weight = nn.Parameter(
            torch.randn(num_heads, max_length, query_width) / math.sqrt(query_width)
        )

    def prepare(self, key: Key, first: int = 0) -> Prepared:
        """The rows of W for these positions, whatever the keys are."""
        last, room = first + key.shape[-2], self.weight.shape[1]
        if last > room:
            raise UsageError(
                f"the location score has {room} positions, and position {last - 1} was asked for",
                where="Location.max_length",
                remedy="give it a larger max_length, or shorter sequences",
            )
        rows = self.weight[:, first:last]
        return rows.expand(key.shape[0], key.shape[1], -1, -1).to(key.dtype)


class AdditiveScore(Score):
    """v . tanh(W s + U h + ..): a small network with one hidden layer."""

    def __init__(self, query_width: int, key_width: int, neurons: int, num_heads: int = 1) -> None:
        super().__init__()
        name = type(self).__name__
        require_integers(name, query_width=query_width, key_width=key_width)
        require_integers(name, neurons=neurons, num_heads=num_heads)
        self.query_weight = _weight(num_heads, query_width, neurons)
        self.key_weight = _weight(num_heads, key_width, neurons)
        self.value_weight = nn.Parameter(torch.randn(num_heads, neurons) / math.sqrt(neurons))

    def prepare(self, key: Key, first: int = 0) -> Prepared:  # noqa: ARG002
        """U h."""
        return _through(key, self.key_weight)

    def adapt(self, query: Query) -> Adapted:
        """W s."""
        return _through(query, self.query_weight)

    def contributions(self, query: Query, key: Prepared) -> Contributions:
        """v_n tanh(W s + U h)_n."""
        excited = torch.tanh(self.adapt(query).unsqueeze(-2) + key.unsqueeze(-3))
        return excited * self.value_weight[:, None, None, :]

    def forward(self, query: Query, key: Prepared) -> Scores:
        """The same sum, with v as a matrix product: one tensor of that size less."""
        excited = torch.tanh(self.adapt(query).unsqueeze(-2) + key.unsqueeze(-3))
        if len(self.value_weight) == 1:
            return excited @ self.value_weight[0]
        return (excited @ self.value_weight[:, None, :, None]).squeeze(-1)


@final
class Additive(AdditiveScore):
    """v . tanh(W s + U h) (Bahdanau 2015; Luong's "concat" with W_a = [W U])."""

    name = "additive"


class NoticingScore(AdditiveScore):
    """v . tanh(W s + U h + F f), where f are features of what the memory carries about the key."""

    feature_weight: Float[Tensor, "h feature neuron"]

    @abstractmethod
    def features(
        self, carried: Mapping[str, Float[Tensor, "b h key"]]
    ) -> Float[Tensor, "b h key feature"]:
        """What is noticed about each key."""

    def see(self, key: Prepared, carried: Mapping[str, Tensor]) -> Prepared:
        """U h + F f."""
        features = self.features(carried).to(key.dtype)
        return key + _through(features, self.feature_weight.to(key.dtype))


@final
class Covered(NoticingScore):
    """v . tanh(W s + U h + w c), c what the key has had of all attention so far (Tu 2016, See 2017)."""

    name = "coverage"

    sees = ("coverage",)

    def __init__(self, query_width: int, key_width: int, neurons: int, num_heads: int = 1) -> None:
        super().__init__(query_width, key_width, neurons, num_heads)
        self.feature_weight = _weight(num_heads, 1, neurons)

    def features(
        self, carried: Mapping[str, Float[Tensor, "b h key"]]
    ) -> Float[Tensor, "b h key 1"]:
        """c alone."""
        return carried["coverage"].unsqueeze(-1)


@final
class LocationAware(NoticingScore):
    """v . tanh(W s + U h + F f), f = Q * a', a' what the last query gave every key (Chorowski 2015).

    The `filters` of Q, each `reach` keys wide on either side, see where the last query looked; so the next
    one can look a little further on.
    """

    name = "location-aware"

    sees = ("previous",)

    def __init__(
        self,
        query_width: int,
        key_width: int,
        neurons: int,
        num_heads: int = 1,
        *,
        filters: int = 10,
        reach: int = 15,
    ) -> None:
        super().__init__(query_width, key_width, neurons, num_heads)
        require_integers("LocationAware", filters=filters, reach=reach)
        self.filter_weight = nn.Parameter(
            torch.randn(num_heads, filters, 2 * reach + 1) / math.sqrt(reach)
        )
        self.feature_weight = _weight(num_heads, filters, neurons)

    def features(
        self, carried: Mapping[str, Float[Tensor, "b h key"]]
    ) -> Float[Tensor, "b h key feature"]:
        """f_j = sum_k Q_k a'_{j+k}, k from -reach to reach; beyond both ends nothing was given."""
        previous = carried["previous"].to(self.filter_weight.dtype)
        heads, filters, width = self.filter_weight.shape
        weight = self.filter_weight.reshape(-1, 1, width)
        # One place more than is needed, since a convolution refuses to read nothing.
        around = F.pad(previous, (width // 2, width // 2 + 1))
        features = F.conv1d(around, weight, groups=heads)[..., :-1]
        return features.unflatten(1, (heads, filters)).mT


@final
class FeatureMap(DotScore):
    """phi(s) . phi(h) with phi = elu + 1 > 0 (Katharopoulos 2020): what makes attention linear in length."""

    name = "feature-map"

    def prepare(self, key: Key, first: int = 0) -> Prepared:  # noqa: ARG002
        """phi(h)."""
        return F.elu(key) + 1

    def adapt(self, query: Query) -> Adapted:
        """phi(s)."""
        return F.elu(query) + 1


def _through(states: Query, weight: Float[Tensor, "#h width out"]) -> Adapted:
    """Each head's states through its matrix, or all through the only one.

    A product with broadcasting would copy the matrix for every row of the batch, and sum its gradients after.
    """
    if len(weight) == 1:
        return states @ weight[0]
    return torch.einsum("bhld,hdn->bhln", states, weight)


def _weight(num_heads: int, rows: int, columns: int) -> nn.Parameter:
    """One matrix a head, of a variance that keeps unit inputs at unit outputs."""
    return nn.Parameter(torch.randn(num_heads, rows, columns) / math.sqrt(rows))
