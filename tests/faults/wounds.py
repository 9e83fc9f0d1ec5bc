"""Random wounds for valid files, and the promise that every loader gives: a clean refusal, quickly, or a
value as good as any.
"""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Callable
from typing import Any

from regard.errors import RegardError

QUICK = 0.1  # seconds of processor time that one input may take (F2)
LONGEST_MESSAGE = 4_000

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 3, 260, 2**63, 10**12, 0.5, -1e308, "", "<s>", "a", "\x00", "../", "x" * 300,
    [], [0], [[]], {}, {"a": 1}, {"kind": "rnn"},
)  # fmt: skip
BYTES = b'{}[],:="\\0-9eE.tfn#\x00\xff \n'
TOML = (
    b"= 1\n", b"= -1\n", b"= 1e400\n", b"= nan\n", b"= inf\n", b"= 1979-05-27T07:32:00Z\n", b'= "x"\n',
    b"= []\n", b"= {}\n", b"[model]\n", b"[[data]]\n", b"[a.b.c]\n", b"kind = 'rnn'\n", b'"""', b"'''",
    b"\\u0000", b"= " + b"[" * 50 + b"]" * 50 + b"\n", b"= 999999999999999999999999\n", b"a.b.c.d = 1\n",
    b"= " + b"9" * 5000 + b"\n", b"= 0x" + b"f" * 5000 + b"\n", b"[" * 2000, b"x = {a = " * 400,
)  # fmt: skip


def wounded_bytes(source: bytes, dice: random.Random) -> bytes:
    """One to four bits flipped, pieces lost, pieces doubled, and signs of the language thrown in."""
    data = bytearray(source)
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
                data[place:stop] = dice.choice(BYTES).to_bytes()
    return bytes(data)


def wounded_tree(tree: Any, dice: random.Random) -> Any:
    """A JSON tree with some values replaced, lost or doubled."""
    tree = copy.deepcopy(tree)
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
    return tree


def wounded_json(source: bytes, dice: random.Random) -> bytes:
    """JSON hurt in its bytes or in its tree."""
    if dice.random() < 0.5:
        return wounded_bytes(source, dice)
    return json.dumps(wounded_tree(json.loads(source), dice)).encode()


def wounded_toml(source: bytes, dice: random.Random) -> bytes:
    """TOML hurt in its bytes or line by line."""
    if dice.random() < 0.4:
        return wounded_bytes(source, dice)
    lines = source.splitlines(keepends=True)
    for _ in range(dice.randint(1, 3)):
        place = dice.randrange(len(lines))
        match dice.randrange(5):
            case 0 if len(lines) > 1:
                del lines[place]
            case 1:
                lines.insert(place, dice.choice(lines))
            case 2:
                lines.insert(place, dice.choice(TOML))
            case 3:
                key, _, _ = lines[place].partition(b"=")
                lines[place] = key + dice.choice(TOML)
            case _:
                value = dice.choice(lines).partition(b"=")[2] or b"1\n"
                lines[place] = lines[place].partition(b"=")[0] + b"=" + value
    return b"".join(lines)


def survive(
    load: Callable[[bytes], object],
    make: Callable[[random.Random], bytes],
    count: int,
    seed: int,
    refusals: tuple[type[RegardError], ...],
    longest: int = LONGEST_MESSAGE,
    quick: float = QUICK,
) -> int:
    """Give many wounded inputs to a loader. How many it refused, each in its own words and in no time."""
    dice = random.Random(seed)
    refused = 0
    for _ in range(count):
        content = make(dice)
        began = time.process_time()
        refused += _refused(load, content, refusals, longest)
        if time.process_time() - began > quick:
            # Perhaps it was the collector, or the machine: what is slow by itself is slow again.
            again = min(_cost(load, content, refusals) for _ in range(3))
            assert again < quick, f"{again:.2f} s for {content[:200]!r}"
    return refused


def _refused(
    load: Callable[[bytes], object],
    content: bytes,
    refusals: tuple[type[RegardError], ...],
    longest: int = LONGEST_MESSAGE,
) -> bool:
    try:
        load(content)
    except refusals as fault:
        told = fault
    else:
        return False
    assert told.what
    assert len(str(told)) < longest, str(told)
    return True


def _cost(
    load: Callable[[bytes], object], content: bytes, refusals: tuple[type[RegardError], ...]
) -> float:
    began = time.process_time()
    _refused(load, content, refusals)
    return time.process_time() - began
