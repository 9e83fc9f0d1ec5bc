"""What commands say to a person: arguments as options, and nothing that steers a terminal."""

import re

import pytest

from regard.cli.output import activation, advise, as_typed, harmless
from tests.show.payloads import CORPUS, ESCAPES

STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def test_nothing_that_steers_is_left():
    for text in (*CORPUS, "\ud800 half"):
        said = harmless(text)
        assert not STEERS.search(said)
        said.encode()
        if not STEERS.search(text):
            assert said == text


def test_what_was_meant_is_still_read():
    assert harmless("\x1b[31mred") == "\\x1b[31mred"
    assert harmless("a\u202eb") == "a\\u202eb"
    assert harmless("two\nlines\tשלום 👩\u200d🚀 é") == "two\nlines\tשלום 👩\u200d🚀 é"


@pytest.mark.parametrize("text", ESCAPES, ids=repr)
def test_a_fault_and_a_map_with_such_a_name(trained, tell, text):
    _, out, err = tell("look", trained, f"a b {text}")
    assert not STEERS.search(out + err)
    code, out, err = tell("look", trained, "a b", "--site", text)
    assert code == 2
    assert not STEERS.search(out + err)


def test_a_path_with_such_a_name(tell, tmp_path):
    code, out, err = tell("look", tmp_path / "\x1b[31mnowhere", "a")
    assert code
    assert not STEERS.search(out + err)
    assert "\\x1b[31mnowhere" in err


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ('say to="fr"; this model knows fr', "say --to fr; this model knows fr"),
        ("to=None", "--to"),
        ("cut it off: truncate=True", "cut it off: --truncate"),
        (
            'preset="demo" with start_from="translator"',
            "--preset demo with --start-from translator",
        ),
        ('vary="model.reader.score=dot,additive"', "--vary model.reader.score=dot,additive"),
        ("train.deterministic=True", "train.deterministic=True"),
        ("runs/first", "runs/first"),
    ],
)
def test_arguments_are_told_as_they_are_typed(said, typed):
    assert as_typed(said) == typed


class TestWhatToTypeNext:
    def test_regard_that_is_no_command_yet_is_made_one_first(self, monkeypatch, tmp_path, capsys):
        (tmp_path / "my env" / "bin").mkdir(parents=True)
        (tmp_path / "my env" / "bin" / "activate").touch()
        monkeypatch.setattr("sys.prefix", str(tmp_path / "my env"))
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        advise({"look": "regard look runs/demo"})
        *_, first, _, then = capsys.readouterr().err.splitlines()
        assert (first, then) == ("  source 'my env/bin/activate'", "  regard look runs/demo")
        (tmp_path / "other").mkdir()
        monkeypatch.chdir("other")
        assert activation() == f"source '{tmp_path}/my env/bin/activate'"

    def test_a_command_is_typed_as_it_is(self, capsys):
        advise({"look": "regard look runs/demo"})
        assert "activate" not in capsys.readouterr().err
