"""A linear map made ready once and used many times, on a CPU: in float32, or on whole numbers.

In whole numbers both sides are rows of int8 with one scale each, so that a row's result depends on that row
alone: y = (scale_x scale_w) (x_whole . w_whole) + bias. The sums are exact; only the two roundings are not.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import cache
from typing import Any, final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int8
from torch import Tensor

from regard.models.narrow import LARGEST, Weights, from_rows, to_rows

Rows = Float[Tensor, "rows inputs"]
Products = Float[Tensor, "rows outputs"]

_TINY = 1e-30  # a row of zeros has this scale
_FEW = 64  # up to so many rows are few
_ROWS = 32  # float32 weights are laid out for about so many rows


class Product(ABC):
    """x -> x W^T + b."""

    @abstractmethod
    def __call__(self, rows: Rows) -> Products:
        """The product of each row."""

    @abstractmethod
    def relu(self, rows: Rows) -> Products:
        """The product, and 0 where it is negative."""

    @abstractmethod
    def onto(self, rows: Rows, states: Products) -> Products:
        """The product added to states, which may be overwritten."""


@final
class FloatProduct(Product):
    """Weights as they are for one row, and in blocks that fit the processor's registers for more."""

    def __init__(self, weight: Float[Tensor, "out columns"], bias: Tensor | None) -> None:
        self.weight, self.bias = weight.contiguous(), bias
        self.packed: Tensor | None = None

    def __call__(self, rows: Rows) -> Products:
        """By oneDNN, unless there is one row."""
        if len(rows) == 1 or not _has_onednn():
            return F.linear(rows, self.weight, self.bias)
        return torch.ops.mkldnn._linear_pointwise(rows, self._blocks(), self.bias, "none", [], "")

    def relu(self, rows: Rows) -> Products:
        """Bent before it leaves the registers."""
        if len(rows) == 1 or not _has_onednn():
            return F.linear(rows, self.weight, self.bias).relu_()
        return torch.ops.mkldnn._linear_pointwise(rows, self._blocks(), self.bias, "relu", [], "")

    def onto(self, rows: Rows, states: Products) -> Products:
        """One more sum."""
        return states.add_(self(rows))

    def _blocks(self) -> Tensor:
        if self.packed is None:
            self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight, _ROWS)
        return self.packed


@final
class WholeProduct(Product):
    """Weights as whole numbers: a quarter of the bytes to read, and four products in one instruction.

    FBGEMM wins for a few rows, oneDNN for many; their sums are the same whole numbers.
    """

    def __init__(
        self,
        whole: Int8[Tensor, "out columns"],
        scale: Float[Tensor, " out"],
        bias: Tensor | None,
        *,
        few: bool = True,
    ) -> None:
        self.scale, self.bias = scale, bias
        self.few: Any = _fbgemm(whole, scale) if few else None
        self.many: Tensor | None = None if few else torch.ops.onednn.qlinear_prepack(whole, None)
        self.zero = torch.zeros(len(whole), dtype=torch.int64)

    def __call__(self, rows: Rows) -> Products:
        """Round the rows, multiply, scale."""
        found, scale = self.unscaled(rows)
        return found.mul_(scale) if self.bias is None else torch.addcmul(self.bias, found, scale)

    def relu(self, rows: Rows) -> Products:
        """The same, and 0 where it is negative."""
        return self(rows).relu_()

    def onto(self, rows: Rows, states: Products) -> Products:
        """Scaled and summed at once."""
        found, scale = self.unscaled(rows)
        if self.bias is not None:
            states = states.add_(self.bias)
        return states.addcmul_(found, scale)

    def unscaled(self, rows: Rows) -> tuple[Products, Float[Tensor, "rows 1"]]:
        """Each row's product but for the row's own scale, and that scale."""
        largest = torch.linalg.vector_norm(rows, torch.inf, 1, keepdim=True)
        if len(rows) <= _FEW and self.few is not None:
            scale = torch.add(_tiny(), largest, alpha=1 / (_middle() - 1))
            found = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
                rows / scale, 1.0, _middle(), self.few
            )
            return found, scale
        scale = torch.add(_tiny(), largest, alpha=1 / LARGEST)
        whole = (rows / scale).round_().add_(128).to(torch.uint8)
        many, none = self._many(), torch.float32
        return torch.ops.onednn.qlinear_pointwise(
            whole, 1.0, 128, many, self.scale, self.zero, None, 1.0, 0, none, "none", [], ""
        ), scale

    def _many(self) -> Tensor:
        if self.many is None:
            whole = torch.ops.quantized.linear_unpack(self.few)[0].int_repr()
            self.many = torch.ops.onednn.qlinear_prepack(whole, None)
        return self.many


def _fbgemm(whole: Int8[Tensor, "out columns"], scale: Float[Tensor, " out"]) -> Any:
    """Packed by FBGEMM, which wants a tensor of torch's own quantised kind."""
    engine = torch.backends.quantized.engine
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # torch will drop that kind one day; `multiplies_whole` will tell
        try:
            torch.backends.quantized.engine = "fbgemm"
            zero = torch.zeros(len(whole), dtype=torch.int64)
            kind = torch._make_per_channel_quantized_tensor(whole, scale.double(), zero, 0)
            return torch.ops.quantized.linear_prepack(kind, None)
        finally:
            torch.backends.quantized.engine = engine


def product(
    weight: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    weights: Weights,
    *,
    few: bool = True,
) -> Product:
    """A product of weights that are floats, or whole numbers with scales, in the form asked for.

    `few` says that it will often meet a few rows only.
    """
    if weights == "int8":
        if scale is None:
            weight, scale = to_rows(weight)
        return WholeProduct(weight.contiguous(), scale.contiguous(), bias, few=few)
    return FloatProduct(weight if scale is None else from_rows(weight, scale), bias)


@cache
def multiplies_whole() -> bool:
    """Whether this processor's products of whole numbers are there, and exact at their largest."""
    if not _has_onednn():
        return False
    try:
        whole = torch.full((16, 64), 127, dtype=torch.int8)
        probes = [WholeProduct(whole, torch.ones(16), None, few=few) for few in (True, False)]
        return all(_is_exact(probe, rows) for probe in probes for rows in (1, _FEW + 1))
    except (RuntimeError, AttributeError):
        return False


def _is_exact(probe: WholeProduct, rows: int) -> bool:
    found, scale = probe.unscaled(torch.ones(rows, 64))
    return bool(((found * scale - 64 * 127).abs() < 1e-2).all())


@cache
def _middle() -> int:
    """The whole number that stands for 0 in FBGEMM's rows.

    Processors without VNNI add two products in 16 bits, and have room for rows of seven bits only.
    """
    return 128 if torch.cpu._is_vnni_supported() else 64


@cache
def _has_onednn() -> bool:
    return torch.backends.mkldnn.is_available() and hasattr(
        torch.ops.mkldnn, "_reorder_linear_weight"
    )


@cache
def _tiny() -> Tensor:
    return torch.full((1, 1), _TINY)
