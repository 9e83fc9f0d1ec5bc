"""Text for a short training at the end: pairs of our own, and as many of everything else, in four directions.

    python recipes/box/tune.py CLEAN PAIRS OUT [--lines 24000] [--model translator]

CLEAN is what `clean.py --some` wrote, PAIRS the `pairs.tsv.xz` of `made.py`. OUT gets `train.tsv` and
`valid.tsv` as `corpus.py` writes them. Half of the lines are our own, by the shares in `OWN`; the other half
is what the translator read before, by the shares in `GENERAL`, so that it forgets nothing while it learns.
Each direction has a quarter of both halves.

What the vocabulary of MODEL cannot spell, € and £ of the one in the box, is hidden on both sides as it is
when the model answers: one that has only seen these signs cannot place the symbol that stands for them.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections import Counter, defaultdict
from itertools import cycle, islice
from pathlib import Path

from clean import SEED, fact, say
from corpus import Recipe, directed, hidden, present, write_valid
from sources import SOFTWARE

from regard.text.keep import foreign

OWN = {
    "pronoun": 0.22,
    "hand-idiom": 0.12,
    "hand-greeting": 0.09,
    "hand-sense": 0.07,
    "hand-plain": 0.03,
    "hand-words": 0.03,
    "hand-dialogue": 0.02,
    "hand-sign": 0.01,
    "hand-news": 0.01,
    "hand-encyclopedia": 0.01,
    "money": 0.14,
    "time": 0.05,
    "date": 0.015,
    "unit": 0.02,
    "number": 0.05,
    "name": 0.025,
    "greeting": 0.02,
    "sense": 0.03,
    "everyday": 0.04,
}
GENERAL = {
    "software": 0.4,
    "news": 0.22,
    "tatoeba": 0.15,
    "awsnpm": 0.09,
    "europarl": 0.07,
    "rest": 0.07,
}
NEWS = ("newsdev", "ntrex", "flores-dev", "mlqe-pe")

Row = tuple[str, str, str, str]  # language of the target, source, target, what it is


def kind(source: str) -> str:
    """The share that a source belongs to."""
    if source in SOFTWARE:
        return "software"
    if source in NEWS or source.startswith("wmt-"):
        return "news"
    return source if source in GENERAL else "rest"


def both_ways(english: str, foreign: str, language: str, name: str) -> list[tuple[str, Row]]:
    """A pair as it is read in each direction, led by the name of the direction."""
    return [
        (f"en-{language}", (language, english, foreign, name)),
        (f"{language}-en", ("en", foreign, english, name)),
    ]


def own_rows(path: Path) -> dict[str, dict[str, list[Row]]]:
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for line in lzma.decompress(path.read_bytes()).decode("utf-8").splitlines():
        english, foreign, language, name = line.split("\t")
        for way, row in both_ways(english, foreign, language, name):
            found[way][name].append(row)
    return found


def general_rows(clean: Path) -> dict[str, dict[str, list[Row]]]:
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for language in present(clean):
        text = lzma.decompress((clean / f"{language}.train.tsv.xz").read_bytes()).decode("utf-8")
        for line in text.splitlines():
            english, foreign, source = line.split("\t")
            for way, row in both_ways(english, foreign, language, kind(source)):
                found[way][row[3]].append(row)
    return found


def chosen(rows: dict[str, list[Row]], shares: dict[str, float], count: int) -> list[Row]:
    """So many lines of one direction by these shares; what is too few is said again."""
    out: list[Row] = []
    for name, share in shares.items():
        pool = list(rows.get(name, ()))
        random.Random(f"{SEED} {name}").shuffle(pool)
        out += islice(cycle(pool), round(share * count)) if pool else []
    return out


def spelled(row: Row, letters: frozenset[str]) -> tuple[str, str, str]:
    """A line as the model meets it: what it cannot spell is behind symbols."""
    language, source, target, _ = row
    return language, *hidden(source, target, foreign(source, letters), foreign(target, letters))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clean", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--lines", type=int, default=24_000)
    parser.add_argument("--model", default="translator", help="whose vocabulary it is")
    options = parser.parse_args()
    from regard.answer.predictor import Predictor

    letters = Predictor.load(options.model, "cpu").run.task.source.letters
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for found, shares in ((own_rows(options.pairs), OWN), (general_rows(options.clean), GENERAL)):
        for way in sorted(found):
            rows += chosen(found[way], shares, options.lines // (2 * len(found)))
    dice, recipe = random.Random(SEED), Recipe()
    dice.shuffle(rows)
    train, valid = options.out / "train.tsv", options.out / "valid.tsv"
    read = (directed(*spelled(row, letters), recipe, dice) for row in rows)
    lines = ("\t".join(pair) + "\n" for pair in read)
    train.write_text("".join(lines), "utf-8")
    count = write_valid(options.clean, valid)
    kinds = Counter(row[3] for row in rows)
    facts = {"lines": kinds, "files": [fact(train, len(rows)), fact(valid, count)]}
    (options.out / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
    for name, number in kinds.most_common():
        say("--", f"{name:18} {number:6,}")


if __name__ == "__main__":
    main()
