"""A linear map made ready once and used many times, on a CPU: in float32, or on whole numbers.

In whole numbers both sides are rows of int8 with one scale each, so that a row's result depends on that row
alone: y = (scale_x scale_w) (x_whole . w_whole) + bias. The sums are exact; only the two roundings are not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int8, UInt8
from torch import Tensor

from regard.models.narrow import LARGEST, Weights, from_rows, to_rows

Rows = Float[Tensor, "rows columns"]

_TINY = 1e-30  # a row of zeros has this scale
_ROWS = 32  # float32 weights are laid out for about so many rows


class Product(ABC):
    """x -> x W^T + b."""

    @abstractmethod
    def __call__(self, rows: Rows) -> Rows:
        """The product of each row."""

    @abstractmethod
    def relu(self, rows: Rows) -> Rows:
        """The product, and 0 where it is negative."""

    @abstractmethod
    def onto(self, rows: Rows, states: Rows) -> Rows:
        """The product added to states, which may be overwritten."""


@final
class FloatProduct(Product):
    """Weights as they are for one row, and in blocks that fit the processor's registers for more."""

    def __init__(self, weight: Float[Tensor, "out columns"], bias: Tensor | None) -> None:
        self.weight, self.bias = weight.contiguous(), bias
        self.packed: Tensor | None = None

    def __call__(self, rows: Rows) -> Rows:
        """By oneDNN, unless there is one row."""
        if len(rows) == 1 or not _has_onednn():
            return F.linear(rows, self.weight, self.bias)
        return torch.ops.mkldnn._linear_pointwise(rows, self._blocks(), self.bias, "none", [], "")

    def relu(self, rows: Rows) -> Rows:
        """Bent before it leaves the registers."""
        if len(rows) == 1 or not _has_onednn():
            return F.linear(rows, self.weight, self.bias).relu_()
        return torch.ops.mkldnn._linear_pointwise(rows, self._blocks(), self.bias, "relu", [], "")

    def onto(self, rows: Rows, states: Rows) -> Rows:
        """One more sum."""
        return states.add_(self(rows))

    def _blocks(self) -> Tensor:
        if self.packed is None:
            self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight, _ROWS)
        return self.packed


@final
class WholeProduct(Product):
    """Weights as whole numbers: a quarter of the bytes to read, and four products in one instruction."""

    def __init__(
        self,
        whole: Int8[Tensor, "out columns"],
        scale: Float[Tensor, " out"],
        bias: Tensor | None,
        *,
        single: bool = True,
    ) -> None:
        self.scale, self.bias = scale, bias
        self.whole = whole.t() if single else None
        self.packed = torch.ops.onednn.qlinear_prepack(whole, None)
        self.zero = torch.zeros(len(whole), dtype=torch.int64)

    def __call__(self, rows: Rows) -> Rows:
        """Round the rows, multiply, scale."""
        found, scale = self._product(rows)
        return found.mul_(scale) if self.bias is None else torch.addcmul(self.bias, found, scale)

    def relu(self, rows: Rows) -> Rows:
        """The same, and 0 where it is negative."""
        return self(rows).relu_()

    def onto(self, rows: Rows, states: Rows) -> Rows:
        """Scaled and summed at once."""
        found, scale = self._product(rows)
        if self.bias is not None:
            states = states.add_(self.bias)
        return states.addcmul_(found, scale)

    def _product(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Each row's product but for the row's own scale."""
        whole, scale = whole_rows(rows)
        if len(rows) == 1 and self.whole is not None:
            signed = whole.bitwise_xor(128).view(torch.int8)
            return torch._int_mm(signed, self.whole) * self.scale, scale
        found = torch.ops.onednn.qlinear_pointwise(
            whole,
            1.0,
            128,
            self.packed,
            self.scale,
            self.zero,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        return found, scale


def whole_rows(rows: Rows) -> tuple[UInt8[Tensor, "rows columns"], Float[Tensor, "rows 1"]]:
    """Rows as whole numbers from 1 to 255, where 128 is zero, and what one of them is worth in each row."""
    largest = torch.linalg.vector_norm(rows, torch.inf, 1, keepdim=True)
    scale = torch.add(_tiny(), largest, alpha=1 / LARGEST)
    return torch.addcdiv(_middle(), rows, scale).to(torch.uint8), scale


def product(
    weight: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    weights: Weights,
    *,
    single: bool = True,
) -> Product:
    """A product of weights that are floats, or whole numbers with scales, in the form asked for."""
    if weights == "int8":
        if scale is None:
            weight, scale = to_rows(weight)
        return WholeProduct(weight.contiguous(), scale.contiguous(), bias, single=single)
    return FloatProduct(weight if scale is None else from_rows(weight, scale), bias)


@cache
def multiplies_whole() -> bool:
    """Whether this processor's products of whole numbers are there, and exact at their largest."""
    if not _has_onednn():
        return False
    try:
        probe = WholeProduct(torch.full((16, 64), 127, dtype=torch.int8), torch.ones(16), None)
        expected = float(64 * 127 * 127)
        return all(
            bool((probe._product(torch.ones(rows, 64))[0] == expected).all()) for rows in (1, 5)
        )
    except (RuntimeError, AttributeError):
        return False


@cache
def _has_onednn() -> bool:
    return torch.backends.mkldnn.is_available() and hasattr(
        torch.ops.mkldnn, "_reorder_linear_weight"
    )


@cache
def _tiny() -> Tensor:
    return torch.full((1, 1), _TINY)


@cache
def _middle() -> Tensor:
    return torch.full((1, 1), 128.5)
