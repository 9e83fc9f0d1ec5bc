"""Sentences made by rule that deny and contrast, for the judge of sentiment to learn from.

    python recipes/box/denials.py [--count 20]      # prints some

Words and frames are in `made/opinions.txt`. A frame belongs to what it says as a whole: `the <thing> is not
<bad>` is good. None was taken from `tests/box/*.tsv`, and `near` tells what comes out too much like one.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

LABELS = {"good": "positive", "bad": "negative"}
CONTRARY = {"good": "bad", "bad": "good"}

SIDES = {
    "good": {"SIDE": "good", "OTHER": "bad", "FELT": "thrilled", "VERB": "likes"},
    "bad": {"SIDE": "bad", "OTHER": "good", "FELT": "upset", "VERB": "hates"},
}
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"<([a-z]+)>")


def lists(path: Path) -> tuple[dict[str, list[str]], dict[tuple[str, str], list[str]]]:
    """Words by name, and frames by kind and side."""
    words: dict[str, list[str]] = {}
    frames: dict[tuple[str, str], list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("== "):
            kind, side = line[3:].split()
            into, whole = frames.setdefault((kind, side), []), True
        elif line.startswith("= "):
            into, whole = words.setdefault(line[2:], []), False
        elif line and not line.startswith("#"):
            into += [line] if whole else line.split()
    return words, frames


LISTS, FRAMES = lists(Path(__file__).parent / "made" / "opinions.txt")


def filled(frame: str, side: str, draw: random.Random) -> str:
    """A frame with its choices made and its slots filled."""
    for name, meant in SIDES[side].items():
        frame = re.sub(rf"<{name}(\w*)>?", rf"<{meant}\1>", frame)
    while _CHOICE.search(frame):
        frame = _CHOICE.sub(lambda found: draw.choice(found[1].split("|")), frame, count=1)
    while _SLOT.search(frame):
        frame = _SLOT.sub(lambda found: draw.choice(LISTS[found[1]]), frame, count=1)
    text = " ".join(frame.replace("_", " ").split())
    return re.sub(r"\b(a) (?=[aeio]|un(?!i))", r"\1n ", re.sub(r"\ban (?![aeiou])", "a ", text))


def clause(kind: str, side: str, draw: random.Random, held: bool) -> str:
    """One clause of a kind and a side; a contrast holds two others. One frame in five is held out."""
    own = FRAMES[kind, side]
    text = draw.choice(own[4::5] if held else [f for n, f in enumerate(own) if n % 5 != 4])
    if kind == "contrast":
        for letter, other in (("A", CONTRARY[side]), ("B", side)):
            inner = clause("denied" if draw.random() < 0.3 else "plain", other, draw, held)
            text = re.sub(rf"\b{letter}\b", inner, text)
    return filled(text, side, draw)


def as_written(text: str, draw: random.Random) -> str:
    """With a capital and a full stop, mostly."""
    if draw.random() < 0.8:
        text = text[0].upper() + text[1:]
    return text + draw.choice([".", ".", ".", "!", "", ""]) if text[-1].isalnum() else text


KINDS = ("denied", "denied", "denied", "contrast", "contrast", "contrast", "plain", "report")


def made(count: int, draw: random.Random, held: bool = False) -> Iterator[tuple[str, str]]:
    """So many sentences of each side, no two the same: three in eight denied, as many contrasted."""
    seen: set[str] = set()
    for side in SIDES:
        done = 0
        while done < count:
            text = as_written(clause(draw.choice(KINDS), side, draw, held), draw)
            if draw.random() < 0.12:  # two sentences that agree
                text = f"{text.rstrip('.!')}. {as_written(clause('plain', side, draw, held), draw)}"
            if text.casefold() not in seen:
                seen.add(text.casefold())
                done += 1
                yield text, LABELS[side]


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.casefold().replace("’", "'"))


def near(tests: Iterable[str]) -> Callable[[str], bool]:
    """Tells whether a text is too much like a test: it has two in three of their words, or all of its own."""
    sets = [frozenset(words_of(text)) for text in tests]
    places: dict[str, list[int]] = {}
    for number, words in enumerate(sets):
        for word in words:
            places.setdefault(word, []).append(number)

    def alike(text: str) -> bool:
        own = frozenset(words_of(text))
        shared = Counter(number for word in own for number in places.get(word, ()))
        return any(
            3 * count >= 2 * len(own | sets[number]) or (count == len(sets[number]) > 4)
            for number, count in shared.items()
        )

    return alike


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    given = parser.parse_args()
    for text, label in made(given.count, random.Random(1)):
        print(f"{label}\t{text}")


if __name__ == "__main__":
    main()
