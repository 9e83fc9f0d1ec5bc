"""What the judge of sentiment and its teacher learn from, and what they are tested on.

    python recipes/box/opinions.py DATA MORE OUT [--english FILE]

DATA holds `sst/*.trees.txt` as `phrases.py` says. MORE holds four folders as their packages unpack:
`package` (the npm package `sentiment` 5.0.2 with the sentences of Kotzias 2015 in `test/fixtures`),
`vaderSentiment-3.3.2` with `hutto_ICWSM_2014` from its `additional_resources`, and `wn` (Debian's
`wordnet-base`). FILE is plain English, a line a text. OUT gets

    gold.tsv      text TAB label: every judged phrase of the trees, reviews, lexicon, rule-made sentences
    focus.tsv     the same: new denials and contrasts, and some of the rest
    soft.tsv      text TAB how good from 0 to 1: the same with shades, and what is neutral
    unjudged.txt  texts for a teacher to judge
    valid.tsv     whole sentences of the development trees
    tests/        sst2.tsv (whole sentences of the test trees), reviews.tsv (one in five of Kotzias 2015)

No text of `tests/box/*.tsv` is in any of them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from phrases import NAMES, nodes

SEED = 20261118
SHADES = {"0": 0.03, "1": 0.2, "2": 0.5, "3": 0.8, "4": 0.97}
HERE = Path(__file__).parent

GOOD = [
    "great",
    "good",
    "lovely",
    "charming",
    "funny",
    "clever",
    "moving",
    "fresh",
    "honest",
    "warm",
    "tasty",
    "comfortable",
    "reliable",
    "sturdy",
    "helpful",
    "friendly",
    "elegant",
    "gripping",
    "touching",
    "enjoyable",
    "pleasant",
    "impressive",
    "exciting",
    "sharp",
    "bright",
    "smooth",
    "delightful",
    "brilliant",
    "excellent",
    "fantastic",
    "amazing",
    "superb",
    "splendid",
    "memorable",
    "satisfying",
    "thoughtful",
]
BAD = [
    "awful",
    "dull",
    "slow",
    "weak",
    "silly",
    "ugly",
    "broken",
    "noisy",
    "rude",
    "stupid",
    "boring",
    "clumsy",
    "cold",
    "cheap",
    "flimsy",
    "dirty",
    "lazy",
    "painful",
    "bland",
    "messy",
    "pointless",
    "annoying",
    "tedious",
    "shallow",
    "predictable",
    "dreadful",
    "horrible",
    "terrible",
    "lousy",
    "poor",
    "disappointing",
    "forgettable",
    "irritating",
    "hopeless",
    "useless",
    "unpleasant",
    "ridiculous",
]
GOOD_NOUNS = [
    "charm",
    "wit",
    "humour",
    "warmth",
    "energy",
    "style",
    "imagination",
    "heart",
    "suspense",
    "originality",
    "taste",
    "value",
]
BAD_NOUNS = [
    "problems",
    "mistakes",
    "clichés",
    "defects",
    "trouble",
    "noise",
    "delays",
    "weaknesses",
    "scratches",
    "bugs",
    "faults",
]
GOOD_VERBS = ["enjoy", "like", "love", "recommend", "trust", "admire"]
BAD_VERBS = ["hate", "regret", "dislike", "despise"]
THINGS = [
    "movie",
    "picture",
    "story",
    "dialogue",
    "direction",
    "soundtrack",
    "documentary",
    "romance",
    "performance",
    "drama",
    "script",
    "product",
    "printer",
    "headset",
    "blender",
    "keyboard",
    "watch",
    "bag",
    "mattress",
    "toaster",
    "tablet",
    "cable",
    "software",
    "update",
    "dinner",
    "pizza",
    "coffee",
    "breakfast",
    "cafe",
    "waitress",
    "apartment",
    "flight",
    "course",
    "concert",
    "museum",
    "support",
    "game",
]
NOT = [
    "is not",
    "isn't",
    "was not",
    "wasn't",
    "is never",
    "is hardly",
    "is by no means",
    "is not at all",
]
VERY = ["", "", "", "very ", "really ", "so ", "particularly ", "that "]
CONTRARY = {"good": "bad", "bad": "good"}


def a_sentence(side: str, draw: random.Random, thing: str | None = None) -> str:
    """A plain one, of either kind."""
    word = draw.choice(GOOD if side == "good" else BAD)
    thing = thing or draw.choice(THINGS)
    return draw.choice(
        [f"the {thing} is {word}", f"the {thing} was {draw.choice(VERY)}{word}", f"it is {word}",
         f"it has {word} parts", f"the {thing} feels {word}", f"I found the {thing} {word}"]
    )  # fmt: skip


def negated(side: str, draw: random.Random) -> str:
    """A sentence of this kind that says so by denying the other one."""
    other = CONTRARY[side]
    words = GOOD if other == "good" else BAD
    thing, word, second = draw.choice(THINGS), draw.choice(words), draw.choice(words)
    noun = draw.choice(GOOD_NOUNS if other == "good" else BAD_NOUNS)
    verb = draw.choice(GOOD_VERBS if other == "good" else BAD_VERBS)
    no = draw.choice(NOT)
    very = draw.choice(VERY)
    forms = [
        f"the {thing} {no} {word}", f"this {no} a {word} {thing}", f"not {very}{word}",
        f"this {thing} {no} {very}{word}",
        f"not a {word} {thing}", f"there is nothing {word} about the {thing}",
        f"the {thing} is far from {word}",
        f"the {thing} is anything but {word}", f"I did not {verb} the {thing}",
        f"we don't {verb} this {thing}",
        f"it never becomes {word}", f"neither {word} nor {second}", f"the {thing} doesn't seem {word}",
        f"no one could call this {thing} {word}", f"the {thing} has no {noun}", f"without {noun}",
        f"a {thing} without any {noun}", f"the {thing} could never be called {word}", f"I can't {verb} it",
        f"you won't {verb} this {thing}", f"nobody will {verb} it", f"I see no {noun} in it",
        f"it didn't strike me as {word}", f"I have yet to see anything {word} in this {thing}",
        f"it is not {word}, it is {draw.choice(GOOD if side == 'good' else BAD)}",
    ]  # fmt: skip
    if side == "good":
        forms += [
            f"the {thing} couldn't be better", f"you can't beat this {thing}",
            f"there is no better {thing}",
            f"I wouldn't change a thing about the {thing}",
            f"I can't say enough good things about the {thing}",
            f"the {thing} never lets you down", f"it doesn't get better than this {thing}",
            f"I had not a single problem with the {thing}", f"I wouldn't give this {thing} away",
            f"you won't be sorry that you chose this {thing}", f"no regrets about this {thing}",
            f"the {thing} never fails to please", f"I'm not unhappy with the {thing}",
            f"the {thing} is never less than {draw.choice(GOOD)}", f"nothing beats this {thing}",
        ]  # fmt: skip
    else:
        forms += [
            f"the {thing} couldn't be worse", f"don't waste your money on this {thing}",
            f"the {thing} does not work",
            f"I would never buy this {thing} again", f"don't bother with this {thing}",
            "not worth the price",
            f"the {thing} stopped working", "I won't return", f"the {thing} isn't worth seeing",
            f"the {thing} doesn't do what it says", f"nothing in the {thing} works",
            f"there's no point in this {thing}",
            "they didn't even reply", f"the {thing} fails to be {word}", f"the {thing} lacks {noun}",
            f"the {thing} is nowhere near {word}", "it was not what I had hoped for", "never again",
        ]  # fmt: skip
    return draw.choice(forms)


def contrasted(side: str, draw: random.Random) -> str:
    """One thing is said, and then the other, which counts."""
    other = CONTRARY[side]
    make = negated if draw.random() < 0.25 else a_sentence
    first, last = a_sentence(other, draw), make(side, draw)
    one = draw.choice(GOOD if other == "good" else BAD)
    two = draw.choice(GOOD if side == "good" else BAD)
    noun = draw.choice(GOOD_NOUNS if other == "good" else BAD_NOUNS)
    thing = draw.choice(THINGS)
    hopes = {
        "good": [f"I thought that it would be {one}, but {last}", f"friends warned me, but {last}",
                 f"after a {one} beginning it turns {two}", f"the ratings are low, yet {last}"],
        "bad": [f"I hoped for something {one}, but {last}", f"everyone praised it, but {last}",
                f"after a {one} beginning it turns {two}", f"the ratings are high, yet {last}",
                f"it tries to be {one} and is only {two}", f"not even its {noun} makes up for it: {last}",
                f"what a pity: {one}, but {last}", f"it used to be {one}, and today {last}"],
    }[side]  # fmt: skip
    return draw.choice(
        [f"{first}, but {last}", f"{first}, yet {last}", f"although {first}, {last}",
         f"even though {first}, {last}",
         f"{last}, even if {first}", f"despite its {noun}, {last}", f"{first}; still, {last}",
         f"{first}. However, {last}",
         f"while {first}, {last}", f"{first}, and yet {last}", f"for all its {noun}, {last}",
         f"{one} but {two}",
         f"a {two} {thing}, though a little {one}", f"the last {thing} was {one}, this one is {two}",
         f"{first} - but {last}!",
         f"a {two} {thing} in spite of its {noun}", f"{last} in the end, though {first}",
         f"I know that {first}. But {last}.",
         f"on the one hand {first}, on the other {last}", f"the start is {one}, the rest is {two}", *hopes]
    )  # fmt: skip


def as_written(text: str, draw: random.Random) -> str:
    """With a capital and a full stop, mostly."""
    if draw.random() < 0.8:
        text = text[0].upper() + text[1:]
    return text + draw.choice([".", ".", ".", "!", "", ""]) if text[-1].isalnum() else text


def made(count: int, draw: random.Random) -> Iterator[tuple[str, str]]:
    """Rule-made sentences: denied, contrasted, plain."""
    for _ in range(count):
        for side, label in (("good", "positive"), ("bad", "negative")):
            for make in (negated, contrasted):
                yield as_written(make(side, draw), draw), label
        side, label = draw.choice([("good", "positive"), ("bad", "negative")])
        yield as_written(a_sentence(side, draw), draw), label


REPORTS = [  # of firms: (subject, good verbs, bad verbs, what)
    (
        [
            "The company",
            "The group",
            "The bank",
            "The airline",
            "The maker",
            "The start-up",
            "The chain",
            "The insurer",
        ],
        [
            "beat expectations with",
            "raised its forecast after",
            "reported record",
            "celebrated strong",
            "posted a jump in",
        ],
        [
            "missed expectations with",
            "cut its forecast after",
            "reported falling",
            "warned of weak",
            "posted a slump in",
        ],
        [
            "quarterly sales",
            "profits",
            "earnings",
            "revenue",
            "growth in data centres",
            "orders",
            "demand for its chips",
            "exports",
        ],
    ),
    (
        ["Shares", "Its stock", "Profits", "Sales", "Orders", "Revenues", "Margins", "Exports"],
        ["rose sharply after", "climbed to a record on", "soared thanks to", "doubled on"],
        ["fell sharply after", "dropped to a low on", "collapsed because of", "halved on"],
        [
            "the report",
            "the results",
            "the news",
            "demand from customers",
            "the new product",
            "the announcement",
        ],
    ),
]


def reports(count: int, draw: random.Random) -> Iterator[tuple[str, str]]:
    """News of firms: rising is good, falling is bad."""
    for _ in range(count):
        subjects, good, bad, what = draw.choice(REPORTS)
        for verbs, label in ((good, "positive"), (bad, "negative")):
            yield f"{draw.choice(subjects)} {draw.choice(verbs)} {draw.choice(what)}.", label


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


def focused(gold: list[tuple[str, str]], never: set[str]) -> list[tuple[str, str]]:
    """Mostly denials and contrasts, with some of all the rest, so that it is not forgotten."""
    draw = random.Random(5)
    own = dict.fromkeys([*made(4_500, draw), *reports(200, draw)])
    long = [row for row in gold if len(row[0].split()) >= 9]
    short = [row for row in gold if len(row[0].split()) < 9]
    draw.shuffle(long)
    draw.shuffle(short)
    rows = [row for row in own if key(row[0]) not in never] + long[:16_000] + short[:8_000]
    draw.shuffle(rows)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("more", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--english", type=Path)
    parser.add_argument("--varied", type=int, default=250_000)
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

    learned = [*dict.fromkeys(trees(given.data / "sst" / "train.trees.txt", given.most))]
    gold: list[tuple[str, str]] = []
    soft: list[tuple[str, float]] = []
    for text, name, whole in learned:
        for _ in range(2 if whole else 1):
            soft.append((text, SHADES[name]))
            if name in NAMES:
                gold.append((text, NAMES[name]))
    own = [*reviews, *made(4_000, draw), *reports(400, draw)]
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
    asked = [text for text, name, _ in learned if name == "2"]
    asked += wordnet(given.more / "wn")
    asked += varied(sentences + [text for text, _ in learned_reviews], given.varied, draw)
    if given.english:
        asked += given.english.read_text("utf-8").splitlines()[:60_000]
    gold, soft = ([row for row in rows if key(row[0]) not in never] for rows in (gold, soft))
    asked = [text for text in dict.fromkeys(asked) if key(text) not in never and key(text)]
    for rows in (gold, soft, asked):
        draw.shuffle(rows)
    files = {
        "gold.tsv": [f"{text}\t{label}" for text, label in gold],
        "focus.tsv": [f"{text}\t{label}" for text, label in focused(gold, never)],
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
