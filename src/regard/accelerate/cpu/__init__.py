"""A model made lean: the same encoder and reader for generation alone, packed for a CPU.

What a standard Transformer does at each step is a dozen products a layer; here it is little else. Everything
that is not standard (other scores, masks, norms, recurrence) stays as it is: `lean` gives None for it.
"""

from __future__ import annotations

from regard.accelerate.cpu.convert import LeanWeights, lean
from regard.accelerate.cpu.product import multiplies_whole

__all__ = ["LeanWeights", "lean", "multiplies_whole"]
