"""Whether a module lies in pieces on several machines."""

from __future__ import annotations

import sys

from torch import nn


def is_in_pieces(module: nn.Module) -> bool:
    """Whether this is an FSDP module, which is whole only while it is called.

    Its weights do not tell: between two calls they may be whole, and out of date.
    """
    # Who never loaded that large part of torch has none.
    sharding = sys.modules.get("torch.distributed.fsdp")
    return sharding is not None and isinstance(module, sharding.FSDPModule)
