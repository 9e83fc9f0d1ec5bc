"""What the judge of sentiment and its teacher learn from, and what they are tested on.

    python recipes/box/opinions.py DATA MORE OUT [--english FILE]

DATA holds `sst/*.trees.txt` as `phrases.py` says. MORE holds four folders as their packages unpack:
`package` (the npm package `sentiment` 5.0.2 with the sentences of Kotzias 2015 in `test/fixtures`),
`vaderSentiment-3.3.2` with `hutto_ICWSM_2014` from its `additional_resources`, and `wn` (Debian's
`wordnet-base`). FILE is plain English, a line a text. OUT gets

    gold.tsv      text TAB label: judged phrases of the trees, reviews, lexicon, rule-made sentences
    frames.tsv    rule-made sentences of frames that nothing else has: to choose by
    soft.tsv      text TAB how good from 0 to 1: the same with shades, and what is neutral
    unjudged.txt  texts for a teacher to judge
    valid.tsv     whole sentences of the development trees
    tests/        sst2.tsv (whole sentences of the test trees), reviews.tsv (one in five of Kotzias 2015)

No text of `tests/box/*.tsv` is in any of them, nor one that is much like it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from denials import made, near
from phrases import NAMES, nodes

SEED = 20261118
OTHERS = 15_000  # texts to judge that are not made of reviews
SHADES = {"0": 0.03, "1": 0.2, "2": 0.5, "3": 0.8, "4": 0.97}
HERE = Path(__file__).parent


def key(text: str) -> str:
    """Two texts that differ only in case and signs have the same key."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def one_in(text: str, share: int) -> bool:
    """By its hash, always the same ones."""
    return hashlib.blake2b(key(text).encode(), digest_size=4).digest()[0] % share == 0


def trees(path: Path, most: int | None) -> Iterator[tuple[str, str, bool]]:
    """(text, label from 0 to 4, whole) of every node."""
    for tree in path.read_text("utf-8").splitlines()[:most]:
        *inner, (label, sentence) = nodes(tree)
        yield from ((text, name, False) for name, text in inner)
        yield sentence, label, True


def kotzias(folder: Path) -> Iterator[tuple[str, str]]:
    for name in ("amazon", "imdb", "yelp"):
        for row in json.loads((folder / "test" / "fixtures" / f"{name}.json").read_text("utf-8")):
            text = " ".join(row["text"].split())
            if text:
                yield text, "positive" if row["class"] == 1 else "negative"


def snippets(folder: Path) -> Iterator[tuple[str, float]]:
    """Sentences about products with the mean of twenty judgements from -4 to 4."""
    path = folder / "amazonReviewSnippets_GroundTruth.txt"
    for line in path.read_text("utf-8", errors="replace").splitlines():
        _, mean, text = line.split("\t", 2)
        text = " ".join(text.split())
        if len(text) > 3:
            yield text, min(0.97, max(0.03, 0.5 + float(mean) / 5))


def lexicon(folder: Path) -> Iterator[tuple[str, float]]:
    for line in (folder / "vaderSentiment" / "vader_lexicon.txt").read_text("utf-8").splitlines():
        word, mean, *_ = line.split("\t")
        if re.fullmatch(r"[a-z-]{3,}", word):
            yield word, min(0.97, max(0.03, 0.5 + float(mean) / 6))


def wordnet(folder: Path) -> Iterator[str]:
    """Adjectives, adverbs and the examples that glosses quote."""
    for name in ("adj", "adv", "verb", "noun"):
        text = (folder / "usr/share/wordnet" / f"data.{name}").read_text("latin-1")
        for line in text.splitlines():
            if line.startswith(" "):
                continue
            data, _, gloss = line.partition(" | ")
            if name in ("adj", "adv"):
                parts = data.split()
                for n in range(int(parts[3], 16)):
                    yield re.sub(r"\(\w+\)$", "", parts[4 + 2 * n]).replace("_", " ")
            yield from (example.strip() for example in re.findall(r'"([^"]{8,150})"', gloss))


def varied(sentences: list[str], count: int, draw: random.Random) -> Iterator[str]:
    """Stretches of sentences, sentences with some words of others, and two joined."""
    words = [word for sentence in sentences for word in sentence.split()]
    for _ in range(count):
        own = draw.choice(sentences).split()
        match draw.randrange(3):
            case 0:
                size = draw.randint(2, max(2, min(20, len(own))))
                start = draw.randrange(max(1, len(own) - size + 1))
                yield " ".join(own[start : start + size])
            case 1:
                yield " ".join(draw.choice(words) if draw.random() < 0.2 else word for word in own)
            case _:
                other = draw.choice(sentences).split()
                cut, rest = (draw.randint(3, 14) for _ in range(2))
                link = draw.choice(
                    [", but", ", yet", ", and", ";", ". But", ", although", ", while"]
                )
                yield f"{' '.join(own[:cut]).rstrip('.,;')}{link} {' '.join(other[:rest])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("more", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--english", type=Path)
    parser.add_argument("--varied", type=int, default=82_000)
    parser.add_argument("--most", type=int, help="trees of a file, to try it out")
    given = parser.parse_args()
    draw = random.Random(SEED)
    (given.out / "tests").mkdir(parents=True, exist_ok=True)

    dev, test = (
        [*trees(given.data / "sst" / f"{part}.trees.txt", given.most)] for part in ("dev", "test")
    )
    valid = [(text, NAMES[name]) for text, name, whole in dev if whole and name in NAMES]
    sst2 = [(text, NAMES[name]) for text, name, whole in test if whole and name in NAMES]
    reviews = list(dict.fromkeys(kotzias(given.more / "package")))
    kept = [(text, label) for text, label in reviews if one_in(text, 5)]
    ours = [
        line.split("\t")
        for path in sorted((HERE.parents[1] / "tests/box").glob("*.tsv"))
        for line in path.read_text("utf-8").splitlines()
    ]
    never = {key(text) for text, *_ in [*valid, *sst2, *kept, *ours]}
    never |= {key(text) for text, _, whole in dev + test if whole}
    alike = near(text for text, *_ in ours)

    def usable(text: str) -> bool:
        return bool(key(text)) and key(text) not in never and not alike(text)

    learned = [*dict.fromkeys(trees(given.data / "sst" / "train.trees.txt", given.most))]
    gold: list[tuple[str, str]] = []
    soft: list[tuple[str, float]] = []
    for text, name, whole in learned:
        for _ in range(2 if whole else 1):
            soft.append((text, SHADES[name]))
            if name in NAMES:
                gold.append((text, NAMES[name]))
    own = [*reviews, *made(12_000, draw)]
    for text, label in dict.fromkeys(own):
        gold.append((text, label))
        soft.append((text, 0.93 if label == "positive" else 0.07))
    rated = [*snippets(given.more / "hutto_ICWSM_2014")]
    rated += lexicon(given.more / "vaderSentiment-3.3.2")
    for text, value in rated:
        soft.append((text, value))
        if abs(value - 0.5) > 0.15:
            gold.append((text, "positive" if value > 0.5 else "negative"))
    sentences = [text for text, _, whole in learned if whole]
    learned_reviews = [row for row in reviews if row not in set(kept)]
    others = [text for text, name, _ in learned if name == "2"]
    others += wordnet(given.more / "wn")
    if given.english:
        others += given.english.read_text("utf-8").splitlines()[:60_000]
    draw.shuffle(others)
    asked = [*varied(sentences + [text for text, _ in learned_reviews], given.varied, draw)]
    asked += others[:OTHERS]
    gold, soft = ([row for row in rows if usable(row[0])] for rows in (gold, soft))
    gold = [row for row in gold if " " in row[0] or one_in(row[0], 3)]  # most are single words
    asked = [text for text in dict.fromkeys(asked) if usable(text)]
    for rows in (gold, soft, asked):
        draw.shuffle(rows)
    files = {
        "gold.tsv": [f"{text}\t{label}" for text, label in gold],
        "frames.tsv": [f"{text}\t{label}" for text, label in made(250, draw, held=True)],
        "soft.tsv": [f"{text}\t{value:.2f}" for text, value in soft],
        "unjudged.txt": asked,
        "valid.tsv": [f"{text}\t{label}" for text, label in valid],
        "tests/sst2.tsv": [f"{text}\t{label}" for text, label in sst2],
        "tests/reviews.tsv": [f"{text}\t{label}" for text, label in kept],
    }
    for name, lines in files.items():
        (given.out / name).write_text("\n".join(lines) + "\n", "utf-8")
        print(f"{name}: {len(lines):,} lines")


if __name__ == "__main__":
    main()
