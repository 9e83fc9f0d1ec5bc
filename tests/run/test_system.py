"""A process lives, has ended, or waits for its parent; where nothing is known nothing is said."""

import os

import pytest

from regard.run import system


def test_this_process_lives_and_has_a_start():
    assert system.alive(os.getpid())
    assert system.alive(os.getppid())
    assert system.started(os.getpid()) == system.started(os.getpid())


@pytest.mark.parametrize("pid", [0, -1, 2**40])
def test_no_process_has_such_an_id(pid):
    assert not system.alive(pid)
    assert system.started(pid) == ""


@pytest.mark.parametrize("letter", ["Z", "X"])
def test_one_that_has_ended_and_waits_for_its_parent_is_not_alive(tmp_path, monkeypatch, letter):
    folder = tmp_path / str(os.getpid())
    folder.mkdir()
    (folder / "stat").write_text(f"7 (name) {letter} 1 2\n")
    monkeypatch.setattr(system, "_PROCESSES", tmp_path)
    assert not system.alive(os.getpid())


def test_without_proc_only_the_signal_tells(tmp_path, monkeypatch):
    monkeypatch.setattr(system, "_PROCESSES", tmp_path / "missing")
    assert system.boot_id() == ""
    assert system.started(os.getpid()) == ""
    assert system.alive(os.getpid())
    assert not system.alive(2**40)


def test_a_program_name_may_hold_brackets_and_spaces(tmp_path, monkeypatch):
    fields = ["S", *map(str, range(4, 60))]
    folder = tmp_path / "7"
    folder.mkdir()
    (folder / "stat").write_text(f"7 (a) b) (c) {' '.join(fields)}\n")
    monkeypatch.setattr(system, "_PROCESSES", tmp_path)
    assert system.started(7) == "22"  # the field the manual numbers so
