"""The English-German dictionary of FreeDict (from the Ding word list; GPL) -> pairs to train on.

    python recipes/box/dictionary.py freedict-eng-deu.dict.dz OUT.tsv [--most 300000]

The file is what Debian's package `dict-freedict-eng-deu` holds. Two kinds of pairs come out, a line each:
English, German, `de`, `freedict`: every example of use, and a sample of headwords, each with its first
translation.
Notes about grammar, subject and region (`<fem>`, `[techn.]`, `(Schiff)`) are left out.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
from collections.abc import Iterator
from pathlib import Path

from clean import SEED

_HEADWORD = re.compile(r"^(\S.*?) /[^/]*/(?: <[^>]*>)?$")
_EXAMPLE = re.compile(r'^ +"(.+?)"  - (.+)$')
_NOTE = re.compile(r" ?<[^>]*>| ?\[[^\]]*\]| ?\([^)]*\)| ?\{[^}]*\}")
_UNSURE = re.compile(r"[/;|…<>\[\](){}=~]|\.\.\.|\b(?:sb|sth|jdn?|jdm|jds|etw|jmd)\b\.?")
Pair = tuple[str, str]


def pairs(lines: Iterator[str]) -> Iterator[tuple[str, Pair]]:
    """`("example", pair)` or `("word", pair)` for all of the dictionary, in its order."""
    headword: str | None = None
    for line in lines:
        example = _EXAMPLE.match(line)
        if example and (pair := plain(example[1], first(example[2]))):
            yield "example", pair
        if headword and line and not line.startswith((" ", "1.")):
            if pair := plain(headword, first(line)):
                yield "word", pair
            headword = None
        elif headword and line.startswith("1. "):
            if pair := plain(headword, first(line[3:])):
                yield "word", pair
            headword = None
        if found := _HEADWORD.match(line):
            headword = found[1]


def first(text: str) -> str:
    """The first of several translations."""
    return _NOTE.sub("", text).split(";")[0].split(", ")[0]


def plain(english: str, german: str) -> Pair | None:
    """Both sides without notes, if nothing is left that a reader would have to interpret."""
    english, german = (" ".join(_NOTE.sub("", text).split()) for text in (english, german))
    if not english or not german or _UNSURE.search(english) or _UNSURE.search(german):
        return None
    return english, german


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dictionary", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--most", type=int, default=300_000, help="headwords at most")
    options = parser.parse_args()
    with gzip.open(options.dictionary, "rt", encoding="utf-8") as file:
        found = list(dict.fromkeys(pairs(line.rstrip("\n") for line in file)))
    examples = [pair for kind, pair in found if kind == "example"]
    words = [pair for kind, pair in found if kind == "word"]
    random.Random(SEED).shuffle(words)
    chosen = list(dict.fromkeys(examples + words[: options.most]))
    rows = (f"{english}\t{german}\tde\tfreedict\n" for english, german in chosen)
    options.out.write_text("".join(rows), "utf-8")
    print(
        f"{len(examples):,} examples and {min(len(words), options.most):,} of {len(words):,} words"
    )


if __name__ == "__main__":
    main()
