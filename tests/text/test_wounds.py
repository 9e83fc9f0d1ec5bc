"""Wounded files: a valid document with random damage is refused cleanly, or works as well as a whole one."""

import copy
import json
import os
import random

import pytest

from regard.errors import ModelFileError
from regard.text import Codec, Labels
from tests.text.samples import KINDS, LOSSLESS, learned

LONG = bool(os.environ.get("REGARD_LONG"))
VALUES = (
    None,
    True,
    -1,
    0,
    3,
    260,
    2**63,
    0.5,
    -1e308,
    "",
    "<s>",
    "a",
    "\x00",
    "../",
    [],
    [0],
    {},
    {"a": 1},
)


def mutated(source: str, dice: random.Random) -> str | bytes:
    """A valid document with a few random wounds: to its bytes, or to its tree."""
    if dice.random() < 0.5:
        data = bytearray(source.encode())
        for _ in range(dice.randint(1, 4)):
            if not data:
                break
            place = dice.randrange(len(data))
            stop = place + dice.choice((1, 1, 1, 8, 200))
            match dice.randrange(4):
                case 0:
                    data[place] ^= 1 << dice.randrange(8)
                case 1:
                    del data[place:stop]
                case 2:
                    data[place:place] = data[dice.randrange(len(data)) :][: stop - place]
                case 3:
                    data[place:stop] = dice.choice(b'{}[],:"\\0-9eE.tfn\x00\xff \n').to_bytes()
        return bytes(data)
    tree = json.loads(source)
    for _ in range(dice.randint(1, 3)):
        parent, key = tree, dice.choice(list(tree))
        while isinstance(parent[key], (list, dict)) and parent[key] and dice.random() < 0.8:
            parent = parent[key]
            key = (
                dice.choice(list(parent))
                if isinstance(parent, dict)
                else dice.randrange(len(parent))
            )
        match dice.randrange(3):
            case 0:
                parent[key] = copy.deepcopy(dice.choice(VALUES))
            case 1 if len(parent) > 1:
                del parent[key]
            case _:
                parent[key] = [parent[key], parent[key]]
    return json.dumps(tree)


def wound(read, source: str, count: int, seed: int) -> int:
    """Read many wounded copies; how many were refused. What is not refused must work."""
    dice = random.Random(seed)
    refused = longest = 0
    for _ in range(count):
        text = mutated(source, dice)
        try:
            found = read(text)
        except ModelFileError as fault:
            refused += 1
            longest = max(longest, len(str(fault)))
            continue
        assert read(found.to_json()).to_json() == found.to_json()
        if isinstance(found, Codec):
            ids = found.encode("The naïve 日本 fox\t<s>")
            assert all(3 <= number < found.size for number in ids)
            assert found.explain("The fox").words == ("The", "fox")
            if found.settings.kind in LOSSLESS and not found.settings.lowercase:
                assert found.decode(ids) == "The naïve 日本 fox\t<s>"
    assert longest < 400
    return refused


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
    count = 10**6 if LONG else 10**5
    if kind == "labels":
        wound(Labels.from_json, Labels.train(["B-PER", "I-PER", "O"]).to_json(), count, seed=3)
    else:
        wound(Codec.from_json, learned(kind, 300).to_json(), count // len(KINDS), seed=3)
