"""`regard.train` and `regard.load`, as a person calls them."""

import os
import signal

import pytest

import regard
from regard.api import nested
from regard.errors import ResumeError, UsageError

TINY = {
    "model.encoder.width": 8,
    "model.reader.width": 8,
    "data.examples": 40,
    "train": {"steps": 2, "evaluate_every": 2, "evaluate_examples": 2, "workers": 0},
    "decode.max_length": 4,
}


def silent():
    return regard.train.Listener()


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
    again = regard.load(str(model.run.folder), "cpu", strict=True)
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
    class Impatient(regard.train.Listener):
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
