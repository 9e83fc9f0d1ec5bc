"""Translations by a better model, or of text that has none: pairs that are good in one direction.

    python recipes/box/distil.py choose CLEAN DATA OUT       # lines to translate, English and French
    python recipes/box/distil.py write RUN LINES OUT [--to de] [--device cuda] [--processes 6] [--beam 4]
    python recipes/box/distil.py join OUT.tsv --en-fr FILE --fr-en FILE --en-de FILE

A line that a teacher translates teaches its translation (Kim and Rush 2016); a line of a person's that was
translated teaches the other direction, from what a machine wrote to what the person did (Sennrich et al.
2016).
What `join` writes has target language, source and target, for `corpus.py --directed`.
"""

from __future__ import annotations

import argparse
import lzma
import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from clean import SEED, hashed, say, test_files
from rules import HeldOut, broken, fault, key, normalise

GENERAL = ("tatoeba", "awsnpm", "ntrex", "flores-dev", "newsdev", "mlqe-pe", "written")
SOME = {
    "europarl": 120_000,
    "europarl3": 80_000,
    "freedict": 45_000,
    "msdotnet": 25_000,
    "helpdocs": 25_000,
}
WORDS = range(2, 81)
CHUNK = 4_000  # lines that are written down at once
RESERVED = 200


def choose(clean: Path, data: Path, out: Path) -> None:
    """What is worth translating: everyday text, news and prose whole, a sample of the rest."""
    rows = {language: list(pairs(clean / f"{language}.train.tsv.xz")) for language in ("de", "fr")}
    english = {key(row[0]) for row in rows["de"]}
    tests = HeldOut(test_files(data), ("fr", "fra"))
    prose = [line for line in english_prose(data) if key(line) not in tests.english]
    lines = {
        "en-fr": chosen([(row[0], row[2]) for row in rows["de"] + rows["fr"]]) + prose,
        "fr-en": chosen([(row[1], row[2]) for row in rows["fr"]]),
        "en-de": [line for line, _ in only_general(rows["fr"]) if key(line) not in english] + prose,
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, found in lines.items():
        fit = [line for line in dict.fromkeys(found) if len(line.split()) in WORDS]
        fit = [line for line in fit if not broken(line) and hashed(key(line)) % RESERVED]
        random.Random(SEED).shuffle(fit)
        (out / f"{name}.txt").write_text("\n".join(fit) + "\n", "utf-8")
        say("--", f"{name}: {len(fit):,} lines")


def chosen(rows: list[tuple[str, str]]) -> list[str]:
    by_source: dict[str, list[str]] = defaultdict(list)
    for line, name in rows:
        by_source[name].append(line)
    found = []
    for name, lines in by_source.items():
        if name in GENERAL or name.startswith("wmt-"):
            found += lines
        elif name in SOME:
            found += random.Random(SEED).sample(lines, min(len(lines), SOME[name]))
    return found


def only_general(rows: list[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
    yield from ((row[0], row[2]) for row in rows if row[2] in GENERAL or row[2].startswith("wmt-"))


def pairs(path: Path) -> Iterator[tuple[str, str, str]]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            english, foreign, name = line.rstrip("\n").split("\t")
            yield english, foreign, name


def english_prose(data: Path) -> Iterator[str]:
    """SemCor, put together again: the Brown corpus, prose of every kind."""
    path = data / "semcor" / "semcor3.tsv.xz"
    if not path.is_file():
        return
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            words = line.rstrip("\n").split("\t")[2].split(" | ")
            yield normalise(put_together(words))


def put_together(words: list[str]) -> str:
    """`The jury ' s praise , '' he said .` as a person would type it."""
    text = " ".join(words).replace("`` ", '"').replace(" ''", '"')
    for mark in (
        ",",
        ".",
        ";",
        ":",
        "?",
        "!",
        ")",
        "'s",
        "n't",
        "'re",
        "'ve",
        "'ll",
        "'d",
        "'m",
        "%",
    ):
        text = text.replace(f" {mark}", mark)
    return text.replace("( ", "(").replace("$ ", "$")


def write(options: argparse.Namespace) -> None:
    """Each process translates every so manieth line, and what was cut off is done again when called again."""
    options.out.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        __file__,
        "share",
        str(options.run),
        str(options.lines),
        str(options.out),
    ]
    command += [
        "--device",
        options.device,
        "--beam",
        str(options.beam),
        "--seconds",
        str(options.seconds),
    ]
    command += ["--to", options.to] if options.to else []
    shares = [
        subprocess.Popen([*command, "--share", f"{number}/{options.processes}"])
        for number in range(options.processes)
    ]
    if sum(share.wait() != 0 for share in shares):
        sys.exit("a process failed; the same command does what is missing")
    parts = sorted(options.out.glob("part-*.tsv"))
    print(
        f"{sum(len(path.read_text('utf-8').splitlines()) for path in parts):,} pairs in {options.out}"
    )


def share(options: argparse.Namespace) -> None:
    from regard.answer.predictor import Predictor

    number, of = map(int, options.share.split("/"))
    lines = options.lines.read_text("utf-8").splitlines()[number::of]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    precision = "bfloat16" if options.device == "cuda" else "float32"
    model = Predictor.load(
        options.run, device=options.device, precision=precision, batch_tokens=8192
    )
    began = time.monotonic()
    for start in range(0, len(lines), CHUNK):
        path = options.out / f"part-{number:02}-{start:07}.tsv"
        if path.exists():
            continue
        if time.monotonic() - began > options.seconds:
            say("--", f"share {number}: the time is over at line {start:,}")
            return
        # Lines of like length side by side: a batch is as slow as its longest.
        some = sorted(lines[start : start + CHUNK], key=len)
        tagged = [f">>{options.to}<< {line}" for line in some] if options.to else some
        answers = model.predict(tagged, beam=options.beam, max_length=160, truncate=True)
        rows = [
            f"{line}\t{answer.text}\n"
            for line, answer in zip(some, answers, strict=True)
            if answer.finish == "end" and "\t" not in answer.text and "\n" not in answer.text
        ]
        path.write_text("".join(rows), "utf-8")
        say("--", f"share {number}: {start + len(some):,} of {len(lines):,}")


def join(options: argparse.Namespace) -> None:
    counts: Counter[str] = Counter()
    with options.out.open("w", encoding="utf-8") as out:
        for folder, here, there in (
            (options.en_fr, "en", "fr"),
            (options.fr_en, "fr", "en"),
            (options.en_de, "en", "de"),
        ):
            for path in sorted(folder.glob("part-*.tsv")) if folder else ():
                for row in path.read_text("utf-8").splitlines():
                    line, answer = row.split("\t")
                    answer = normalise(answer)
                    english, foreign = (line, answer) if here == "en" else (answer, line)
                    rule = fault(english, foreign, "distilled") or ("empty" if not answer else None)
                    if rule is None and key(line) == key(answer) and len(line.split()) > 3:
                        rule = "copied"
                    counts[f"{here}-{there} {rule or 'kept'}"] += 1
                    if rule is not None:
                        continue
                    if there != "de":  # the teacher's German would be our own
                        out.write(f"{there}\t{line}\t{answer}\n")
                    if here == "en":
                        out.write(f"en\t{answer}\t{line}\n")
    print("\n".join(f"{name}: {count:,}" for name, count in sorted(counts.items())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    choosing = commands.add_parser("choose")
    for name in ("clean", "data", "out"):
        choosing.add_argument(name, type=Path)
    for command in ("write", "share"):
        writing = commands.add_parser(command)
        for name in ("run", "lines", "out"):
            writing.add_argument(name, type=Path)
        writing.add_argument("--to", help="the language, where the model knows several")
        writing.add_argument("--device", default="cuda")
        writing.add_argument("--beam", type=int, default=4)
        writing.add_argument(
            "--seconds", type=float, default=1e9, help="begin nothing after so long"
        )
        writing.add_argument("--processes", type=int, default=6)
        writing.add_argument("--share", default="0/1")
    joining = commands.add_parser("join")
    joining.add_argument("out", type=Path)
    for name in ("--en-fr", "--fr-en", "--en-de"):
        joining.add_argument(name, type=Path)
    options = parser.parse_args()
    match options.command:
        case "choose":
            choose(options.clean, options.data, options.out)
        case "write":
            write(options)
        case "share":
            share(options)
        case "join":
            join(options)


if __name__ == "__main__":
    main()
