"""What the pages of docs/ say to type is typed, page by page and in their order; only training is shortened.

tests/cli/test_readme.py does so with the README, and tests/cli/test_lectures.py with docs/lectures.md.
"""

import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from regard.run.resolve import resolve
from tests.cli.test_docs import PAGES, commands, fenced
from tests.cli.test_lectures import SHORT
from tests.house.tree import ROOT
from tests.run import kinds

# Commands with a name for what a reader has (RUN, FILES), or that need what no test can have: skipped.
OPEN = re.compile(
    r"\b[A-Z]{3,}\b|\.\.\.|\[|/ |/$|\.jpg|\.wav|books\.txt|en_ewt|captions\.tsv|\bpicture\b"
)
NAME = re.compile(r"regard( models)? \S+")  # of a command alone
LONG = (
    "regard bench",
    "regard studio",
    "regard doctor",
    "regard heads",
    "regard senses",
    "regard export",
)
TYPED = ("autoencoder", "copying", "hard-attention", "limits", "one-trick-away", "pointing", "pretraining",
         "remembering", "several-sources", "speech", "training")  # fmt: skip
WORDS = ("the dog runs", "a cat sleeps", "two birds sing", "the sun shines")
TREES = "".join(f"(S (NP (DT the) (NN dog{n})) (VP (VBZ runs)))\n" for n in range(60))


def lines_of(name):
    """The commands of a page, as they stand, that are whole; a name of a command alone is none."""
    page = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    found = [line for line in commands(page) if not NAME.fullmatch(line) and not OPEN.search(line)]
    return [line for line in dict.fromkeys(found) if not line.startswith(LONG)]


@pytest.fixture
def folder(tmp_path):
    """The files that a reader of these pages has."""
    text = "".join(f"{words} {number}\n" for number in range(20) for words in WORDS)
    for name in ("train", "test", "valid", "val"):
        for side in ("en", "de", "fr"):
            (tmp_path / f"{name}.{side}").write_text(text)
    for name in ("lines.txt", "text.txt"):
        (tmp_path / name).write_text(text)
    (tmp_path / "train.tsv").write_text("".join(f"{line}\t{line}\n" for line in text.splitlines()))
    (tmp_path / "trees.mrg").write_text(TREES)
    return tmp_path


def typed(folder, code):
    """A process of its own, as a person's would be: without the shape checks of a test run."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    return done.stdout


def type_all(lines):
    """Each command ends well. Toys give few examples, so that it takes a second to prepare them."""
    from unittest.mock import patch

    from regard.cli.main import status
    from regard.training import compare_runs

    compare_runs.MOST_ASKED = 4
    with patch.dict("regard.data.toys.toy._COUNTS", {"train": 96, "valid": 8, "test": 8}):
        for line in lines:
            command, _, target = line.partition(" > ")
            words = shlex.split(command)[1:]
            more = SHORT if words[0] in ("train", "compare") else []
            if words[0] == "evaluate":
                more = ["--examples", "4"]
            print("$", command, flush=True)
            if target:  # what is written into a file is read by a later line
                with Path(target).open("w") as file:
                    subprocess.run(
                        [sys.executable, "-m", "regard", *words], stdout=file, check=True
                    )
            elif status([*words, *more]) != 0:
                raise AssertionError(line)


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPED)
def test_every_command_of_a_page_can_be_typed(folder, name):
    lines = lines_of(name)
    assert lines
    typed(folder, f"from tests.cli.test_pages import type_all; type_all({lines!r})")


def test_programs_about_traces_run_and_print_their_sites(folder):
    programs = fenced((ROOT / "docs" / "trace-format.md").read_text("utf-8"), "python")
    kinds.make(folder / "runs" / "first", "transformer")
    said = typed(folder, "\n".join(programs))
    assert "encoder.blocks.0.attention" in said
    assert "reader.blocks.0.cross" in said


def test_every_page_with_a_program_has_a_test_that_runs_it():
    """Those of interop.md and speech.md are pieces: tests/interop and tests/traces have them in full."""
    with_programs = {page.name for page in PAGES if fenced(page.read_text("utf-8"), "python")}
    assert with_programs == {
        "README.md", "lectures.md", "trace-format.md", "interop.md", "speech.md"
    }  # fmt: skip


def made_by(words):
    """The folder that a command makes: the one it names, or the default of `regard train`."""
    for option in ("--out", "-o"):
        if option in words:
            return words[words.index(option) + 1]
    if words[:2] == ["models", "import"]:
        return words[3] if len(words) > 3 else None
    if words[0] != "train":
        return None
    given = {
        name: words[words.index(name) + 1] for name in ("--preset", "-p", "--toy") if name in words
    }
    files = [Path(word) for word in words[1:2] if not word.startswith("-")]
    if not given and not files:
        return None
    task = words[words.index("--task") + 1] if "--task" in words else "translate"
    learned = files[0].stem if files else given.get("--toy")
    kind = given.get("--preset") or given.get("-p")
    if learned is None or kind is None:
        settings = resolve(name=kind, toy=learned if not files else None) if not files else None
        learned = learned or settings.data.toy
        kind = kind or (settings.task if settings else "multisource" if "--to" in words else task)
    return f"runs/{learned.split('.')[0]}-{kind}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_run_that_a_page_uses_is_one_that_it_has_made(page):
    """`regard train --preset see2017` and then `regard look runs/see2017` failed: it lies elsewhere."""
    made = {"runs/mine"}  # what the text calls the reader's own
    for line in commands(page.read_text("utf-8")) if page.name not in ("log.md", "map.md") else ():
        words = shlex.split(re.split(r" [<>|] ", line)[0])[1:]
        new = made_by(words)
        inside = ("--set", "-s")  # a setting is no run
        used = {
            word.rstrip("/")
            for before, word in pairwise(words)
            if word.startswith("runs/") and before not in ("--out", "-o", *inside)
        }
        whole = {"/".join(word.split("/")[:2]) for word in used}
        assert "..." in line or whole - {new} <= made, line
        made |= {new} - {None}
