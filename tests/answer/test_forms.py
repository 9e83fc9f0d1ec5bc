"""The forms of a model: the plain one is read when somebody looks, and one tensor at a time."""

import pickle
import weakref

import pytest

from regard import box
from regard.accelerate.cpu import multiplies_whole
from regard.answer.predictor import Predictor
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


def test_what_was_unpacked_for_a_moment_is_read_at_once(place, plain, tmp_path):
    archive.pack(place / "translator", tmp_path / "shared.zip")
    model = Predictor.load(tmp_path / "shared.zip", "cpu")
    assert plain == ["shared"]
    assert model.look("the cat", to="fr").sites


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
