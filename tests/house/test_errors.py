"""Every error says what, where and what to do: by its arguments in the source, and while tests run."""

import ast
import inspect
import pickle

import pytest

from regard import errors
from regard.errors import MissingFileError, RegardError, missing
from tests.house.tree import ROOT

KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, RegardError)
}


def raised():
    """Every call of an error in the source, with its place."""
    for path in sorted((ROOT / "src" / "regard").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in KINDS:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_every_error_in_the_source_has_a_place_and_a_remedy():
    calls = list(raised())
    assert len(calls) > 300
    for place, call in calls:
        given = dict(zip(("what", "where", "remedy"), call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords}
        assert {"what", "where", "remedy"} <= given.keys(), place
        for value in (given["what"], given["remedy"]):
            assert not (isinstance(value, ast.Constant) and not value.value), place


def test_an_error_without_a_remedy_cannot_be_made():
    with pytest.raises(TypeError):
        RegardError("what", "where")


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_error_survives_the_way_to_another_process(kind):
    copy = pickle.loads(pickle.dumps(kind("what", "where", "remedy")))
    assert type(copy) is kind
    assert (copy.what, copy.where, copy.remedy) == ("what", "where", "remedy")
    assert str(copy) == "what\nwhere\nremedy"


class TestMissing:
    def test_the_file_beside_it_is_named(self, tmp_path):
        (tmp_path / "train.en").touch()
        fault = missing(tmp_path / "tran.en")
        assert fault.remedy == f"did you mean {tmp_path / 'train.en'}?"
        assert isinstance(fault, FileNotFoundError)
        assert isinstance(fault, MissingFileError)

    def test_or_how_to_see_what_is_there(self, tmp_path):
        assert missing(tmp_path / "tran.en").remedy == f"ls {tmp_path} shows what is there"

    def test_or_which_folder_is_not(self, tmp_path):
        wanted = (
            f"there is no folder {tmp_path / 'a' / 'b'} either: ls {tmp_path} shows what is there"
        )
        assert missing(tmp_path / "a" / "b" / "c").remedy == wanted
