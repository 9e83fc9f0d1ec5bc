"""What the machine can do at best: the floor under every figure, measured here and now."""

from __future__ import annotations

import torch

from regard.measure.clock import timed

SIDE = {"cpu": 1024, "cuda": 8192}
BYTES = {"cpu": 1 << 28, "cuda": 1 << 31}


def matrix_rate(
    device: torch.device | str = "cpu",
    precision: torch.dtype | None = None,
    *,
    side: int | None = None,
    rounds: int = 10,
) -> float:
    """Multiplications and additions a second in the product of two large square matrices.

    The lower quartile of several tries: what the machine does when nobody disturbs it. Without a precision,
    float32 on a CPU and bfloat16 on a GPU, as models are trained there.
    """
    device = torch.device(device)
    precision = precision or (torch.float32 if device.type == "cpu" else torch.bfloat16)
    side = side or SIDE.get(device.type, 4096)
    left = torch.randn(side, side, device=device).to(precision)
    right = torch.randn(side, side, device=device).to(precision)
    product = torch.empty_like(left)
    work = {"product": lambda: torch.matmul(left, right, out=product)}
    return 2 * side**3 / timed(work, device, rounds=rounds, warmup=3)["product"].low


def copy_rate(device: torch.device | str = "cpu", *, size: int | None = None) -> float:
    """Bytes a second that memory moves, read and written: the floor of whatever waits for weights."""
    device = torch.device(device)
    size = size or BYTES.get(device.type, 1 << 28)
    origin = torch.ones(size // 4, device=device)
    copy = torch.empty_like(origin)
    return 2 * size / timed({"copy": lambda: copy.copy_(origin)}, device, rounds=10)["copy"].low
