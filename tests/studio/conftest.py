"""A studio over tiny runs of every kind, asked through the application itself, with no socket between."""

from pathlib import Path

import pytest
import torch
from starlette.testclient import TestClient

from regard.studio.app import create_app
from regard.studio.settings import Limits, StudioSettings
from regard.studio.state import File, Studio
from tests.run import kinds
from tests.studio.browser import address, boxed, chromium, page, studio_server, theme, trained

__all__ = ["address", "boxed", "chromium", "page", "studio_server", "theme", "trained"]

KINDS = ("rnn", "transformer", "tag", "classify", "point", "language")
PAGE = {"index.html": File(b"<!doctype html>", "text/html; charset=utf-8", False)}
BASE = "http://127.0.0.1:8321"


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("runs")
    return {kind: kinds.make(place / kind, kind) for kind in KINDS}


@pytest.fixture(scope="session")
def make(runs, tmp_path_factory):
    """A studio with its own limits, over all runs or some of them."""

    def build(folders=None, *, host="127.0.0.1", token=None, page=None, **limits):
        settings = StudioSettings(host=host, token=token, limits=Limits(**limits))
        demo = tmp_path_factory.mktemp("demo") / "demo"
        page = PAGE if page is None else page
        return Studio(folders or list(runs.values()), settings, demo, page, "cpu")

    return build


@pytest.fixture(scope="session")
def studio(make):
    return make()


@pytest.fixture(scope="session")
def client(studio):
    with TestClient(create_app(studio), base_url=BASE) as one:
        yield one


@pytest.fixture(scope="session")
def asked(client):
    """The trace of a text, as the server describes it; asked for once."""
    known = {}

    def ask(run, text, **more):
        key = (run, text, repr(sorted(more.items())))
        if key not in known:
            answer = client.post("/api/trace", json={"run": run, "text": text, **more})
            assert answer.status_code == 200, answer.text
            known[key] = answer.json()
        return known[key]

    return ask
