"""Whether a tensor lies in pieces on several machines."""

from __future__ import annotations

import sys

from torch import Tensor


def is_spread(tensor: Tensor) -> bool:
    """Whether this is a DTensor: nobody has one who did not load that part of torch, which is large."""
    spread = sys.modules.get("torch.distributed.tensor")
    return spread is not None and isinstance(tensor, spread.DTensor)
