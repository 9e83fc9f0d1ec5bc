"""Settings files that are too large, too deep or too wrong are refused in a few words."""

import pytest

from regard.config import LARGEST, Settings, overlay, parse, read_toml
from regard.errors import UsageError


class Small(Settings):
    width: int = 1
    depth: int = 1
    share: float = 0.5


def refused(path) -> str:
    with pytest.raises(UsageError) as caught:
        parse(Small, read_toml(path), str(path))
    assert caught.value.where == str(path)
    return caught.value.what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("width = 0x" + "f" * 5000, "a whole number needs more than 64 bits"),
        ("[[width]]\ndepth = 0x" + "f" * 17, "a whole number needs more than 64 bits"),
        ("width = " + "9" * 5000, "this is not TOML: Exceeds the limit (4300 digits)"),
        ("width = " + "[" * 5000, "this is not TOML: "),
        ("width = 1\n" + "# a long comment\n" * LARGEST, "settings have at most 1,048,576 bytes"),
        ("width", "this is not TOML: "),
        ("share = nan", "share: Input should be a finite number, not nan"),
        ("share = -inf", "share: Input should be a finite number, not -inf"),
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


def test_a_value_without_end_is_cut():
    with pytest.raises(UsageError) as caught:
        parse(Small, {"width": "x" * 10_000})
    assert len(caught.value.what) < 400
