"""Wounded files: a valid document with random damage is refused cleanly, or works as well as a whole one."""

import os

import pytest

from regard.errors import ModelFileError
from regard.text import Codec, Labels
from tests.faults.wounds import survive, wounded_json
from tests.text.samples import KINDS, LOSSLESS, learned

LONG = bool(os.environ.get("REGARD_LONG"))


def wound(read, source: str, count: int, seed: int) -> int:
    """Read many wounded copies; how many were refused. What is not refused must work."""

    def load(text: bytes) -> None:
        found = read(text)
        assert read(found.to_json()).to_json() == found.to_json()
        if isinstance(found, Codec):
            ids = found.encode("The naïve 日本 fox\t<s>")
            assert all(3 <= number < found.size for number in ids)
            assert found.explain("The fox").words == ("The", "fox")
            if found.settings.kind in LOSSLESS and not found.settings.lowercase:
                assert found.decode(ids) == "The naïve 日本 fox\t<s>"

    whole = source.encode()
    return survive(
        load, lambda dice: wounded_json(whole, dice), count, seed, (ModelFileError,), longest=400
    )


@pytest.mark.parametrize("kind", KINDS)
def test_wounded_codecs(kind):
    assert wound(Codec.from_json, learned(kind, 300).to_json(), 150, seed=1) > 75


def test_wounded_labels():
    assert (
        wound(Labels.from_json, Labels.train(["B-PER", "I-PER", "O"]).to_json(), 300, seed=2) > 150
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "labels"])
def test_many_wounded_files(kind):
    """10^5 tokenizer files in all, as many of each kind; and 10^5 files of labels."""
    count = 10**6 if LONG else 10**5
    if kind == "labels":
        wound(Labels.from_json, Labels.train(["B-PER", "I-PER", "O"]).to_json(), count, seed=3)
    else:
        wound(Codec.from_json, learned(kind, 300).to_json(), count // len(KINDS), seed=3)
