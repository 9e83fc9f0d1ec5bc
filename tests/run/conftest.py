"""Runs that several tests share."""

import pytest
import torch
from hypothesis import settings

from tests.run import kinds

settings.register_profile("patient", deadline=None)  # a busy machine is no fault
settings.load_profile("patient")


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder of a kind of run, made when it is first asked for."""
    place, made = tmp_path_factory.mktemp("runs"), {}

    def get(kind):
        if kind not in made:
            made[kind] = kinds.make(place / kind, kind)
        return made[kind]

    return get


@pytest.fixture(scope="session")
def predictor(folder):
    """A kind of run, loaded."""
    made = {}

    def get(kind):
        if kind not in made:
            made[kind] = kinds.load(folder(kind))
        return made[kind]

    return get
