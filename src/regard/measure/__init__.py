"""How fast, and how near to what the machine can do: clocks, floors, tables, and what `regard bench` runs.

A script in `bench/` needs four things of it: `timed`, `matrix_rate`, `Table` and `peak_memory`.
"""

from regard.measure.figures import Bytes, Cell, Ratio, Seconds, Share, Table
from regard.measure.instruments import (
    Memory,
    Timing,
    copy_rate,
    matrix_rate,
    peak_memory,
    summary,
    timed,
)

__all__ = [
    "Bytes",
    "Cell",
    "Memory",
    "Ratio",
    "Seconds",
    "Share",
    "Table",
    "Timing",
    "copy_rate",
    "matrix_rate",
    "peak_memory",
    "summary",
    "timed",
]
