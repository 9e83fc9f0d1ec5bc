"""Settings files that are too large, too deep or too wrong are refused in a few words."""

import re
import tomllib

import pytest

from regard.config import LARGEST, Settings, overlay, parse, read_toml, to_toml
from regard.errors import UsageError, nearest
from regard.run.resolve import resolve
from regard.run.settings import RunSettings


class Small(Settings):
    width: int = 1
    depth: int = 1
    share: float = 0.5


class Deep(Settings):
    even: bool = True
    names: tuple[str, ...] = ()


class Large(Small):
    deep: Deep = Deep()


def refused(path) -> str:
    with pytest.raises(UsageError) as caught:
        parse(Small, read_toml(path), str(path))
    assert caught.value.where == str(path)
    return caught.value.what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("width = 0x" + "f" * 5000, "an integer needs more than 64 bits"),
        ("[[width]]\ndepth = 0x" + "f" * 17, "an integer needs more than 64 bits"),
        ("width = " + "9" * 5000, "this is not TOML: Exceeds the limit (4300 digits)"),
        ("width = " + "[" * 5000, "this is not TOML: "),
        ("width = 1\n" + "# a long comment\n" * LARGEST, "settings have at most 262,144 bytes"),
        ("width", "this is not TOML: "),
        ("share = nan", "share: must be a finite number, not nan"),
        ("share = -inf", "share: must be a finite number, not -inf"),
        ("width = 'x' \udcff", "this is not TOML: "),
    ],
)
def test_what_is_no_settings_file(text, what, tmp_path):
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    told = refused(path)
    assert told.startswith(what)
    assert len(told) < 300


def test_a_change_with_a_number_without_end_is_text():
    assert overlay({}, ["width=" + "9" * 5000])["width"] == "9" * 5000


def test_one_list_of_choices_is_enough_and_so_are_eight_faults(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("".join(f"number{n} = {n}\n" for n in range(11)), "utf-8")
    first, *others = refused(path).split("; ")
    assert first == "number0: no such setting"
    assert others[0] == "choose one of: depth, share, width"
    assert others[1:] == [*(f"number{n}: no such setting" for n in range(1, 8)), "and 3 more"]


@pytest.mark.parametrize(
    ("tree", "what"),
    [
        ({"width": "abc"}, "width: must be an integer, not 'abc'"),
        ({"width": 1.5}, "width: must be an integer, not 1.5"),
        ({"share": []}, "share: must be a number, not []"),
        ({"deep": 3}, "deep: must be a group of settings, not 3"),
        ({"deep": {"even": "so"}}, "deep.even: must be true or false, not 'so'"),
        ({"deep": {"names": 1}}, "deep.names: must be a list, not 1"),
    ],
)
def test_what_a_value_must_be_is_said_in_plain_words(tree, what):
    with pytest.raises(UsageError) as caught:
        parse(Large, tree)
    assert caught.value.what == what


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ("width=abc", "--set width=abc"),
        ("deeep.even=true", "--set deeep.even=true"),
        ("deep.eve=1", "--set deep.eve=1"),
        ("share=0.25", "file.toml"),
    ],
)
def test_a_change_that_is_at_fault_is_named(change, at):
    changes = ["depth=3", change]
    tree = overlay({"depth": 2} if at != "file.toml" else {"wide": 1}, changes)
    with pytest.raises(UsageError) as caught:
        parse(Large, tree, "file.toml", changes)
    assert caught.value.where == at


def test_several_that_begin_alike_are_all_named():
    assert nearest("tiny", ["tiny-b", "tiny-a", "large"]) == "choose one of: tiny-a, tiny-b"
    assert nearest("tin", ["tiny", "large"]) == "did you mean 'tiny'?"
    assert nearest("", ["b", "a"]) == "choose one of: a, b"


def test_a_value_without_end_is_cut():
    with pytest.raises(UsageError) as caught:
        parse(Small, {"width": "x" * 10_000})
    assert len(caught.value.what) < 400


def test_settings_explain_themselves_and_are_read_back():
    settings = resolve(name="vaswani2017-tiny")
    text = to_toml(settings, explained=True)
    assert parse(RunSettings, tomllib.loads(text)) == settings
    assert "# Which weights are evaluated and kept: the last step's, their moving average" in text
    assert "One of none, ema, last." in text
    assert re.search(r"^# patience = +# Training stops after so many evaluations", text, re.M)
    assert "#" not in to_toml(settings)
