"""A run that starts from another model has its vocabulary and weights, and then needs it no more."""

import shutil
from pathlib import Path

import pytest
import torch

from regard.errors import MissingFileError, ModelFileError, UsageError
from regard.run.folder import Run
from regard.run.origin import start_weights
from regard.run.pack import pack
from regard.run.resolve import GENTLE, place, resolve
from regard.run.settings import RunSettings
from tests.training.kit import tiny, write_corpus


@pytest.fixture
def earlier(tmp_path):
    """A run with weights that no seed would give."""
    run = Run.create(tmp_path / "earlier", tiny(tmp_path, "transformer"))
    state = {name: value + 0.25 for name, value in run.build_model().state_dict().items()}
    run.save_model(state)
    return run


def other(folder, origin, **more) -> RunSettings:
    files = write_corpus(folder / "other", "translate", seed=5)
    train, valid = ([Path(name) for name in names] for names in (files.train, files.valid))
    return resolve(start=str(origin), train=train, valid=valid, more={"seed": 7, **more})


def same(one, two):
    return all(torch.equal(value, two[name]) for name, value in one.items())


def test_it_begins_with_the_others_weights_and_vocabulary(tmp_path, earlier):
    run = Run.create(tmp_path / "run", other(tmp_path, earlier.folder))
    assert same(run.build_model().state_dict(), earlier.load_model().state_dict())
    assert run.task.to_dict() == earlier.task.to_dict()
    assert run.store("train").fingerprint != earlier.store("train").fingerprint


def test_weights_in_whole_numbers_are_widened(tmp_path, earlier):
    pack(earlier.folder, tmp_path / "packed", "int8")
    run = Run.create(tmp_path / "run", other(tmp_path, tmp_path / "packed"))
    begun, exact = run.build_model().state_dict(), earlier.load_model().state_dict()
    for name, value in begun.items():
        assert value.dtype == exact[name].dtype
        torch.testing.assert_close(value, exact[name], rtol=0.02, atol=0.02)
    assert not same(begun, exact)


def test_once_begun_it_needs_the_other_no_more(tmp_path, earlier):
    settings = other(tmp_path, earlier.folder)
    before = Run.create(tmp_path / "run", settings).build_model().state_dict()
    shutil.rmtree(earlier.folder)
    again = Run.create(tmp_path / "run", settings)
    assert same(again.build_model().state_dict(), before)
    assert same(Run.open(tmp_path / "run").build_model().state_dict(), before)


def test_killed_between_the_two_copies_it_copies_again(tmp_path, earlier):
    settings = other(tmp_path, earlier.folder)
    run = Run.create(tmp_path / "run", settings)
    (run.folder / "tokenizer.json").unlink()
    start_weights(run.folder).write_bytes(b"half")
    again = Run.create(run.folder, settings)
    assert same(again.build_model().state_dict(), earlier.load_model().state_dict())


def test_its_steps_are_small_unless_somebody_says_otherwise(tmp_path, earlier):
    assert other(tmp_path, earlier.folder).train.rate == GENTLE["rate"]
    bold = other(tmp_path, earlier.folder, train={"rate": 3e-3})
    assert (bold.train.rate, bold.train.steps) == (3e-3, GENTLE["steps"])


def test_it_is_the_model_that_it_starts_from(tmp_path, earlier):
    settings = other(tmp_path, earlier.folder)
    kept = ("task", "text", "model", "decode")
    assert [getattr(settings, name) for name in kept] == [
        getattr(earlier.settings, name) for name in kept
    ]


def test_the_run_is_named_after_both(tmp_path, earlier):
    files = write_corpus(tmp_path / "other", "translate")
    folder, _ = place([Path(name) for name in files.train], None, start=str(earlier.folder))
    assert folder.name == "train-earlier"


@pytest.mark.parametrize(
    ("more", "fault", "what"),
    [
        ({"text": {"kind": "char"}}, UsageError, "cuts text in its own way"),
        ({"model": {"encoder": {"width": 16}}}, ModelFileError, "16"),
        (
            {"task": "tag", "model": {"encoder": {"width": 16}, "reader": {"kind": "tag"}}},
            UsageError,
            "another encoder",
        ),
    ],
)
def test_another_model_is_refused_before_text_is_read(tmp_path, earlier, more, fault, what):
    settings, heard = other(tmp_path, earlier.folder, **more), []
    with pytest.raises(fault, match=what):
        Run.create(tmp_path / "run", settings, lambda *told: heard.append(told))
    assert heard == []
    assert not (tmp_path / "run" / "tokenizer.json").exists()


def test_a_preset_is_another_model(earlier):
    with pytest.raises(UsageError, match="a preset is a model of its own"):
        resolve(start=str(earlier.folder), name="bahdanau2015")


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(MissingFileError, match="there is no such run"):
        resolve(start=str(tmp_path / "nothing"))
