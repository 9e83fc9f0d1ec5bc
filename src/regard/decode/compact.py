"""Rows that are done leave the batch, so that nothing more is worked out for them."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def kept_rows(open_rows: Bool[Tensor, " rows"], multiple: int) -> Int[Tensor, " kept"]:
    """Rows to go on with: the open ones, filled up with others to a multiple; or all of them; or none."""
    wanted = -(-int(open_rows.sum()) // multiple) * multiple
    if 0 < len(open_rows) <= wanted:
        return torch.arange(len(open_rows), device=open_rows.device)
    order = torch.argsort(open_rows.int(), descending=True, stable=True)[:wanted]
    return order.sort().values
