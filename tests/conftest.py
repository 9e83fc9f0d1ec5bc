"""What holds for all tests: no test sees where it was started, and every error has a remedy.

What runs on a GPU goes without shape checks, through which no compiler can see: `make test-gpu`.
"""

import os
import subprocess
import sys
from functools import wraps
from pathlib import Path

import pytest
from hypothesis import settings

from regard.errors import RegardError

# A forked process has one thread, and the number of threads decides the last bits of a sum.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A test proves nothing by the clock; `REGARD_LONG=1` looks for new examples, all else repeats the same ones.
settings.register_profile("regard", deadline=None, derandomize="REGARD_LONG" not in os.environ)
settings.load_profile("regard")

PRODUCT = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); x @ x"
# What changes how the program speaks or where it looks; a test that means one of them sets it itself.
LOOKED_AT = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "TTY_COMPATIBLE", "DISPLAY")


@pytest.fixture(autouse=True, scope="session")
def _any_terminal():
    """As in a terminal where the environment is activated and nothing else is set."""
    with pytest.MonkeyPatch.context() as change:
        for name in LOOKED_AT:
            change.delenv(name, raising=False)
        change.setenv("PATH", str(Path(sys.prefix, "bin")), prepend=os.pathsep)
        yield


@pytest.fixture(autouse=True, scope="session")
def _elsewhere(tmp_path_factory):
    """Fixtures of a whole module or session are made in an empty folder, not in the one of the shell."""
    with pytest.MonkeyPatch.context() as change:
        change.chdir(tmp_path_factory.mktemp("elsewhere"))
        yield


@pytest.fixture(autouse=True)
def _own_folder(_elsewhere, tmp_path, monkeypatch):
    """A test runs in a folder of its own: no `runs/` that somebody trained, and nothing left for the next."""
    monkeypatch.chdir(tmp_path)


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
