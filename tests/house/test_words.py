"""The field's own words: retired ones stay out, and the glossary explains those that are used."""

import re

import pytest

from regard.config import meaning
from regard.run.settings import RunSettings
from tests.house.settings import groups
from tests.house.tree import ROOT

# What was said before -> what the field says.
RETIRED = {
    r"\bway back\b": "backward pass",
    r"\bwhole numbers\b": "int8, or integers",
    r"\bof all chance\b": "seed",
    r"\bunless set\b": "default",
    r"\bbends\b": "activation, or ReLU",
    r"\bnought\b": "0",
    r"\bwhoever\b": "anyone who, or the caller",
    r"\bcannot be had\b": "is not available",
    r"\bgoes on with\b": "continues with",
    r"\bwhere numbers were not\b": "NaN",
}
PATTERN = re.compile("|".join(RETIRED), re.IGNORECASE)
PLACES = ("src/regard/**/*.py", "src/regard/**/*.toml", "tests/**/*.py", "tests/**/*.md")
WEB = ("web/src/**/*.ts", "web/src/**/*.svelte")
PAGES = ("docs/**/*.md", "recipes/**/*.py", "recipes/**/*.md", "README.md", "CONTRIBUTING.md")
OLD = {"log.md", "test_words.py"}  # a log says what was found in the words of its day


@pytest.mark.parametrize("place", [*PLACES, *WEB, *PAGES])
def test_retired_words_stay_out(place):
    for path in sorted(ROOT.glob(place)):
        if path.name in OLD or "node_modules" in path.parts:
            continue
        found = PATTERN.search(path.read_text("utf-8"))
        assert not found, f"{path.relative_to(ROOT)}: '{found[0]}'"


def test_retired_words_are_found():
    assert PATTERN.search("The gradient on the way back.")
    assert PATTERN.search("Of all chance.")
    assert not PATTERN.search("The way backwards.")


def entries(part: str) -> list[str]:
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    section = page.split(f"## {part}\n")[1].split("\n## ")[0]
    return [line for line in section.split("\n") if line.startswith("- ")]


@pytest.mark.parametrize("part", ["Words of the field", "Words of this house"])
def test_the_glossary_has_one_sentence_a_word_in_order(part):
    words = [re.findall(r"\*\*(.+?)\*\*", line)[0].lower() for line in entries(part)]
    assert words == sorted(words)
    for line in entries(part):
        assert re.fullmatch(r"- (\*\*[^*]+\*\*(, )?)+: [^.]+(\.\w[^.]*)*\.", line), line


def test_no_formula_begins_with_a_capital_that_it_has_not():
    """`j <= i` is not `J <= i`: a docstring may begin with a small letter where a formula does."""
    spoilt = re.compile(r'"""([A-Z]) ?(?:<=|<|/|\*|- before|\+ f)')
    for path in sorted((ROOT / "src" / "regard").rglob("*.py")):
        found = spoilt.search(path.read_text("utf-8"))
        assert not found, f"{path.relative_to(ROOT)}: {found[0]}"


KINDS = {kind: path for path, kind in groups(RunSettings)}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_help_of_a_setting_is_sentences_and_a_number_has_its_range(kind):
    for name, field in kind.model_fields.items():
        told = meaning(kind, name)
        assert re.match(r"[A-Z].* .*\.$", told), (kind, name, told)
        is_number = isinstance(field.default, int | float) and not isinstance(field.default, bool)
        if is_number and name != "seed":
            assert re.search(r"\d.*\b(to|or)\b", told), (kind, name, told)
