"""Folders in memory where there is one: trainings wait for the disk most of their time otherwise."""

import itertools
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from regard.training import judge


@pytest.fixture(scope="session")
def quick_path_factory():
    memory = Path("/dev/shm")
    home = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
    numbers = itertools.count()

    def make() -> Path:
        path = home / str(next(numbers))
        path.mkdir()
        return path

    yield make
    shutil.rmtree(home)


@pytest.fixture
def tmp_path(quick_path_factory):
    return quick_path_factory()


@pytest.fixture(scope="session", autouse=True)
def _one_sample():
    """Looking takes most of a tiny run's time, and one sentence shows as much as four."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "SAMPLES", 1)
        yield
