"""The bar: gone while answers are written to its terminal, and never in what is written elsewhere."""

import io
import os
import sys

from regard.cli.output import bar

ERASED = "\x1b[2K"


class Screen(io.StringIO):
    def isatty(self):
        return True


def watched(monkeypatch):
    """A terminal in place of the error stream; not as a fixture, for pytest puts its own back after those."""
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_answers_in_the_same_terminal_do_not_stand_behind_the_bar(monkeypatch):
    screen = watched(monkeypatch)
    monkeypatch.setattr(sys, "stdout", screen)
    with bar("answering", lambda: 2) as shown:
        shown.advance(1)
        with shown.aside():
            print("an answer")
    before, _, after = screen.getvalue().partition("an answer")
    assert "answering" in before
    assert "answering" not in before.rpartition(ERASED)[2]
    assert "answering" in after, "it comes back for the rest"
    assert "answering" not in after.rpartition(ERASED)[2]


def test_answers_in_a_file_stay_whole_while_a_person_watches_the_bar(monkeypatch):
    screen, file = watched(monkeypatch), io.StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    with bar("answering", lambda: 2) as shown, shown.aside():
        print("an answer")
    assert file.getvalue() == "an answer\n"
    assert "an answer" not in screen.getvalue()


def test_where_nobody_watches_there_is_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with bar("answering", lambda: 2) as shown:
        shown.at(1)
    assert sys.stderr.getvalue() == ""


def test_a_bar_is_not_in_the_way_of_what_reads_a_pipe(monkeypatch):
    """`regard caption shapes pictures/ | head`: the first answer stood behind the bar, in one line."""
    screen = watched(monkeypatch)
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as piped:
        monkeypatch.setattr(sys, "stdout", piped)
        with bar("answering", lambda: 2) as shown:
            shown.advance(1)
    assert screen.getvalue() == ""
