"""Text for the short training at the end, and the mean of what trainings made of one model."""

import json
import lzma
import subprocess
import sys
from collections import Counter

import mix
import pytest
import torch
from mix import between
from tune import GENERAL, OWN, chosen, kind, spelled

from regard.run.folder import Run
from tests.box import standin
from tests.house.tree import ROOT

BOX = ROOT / "recipes" / "box"
SOURCES = {"software": "gettext", "news": "wmt-newstest2019", "rest": "helpdocs"}


def test_shares_are_shares():
    assert sum(OWN.values()) == pytest.approx(1)
    assert sum(GENERAL.values()) == pytest.approx(1)
    assert {kind(SOURCES.get(name, name)) for name in GENERAL} == {*GENERAL}


def test_what_is_too_few_is_said_again():
    rows = {"one": [("de", "a", "b", "one")], "two": [("de", str(n), "x", "two") for n in range(9)]}
    found = chosen(rows, {"one": 0.5, "two": 0.5, "none": 0.5}, 8)
    assert Counter(row[3] for row in found) == {"one": 4, "two": 4}
    assert len({row[1] for row in found}) == 5


def test_what_the_vocabulary_cannot_spell_is_hidden_as_in_an_answer():
    letters = frozenset("It costs.Es kostet0123456789,. $")
    row = ("de", "It costs €1,850.", "Es kostet 1.850 €.", "money")
    assert spelled(row, letters) == (
        "de",
        "It costs <keep0> 1,850.",
        "Es kostet 1.850 <keep0>.",
    )
    row = ("de", "It costs $1,850.", "Es kostet 1.850 $.", "money")
    assert spelled(row, letters) == row[:3]
    one_sided = ("de", "It costs €5.", "Es kostet 5.", "money")
    assert spelled(one_sided, letters) == one_sided[:3]


def test_half_of_the_lines_are_our_own_in_each_direction(tmp_path):
    for language in ("de", "fr"):
        for part in ("train.tsv.xz", "valid.tsv"):
            rows = [
                f"english {language} {name} {n}\tother {name} {n}\t{SOURCES.get(name, name)}\n"
                for name in GENERAL
                for n in range(60)
            ]
            text = "".join(rows).encode()
            (tmp_path / f"{language}.{part}").write_bytes(
                lzma.compress(text) if part.endswith("xz") else text
            )
    own = "".join(
        f"we say {name} {n}\t{language} {name} {n}\t{language}\t{name}\n"
        for name in OWN
        for n in range(9)
        for language in ("de", "fr")
    )
    (tmp_path / "pairs.tsv.xz").write_bytes(lzma.compress(own.encode()))
    asked = [BOX / "tune.py", tmp_path, tmp_path / "pairs.tsv.xz", tmp_path / "out"]
    subprocess.run([sys.executable, *asked, "--lines", "800"], check=True, capture_output=True)
    lines = (tmp_path / "out" / "train.tsv").read_text("utf-8").splitlines()
    ways = Counter()
    for line in lines:
        source, target = line.split("\t")
        tag = source.split()[0]
        ours = "we say" in line
        ways[tag, " de " in line if tag == ">>en<<" else "", ours] += 1
        assert tag in (">>en<<", ">>de<<", ">>fr<<")
        assert target
    assert {tag for tag, *_ in ways} == {">>en<<", ">>de<<", ">>fr<<"}
    for tag in (">>de<<", ">>fr<<"):
        assert ways[tag, "", True] == pytest.approx(100, abs=5)
        assert ways[tag, "", False] == pytest.approx(100, abs=5)
    facts = json.loads((tmp_path / "out" / "facts.json").read_text("utf-8"))
    assert sum(facts["lines"].values()) == len(lines)


def test_the_place_between_two_models():
    first, second = {"a": torch.zeros(2)}, {"a": torch.tensor([1.0, 2.0])}
    assert between(first, second, 0.25)["a"].tolist() == [0.25, 0.5]


def test_a_mixture_is_a_run(tmp_path, monkeypatch, capsys):
    one, two = (standin.translator(tmp_path / name) for name in ("one", "two"))
    first = one.build_model().state_dict()
    states = [{name: part + more for name, part in first.items()} for more in (0.0, 1.0, 4.0)]
    one.save_model(states[0])
    two.save_model(states[1])
    two.checkpoints.save(20, {"model": states[1], "average": states[2]}, {})
    given = [str(one.folder), str(tmp_path / "mixed"), str(two.folder), f"{two.folder}@20"]
    monkeypatch.setattr(sys, "argv", ["mix.py", *given, "--place", "0.5"])
    mix.main()
    assert "0.5 of the way" in capsys.readouterr().out
    mixed = Run.open(tmp_path / "mixed").load_model().state_dict()
    for name, found in mixed.items():
        torch.testing.assert_close(found, first[name] + 1.25)
    assert not (tmp_path / "mixed" / "checkpoints").exists()
