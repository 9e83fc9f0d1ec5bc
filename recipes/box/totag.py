"""Text for a larger encoder to tag, and what it tagged beside the treebank, for the tagger in the box.

    python recipes/box/totag.py choose DATA MORE TEXT PLACE
    python recipes/box/totag.py join PLACE

`choose` writes PLACE/ewt/{train,dev}.tsv (word TAB tag) and PLACE/english.txt: short texts of MORE (see
`opinions.py`) and lines of TEXT, cut into words as the tagger cuts, none of them in the development and
test parts of the treebank. `teacher.py tags` then writes PLACE/tags.tsv; `join` writes PLACE/train.conll:
so many of these sentences, and the treebank's.
"""

from __future__ import annotations

import argparse
import html
import json
import lzma
import random
from collections.abc import Iterator
from pathlib import Path

from english import key

from regard.text.words import words_in

RATED = ("tweets", "amazonReviewSnippets", "nytEditorialSnippets")
REVIEWS = ("amazon", "imdb", "yelp")
LINES, TAUGHT = 70_000, 45_000
SHORTEST, LONGEST, LONGEST_TAUGHT = 3, 40, 36  # words


def treebank(data: Path, part: str) -> list[list[tuple[str, str]]]:
    """Sentences of (word, tag)."""
    path = data / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu.xz"
    found = []
    for block in lzma.decompress(path.read_bytes()).decode().strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line[0].isdigit()]
        found.append([(row[1], row[3]) for row in rows if row[0].isdigit()])
    return found


def short_texts(more: Path) -> Iterator[str]:
    for name in RATED:
        path = more / "hutto_ICWSM_2014" / f"{name}_GroundTruth.txt"
        for line in path.read_text("utf-8", errors="replace").splitlines():
            yield html.unescape(line.split("\t", 2)[2])
    for name in REVIEWS:
        path = more / "package" / "test" / "fixtures" / f"{name}.json"
        yield from (row["text"] for row in json.loads(path.read_text("utf-8")))


def choose(given: argparse.Namespace) -> None:
    (given.place / "ewt").mkdir(parents=True, exist_ok=True)
    seen = set()
    for part in ("train", "dev", "test"):
        sentences = treebank(given.data, part)
        if part != "test":
            blocks = ("\n".join(map("\t".join, sentence)) for sentence in sentences)
            (given.place / "ewt" / f"{part}.tsv").write_text("\n\n".join(blocks) + "\n", "utf-8")
        if part != "train":
            seen |= {key(" ".join(word for word, _ in sentence)) for sentence in sentences}
    draw = random.Random(1)
    lines = given.text.read_text("utf-8").splitlines()
    draw.shuffle(lines)
    chosen = []
    for text in [*short_texts(given.more), *lines[:LINES]]:
        words = words_in(text)
        if key(text) not in seen and SHORTEST <= len(words) <= LONGEST:
            seen.add(key(text))
            chosen.append(" ".join(words))
    draw.shuffle(chosen)
    (given.place / "english.txt").write_text("\n".join(chosen) + "\n", "utf-8")
    print(f"{len(chosen):,} texts to tag")


def join(given: argparse.Namespace) -> None:
    tagged, own = (
        (given.place / name).read_text("utf-8").strip().split("\n\n")
        for name in ("tags.tsv", "ewt/train.tsv")
    )
    short = [block for block in tagged if block.count("\n") < LONGEST_TAUGHT]
    draw = random.Random(1)
    draw.shuffle(short)
    both = short[:TAUGHT] + own
    draw.shuffle(both)
    (given.place / "train.conll").write_text("\n\n".join(both) + "\n", "utf-8")
    print(f"{len(both):,} sentences, {len(own):,} of them tagged by people")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    todo = parser.add_subparsers(required=True)
    one = todo.add_parser("choose")
    for name in ("data", "more", "text", "place"):
        one.add_argument(name, type=Path)
    one.set_defaults(run=choose)
    two = todo.add_parser("join")
    two.add_argument("place", type=Path)
    two.set_defaults(run=join)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
