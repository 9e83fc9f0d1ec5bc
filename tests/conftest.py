"""Tests of what runs on a GPU go without shape checks, through which no compiler can see: `make test-gpu`."""

import pytest


def pytest_collection_modifyitems(config, items):
    checked = pytest.mark.skip(reason="shapes are checked here; `make test-gpu` goes without")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(
                pytest.mark.filterwarnings("default")
            )  # compilers recommend this and that
            if config.getoption("--jaxtyping-packages"):
                item.add_marker(checked)
