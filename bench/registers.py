"""What programs of packed attention take of a multiprocessor, for a Hopper GPU, without having one.

    pip install triton==3.6.0
    python bench/registers.py [--width 64]

Each kernel is compiled as it would be launched. A multiprocessor has 65,536 registers, 227 KiB
of shared memory and room for 64 warps; the fewer of its programs fit, the less of memory's delay they hide.
What a thread has no register for is spilled: written to memory and read again.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from itertools import product
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from regard.accelerate.triton import segments_kernels, segments_launch
from regard.measure import Bytes, Table

HOPPER = GPUTarget("cuda", 90, 32)
REGISTERS, SHARED, WARPS, OWN = 65_536, 227 << 10, 64, 1 << 10
TYPES = {
    "log_sums": "*fp32", "of_bias": "*fp32", "scale": "fp32",
    **dict.fromkeys(["query_numbers", "key_numbers", "query_tiles", "key_tiles"], "*i32"),
    **dict.fromkeys(["query", "key", "value", "context", "gradient"], "*bf16"),
    **dict.fromkeys(["of_query", "of_key", "of_value"], "*bf16"),
}  # fmt: skip
OPTIONS = ("num_warps", "num_stages", "maxnreg")


def compiled(kernel: triton.JITFunction, options: dict[str, object]) -> tuple[str, int]:
    """Its PTX, and the shared memory of a program; numbers are taken for multiples of 16."""
    names = kernel.arg_names
    constants = {name: value for name, value in options.items() if name not in OPTIONS}
    types = {name: "constexpr" if name in constants else TYPES.get(name, "i32") for name in names}
    even = [number for number, name in enumerate(names) if types[name] not in ("constexpr", "fp32")]
    source = ASTSource(
        kernel,
        types,
        {(names.index(name),): value for name, value in constants.items()},
        {(number,): [["tt.divisibility", 16]] for number in even},
    )
    asked = {name: options[name] for name in OPTIONS if options[name] is not None}
    found = triton.compile(source, target=HOPPER, options=asked)
    return found.asm["ptx"], found.metadata.shared


def taken(ptx: str) -> tuple[int, int]:
    """Registers of a thread, and bytes that it spills."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(ptx)
        tool = triton.knobs.nvidia.ptxas.path
        command = [tool, "-v", "-arch=sm_90a", path, "-o", path.with_suffix(".cubin")]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    (registers,), (spilled,) = (
        re.findall(pattern, told) for pattern in (r"Used (\d+) registers", r"(\d+) bytes spill st")
    )
    return int(registers), int(spilled)


def row(name: str, kernel: triton.JITFunction, options: dict[str, object]) -> dict[str, object]:
    ptx, shared = compiled(kernel, options)
    registers, spilled = taken(ptx)
    threads = 32 * int(str(options["num_warps"]))
    eights = -(-registers // 8) * 8  # as they are handed out
    fit = min(REGISTERS // (eights * threads), SHARED // (shared + OWN), WARPS * 32 // threads)
    return {
        "kernel": name, "tile": options["BLOCK"], "registers": registers, "spilled": Bytes(spilled),
        "shared": Bytes(shared), "programs together": fit, "warps": fit * threads // 32,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--width", type=int, default=64, help="of a head")
    given = parser.parse_args()
    query = torch.empty(1, 1, 1, given.width, dtype=torch.bfloat16, device="meta")
    rows = []
    for long, causal, back in product((False, True), repeat=3):
        kernel = segments_kernels.backward if back else segments_kernels.forward
        options = segments_launch.options(query, 256 if long else 64, causal, back) | (
            {"BIAS": True} if back else {}
        )
        kind = f"{'long' if long else 'short'}, {'causal' if causal else 'both ways'}"
        rows.append(row(f"{kernel.__name__}, {kind}", kernel, options))
    print(Table(f"Packed attention on Hopper, Triton {triton.__version__}", rows))


if __name__ == "__main__":
    main()
