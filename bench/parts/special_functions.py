"""How many tanh, exponentials and reciprocals a second a GPU's special-function units give.

Each thread keeps eight chains of its own in registers, and there are more threads than the GPU has room for,
so that nothing but the unit is waited for. One instruction of sixteen-bit pairs counts as two results.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

STEPS, CHAINS, THREADS = 1024, 8, 128


@triton.jit
def chain(out, STEPS: tl.constexpr, CHAINS: tl.constexpr, BLOCK: tl.constexpr, CODE: tl.constexpr):
    place = tl.program_id(0) * BLOCK * CHAINS + tl.arange(0, BLOCK * CHAINS)
    state = (place % 1024) * 0.0009765625 + 0.25
    state = state.to(tl.int32, bitcast=True)
    for _ in range(STEPS):
        state = tl.inline_asm_elementwise(
            CODE, "=r,r", [state], dtype=tl.int32, is_pure=True, pack=1
        )
    tl.store(out + place, state)


# Registers are handed over as 32 bits, whatever they hold. A reciprocal of a reciprocal would be left out, so
# 1 is added before each; another unit does that.
CODES = {
    "tanh float32": ("{.reg .f32 a; mov.b32 a, $1; tanh.approx.f32 a, a; mov.b32 $0, a;}", 1),
    "tanh float16 pairs": ("tanh.approx.f16x2 $0, $1;", 2),
    "tanh bfloat16 pairs": ("tanh.approx.bf16x2 $0, $1;", 2),
    "reciprocal float32": (
        "{.reg .f32 a; mov.b32 a, $1; add.f32 a, a, 0f3F800000; "
        "rcp.approx.ftz.f32 a, a; mov.b32 $0, a;}",
        1,
    ),
    "exp2 float32": ("{.reg .f32 a; mov.b32 a, $1; ex2.approx.ftz.f32 a, a; mov.b32 $0, a;}", 1),
}


def measure(milliseconds: Callable[..., float]) -> dict[str, float]:
    """T/s of each function; one that this GPU does not know is left out."""
    programs = 64 * torch.cuda.get_device_properties(0).multi_processor_count
    out = torch.empty(programs * THREADS * CHAINS, dtype=torch.int32, device="cuda")
    found = {}
    for name, (code, results) in CODES.items():
        try:

            def work(code: str = code) -> None:
                chain[(programs,)](out, STEPS, CHAINS, THREADS, code, num_warps=THREADS // 32)

            found[name] = out.numel() * STEPS * results / milliseconds(work, "cuda", 10) / 1e9
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}"[:300])
    return found
