"""All flags of all commands are listed in flags.txt: a new one is a decision, not an accident."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

import regard
import regard.cli.main
from regard.cli.command import PANELS, app

LIST = Path(__file__).parent / "flags.txt"


def commands(group, name="regard"):
    """Every command with its full name, the group itself first."""
    yield name, group
    for part in sorted(getattr(group, "commands", ())):
        yield from commands(group.commands[part], f"{name} {part}")


def flags():
    for name, command in commands(get_command(app)):
        for parameter in command.params:
            words = [*parameter.opts, *parameter.secondary_opts]
            is_option = any(word.startswith("-") for word in words)
            yield f"{name} {' '.join(words) if is_option else parameter.name.upper()}"


def test_flags_are_those_listed():
    """When this fails and you meant it: write the new list into flags.txt, and into CHANGELOG.md."""
    assert list(flags()) == LIST.read_text("utf-8").splitlines()


def test_every_command_speaks_json():
    for name, command in commands(get_command(app)):
        if not hasattr(command, "commands"):
            assert any("--json" in parameter.opts for parameter in command.params), name


def test_no_message_names_a_command_that_is_not_there():
    known = set(get_command(app).commands)
    for path in Path(regard.__file__).parent.rglob("*.py"):
        named = set(re.findall(r"`regard ([a-z]\w*)", path.read_text("utf-8")))
        assert named <= known, path


def test_every_command_stands_in_one_panel_of_the_help():
    group = get_command(app)
    assert sorted(group.list_commands(None)) == sorted(group.commands)
    for panel, names in PANELS.items():
        assert {group.commands[name].rich_help_panel for name in names} == {panel}


def test_examples_can_be_pasted_from_a_terminal_of_80_columns():
    """A command that the help breaks into two lines is two commands when it is pasted."""
    for name, command in commands(get_command(app)):
        for example in re.findall(r"^\s*- `([^`]*)`", command.help, re.M):
            assert len(example) <= 78, f"{name}: {example}"


def test_every_flag_is_explained():
    for name, command in commands(get_command(app)):
        assert command.help
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name}"


@pytest.mark.parametrize("option", [("--lowercase",), ("--tokenize", "char")])
def test_scoring_of_texts_is_refused_where_no_text_is_written(tmp_path, capsys, option):
    test = tmp_path / "test.tsv"
    test.write_text("good\tpositive\nbad\tnegative\n")
    assert regard.cli.main.status(["evaluate", "sentiment", str(test), *option]) == 2
    assert f"{option[0]} is for BLEU and chrF" in capsys.readouterr().err
