"""The forms of a model: the plain one is read when somebody looks, and one tensor at a time."""

import pickle
import sys
import weakref
from collections import Counter
from inspect import CO_OPTIMIZED
from pathlib import Path

import pytest

import regard
from regard import box, decode
from regard.accelerate.cpu import multiplies_whole
from regard.answer.predictor import Predictor
from regard.answer.tracing import traces
from regard.cli.main import status
from regard.run import archive, load
from regard.run.folder import Run
from regard.seams import reference
from tests.box import standin


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A box with a translator of integers in it."""
    made = tmp_path_factory.mktemp("box")
    standin.make(made, "translator", "translate", tmp_path_factory.mktemp("scratch") / "run")
    return made


@pytest.fixture
def plain(monkeypatch):
    """Whose plain form was read."""
    read, original = [], Run.load_model

    def load_model(run, *where):
        read.append(run.folder.name)
        return original(run, *where)

    monkeypatch.setattr(Run, "load_model", load_model)
    return read


@pytest.mark.parametrize("by_name", [False, True])
def test_whole_numbers_answer_alone_until_somebody_looks(place, plain, monkeypatch, by_name):
    monkeypatch.setattr(box, "PLACE", place)
    model = Predictor.load("translator" if by_name else place / "translator", "cpu")
    model.translate("the cat", to="fr")
    assert plain == ([] if multiplies_whole() else ["translator"])
    model.look("the cat", to="fr")
    assert plain == ["translator"]


def test_the_formula_is_looked_into(place):
    """The plain model is first asked for in inference mode, and counts its versions all the same."""
    with reference():
        model = Predictor.load(place / "translator", "cpu")
        seen = model.look("the cat", to="fr")
        assert seen.answer.text == model.translate("the cat", to="fr")


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")  # torch warns of itself
def test_whole_numbers_travel_to_another_process(place):
    model = Predictor.load(place / "translator", "cpu")
    again = pickle.loads(pickle.dumps(model))
    assert again.translate("the cat", to="fr") == model.translate("the cat", to="fr")


@pytest.fixture
def counted(monkeypatch):
    """How often a file of weights was read, a model built, and an answer searched for."""
    found = Counter()

    def count(module, name):
        original = getattr(module, name)

        def call(*given, **named):
            found[name] += 1
            return original(*given, **named)

        monkeypatch.setattr(module, name, call)

    count(load.weights, "read")
    count(load, "build")
    count(decode, "_search")
    return found


@pytest.mark.parametrize("packed", [False, True])
def test_who_looks_reads_the_weights_once(place, plain, counted, tmp_path, packed):
    """What was unpacked for a moment will be gone when somebody looks: it is read for that at once."""
    archive.pack(place / "translator", tmp_path / "shared.zip")
    path = tmp_path / "shared.zip" if packed else place / "translator"
    model = Predictor.load(path, "cpu", looking=not packed)
    (answer,) = model.predict(["the cat"], to="fr", split=True)
    (seen,) = traces(model, "the cat", to="fr", answer=answer)
    assert seen.sites
    assert seen.answer.text == answer.text
    assert counted == {"read": 1, "build": 1, "_search": 1}
    assert plain == ([] if multiplies_whole() else [model.run.folder.name])


def test_the_form_to_look_at_is_the_one_that_would_be_read_later(place):
    early = Predictor.load(place / "translator", "cpu", looking=True).model.state_dict()
    late = Predictor.load(place / "translator", "cpu").model.state_dict()
    assert early.keys() == late.keys()
    assert all(early[name].equal(late[name]) for name in late)


def test_one_tensor_at_a_time_is_made_wide(place, monkeypatch):
    made, original = [], load.widened

    def widened(state, where):
        assert not any(earlier() is not None for earlier in made)
        found = original(state, where)
        wide = [weakref.ref(tensor) for tensor in found.values() if not tensor.is_meta]
        assert len(wide) <= 1
        made.extend(wide)
        return found

    monkeypatch.setattr(load, "widened", widened)
    model = Run.open(place / "translator").load_model()
    assert len(made) == len(model.state_dict())


def test_how_many_functions_a_look_calls(place, monkeypatch, capsys):
    """The walk through `translate --look`: as few as there are (docs/log.md)."""
    monkeypatch.setattr(box, "PLACE", place)
    home, called = str(Path(regard.__file__).parent), set()

    def note(frame, event, _):
        code = frame.f_code
        # Code that keeps its variables in slots is a function; a module or the body of a class is none.
        is_function = code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<")
        if event == "call" and is_function and code.co_filename.startswith(home):
            called.add(code)

    sys.setprofile(note)
    try:
        assert status(["translate", "the cat", "--to", "fr", "--look"]) == 0
    finally:
        sys.setprofile(None)
    assert "cat" in capsys.readouterr().out
    assert 100 < len(called) <= 595
