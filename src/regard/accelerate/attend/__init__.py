"""Ways to work out one attention that are equal to the formula, in the order in which they are asked.

`packed` is for sequences that lie end to end in one row. `banded`, on a CPU, leaves out the keys that a
window does not reach, and `strided` those between strides. `linear` never forms scores at all. `chosen`
fetches the one value that hard attention reads. `columns`
and `flex`, on a GPU, use a structured mask without writing it out. `fused` hands dot-product scores with
softmax to `scaled_dot_product_attention`. `additive`, on a GPU, and `blocked`, anywhere, never form all
triples of query, key and neuron.
"""

from __future__ import annotations

from regard.accelerate.attend.additive import AdditiveKernel
from regard.accelerate.attend.chosen import Chosen
from regard.accelerate.attend.fused import Blocked, Fused
from regard.accelerate.attend.linear import Linear
from regard.accelerate.attend.packed_rows import PackedKernel, PackedRows
from regard.accelerate.attend.structured_cpu import Banded, StridedLines
from regard.accelerate.attend.structured_gpu import Columns, Flex
from regard.attention.formula import AttendForm

__all__ = [
    "FORMS",
    "AdditiveKernel",
    "Banded",
    "Blocked",
    "Chosen",
    "Columns",
    "Flex",
    "Fused",
    "Linear",
    "PackedKernel",
    "PackedRows",
    "StridedLines",
]

FORMS: tuple[AttendForm, ...] = (
    PackedKernel(),
    PackedRows(),
    Banded(),
    StridedLines(),
    Linear(),
    Chosen(),
    Columns(),
    Flex(),
    Fused(),
    AdditiveKernel(),
    Blocked(),
)
