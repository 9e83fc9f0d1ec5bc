"""`regard.train` and `regard.load`, as a person calls them."""

import os
import signal
from pathlib import Path

import jaxtyping
import numpy as np
import pytest

import regard
from regard.api import nested
from regard.errors import ModelFileError, ResumeError, UsageError

TINY = {
    "model.encoder.width": 8,
    "model.reader.width": 8,
    "data.examples": 40,
    "train": {"steps": 2, "evaluate_every": 2, "evaluate_examples": 2, "workers": 0},
    "decode.max_length": 4,
}


def silent():
    return regard.Listener()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "reverse"
    return regard.train(
        toy="reverse", preset="bahdanau2015", out=out, settings=TINY, listener=silent()
    )


def test_training_gives_a_model_that_answers(model):
    assert isinstance(model, regard.Predictor)
    assert model.task == "translate"
    assert model.run.settings.train.steps == 2
    assert len(model.translate(["a b", "c"])) == 2


def test_loading_gives_the_same_model(model):
    again = regard.load(str(model.run.folder), "cpu")
    assert again.predict(["a b c"]) == model.predict(["a b c"])


def test_a_run_goes_on(model):
    steps = {"train.steps": 3}
    again = regard.train(out=model.run.folder, settings=steps, listener=silent())
    assert [e["step"] for e in again.run.recorded("metrics") if e["kind"] == "valid"] == [2, 3]


def test_another_setting_is_refused(model):
    with pytest.raises(ResumeError, match=r"model\.reader\.width: 8 -> 16"):
        regard.train(out=model.run.folder, settings={"model.reader.width": 16}, listener=silent())


def test_files_are_named_after(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for side in ("en", "de"):
        (tmp_path / f"tiny.{side}").write_text("".join(f"{n} word\n" for n in range(200)))
    model = regard.train(
        "tiny.en", "tiny.de", preset="bahdanau2015", settings=TINY, listener=silent()
    )
    assert model.run.folder.as_posix() == "runs/tiny-bahdanau2015"


def test_progress_is_shown_unless_somebody_listens(tmp_path, capsys):
    regard.train(toy="copy", preset="bahdanau2015", out=tmp_path / "copy", settings=TINY)
    assert capsys.readouterr().err


@pytest.fixture
def _heard():
    """A shell may start the tests with Ctrl-C ignored, as it does with what runs in its background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heard")
def test_a_stop_is_passed_on(tmp_path):
    class Impatient(regard.Listener):
        def stepped(self, report):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        regard.train(
            toy="copy",
            preset="bahdanau2015",
            out=tmp_path / "copy",
            settings=TINY,
            listener=Impatient(),
        )


def test_settings_by_path_or_as_a_tree():
    assert nested({"train.steps": 5, "train": {"rate": 0.1}, "seed": 2}) == {
        "train": {"steps": 5, "rate": 0.1},
        "seed": 2,
    }
    assert nested({"model": {"encoder.width": 3}}) == {"model": {"encoder": {"width": 3}}}


@pytest.mark.parametrize("path", ["", "train.", ".steps", "train..steps"])
def test_no_path(path):
    with pytest.raises(UsageError, match="is not the path of a setting"):
        nested({path: 1})


def test_a_wrong_setting_names_the_nearest(tmp_path):
    with pytest.raises(UsageError, match=r"train\.stpes: no such setting; did you mean 'steps'"):
        regard.train(toy="copy", out=tmp_path / "x", settings={"train.stpes": 1})


@pytest.fixture
def _unchecked(monkeypatch):
    """Types are checked in tests alone; a person who gives another one hears it from us."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.usefixtures("_unchecked")
@pytest.mark.parametrize("wrong", ["train.steps=5", ["train.steps=5"], 3])
def test_settings_are_a_mapping(wrong):
    with pytest.raises(UsageError, match=r"settings cannot be an? ") as caught:
        nested(wrong)
    assert caught.value.remedy == 'write them as {"train.steps": 500}'


def test_values_of_others_are_ours_or_refused():
    given = {"train.steps": np.int64(5), "train.betas": np.array([0.5, 0.75]), "start": Path("a")}
    plain = {"train": {"steps": 5, "betas": [0.5, 0.75]}, "start": "a"}
    assert nested(given) == plain
    with pytest.raises(UsageError, match=r"train\.steps: a setting cannot be an object"):
        nested({"train.steps": object()})


@pytest.mark.usefixtures("_unchecked")
@pytest.mark.parametrize("wrong", [None, 3, ["runs/first"]])
def test_a_run_is_named_by_its_path(wrong):
    with pytest.raises(UsageError, match="is no path") as caught:
        regard.load(wrong)
    assert caught.value.where == "path"


@pytest.mark.usefixtures("_unchecked")
def test_files_are_named_one_by_one():
    with pytest.raises(UsageError, match="a list is no path") as caught:
        regard.train(["train.en", "train.de"])
    assert caught.value.remedy.endswith("regard.train(*files)")
    with pytest.raises(UsageError, match="None is no path"):
        regard.train("train.en", None)


def test_one_validation_file_needs_no_list(tmp_path):
    for name in ("train.tsv", "valid.tsv"):
        (tmp_path / name).write_text("".join(f"{name} {n}\tword {n}\n" for n in range(20)))
    for valid in (tmp_path / "valid.tsv", [str(tmp_path / "valid.tsv")]):
        model = regard.train(
            tmp_path / "train.tsv",
            valid=valid,
            out=tmp_path / "run",
            preset="bahdanau2015",
            settings=TINY,
            listener=silent(),
        )
        assert model.run.settings.data.valid == (str(tmp_path / "valid.tsv"),)


@pytest.mark.usefixtures("_unchecked")
def test_a_listener_is_one(tmp_path):
    with pytest.raises(UsageError, match="cannot listen"):
        regard.train(toy="copy", out=tmp_path / "x", listener=print)
    assert not (tmp_path / "x").exists()


def test_a_file_of_text_is_no_run(tmp_path):
    (tmp_path / "new.en").write_text("a line\n")
    with pytest.raises(ModelFileError, match=r"new\.en is a file of text, not a run"):
        regard.load(tmp_path / "new.en")
    with pytest.raises(FileNotFoundError, match="there is no such run"):
        regard.load("x" * 5_000)


@pytest.mark.usefixtures("_unchecked")
def test_a_device_is_named():
    with pytest.raises(UsageError, match="no device 'None'"):
        regard.load("box", None)


@pytest.mark.usefixtures("_unchecked")
def test_what_is_asked_for_is_checked(model):
    with pytest.raises(UsageError, match="no precision 'fp16'"):
        regard.load(model.run.folder, precision="fp16")
    with pytest.raises(UsageError, match="beam: must be an integer, not 'three'"):
        model.translate("a b", beam="three")
    with pytest.raises(UsageError, match="and this is a dict"):
        regard.trace(model, "a b", {"beam": 2})
    with pytest.raises(UsageError, match="a model that is brought needs its tokenizer"):
        regard.trace(model.model, "a b")
    with pytest.raises(UsageError, match="does not translate into"):
        model.translate("a b", to=["fr"])


@pytest.mark.usefixtures("_unchecked")
def test_sites_are_counted_as_others_count(model):
    seen = regard.trace(model, "a b")
    assert seen.site(np.int64(0)) is seen.sites[0]


def test_what_is_shown_fits_on_a_line(model):
    seen = regard.trace(model, "a b")
    for value in (model, model.run, seen, seen.site(), model.look("a b"), model.look("a b").site()):
        assert repr(value).startswith(f"{type(value).__name__}(")
        assert len(repr(value)) < 300
        assert "\n" not in repr(value)
