"""One tiny run, trained once through the command line itself, for every test that only looks."""

import json
import shutil

import pytest
import torch

from regard.cli.main import status
from tests.cli.tiny import TINY


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    arguments = ["train", "--toy", "reverse", "-p", "bahdanau2015", "-o", str(folder), *TINY]
    assert status(arguments) == 0
    return folder


@pytest.fixture
def run(trained, tmp_path):
    """A copy that a test may harm."""
    return shutil.copytree(trained, tmp_path / "tiny")


@pytest.fixture
def tell(capsys):
    """Run a command: its exit code, what it answered, and what it said beside."""

    def call(*arguments):
        capsys.readouterr()
        code = status([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def tell_json(tell):
    """Run a command with --json: its exit code and the one object it answered."""

    def call(*arguments):
        code, out, err = tell(*arguments, "--json")
        assert err == ""
        return code, json.loads(out)

    return call
