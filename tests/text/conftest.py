"""One codec of each kind, learned once."""

import pytest

from regard.text import Codec
from tests.text.samples import KINDS, LINES, learned


@pytest.fixture(scope="session")
def codecs() -> dict[str, Codec]:
    return {kind: learned(kind) for kind in KINDS}


@pytest.fixture(scope="session")
def lines() -> tuple[str, ...]:
    return LINES
