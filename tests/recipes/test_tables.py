"""Recipes with a table of rows: their files are made right, and answers are judged as papers judge them."""

import importlib.util
import lzma
import tomllib

import pytest
from score import TestSet as Lines
from score import beside, table

from regard.config import parse
from regard.run.settings import RunSettings
from tests.house.tree import ROOT


def recipe(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "recipes" / name / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["g2p", "scan"])
def test_the_settings_of_every_row_are_settings(name):
    for row in recipe(name).ROWS.values():
        parse(RunSettings, tomllib.loads(row.settings))


@pytest.mark.parametrize("path", sorted((ROOT / "recipes").glob("*/*.toml")), ids=lambda p: p.name)
def test_the_settings_of_a_recipe_are_settings(path):
    parse(RunSettings, tomllib.loads(path.read_text()))


def test_commands_become_actions_of_one_word(tmp_path):
    scan = recipe("scan")
    (tmp_path / "scan").mkdir()
    for part in ("train", "test"):
        lines = b"IN: jump twice OUT: I_JUMP I_JUMP\nIN: turn left OUT: I_TURN_LEFT\n"
        (tmp_path / "scan" / f"tasks_{part}_length.txt.xz").write_bytes(lzma.compress(lines))
    scan.prepare(tmp_path, tmp_path / "out", "length")
    assert (
        tmp_path / "out" / "test.tsv"
    ).read_text() == "jump twice\tIJUMP IJUMP\nturn left\tITURNLEFT\n"
    found = scan.judge(["a", "b", "c"], ["X", "Y", "Z Z"], ["X", "Y Y", "Z Z"])
    assert found == {"commands": 3, "exact match": 66.67}


def test_any_listed_way_to_say_a_word_is_right():
    g2p = recipe("g2p")
    found = g2p.judge(
        ["r e a d", "r e a d", "a"], ["R EH D", "R EH D", "EY"], ["R IY D", "R EH D", "AH"]
    )
    assert found == {"words": 2, "word error": 50.0, "phoneme error": 25.0}


def test_letters_are_words(tmp_path):
    g2p = recipe("g2p")
    (tmp_path / "g2p_sigmorphon2021").mkdir()
    for split in ("train", "dev", "test"):
        path = tmp_path / "g2p_sigmorphon2021" / f"eng_us_{split}.tsv"
        path.write_text("it's\tɪ t s\n", "utf-8")
    g2p.prepare(tmp_path, tmp_path / "out", "eng_us")
    assert (tmp_path / "out" / "valid.tsv").read_text("utf-8") == "i t ' s\tɪ t s\n"


def test_a_table_has_a_column_a_direction():
    rows = [
        {"test": "news", "direction": way, "name": name, "value": value, "signature": "s"}
        for way, name, value in (
            ("en-de", "BLEU", 20.04), ("en-de", "chrF2", 50.0), ("de-en", "BLEU", 25.0)
        )
    ]  # fmt: skip
    found = table(rows).split("\n")
    assert found[0] == "| test | de-en | en-de |"
    assert found[2] == "| news | 25.0 | 20.0 / 50.0 |"


def test_what_is_not_there_is_skipped(tmp_path):
    assert not list(beside("x", "de", tmp_path / "test", "eng", "deu"))
    for suffix in ("eng", "deu"):
        (tmp_path / f"test.{suffix}").write_text(f"one {suffix}\n\u2028two\n", "utf-8")
    (found,) = beside("x", "de", tmp_path / "test", "eng", "deu")
    assert found == Lines("x", "de", ["one eng", "\u2028two"], ["one deu", "\u2028two"])
