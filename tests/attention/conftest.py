"""Seeds, and the one way to check a refusal word for word."""

from contextlib import contextmanager

import pytest
import torch

from regard.errors import UsageError


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(29)


@pytest.fixture
def refuses():
    """`with refuses(what, where, remedy):` expects a UsageError that says exactly these lines."""

    @contextmanager
    def expect(*lines):
        with pytest.raises(UsageError) as caught:
            yield
        assert str(caught.value) == "\n".join(lines)
        assert isinstance(caught.value, ValueError)

    return expect
