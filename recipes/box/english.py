"""The English side of the bitext, each line once: what the tagger's encoder is pre-trained on.

    python recipes/box/english.py DATA OUT [--most N] [--only SOURCE] [--mixed]

OUT gets `train.txt` and `valid.txt` (one line in 1,000, by its hash). Only sources that a model which ships
may learn from (`sources.py`), lines of 3 to 60 words, and none that a test set of DATA holds. `--mixed` takes
from each source no more than SHARES says, for a smaller text that is less about software and parliament.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import random
from collections import Counter
from pathlib import Path

from sources import source

WORDS = range(3, 61)
SEED = 20261118
SHARES = {
    "awsnpm": 93_000,
    "tatoeba": 60_000,
    "europarl": 30_000,
    "ntrex": 4_000,
    "flores-dev": 1_000,
}
OTHERS = 4_000


def key(line: str) -> bytes:
    """Two lines that differ only in case and punctuation have the same key."""
    letters = "".join(character for character in line.casefold() if character.isalnum())
    return hashlib.blake2b(letters.encode(), digest_size=8).digest()


def held_out(data: Path) -> set[bytes]:
    """Every line of the test and development sets."""
    keys = set()
    for pattern in (
        "tatoeba/*/*",
        "newstest*/*",
        "multi30k/raw/*",
        "ud_english_ewt/*dev*",
        "sst/*",
    ):
        for path in data.glob(pattern):
            if path.name.startswith("train") or not path.is_file():
                continue
            text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
            parts = text.decode().replace("\n", "\t").split("\t")
            keys |= set(map(key, parts))
    return keys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--most", type=int, default=None, help="lines to train on")
    parser.add_argument("--only", help="one source, such as tatoeba; the default is all that ship")
    parser.add_argument("--mixed", action="store_true", help="no more of a source than SHARES says")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    seen, kept = held_out(given.data), []
    taken: Counter[str] = Counter()
    for name in ("en-de", "en-fr"):
        with lzma.open(given.data / "bitext" / f"{name}.tsv.xz", "rt", encoding="utf-8") as lines:
            for line in lines:
                english, _, origin, _ = line.rstrip("\n").split("\t")
                if not source(origin).ships or len(english.split()) not in WORDS:
                    continue
                if given.only not in (None, origin):
                    continue
                number = key(english)
                if given.mixed and taken[origin] >= SHARES.get(origin, OTHERS):
                    continue
                if number not in seen:
                    taken[origin] += 1
                    seen.add(number)
                    kept.append((number, english))
    random.Random(SEED).shuffle(kept)
    parts = {"train": [], "valid": []}
    for number, english in kept:
        parts["valid" if int.from_bytes(number) % 1000 == 0 else "train"].append(english)
    parts["train"] = parts["train"][: given.most]
    for part, lines in parts.items():
        (given.out / f"{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{part}: {len(lines):,} lines")


if __name__ == "__main__":
    main()
