"""Raw bitext -> clean training text, held-out sets, and an account of every pair that was dropped.

    python recipes/box/clean.py DATA OUT [--more FILE ...] [--most N] [--some]

DATA holds `bitext/en-de.tsv.xz` and `bitext/en-fr.tsv.xz` (English, foreign, source, human or mt),
`europarl3/en-de-fr.tsv.xz` (English, German, French) and the test sets that training must not see. A FILE of
more pairs has English, foreign, language and source. OUT gets, for de and fr, `XX.train.tsv.xz` (English,
foreign, source; sorted), `XX.valid.tsv`, `XX.test.tsv` (software text), `XX.dropped.tsv` (some of what was
dropped, with the rule), and `facts.json`. With `--some` only the share of each source that `sources.py` names
is judged and kept: a minute or two, and the same held-out sets.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TextIO
from zlib import crc32

from rules import HeldOut, Languages, fault, key, normalise
from sources import EVERYDAY, SOFTWARE, some, source

FOREIGN = {"de": ("de", "deu"), "fr": ("fr", "fra")}
SEED = 20261116
RESERVED = 200  # one English text in so many is kept from training, in every language and source
TEST, VALID = 1000, 500  # pairs a language
TEST_WORDS = range(3, 61)
MADE = "pairs.tsv.xz"  # what `made.py` writes: kinds of pairs where other files name a source
SHOWN = 100  # dropped pairs of each rule and source are written down for a person to read
SAMPLE = 8  # the language identifier counts every so manieth line
RULES = (
    "licence", "not drawn", "broken", "length", "ratio", "marks", "language", "test set", "duplicate",
    "reserved", "twin of held-out",
)  # fmt: skip

Pair = tuple[str, str, str]  # English, foreign, source
Hashed = tuple[Pair, int, int]  # a pair, and a number for the key of each side


def read(path: Path, most: int) -> Iterator[Pair]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines):
            if number == most:
                return
            english, foreign, name, _ = line.rstrip("\n").split("\t")
            yield english, foreign, name


def read_more(data: Path, more: list[Path], language: str) -> Iterator[Pair]:
    """What came after the bitext: Europarl in three languages, and the files given by name."""
    three = data / "europarl3" / "en-de-fr.tsv.xz"
    if three.is_file():
        with lzma.open(three, "rt", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                english, german, french = line.rstrip("\n").split("\t")
                yield english, german if language == "de" else french, "europarl3"
    for path in more:
        with _open(path) as lines:
            for line in lines:
                english, foreign, code, name = line.rstrip("\n").split("\t")
                if code == language:
                    yield english, foreign, own(name) if path.name == MADE else name


def own(kind: str) -> str:
    """The source of a pair that `made.py` wrote, by its kind."""
    return "written" if kind.startswith("hand-") else "made"


def _open(path: Path) -> TextIO:
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8", newline="\n")
    return path.open(encoding="utf-8", newline="\n")


def test_files(data: Path) -> list[Path]:
    """Every held-out file of DATA, both sides."""
    found = [*data.glob("tatoeba/*/*"), *data.glob("newstest*/*"), *data.glob("multi30k/raw/*")]
    return sorted(path for path in found if path.is_file() and not path.name.startswith("train"))


def count_words(job: tuple[Path, str, int]) -> dict[str, Counter[str]]:
    """How often each word occurs on each side of a sample of one bitext."""
    path, language, most = job
    counts: dict[str, Counter[str]] = {"en": Counter(), language: Counter()}
    for number, (english, foreign, name) in enumerate(read(path, most)):
        if number % SAMPLE == 0 and source(name).ships and not source(name).later:
            counts["en"].update(Languages.words(english))
            counts[language].update(Languages.words(foreign))
    return counts


def clean(job: tuple[Path, list[Path], Path, str, int, bool, Languages]) -> dict:
    """One language: read, judge each pair, hold out, shuffle, write; the account of it all."""
    data, more, out, language, most, few, languages = job
    account: dict[str, Counter[str]] = defaultdict(Counter)
    judgements = list(judged(data, more, out, language, most, few, languages, account))
    valid, test = hold_out([row for row in judgements if not source(row[0][2]).later])
    taken = {hashed(key(foreign)) for _, foreign, _ in valid + test}
    train = []
    for pair, english_hash, foreign_hash in judgements:
        if english_hash % RESERVED == 0:
            account[pair[2]]["reserved"] += 1
        elif foreign_hash in taken:
            account[pair[2]]["twin of held-out"] += 1
        else:
            account[pair[2]]["kept"] += 1
            train.append(pair)
    train.sort(key=lambda pair: (pair[2], pair[0]))  # what is alike lies together: a fifth smaller
    say(language, f"writing {len(train):,} pairs")
    files = [
        write(out / f"{language}.{name}", rows)
        for name, rows in (("valid.tsv", valid), ("test.tsv", test), ("train.tsv.xz", train))
    ]
    say(language, "done")
    return {"pairs": len(train), "files": files, "sources": account}


def judged(
    data: Path,
    more: list[Path],
    out: Path,
    language: str,
    most: int,
    few: bool,
    languages: Languages,
    account: dict,
) -> Iterator[Hashed]:
    """The pairs that break no rule, each once; the others are counted by the rule they break."""
    tests = HeldOut(test_files(data), FOREIGN[language])
    seen: set[int] = set()
    shown: Counter[tuple[str, str]] = Counter()
    with (out / f"{language}.dropped.tsv").open("w", encoding="utf-8") as dropped:
        rows = chain(read(bitext(data, language), most), read_more(data, more, language))
        for number, (*sides, name) in enumerate(rows, start=1):
            if number % 100_000 == 0:
                say(language, f"{number:,} read")
            account[name]["read"] += 1
            if not source(name).ships:
                account[name]["licence"] += 1
                continue
            if few and not drawn(normalise(sides[0], name), name):
                account[name]["not drawn"] += 1
                continue
            english, foreign = (normalise(side, name) for side in sides)
            keys = key(english), key(foreign)
            pair_hash = hash((english, foreign))
            rule = fault(english, foreign, name)
            if rule is None:
                rule = found_out(english, foreign, language, languages)
            if rule is None and tests.hold(*keys):
                rule = "test set"
            if rule is None and pair_hash in seen:
                rule = "duplicate"
            if rule is None:
                seen.add(pair_hash)
                yield (english, foreign, name), hashed(keys[0]), hashed(keys[1])
                continue
            account[name][rule] += 1
            shown[name, rule] += 1
            if shown[name, rule] <= SHOWN:
                dropped.write("\t".join((rule, name, english, foreign)) + "\n")


def drawn(english: str, name: str) -> bool:
    """Whether a pair is one of the few: all that may be held out are, of the others a share."""
    number = hashed(key(english))
    return number % RESERVED == 0 or number // RESERVED % 1000 < 1000 * some(name)


def found_out(english: str, foreign: str, language: str, languages: Languages) -> str | None:
    wrong = languages.is_wrong(english, "en") or languages.is_wrong(foreign, language)
    return "language" if wrong else None


def hashed(text: str) -> int:
    return crc32(text.encode())


def hold_out(judgements: list[Hashed]) -> tuple[list[Pair], list[Pair]]:
    """A mixed validation set and a software test set.

    What is reserved for them is decided by the English text alone, so that a sentence held out in one
    language is held out in the other; each English text is asked for once.
    """
    reserved = [(pair, number) for pair, number, _ in judgements if number % RESERVED == 0]
    once = list({number: pair for pair, number in reserved}.values())
    random.Random(SEED).shuffle(once)
    software = [pair for pair in once if pair[2] in SOFTWARE]
    test = [pair for pair in software if len(pair[0].split()) in TEST_WORDS][:TEST]
    chosen = set(test)
    kinds: dict[str, list[Pair]] = defaultdict(list)
    for pair in once:
        if pair not in chosen:
            kinds[kind(pair[2])].append(pair)
    valid = [pair for rows in kinds.values() for pair in rows[: VALID // len(kinds)]]
    return valid, test


def kind(name: str) -> str:
    if name in SOFTWARE or name in EVERYDAY:
        return "software" if name in SOFTWARE else "everyday"
    return "parliament" if name == "europarl" else "other"


def bitext(data: Path, language: str) -> Path:
    return data / "bitext" / f"en-{language}.tsv.xz"


def write(path: Path, rows: list[Pair]) -> dict:
    with lzma.open(path, "wb", preset=6) if path.suffix == ".xz" else path.open("wb") as file:
        for start in range(0, len(rows), 10_000):
            lines = ("\t".join(row) + "\n" for row in rows[start : start + 10_000])
            file.write("".join(lines).encode())
    return fact(path, len(rows))


def fact(path: Path, rows: int | None = None) -> dict:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    about = {"name": path.name, "bytes": path.stat().st_size, "sha256": digest}
    return about if rows is None else {**about, "rows": rows}


def say(language: str, message: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {language}  {message}", flush=True)


def table(language: str, facts: dict) -> str:
    """What was read, kept and dropped, by source, as Markdown."""
    columns = ("read", "kept", *RULES)
    lines = [f"| en-{language} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    total: Counter[str] = Counter()
    for name, counts in sorted(facts["sources"].items(), key=lambda item: -item[1]["read"]):
        total.update(counts)
        lines.append(_row(name, counts, columns))
    return "\n".join([*lines, _row("all", total, columns)])


def _row(name: str, counts: Counter[str], columns: tuple[str, ...]) -> str:
    cells = (f"{counts[column]:,}" if counts[column] else "" for column in columns)
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--more", type=Path, nargs="*", default=[], help="files of more pairs")
    parser.add_argument("--some", action="store_true", help="a share of each source, for the end")
    parser.add_argument("--most", type=int, default=-1, help="read only so many lines a language")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    present = [language for language in FOREIGN if bitext(options.data, language).is_file()]
    with ProcessPoolExecutor(max_workers=max(1, len(present))) as pool:
        counted = [(bitext(options.data, name), name, options.most) for name in present]
        counts: dict[str, Counter[str]] = {"en": Counter()}
        for part in pool.map(count_words, counted):
            for name, words in part.items():
                counts.setdefault(name, Counter()).update(words)
        languages = Languages(counts)
        say("--", f"language identifier knows {len(languages):,} words")
        jobs = [
            (options.data, options.more, options.out, name, options.most, options.some, languages)
            for name in present
        ]
        cleaned = dict(zip(present, pool.map(clean, jobs), strict=True))
    facts = {
        "seed": SEED,
        "inputs": [
            fact(path)
            for path in [*(bitext(options.data, name) for name in present), *options.more]
        ],
        "tests": [fact(path) for path in test_files(options.data)],
        "languages": cleaned,
    }
    (options.out / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
    for name in present:
        print("\n" + table(name, cleaned[name]))


if __name__ == "__main__":
    main()
