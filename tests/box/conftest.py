"""A box with a stand-in for each task in it, in the place of the package's own."""

import pytest

from regard import box
from tests.box import standin

NAMES = {"translator": "translate", "tagger": "tag", "sentiment": "classify"}


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    place = tmp_path_factory.mktemp("box")
    for name, task in NAMES.items():
        standin.make(place, name, task, tmp_path_factory.mktemp("scratch") / name)
    return place


@pytest.fixture
def boxed(filled, monkeypatch, tmp_path):
    """The filled box, seen from an empty folder."""
    monkeypatch.setattr(box, "PLACE", filled)
    monkeypatch.chdir(tmp_path)
    return filled
