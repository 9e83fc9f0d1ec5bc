"""How many answers of a translator have what they must have: 200 sentences a language pair, by kind.

    python recipes/box/exact.py MODEL [--test recipes/box/phrases_test.tsv] [--out FILE.json] [--wrong]

MODEL is a run, a packed model or the name of one in the box. A line of the test is direction, kind, source,
what the answer must have (patterns joined by ` & `: all of them) and what it must not have. The number must
be the same number, the hour the same hour, the name the one that the other language uses: there is no partial
credit. Nothing of it is in what the translator learns from (`made.py` leaves out every sentence of the test).
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
DIRECTIONS = ("en-de", "de-en", "en-fr", "fr-en")
_SPACES = re.compile(r"[\s\u00a0\u202f]+")


@dataclass(frozen=True)
class Check:
    """One sentence and what its translation must and must not have."""

    direction: str
    kind: str
    source: str
    wanted: str
    unwanted: str

    def passes(self, answer: str) -> bool:
        text = _SPACES.sub(" ", answer.replace("’", "'"))
        if self.unwanted and re.search(self.unwanted, text):
            return False
        return all(re.search(pattern, text) for pattern in self.wanted.split(" & "))


def read(path: Path) -> list[Check]:
    rows = path.read_text("utf-8").removesuffix("\n").split("\n")[1:]
    return [Check(*row.split("\t")) for row in rows]


def table(checks: list[Check], right: list[bool]) -> str:
    """A line a kind, a column a direction."""
    total = Counter((check.kind, check.direction) for check in checks)
    good = Counter(
        (check.kind, check.direction) for check, ok in zip(checks, right, strict=True) if ok
    )
    ways = [way for way in DIRECTIONS if any(key[1] == way for key in total)]
    lines = ["| kind | " + " | ".join(ways) + " |", "|---" * (len(ways) + 1) + "|"]
    for kind in [*dict.fromkeys(check.kind for check in checks), ""]:
        cells = []
        for way in ways:
            keys = [key for key in total if key[1] == way and (not kind or key[0] == kind)]
            cells.append(f"{sum(good[key] for key in keys)} of {sum(total[key] for key in keys)}")
        lines.append(f"| {kind or 'all'} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def scores(checks: list[Check], right: list[bool], name: str) -> list[dict]:
    """The share that passed, a direction each, as `shelve.py --scores` reads it."""
    found = []
    for way in DIRECTIONS:
        ours = [ok for check, ok in zip(checks, right, strict=True) if check.direction == way]
        if ours:
            row = {"test": name, "direction": way, "name": "% right"}
            found.append(
                {**row, "value": 100 * sum(ours) / len(ours), "signature": f"n:{len(ours)}"}
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--test", type=Path, default=HERE / "phrases_test.tsv")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, help="every answer, and whether it passed")
    parser.add_argument("--scores", type=Path, help="the shares that passed, for a card")
    parser.add_argument("--name", default="exact checks", help="of the test, on a card")
    parser.add_argument("--wrong", action="store_true", help="print the answers that failed")
    options = parser.parse_args()
    from regard.answer.predictor import Predictor

    predictor = Predictor.load(options.model, options.device)
    checks = read(options.test)
    answers: dict[Check, str] = {}
    for way in DIRECTIONS:
        asked = [check for check in checks if check.direction == way]
        to = way.partition("-")[2]
        found = predictor.translate([check.source for check in asked], to=to) if asked else []
        answers.update(zip(asked, found, strict=True))
    right = [check.passes(answers[check]) for check in checks]
    if options.wrong:
        for check, ok in zip(checks, right, strict=True):
            if not ok:
                print(f"{check.direction} {check.kind}: {check.source} -> {answers[check]}")
    print(table(checks, right))
    if options.scores is not None:
        rows = scores(checks, right, options.name)
        options.scores.write_text(json.dumps({"scores": rows}, indent=1) + "\n", "utf-8")
    if options.out is not None:
        told = [
            {**vars(check), "answer": answers[check], "right": ok}
            for check, ok in zip(checks, right, strict=True)
        ]
        options.out.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
