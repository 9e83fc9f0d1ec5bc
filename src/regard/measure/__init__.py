"""How fast, and how near to what the machine can do: clocks, floors, tables, and what `regard bench` runs.

A script in `bench/` needs four things of it: `timed`, `matrix_rate`, `Table` and `peak_memory`.
"""

from regard.measure.clock import Timing, summary, timed
from regard.measure.floor import copy_rate, matrix_rate
from regard.measure.memory import Memory, peak_memory
from regard.measure.table import Bytes, Cell, Ratio, Seconds, Share, Table

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
