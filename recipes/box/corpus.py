"""Clean pairs -> one training file for one model of four directions.

    python recipes/box/corpus.py CLEAN OUT [--first] [--directed FILE ...] [--evenly] [--joined 0.02]

CLEAN is what `clean.py` wrote; a directed FILE has target language, source and target, pairs that are good in
one direction only (`distil.py`). OUT gets `train.tsv` and `valid.tsv`: source TAB target, every pair in both
directions, each source led by the language it is to become (`>>de<< The cat sleeps.`), and `facts.json`.

Some stretches that are the same on both sides are hidden behind `<keep0>` to `<keep3>`, exactly as the
translator hides what it must not touch, so that the model learns to carry a symbol to its place. Of the two
apostrophes, the straight one alone is ever a target; sources have both.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from clean import SEED, fact, say
from sources import times

from regard.text.keep import Span, foreign, hide, tag

KEEPS = tuple(f"<keep{number}>" for number in range(4))
TAGS = tuple(tag(language) for language in ("en", "de", "fr"))
SYMBOLS = (*TAGS, *KEEPS)
DIRECTED = "one way"  # pairs that are good in one direction only
BLOCK = 20_000  # pairs that one process works on at once

_MARKED = re.compile(r"[%{$<&`@]|://|www\.")
# Names, numbers, versions: what may well be the same in both languages.
_SAME = re.compile(r"(?<![\w.,:/-])(?:\d[\w.,:/-]*\w|\d|[A-Z][\w.-]*\w)(?![\w-])")
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['’](?=[^\W\d_])")
_SYMBOL = re.compile("|".join(map(re.escape, SYMBOLS)))


@dataclass(frozen=True)
class Recipe:
    """How often things happen."""

    evenly: bool = False  # every pair once, whatever its source
    first: bool = False  # what the first two trainings read: `FIRST` of `sources.py`
    joined: float = 0.02  # pairs that continue in the next pair, as one line
    placeholders: float = 0.5  # of the pairs that hold placeholders, so many have them hidden
    names: float = 0.02  # of the others, so many have a name or number hidden
    strangers: float = 0.01  # and so many begin or end with something never seen
    apostrophes: float = 0.2  # of the sources, so many have the other kind of apostrophe
    most_words: int = 100  # of a joined line


Pair = tuple[str, str]


def directions(
    english: str, other: str, language: str, recipe: Recipe, dice: random.Random
) -> Iterator[Pair]:
    """A pair in both directions, tagged; what is hidden is chosen anew for each."""
    for name, pair in ((language, (english, other)), ("en", (other, english))):
        yield directed(name, *pair, recipe, dice)


def directed(language: str, source: str, target: str, recipe: Recipe, dice: random.Random) -> Pair:
    """A pair in one direction, its source led by the language of the target."""
    source, target = varied(source, target, recipe, dice)
    source = other_apostrophe(source) if dice.random() < recipe.apostrophes else source
    return f"{tag(language)} {source}", _APOSTROPHE.sub("'", target)


def varied(source: str, target: str, recipe: Recipe, dice: random.Random) -> Pair:
    """The pair, sometimes with symbols in the place of what is the same on both sides."""
    if _SYMBOL.search(source) or _SYMBOL.search(target):
        return source, target
    if _MARKED.search(source) and dice.random() < recipe.placeholders:
        return hidden(source, target, placeholders(source), placeholders(target))
    chance = dice.random()
    if chance < recipe.names:
        return with_name_hidden(source, target, dice)
    if chance < recipe.names + recipe.strangers:
        return with_stranger(source, target, dice)
    return source, target


def other_apostrophe(text: str) -> str:
    """`l'eau` for `l’eau`, or the other way: a source may have either, while what is said has `'` alone."""
    return _APOSTROPHE.sub("'" if "’" in text else "’", text)


def placeholders(text: str) -> list[Span]:
    """What the translator would hide of a text that its letters can spell."""
    return foreign(text, frozenset(text))


def hidden(source: str, target: str, here: list[Span], there: list[Span]) -> Pair:
    """Both sides with symbols for these stretches, numbered as the source has them, if they agree."""
    ours, theirs = (
        [text[a:b] for a, b in spans] for text, spans in ((source, here), (target, there))
    )
    if not ours or len(ours) > len(KEEPS) or Counter(ours) != Counter(theirs):
        return source, target
    waiting: dict[str, list[str]] = {}
    for stretch, symbol in zip(ours, KEEPS, strict=False):
        waiting.setdefault(stretch, []).append(symbol)
    symbols = tuple(waiting[stretch].pop(0) for stretch in theirs)
    return hide(source, here, KEEPS).text, hide(target, there, symbols).text


def with_name_hidden(source: str, target: str, dice: random.Random) -> Pair:
    """A name or number that stands once on each side, and not alone, behind a symbol."""
    found = Counter(_SAME.findall(source)), Counter(_SAME.findall(target))
    once = [word for word, n in found[0].items() if n == 1 and found[1][word] == 1]
    once = [word for word in once if source.count(word) == target.count(word) == 1]
    if not once or word_count(source) < 3:
        return source, target
    name = dice.choice(once)
    here, there = ([(text.index(name), text.index(name) + len(name))] for text in (source, target))
    symbol = (dice.choice(KEEPS),)
    return hide(source, here, symbol).text, hide(target, there, symbol).text


def with_stranger(source: str, target: str, dice: random.Random) -> Pair:
    """Something that neither language has, at the same end of both sides."""
    symbol = dice.choice(KEEPS)
    if dice.random() < 0.3:
        return f"{symbol} {source}", f"{symbol} {target}"
    return f"{source} {symbol}", f"{target} {symbol}"


def word_count(text: str) -> int:
    return text.count(" ") + 1


def lines(job: tuple[int, str, list[str], Recipe]) -> bytes:
    """One block of clean lines as training lines."""
    number, language, rows, recipe = job
    dice = random.Random(f"{SEED} {language} {number}")
    if language == DIRECTED:
        out = ["\t".join(directed(*row.split("\t"), recipe, dice)) for row in rows]
        return ("\n".join(out) + "\n").encode()
    pairs = [row.split("\t") for row in rows]
    said = [
        (english, other) for english, other, name in pairs for _ in range(often(name, recipe, dice))
    ]
    dice.shuffle(said)
    out = []
    for english, other in joined(said, recipe, dice):
        out += ["\t".join(pair) for pair in directions(english, other, language, recipe, dice)]
    dice.shuffle(out)
    return ("\n".join(out) + "\n").encode()


def often(name: str, recipe: Recipe, dice: random.Random) -> int:
    whole, rest = divmod(1.0 if recipe.evenly else times(name, recipe.first), 1)
    return int(whole) + (dice.random() < rest)


def joined(pairs: list[Pair], recipe: Recipe, dice: random.Random) -> Iterator[Pair]:
    """Now and then two pairs as one line, for models see more than one sentence at a time."""
    waiting = iter(pairs)
    for english, other in waiting:
        if dice.random() < recipe.joined and ends(english) and ends(other):
            more = next(waiting, None)
            if more is None:
                yield english, other
            elif word_count(english) + word_count(more[0]) <= recipe.most_words:
                yield f"{english} {more[0]}", f"{other} {more[1]}"
            else:
                yield from ((english, other), more)
        else:
            yield english, other


def ends(text: str) -> bool:
    return text.endswith((".", "!", "?"))


def blocks(path: Path) -> Iterator[list[str]]:
    """All pairs of a language, shuffled, a block at a time."""
    yield from in_blocks([path])


def in_blocks(paths: list[Path]) -> Iterator[list[str]]:
    rows: list[str] = []
    for path in paths:
        content = path.read_bytes()
        content = lzma.decompress(content) if path.suffix == ".xz" else content
        rows += content.decode("utf-8").split("\n")[:-1]
    random.Random(SEED).shuffle(rows)
    for start in range(0, len(rows), BLOCK):
        yield rows[start : start + BLOCK]


def present(clean: Path) -> list[str]:
    return [name for name in ("de", "fr") if (clean / f"{name}.train.tsv.xz").is_file()]


def write_train(clean: Path, one_way: list[Path], path: Path, recipe: Recipe, jobs: int) -> int:
    """The languages by turns, so that any beginning of the file is a fair sample of it."""
    languages = [*present(clean), *([DIRECTED] if one_way else [])]
    turns = [blocks(clean / f"{name}.train.tsv.xz") for name in present(clean)]
    by_turns = zip_longest(*turns, *([in_blocks(one_way)] if one_way else []))
    work = (
        (number, language, rows, recipe)
        for number, turn in enumerate(by_turns)
        for language, rows in zip(languages, turn, strict=True)
        if rows
    )
    count = 0
    with path.open("wb") as file, ProcessPoolExecutor(jobs) as pool:
        # A few blocks ahead, not all of them: `map` would read the whole of CLEAN into memory.
        waiting = [pool.submit(lines, job) for job in islice(work, 2 * jobs)]
        while waiting:
            written = waiting.pop(0).result()
            waiting += [pool.submit(lines, job) for job in islice(work, 1)]
            file.write(written)
            count += written.count(b"\n")
            if count // 500_000 > (count - written.count(b"\n")) // 500_000:
                say("--", f"{count:,} lines")
    return count


def write_valid(clean: Path, path: Path) -> int:
    plain, dice = Recipe(names=0.0, strangers=0.0, apostrophes=0.0), random.Random(SEED)
    rows = [
        pair
        for language in present(clean)
        for row in (clean / f"{language}.valid.tsv").read_text("utf-8").split("\n")[:-1]
        for pair in directions(*row.split("\t")[:2], language, plain, dice)
    ]
    dice.shuffle(rows)
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    return len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clean", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--directed", type=Path, nargs="*", default=[], help="pairs for one direction"
    )
    parser.add_argument("--first", action="store_true", help="for the first two trainings")
    parser.add_argument("--evenly", action="store_true", help="every pair once")
    parser.add_argument("--joined", type=float, default=Recipe.joined)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    recipe = Recipe(evenly=options.evenly, first=options.first, joined=options.joined)
    train, valid = options.out / "train.tsv", options.out / "valid.tsv"
    rows = (
        write_train(options.clean, options.directed, train, recipe, options.jobs),
        write_valid(options.clean, valid),
    )
    facts = {
        "recipe": vars(recipe),
        "symbols": SYMBOLS,
        "files": [fact(path, count) for path, count in zip((train, valid), rows, strict=True)],
    }
    (options.out / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
    say("--", f"{rows[0]:,} training and {rows[1]:,} validation lines")


if __name__ == "__main__":
    main()
