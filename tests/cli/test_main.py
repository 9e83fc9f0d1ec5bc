"""Every way a command can end, and the exit code it has then."""

import io
import json
import signal
import sys
from types import ModuleType

import pytest
import torch

import regard.__main__
from regard import errors
from regard.cli.main import status
from regard.signals import Stopped

ENDINGS = [
    (errors.UsageError("what", "where", "remedy"), 2),
    (errors.MissingFileError("what", "where", "remedy"), 2),
    (errors.DataError("what", "where", "remedy"), 3),
    (errors.ModelFileError("what", "where", "remedy"), 4),
    (errors.DiskError("what", "where", "remedy"), 5),
    (errors.MemoryLimitError("what", "where", "remedy"), 6),
    (errors.DivergedError("what", "where", "remedy"), 7),
    (errors.ResumeError("what", "where", "remedy"), 8),
    (errors.PortError("what", "where", "remedy"), 9),
    (PermissionError(13, "Permission denied", "notes.txt"), 5),
    (OSError(28, "No space left on device"), 5),
    (MemoryError(), 6),
    (torch.OutOfMemoryError("2 GiB"), 6),
    (KeyError("surprise"), 1),
    (AssertionError(), 1),
]
QUIET = [
    (KeyboardInterrupt(), 130),
    (Stopped(signal.SIGINT), 130),
    (Stopped(signal.SIGTERM), 143),
    (BrokenPipeError(32, "Broken pipe"), 141),
]


def named(ending):
    return type(ending[0]).__name__


@pytest.fixture
def end_with(monkeypatch):
    """Let `regard config` end with this exception."""

    def set_up(fault):
        def names():
            raise fault

        monkeypatch.setattr("regard.presets.names", names)

    return set_up


@pytest.mark.parametrize(("fault", "code"), ENDINGS, ids=map(named, ENDINGS))
def test_every_error_has_its_exit_code(fault, code, end_with, tell):
    end_with(fault)
    found, out, err = tell("config")
    assert (found, out) == (code, "")
    assert err.startswith("error: ")
    assert "Traceback" not in err


class Full(io.StringIO):
    """Where nothing can be written to any more, as a pipe onto a full disk."""

    def write(self, text):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_output_that_cannot_be_written_is_told_as_any_error(more, monkeypatch, capsys):
    """With --json the error went the way of the answer, and the way of a fault of ours."""
    monkeypatch.setattr("sys.stdout", Full())
    assert status(["data", "--toy", "reverse", *more]) == 5
    err = capsys.readouterr().err
    assert "error: no space left on device" in err
    assert "where: standard output" in err


class Stopping(ModuleType):
    """A module that is stopped from the keyboard while it is loaded."""

    def __getattr__(self, name):
        raise KeyboardInterrupt


def test_stopped_while_it_is_loaded(monkeypatch):
    """Ctrl-C in the first fifth of a second printed a traceback."""
    monkeypatch.setitem(sys.modules, "regard.cli.main", Stopping("regard.cli.main"))
    with pytest.raises(SystemExit) as ended:
        regard.__main__.main()
    assert ended.value.code == 130


@pytest.mark.parametrize(("fault", "code"), ENDINGS, ids=map(named, ENDINGS))
def test_an_error_is_one_json_object(fault, code, end_with, tell_json):
    end_with(fault)
    found, answer = tell_json("config")
    assert found == answer["exit_code"] == code
    assert set(answer) == {"error", "what", "where", "remedy", "exit_code"}


@pytest.mark.parametrize(("fault", "code"), QUIET)
def test_who_stops_a_command_is_told_nothing(fault, code, end_with, tell):
    end_with(fault)
    assert tell("config") == (code, "", "")


def test_an_error_is_told_in_three_lines(end_with, tell):
    end_with(errors.DataError("the file is empty", where="a.txt:1", remedy="write something"))
    assert tell("config") == (
        3,
        "",
        "error: the file is empty\n  where: a.txt:1\n  try:   write something\n",
    )


def test_the_system_is_quoted_with_the_file(end_with, tell):
    end_with(PermissionError(13, "Permission denied", "notes.txt"))
    assert tell("config") == (
        5,
        "",
        "error: permission denied\n  where: notes.txt\n"
        "  try:   look at the path and its permissions: ls -l\n",
    )


def test_a_fault_of_ours_asks_to_be_reported(end_with, tell):
    end_with(KeyError("surprise"))
    assert tell("config") == (
        1,
        "",
        "error: this is a fault of regard: KeyError: 'surprise'\n"
        "  where: regard\n"
        "  try:   run it again with `regard --debug ...` and report what it prints\n",
    )


def test_debug_shows_where_an_error_arose(end_with, tell):
    end_with(MemoryError("here"))
    code, _, err = tell("--debug", "config")
    assert code == 6
    assert "Traceback" in err
    assert "MemoryError: here" in err
    assert "Traceback" not in tell("config")[2]


def test_an_option_without_its_value_names_the_command(tell):
    code, _, err = tell("translate", "--to")
    assert code == 2
    assert "  where: regard translate\n  try:   regard translate --help\n" in err


def test_an_unknown_command_is_compared_with_the_known_ones(tell):
    code, out, err = tell("trian")
    assert (code, out) == (2, "")
    assert "no such command 'trian'. Did you mean 'train'?" in err
    assert "regard --help" in err


def test_an_unknown_option_names_the_command_that_has_none(tell_json):
    code, answer = tell_json("train", "--presett", "bahdanau2015")
    assert code == 2
    assert answer["what"].startswith("no such option: --presett")
    assert "--preset" in answer["what"]
    assert answer["where"] == "regard train"
    assert answer["remedy"] == "regard train --help"


def test_an_option_without_its_value(tell):
    code, _, err = tell("train", "--toy")
    assert code == 2
    assert "option '--toy' requires an argument" in err


def test_nothing_asked_for_is_answered_by_help(tell):
    code, out, err = tell()
    assert code == 2
    assert "Usage: regard" in out
    assert err == ""


def test_version(tell):
    from regard import __version__

    assert tell("--version") == (0, f"regard {__version__}\n", "")


def test_a_bug_does_not_spoil_the_next_command(end_with, capsys, monkeypatch):
    end_with(KeyError("once"))
    assert status(["--debug", "config", "--json"]) == 1
    monkeypatch.undo()
    capsys.readouterr()
    assert status(["config"]) == 0
    out = capsys.readouterr().out
    with pytest.raises(json.JSONDecodeError):
        json.loads(out)
