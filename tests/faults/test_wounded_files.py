"""Every loader, given 10^5 wounded files (F1-F11): what it accepts works, the rest is refused."""

import json
import os
import random
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.config import parse, read_toml, to_toml
from regard.data import store
from regard.data.store import Ids, Store
from regard.errors import DataError, DiskError, ModelFileError, UsageError
from regard.presets import names, preset
from regard.run import archive
from regard.run.checkpoint import MANIFEST, Checkpoints
from regard.run.load import read_task
from regard.run.settings import RunSettings
from regard.traces import trace_file
from regard.traces.trace import Trace
from tests.faults.wounds import survive, wounded_bytes, wounded_json, wounded_toml, wounded_tree
from tests.tasks.kit import task_of
from tests.traces.kit import traced

CHUNKS = 10
MANY = 10**6 if os.environ.get("REGARD_LONG") else 10**5
LOADERS = ["config", "store", "manifest", "trace", "archive", "tokenizer"]


@pytest.fixture
def home(tmp_path):
    """A folder in memory where there is one: the disk is not on trial."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    path = memory / f"regard-wounds-{os.getpid()}"
    path.mkdir()
    yield path
    shutil.rmtree(path)


def config(home):
    path = home / "config.toml"
    sources = [
        to_toml(parse(RunSettings, {**preset(name), "data": {"toy": "reverse"}})).encode()
        for name in names()
    ]

    def load(content):
        path.write_bytes(content)
        found = parse(RunSettings, read_toml(path), str(path))
        assert parse(RunSettings, tomllib.loads(to_toml(found))) == found

    return load, lambda dice: wounded_toml(dice.choice(sources), dice), (UsageError,)


def prepared(home):
    rows = [
        {"source": np.arange(length), "target": np.arange(length % 3 + 1)}
        for length in (3, 0, 7, 2)
    ]
    store.write(home / "store", rows, {"source": Ids(), "target": Ids()})
    header = home / "store" / store.HEADER
    source = header.read_bytes()

    def load(content):
        header.write_bytes(content)
        found = Store.open(home / "store")
        found.rows(range(len(found)))
        for name in found.names:
            assert found.lengths(name).shape == (len(found),)

    return load, lambda dice: wounded_json(source, dice), (DataError, DiskError)


def manifest(home):
    checkpoints = Checkpoints(home / "checkpoints")
    checkpoints.save(7, {"model": {"weight": torch.arange(13.0)}}, {"step": 7})
    path = home / "checkpoints" / "step-000000007" / MANIFEST
    source = path.read_bytes()

    def load(content):
        path.write_bytes(content)
        found = Checkpoints(home / "checkpoints").latest()
        assert found is not None
        assert content == source, "a manifest has one possible form"

    return load, lambda dice: wounded_json(source, dice), (ModelFileError,)


def trace(home):
    seen = traced("rnn")
    whole, document = seen.to_bytes(), seen.describe()
    arrays = {
        f"{number}.{name}": array
        for number, site in enumerate(seen.sites)
        for name, array in site.arrays().items()
    }
    path = home / "trace.npz"

    def make(dice):
        if dice.random() < 0.75:
            return wounded_bytes(whole, dice)
        return trace_file.packed(wounded_tree(document, dice), arrays)

    def load(content):
        path.write_bytes(content)
        found = Trace.load(path)
        assert Trace.load(path).to_bytes() == found.to_bytes()

    return load, make, (ModelFileError,)


def packed(home):
    run = home / "run"
    run.mkdir()
    for name, content in (
        ("config.toml", b'task = "translate"\n'),
        ("model.safetensors", bytes(64)),
        ("tokenizer.json", b"{}"),
    ):
        (run / name).write_bytes(content)
    archive.pack(run, home / "run.zip")
    source = (home / "run.zip").read_bytes()
    before = sorted(path.name for path in home.iterdir())

    def load(content):
        (home / "run.zip").write_bytes(content)
        try:
            assert archive.unpack(home / "run.zip", home / "new")
            assert content == source, "an archive has one possible form"
        finally:
            shutil.rmtree(home / "new", ignore_errors=True)
            assert sorted(path.name for path in home.iterdir()) == before

    return load, lambda dice: wounded_bytes(source, dice), (ModelFileError,)


def tokenizer(home):
    """The file of a run: a document that holds documents, each a vocabulary of its own."""
    path, sources = home / "tokenizer.json", {}
    for name in ("translate", "tag", "point"):
        document = {"format": "regard-task", "task": name, "parts": task_of(name).to_dict()}
        sources[name] = json.dumps(document, ensure_ascii=False).encode()

    def load(content):
        path.write_bytes(content)
        name = next((name for name in sources if name.encode() in content), "translate")
        found = read_task(path, name)
        assert found.sizes == type(found).from_dict(found.to_dict()).sizes

    return (
        load,
        lambda dice: wounded_json(sources[dice.choice(list(sources))], dice),
        (ModelFileError,),
    )


MAKE = dict(zip(LOADERS, (config, prepared, manifest, trace, packed, tokenizer), strict=True))


@pytest.mark.parametrize("loader", LOADERS)
def test_wounded_files(loader, home):
    load, make, refusals = MAKE[loader](home)
    assert survive(load, make, 300, seed=1, refusals=refusals) > 100


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("loader", LOADERS)
def test_many_wounded_files(loader, chunk, home):
    load, make, refusals = MAKE[loader](home)
    survive(load, make, MANY // CHUNKS, seed=100 + chunk, refusals=refusals)


def test_the_wounds_are_wounds():
    dice, source = random.Random(3), json.dumps({"a": [1, 2, 3], "b": {"c": "d"}}).encode()
    for hurt in (wounded_bytes, wounded_json, wounded_toml):
        assert sum(hurt(source, dice) != source for _ in range(100)) > 80
