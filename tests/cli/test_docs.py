"""What the documents say to type can be typed: commands, options, settings, links and Python all exist."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from regard.cli.main import app
from regard.data.toys import TOYS
from regard.presets import names
from regard.worked import EXAMPLES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LECTURES = (ROOT / "docs" / "lectures.md").read_text("utf-8")


def fenced(text, kind=""):
    """The blocks of a page between fences, of one kind: plain ones hold commands, or what they print."""
    return [
        block
        for word, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M)
        if word == kind
    ]


def commands(text):
    """Every command in backticks or in a block of its own, without the comment behind it."""
    for line in re.findall(r"`(regard [^`\n]+)`", text):
        yield line
    for line in "".join(fenced(text)).split("\n"):
        if line.startswith("regard "):
            yield line.partition("  #")[0].strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
        assert link.startswith("https://") or (page.parent / link).exists(), link


@pytest.mark.parametrize("page", [*PAGES, "help"], ids=lambda page: getattr(page, "name", page))
def test_commands_have_the_options_they_are_given(page):
    helps = (command.help for command in get_command(app).commands.values())
    for line in commands("\n".join(helps) if page == "help" else page.read_text("utf-8")):
        command, words = get_command(app), shlex.split(re.split(r" [<>|] ", line)[0])[1:]
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in parameter.opts}
        known |= {"--help", "--version", "--debug"}
        assert {word for word in words if word.startswith("-")} <= known, line
        for option, choices in (("--preset", names()), ("-p", names()), ("--toy", TOYS)):
            given = [words[at + 1] for at, word in enumerate(words) if word == option]
            assert set(given) <= set(choices), line


def test_the_lectures_page_runs_and_has_every_worked_example(capsys):
    for block in re.findall(r"```python\n(.*?)```", LECTURES, re.S):
        exec(compile(block, "lectures.md", "exec"), {})
    assert "six-steps" in capsys.readouterr().out
    for name in EXAMPLES:
        assert re.search(rf"`regard lesson {name}[` ]", LECTURES), name
