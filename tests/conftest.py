"""What holds for all tests: every error has a remedy, and what runs on a GPU goes without shape checks.

Through shape checks no compiler can see: `make test-gpu`.
"""

import os
import subprocess
import sys
from functools import wraps
from pathlib import Path

import pytest

from regard.errors import RegardError

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


@pytest.fixture(autouse=True, scope="session")
def _every_error_says_what_to_do():
    make = RegardError.__init__

    @wraps(make)
    def checked(self, what, where, remedy):
        assert what, "an error says what went wrong"
        assert remedy, f"an error says what to do: {what}"
        make(self, what, where, remedy)

    RegardError.__init__ = checked
    yield
    RegardError.__init__ = make


def pytest_collection_modifyitems(config, items):
    checked = pytest.mark.skip(reason="shapes are checked here; `make test-gpu` goes without")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(
                pytest.mark.filterwarnings("default")
            )  # compilers recommend this and that
            if config.getoption("--jaxtyping-packages"):
                item.add_marker(checked)
