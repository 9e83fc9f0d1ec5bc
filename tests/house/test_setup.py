"""What `make` installs and for whom: a user gets what the first commands need, a contributor the rest."""

import os
import runpy
import shutil
import subprocess
import sys
import tomllib

import pytest

from tests.house.tree import ROOT

PAGE = runpy.run_path(str(ROOT / "tools" / "page.py"))
INSTALL = runpy.run_path(str(ROOT / "tools" / "install.py"))
CONTRIBUTORS = {
    "mypy",
    "transformers",
    "playwright",
    "pytest",
    "ruff",
    "hypothesis",
    "schemathesis",
}


def make(*words, folder):
    """What `make` prints when it is called from a terminal: these tests may themselves run below a `make`."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", *words], cwd=folder, env=outside, capture_output=True, text=True, check=True
    )
    return done.stdout


def plan(target, folder):
    """The commands that `make` would run in a fresh clone, where nothing is installed or built."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder / name)
    return make("-n", target, folder=folder)


class TestMake:
    @pytest.mark.parametrize("target", ["setup", "demo", "studio", "page", "bench"])
    def test_users_get_no_tools_of_contributors(self, target, tmp_path):
        told = plan(target, tmp_path)
        assert "tools/install.py .venv png\n" in told
        assert " dev\n" not in told

    @pytest.mark.parametrize("target", ["setup-dev", "check", "test", "test-cpu", "test-slow"])
    def test_contributors_get_everything(self, target, tmp_path):
        first, _, then = plan(target, tmp_path).partition("tools/install.py .venv dev\n")
        assert "install.py" not in first
        assert "touch .venv/.installed .venv/.installed-dev" in then, (
            "a user's part is done with it"
        )

    def test_setup_builds_the_page_and_says_how_regard_becomes_a_command(self, tmp_path):
        told = plan("setup", tmp_path)
        assert "tools/page.py ci build" in told
        assert told.index("tools/page.py ci build") < told.index("source .venv/bin/activate")

    def test_the_package_itself_asks_for_nothing_that_only_contributors_need(self):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        wanted = [*project["dependencies"], *project["optional-dependencies"]["png"]]
        assert not CONTRIBUTORS & {word.split(">")[0] for word in wanted}

    def test_every_target_is_explained(self):
        text = (ROOT / "Makefile").read_text("utf-8")
        (line,) = [line for line in text.split("\n") if line.startswith(".PHONY: ")]
        told = make("help", folder=ROOT)
        assert {row.split()[0] for row in told.splitlines()} == {*line.split()[1:]}


class TestInstall:
    @pytest.mark.parametrize(
        ("line", "told"),
        [
            (
                "  Downloading numpy-2.4.6-cp311-linux.whl (16.6 MB)\n",
                "fetching numpy 2.4.6 (16.6 MB)",
            ),
            ("Processing /x/torch-2.13.0+cpu-cp311.whl\n", "fetching torch 2.13.0+cpu"),
            ("Collecting rich>=13.9 (from regard)\n", "looking for rich>=13.9"),
            ("Installing collected packages: a, b, c\n", "unpacking 3 packages"),
            ("  Getting requirements to build editable: started\n", None),
            ("", None),
        ],
    )
    def test_a_line_of_pip_in_words(self, line, told):
        assert INSTALL["activity"](line) == told

    def test_what_a_process_does_is_told_and_all_it_said_is_kept(self, capsys):
        program = "print('Collecting a'); print('Installing collected packages: a, b')"
        call = [sys.executable, "-c", program]
        with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as process:
            said = INSTALL["follow"](process, watched=False)
        assert said == ["Collecting a\n", "Installing collected packages: a, b\n"]
        assert capsys.readouterr().out == "  unpacking 2 packages\n"
        assert process.returncode == 0


class TestPage:
    def test_node_is_as_new_as_the_page_asks(self):
        package = (ROOT / "web" / "package.json").read_text("utf-8")
        assert f'"node": ">={".".join(map(str, PAGE["OLDEST"]))}"' in package

    def test_a_node_that_is_too_old_is_not_taken(self, tmp_path, monkeypatch):
        for name, said in (("node", "v18.20.4"), ("npm", "9.2.0")):
            (tmp_path / name).write_text(f"#!/bin/sh\necho {said}\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        assert PAGE["npm"]() is None
        (tmp_path / "node").write_text("#!/bin/sh\necho v22.1.0\n")
        assert PAGE["npm"]() == [str(tmp_path / "npm")]


def test_every_command_of_the_help_is_there():
    """A command is added by being imported: an import that is lost takes its command with it."""
    from itertools import chain

    from regard.cli.command import PANELS, name_of
    from regard.cli.main import app

    made = {one.name or name_of(one.callback) for one in app.registered_commands}
    assert made | {str(one.name) for one in app.registered_groups} == set(
        chain.from_iterable(PANELS.values())
    )
