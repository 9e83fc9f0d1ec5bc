"""Every command and every program of the README, typed as it stands; only training is shortened.

They run as a reader runs them, in processes of their own without the checks of shapes that tests make.
"""

import json
import re
import shlex
import subprocess
import sys

import pytest

from tests.cli.test_docs import commands, fenced
from tests.cli.tiny import TINY
from tests.house.tree import ROOT
from tests.studio.kit import server

README = (ROOT / "README.md").read_text("utf-8")
PROGRAMS = fenced(README, "python")
COMMANDS = list(commands(README))
SHOWN = next(block for block in fenced(README) if "</s>" in block)
SHORTER = dict.fromkeys(("train", "demo", "compare"), TINY)
FIRST = 'regard translate "The black cat ate the mouse." --to fr --look'
WORDS = ("the dog runs", "a cat sleeps", "two birds sing", "the sun shines")
INK = re.compile(r"[▁▂▃▄▅▆▇█]")
# One process types all of them: importing torch a dozen times would take longer than the work.
TYPE_ALL = """
import io, json, sys
from regard.cli.main import status

for words, given in json.loads(sys.argv[1]):
    sys.stdin = open(given) if given else io.StringIO()
    print("$", *words, flush=True)
    if code := status(words):
        sys.exit(code)
"""


def python(*words, folder):
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the README's reader is said to have."""
    place = tmp_path_factory.mktemp("readme")
    lines = "".join(f"{words} {number}\n" for number in range(20) for words in WORDS)
    for name in ("train", "test", "new"):
        for side in ("en", "de"):
            (place / f"{name}.{side}").write_text(lines, "utf-8")
    return place


@pytest.fixture(scope="module")
def printed(folder):
    """What each command printed, in the order of the page: later ones use what earlier ones made."""
    calls = []
    for line in COMMANDS:
        words, _, given = line.partition(" < ")
        _, *words = shlex.split(words)
        if words[0] != "studio":
            calls.append((words + list(SHORTER.get(words[0], ())), given.strip()))
    said = python("-c", TYPE_ALL, json.dumps(calls), folder=folder)
    parts = (part.partition("\n") for part in f"\n{said}".split("\n$ ")[1:])
    return {words: answer for words, _, answer in parts}


def test_every_command_answers(printed):
    assert len(printed) + sum(" studio" in line for line in COMMANDS) == len(COMMANDS) >= 12
    assert len(printed["translate runs/train-translate"].split("\n")) == 80, "lines in, lines out"
    assert printed["data train.en train.de"].strip()


def test_the_first_command_prints_what_the_readme_shows(printed):
    """The words and their places; how dark a square is may differ by a shade from processor to processor."""
    said = printed[" ".join(shlex.split(FIRST)[1:])]
    assert [line.rstrip() for line in INK.sub(" ", said).rstrip().split("\n")] == [
        line.rstrip() for line in INK.sub(" ", SHOWN).rstrip().split("\n")
    ]


@pytest.mark.parametrize("line", [line for line in COMMANDS if " studio" in line])
def test_the_studio_opens(folder, printed, line):
    _, _, *runs = shlex.split(line)
    with server(*runs, folder=folder, more=("--no-open",)) as one:
        assert one.told["runs"], one.log.read_text("utf-8")
        assert {run.rpartition("/")[2] for run in runs} <= set(one.told["runs"])


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_prints_what_its_comments_say(number, folder):
    said = python("-c", PROGRAMS[number], folder=folder).splitlines()
    for comment in re.findall(r"print\(.*\)  # (c b a|torch.*)", PROGRAMS[number]):
        assert comment in said


def test_the_programs_are_told_apart():
    assert len(PROGRAMS) >= 3
    assert "# c b a" in "".join(PROGRAMS)
