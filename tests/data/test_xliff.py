"""XLIFF 1.2 and 2: translated segments become pairs, everything else is counted."""

import gzip

import pytest

from regard.data.example import Pair
from regard.data.source import understand
from regard.errors import DataError
from tests.data.kit import read, written

OLD = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="app.txt" source-language="en" target-language="de" datatype="plaintext"><body>
<trans-unit id="1"><source>Press <g id="1">Enter</g>.</source>
  <seg-source><mrk mtype="seg">Press Enter.</mrk></seg-source>
  <target state="translated">Drücke <g id="1">Enter</g>.</target>
  <alt-trans><source>Press it.</source><target>Drücke das.</target></alt-trans></trans-unit>
<trans-unit id="2"><source>A <bpt id="1">&lt;b&gt;</bpt>bold<ept id="1">&lt;/b&gt;</ept> word</source>
  <target>Ein fettes Wort</target></trans-unit>
<trans-unit id="3"><source>Not yet</source></trans-unit>
<trans-unit id="4"><source>New</source><target state="new">New</target></trans-unit>
<group><trans-unit id="5"><source>Cats &amp; dogs</source><target>Katzen &amp; Hunde</target></trans-unit>
</group>
</body></file></xliff>
"""

NEW = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="fr"
  xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0">
<file id="f"><unit id="u">
<mtc:matches><mtc:match ref="#1"><source>Guess</source><target>Devine</target></mtc:match></mtc:matches>
<originalData><data id="d">&lt;br/&gt;</data></originalData>
<segment state="final"><source>One<ph id="1" dataRef="d"/> line</source><target>Une ligne</target></segment>
<ignorable><source> </source><target> </target></ignorable>
<segment><source>Two <pc id="2">words</pc></source><target>Deux <pc id="2">mots</pc></target></segment>
<segment state="initial"><source>Later</source><target>Later</target></segment>
</unit></file></xliff>
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["app.xlf", "app.xliff", "app.xml"])
def test_version_1(name):
    description, examples, tally = read(written(name, OLD))
    assert description == f"3 pairs: {name}, XLIFF 1.2, en (source) and de (target)"
    assert examples == [
        Pair("Press Enter.", "Drücke Enter."),
        Pair("A bold word", "Ein fettes Wort"),
        Pair("Cats & dogs", "Katzen & Hunde"),
    ]
    assert tally.dropped == {"not translated": 2}
    assert tally.first["not translated"] == f"{name}:10"


def test_version_2():
    description, examples, tally = read(written("app.xlf", NEW))
    assert description == "2 pairs: app.xlf, XLIFF 2.0, en (source) and fr (target)"
    assert examples == [Pair("One line", "Une ligne"), Pair("Two words", "Deux mots")]
    assert tally.dropped == {"not translated": 1}


def test_a_prefix_and_a_compressor_change_nothing():
    prefixed = NEW.replace("xmlns=", "xmlns:x=")
    for name in ("xliff", "file", "unit", "segment", "source", "target", "pc", "ph"):
        prefixed = prefixed.replace(f"<{name}", f"<x:{name}").replace(f"</{name}", f"</x:{name}")
    description, examples, _ = read(written("app.xlf.gz", gzip.compress(prefixed.encode())))
    assert description.startswith("2 pairs: app.xlf.gz, XLIFF 2.0, gzip, en")
    assert examples == [Pair("One line", "Une ligne"), Pair("Two words", "Deux mots")]


def test_entities_are_refused_before_they_unpack():
    bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><xliff><file>&b;</file></xliff>'
    with pytest.raises(DataError) as caught:
        understand([written("bomb.xlf", bomb)])
    assert str(caught.value) == (
        "the file declares the entity 'a', which could unpack to anything\n"
        "bomb.xlf:1\n"
        "export it again without a DTD"
    )


def test_what_is_no_xliff():
    with pytest.raises(DataError, match=r"there is no <xliff> with a <file> in it\na.xlf"):
        understand([written("a.xlf", "<html><body/></html>")])
    with pytest.raises(DataError, match=r"not well-formed XML: .*\na.xlf:1"):
        understand([written("a.xlf", "plain words\n")])


def test_a_segment_without_end_is_too_long_and_takes_no_memory(monkeypatch):
    long = "x " * 70_000
    segment = f"<segment><source>{long}</source><target>kurz</target></segment>"
    blank = f"<segment><source>{' ' * 70_000}a</source><target>kurz</target></segment>"
    path = written(
        "a.xlf", f'<xliff version="2.1"><file><unit>{segment}{blank}</unit></file></xliff>'
    )
    _, examples, tally = read(path)
    assert examples == []
    assert tally.dropped == {"too long": 2}
