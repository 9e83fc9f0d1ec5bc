"""Tests of what runs on a GPU go without shape checks, through which no compiler can see: `make test-gpu`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PRODUCT = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); x @ x"


def pytest_configure(config):
    """Some virtual machines announce AMX and end a program that uses it; bfloat16 tests go without, there."""
    cpu = Path("/proc/cpuinfo")
    if "ONEDNN_MAX_CPU_ISA" in os.environ or hasattr(config, "workerinput") or not cpu.exists():
        return
    if "amx_bf16" in cpu.read_text("utf-8", "replace"):
        tried = subprocess.run([sys.executable, "-c", PRODUCT], capture_output=True, check=False)
        if tried.returncode < 0:
            os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"


def pytest_collection_modifyitems(config, items):
    checked = pytest.mark.skip(reason="shapes are checked here; `make test-gpu` goes without")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(
                pytest.mark.filterwarnings("default")
            )  # compilers recommend this and that
            if config.getoption("--jaxtyping-packages"):
                item.add_marker(checked)
