"""Sentiment trees -> lines to learn from: every phrase that somebody called good or bad.

    python recipes/box/phrases.py DATA OUT

DATA holds `sst/{train,dev,test}.trees.txt`, a tree a line, a label from 0 (very bad) to 4 (very good) at each
node. OUT gets `train.tsv` (each different phrase once, whole sentences twice), and `valid.tsv` and `test.tsv`
(whole sentences): text TAB negative or positive. Words are put together again as people write them.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path

SEED = 20261116
NAMES = {"0": "negative", "1": "negative", "3": "positive", "4": "positive"}
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_TOKEN = re.compile(r"[()]|[^\s()]+")
# The tree bank's words as they stood in the review.
_REPAIRS = (
    (re.compile(r"`` ?| ?''"), '"'),
    (re.compile(r"(?<=\w) (n't|'(?:s|re|ve|ll|d|m|S))\b"), r"\1"),
    (re.compile(r" ([.,;:!?%)\]}])"), r"\1"),
    (re.compile(r"([(\[{$#]) "), r"\1"),
    (re.compile(r"(?i)\b(can|gon|got|wan|gim|lem) (not|na|ta|me)\b"), r"\1\2"),
    (re.compile(r" +"), " "),
)


def nodes(tree: str) -> Iterator[tuple[str, str]]:
    """Every phrase of a tree with its label, inner ones first; the whole sentence comes last."""
    labels: list[str] = []
    words: list[str] = []
    begins: list[int] = []
    opened = False
    for token in _TOKEN.findall(tree):
        if token == "(":
            opened = True
        elif token == ")":
            yield labels.pop(), written(words[begins.pop() :])
        elif opened:
            labels.append(token)
            begins.append(len(words))
            opened = False
        else:
            words.append(token)


def written(words: list[str]) -> str:
    """Words of the tree bank as a person would write them."""
    text = (
        " ".join(BRACKETS.get(word, word) for word in words).replace("\\/", "/").replace("\\*", "*")
    )
    for pattern, replacement in _REPAIRS:
        text = pattern.sub(replacement, text)
    return text.strip()


def rows(path: Path, phrases: bool) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for tree in path.read_text("utf-8").splitlines():
        *inner, (label, sentence) = nodes(tree)
        whole = [(sentence, NAMES[label])] if label in NAMES else []
        parts = [(text, NAMES[name]) for name, text in inner if name in NAMES] if phrases else []
        found += whole + parts
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, file in (("train", "train"), ("valid", "dev"), ("test", "test")):
        path = options.data / "sst" / f"{file}.trees.txt"
        found = rows(path, phrases=name == "train")
        if name == "train":
            found = [*dict.fromkeys(found), *rows(path, phrases=False)]
        random.Random(SEED).shuffle(found)  # the trees come good ones first
        text = "".join(f"{line}\t{label}\n" for line, label in found)
        (options.out / f"{name}.tsv").write_text(text, "utf-8")
        print(f"{name}: {len(found):,} lines")


if __name__ == "__main__":
    main()
