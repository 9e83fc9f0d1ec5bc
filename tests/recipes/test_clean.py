"""All of cleaning, on a few hundred pairs: nothing is lost uncounted, nothing held out is trained on."""

import json
import lzma
import subprocess
import sys

import pytest
from rules import key

from tests.house.tree import ROOT

WORDS = [
    "red",
    "green",
    "blue",
    "old",
    "new",
    "big",
    "small",
    "fast",
    "slow",
    "warm",
    "cold",
    "dark",
]
COLOURS = [f"farbe{one}" for one in WORDS]


def bitext() -> list[str]:
    rows = [
        f"The {WORDS[a]} house number {n} is {WORDS[b]} and the cat sees it.\t"
        f"Das Haus Nummer {n} ist {COLOURS[a]} und {COLOURS[b]} und die Katze sieht es.\t{name}\thuman"
        for n, (a, b, name) in enumerate(
            (a, b, name)
            for name in ("gettext", "tatoeba", "europarl", "multi30k")
            for a in range(12)
            for b in range(12)
            for _ in range(2)
        )
    ]
    return [*rows, rows[0], "Of course!\tKlar!\ttatoeba\thuman", "Only %s\tNur\tgettext\thuman"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    (data / "bitext").mkdir()
    rows = ("\n".join(bitext()) + "\n").encode()
    (data / "bitext" / "en-de.tsv.xz").write_bytes(lzma.compress(rows, preset=0))
    (data / "tatoeba" / "deu").mkdir(parents=True)
    (data / "tatoeba" / "deu" / "test.eng").write_text("Of course!\n")
    (data / "tatoeba" / "deu" / "test.deu").write_text("Natürlich!\n", "utf-8")
    return data


def run(data, out, *more) -> str:
    script = ROOT / "recipes" / "box" / "clean.py"
    done = subprocess.run(
        [sys.executable, script, data, out, *more], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cleaned(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    assert "| gettext | 290 |" in run(data, out)
    return out


def read(path) -> list[list[str]]:
    content = path.read_bytes()
    text = lzma.decompress(content) if path.suffix == ".xz" else content
    return [line.split("\t") for line in text.decode().splitlines()]


def test_every_pair_is_kept_or_counted(cleaned):
    facts = json.loads((cleaned / "facts.json").read_text())["languages"]["de"]
    for counts in facts["sources"].values():
        assert counts["read"] == sum(n for rule, n in counts.items() if rule != "read")
    assert facts["sources"]["multi30k"] == {"read": 288, "licence": 288}
    assert facts["sources"]["gettext"]["marks"] == 1
    assert facts["sources"]["gettext"]["duplicate"] == 1
    assert facts["sources"]["tatoeba"]["test set"] == 1
    rows = {file["name"]: file["rows"] for file in facts["files"]}
    assert rows["de.train.tsv.xz"] == facts["pairs"] == len(read(cleaned / "de.train.tsv.xz"))


def test_nothing_held_out_is_trained_on(cleaned):
    train = read(cleaned / "de.train.tsv.xz")
    held = read(cleaned / "de.valid.tsv") + read(cleaned / "de.test.tsv")
    assert held
    for side in (0, 1):
        assert not {key(row[side]) for row in held} & {key(row[side]) for row in train}
    assert {row[2] for row in train} == {"gettext", "tatoeba", "europarl"}
    assert {row[2] for row in read(cleaned / "de.test.tsv")} == {"gettext"}


def test_what_was_dropped_can_be_read(cleaned):
    assert ["marks", "gettext", "Only %s", "Nur"] in read(cleaned / "de.dropped.tsv")


def test_some_of_it_has_the_same_held_out_sets(data, cleaned, tmp_path):
    run(data, tmp_path, "--some")
    for name in ("de.valid.tsv", "de.test.tsv"):
        assert (tmp_path / name).read_bytes() == (cleaned / name).read_bytes()
    train = {tuple(row) for row in read(tmp_path / "de.train.tsv.xz")}
    assert train < {tuple(row) for row in read(cleaned / "de.train.tsv.xz")}
    facts = json.loads((tmp_path / "facts.json").read_text())["languages"]["de"]
    for counts in facts["sources"].values():
        assert counts["read"] == sum(n for rule, n in counts.items() if rule != "read")
    assert facts["sources"]["europarl"]["not drawn"] > 200
