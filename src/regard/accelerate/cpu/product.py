"""A linear map made ready once and used many times, on a CPU: in float32, or on integers.

In integers both sides are rows of eight bits with one scale each, so that a row's result depends on that
row alone: y = (scale_x scale_w) (x_whole . w_whole) + bias. The sums are exact, the two roundings are not.
"""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar, TypeVarTuple, final

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from regard.models.compress import Weights, from_rows, to_rows

Rows = Float[Tensor, "rows inputs"]
Products = Float[Tensor, "rows outputs"]

TINY = 1e-28  # what a row of zeros is divided by, in place of its largest number
_ROWS = 32  # float32 weights are laid out for about so many rows


class Product(ABC):
    """x -> x W^T + b."""

    @abstractmethod
    def __call__(self, rows: Rows) -> Products:
        """The product of each row."""

    @abstractmethod
    def relu(self, rows: Rows) -> Products:
        """The product, and 0 where it is negative: here, or by the next product, which is `after_relu`."""

    @abstractmethod
    def onto(self, rows: Rows, states: Products) -> Products:
        """The product added to states, which may be overwritten."""


@final
class FloatProduct(Product):
    """For one row W^T, which is read once from end to end; for more, blocks that fit the registers.

    The bytes of W are all that one row costs, and the processor reads them fastest in the order in which
    each input meets all outputs at once. What rarely meets one row (`few` is not set) has blocks alone.
    """

    def __init__(
        self, weight: Float[Tensor, "out columns"], bias: Tensor | None, *, few: bool = True
    ) -> None:
        self.bias = weight.new_zeros(len(weight)) if bias is None else bias
        blocks = not few and _has_onednn()
        self.columns = None if blocks else weight.t().contiguous()
        self.packed: Tensor | None = _blocks(weight) if blocks else None

    def __call__(self, rows: Rows) -> Products:
        """By oneDNN, unless there is one row."""
        if self.columns is not None and (len(rows) == 1 or not _has_onednn()):
            return torch.addmm(self.bias, rows, self.columns)
        return self._by_blocks(rows, "none")

    def relu(self, rows: Rows) -> Products:
        """Bent before it leaves the registers."""
        if self.columns is not None and (len(rows) == 1 or not _has_onednn()):
            return torch.addmm(self.bias, rows, self.columns).relu_()
        return self._by_blocks(rows, "relu")

    def onto(self, rows: Rows, states: Products) -> Products:
        """One more sum."""
        return states.add_(self(rows))

    def _by_blocks(self, rows: Rows, bend: str) -> Products:
        if self.packed is None:
            assert self.columns is not None
            self.packed = _blocks(self.columns.t())
        return torch.ops.mkldnn._linear_pointwise(rows, self.packed, self.bias, bend, [], "")


@final
class WholeProduct(Product):
    """Weights as integers: a quarter of the bytes to read, and four products in one instruction.

    `after_relu` it is x -> relu(x) W^T + b: all 8 bits are there for positive activations, and a negative
    one becomes 0 by itself, for rounding saturates at the least integer.
    """

    def __init__(
        self,
        whole: Int8[Tensor, "out columns"],
        scale: Float[Tensor, " out"],
        bias: Tensor | None,
        *,
        after_relu: bool = False,
    ) -> None:
        self.packed, self.bias, self.after_relu = _packed(whole, scale), bias, after_relu
        self.outputs = len(whole)

    def __call__(self, rows: Rows) -> Products:
        """Round the rows, multiply, scale."""
        products, scale = self.unscaled(rows)
        if self.bias is None:
            return products.mul_(scale)
        return torch.addcmul(self.bias, products, scale, out=products)

    def relu(self, rows: Rows) -> Products:
        """The same: what is negative becomes 0 where the next product rounds it."""
        return self(rows)

    def onto(self, rows: Rows, states: Products) -> Products:
        """Scaled and summed at once."""
        products, scale = self.unscaled(rows)
        if self.bias is not None:
            states = states.add_(self.bias)
        return states.addcmul_(products, scale)

    def unscaled(self, rows: Rows) -> tuple[Products, Float[Tensor, "rows 1"]]:
        """Each row's product but for the row's own scale, and that scale."""
        # By way of its absolute values a row's largest is found ten times sooner than by its norm.
        largest = (rows if self.after_relu else rows.abs()).amax(1, keepdim=True)
        middle = 0 if self.after_relu else (_most() + 1) // 2
        scale = largest.clamp_(min=TINY).mul_(constant(1 / (_most() - middle)))
        work = rows.numel() * self.outputs
        return shared(work, _multiply(), rows / scale, 1.0, middle, self.packed), scale


def _packed(whole: Int8[Tensor, "out columns"], scale: Float[Tensor, " out"]) -> Any:
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


def _blocks(weight: Float[Tensor, "out columns"]) -> Tensor:
    return torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), _ROWS)


def product(
    weight: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    weights: Weights,
    *,
    few: bool = True,
    after_relu: bool = False,
) -> Product:
    """A product of weights that are floats, or integers with scales, in the form asked for.

    `few` says that it will often meet one row only, `after_relu` that a negative activation counts as 0.
    """
    if weights == "int8":
        if scale is None:
            weight, scale = to_rows(weight)
        return WholeProduct(weight.contiguous(), scale.contiguous(), bias, after_relu=after_relu)
    return FloatProduct(weight if scale is None else from_rows(weight, scale), bias, few=few)


@cache
def constant(value: float) -> Float[Tensor, ""]:
    """A number as a tensor: a Python float is converted anew whenever it meets one."""
    return torch.full((), value, device="cpu")


@cache
def multiplies_whole() -> bool:
    """Whether this processor's products of integers are there, and exact at their largest."""
    return _most() > 0


@cache
def _most() -> int:
    """The largest integer of a row: the largest of which products are exact; 0 where none are.

    Processors without VNNI add two products in 16 bits, and have room for rows of seven bits only. That is
    tried and not looked up: what is multiplied by decides, and it may be told to do without VNNI.
    """
    try:
        packed = _packed(torch.full((16, 64), 127, dtype=torch.int8), torch.ones(16))
        for most in (255, 127):
            rows = (torch.full((count, 64), float(most)) for count in (1, 65))
            products = (_multiply()(row, 1.0, 0, packed) for row in rows)
            if all(bool((one == 64 * 127 * most).all()) for one in products):
                return most
    except (RuntimeError, AttributeError):
        pass
    return 0


@cache
def _multiply() -> Callable[..., Tensor]:
    return torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default


@cache
def _has_onednn() -> bool:
    return torch.backends.mkldnn.is_available() and hasattr(
        torch.ops.mkldnn, "_reorder_linear_weight"
    )


# One thread works, unless there is enough to do for all.
# To wake another thread and to wait for it takes longer than most of what a step does between its products.

Given = TypeVarTuple("Given")
Found = TypeVar("Found")

ENOUGH = 6_000_000  # multiplications of integers that are worth sharing: 50 us
_here = threading.local()  # `all`: how many threads there are where this one works alone


@contextmanager
def alone(*, whole: bool) -> Iterator[None]:
    """Within, the others rest until `shared` calls them; without integers all is as it was."""
    threads = torch.get_num_threads()
    if not whole or threads == 1 or hasattr(_here, "all"):
        yield
        return
    _here.all = threads
    torch.set_num_threads(1)
    try:
        yield
    finally:
        del _here.all
        torch.set_num_threads(threads)


def shared(work: int, do: Callable[[*Given], Found], *given: *Given) -> Found:
    """What `do` finds, by all threads if there is enough to do."""
    threads = getattr(_here, "all", 1)
    if threads == 1 or work < ENOUGH:
        return do(*given)
    torch.set_num_threads(threads)
    try:
        return do(*given)
    finally:
        torch.set_num_threads(1)
