"""Two translators on the same tests: BLEU and chrF of both with intervals, and whether it could be chance.

    python recipes/box/paired.py OLD NEW DATA [--clean CLEAN] [--development] [--out paired.json]

OLD and NEW are folders of answers that `score.py --texts` wrote. What only one of them has is left out;
of a test where they answered a different number of sentences, the first that both have are compared, and the
table says how many. p is by paired bootstrap (Koehn 2004; 1,000 draws), as sacreBLEU does it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from score import TestSet, development, lines, tests


def answers(folder: Path, test: TestSet, direction: str) -> list[str] | None:
    """What `score.py` wrote for one direction of a test."""
    path = folder / f"{test.name.replace(' ', '-').lower()}.{direction}.txt"
    return lines(path) if path.is_file() else None


def compared(old: Path, new: Path, test: TestSet) -> Iterator[dict]:
    """Both directions of one test, BLEU and chrF."""
    from regard.evaluate import bleu, chrf, paired

    sides = ((f"en-{test.language}", test.foreign), (f"{test.language}-en", test.english))
    for direction, wanted in sides:
        before, after = answers(old, test, direction), answers(new, test, direction)
        if before is None or after is None:
            continue
        number = min(len(before), len(after), len(wanted))
        before, after, references = before[:number], after[:number], wanted[:number]
        for name, measure in (("bleu", bleu), ("chrf", chrf)):
            found = paired(before, after, references, metric=name, test="bootstrap")
            both = [measure(texts, references) for texts in (before, after)]
            yield {
                "test": test.name,
                "direction": direction,
                "sentences": number,
                "old": both[0].as_dict(),
                "new": both[1].as_dict(),
                "difference": both[1].value - both[0].value,
                "p": found.p_value,
            }


def cell(metric: dict) -> str:
    """`31.2 (30.1 to 32.3)`."""
    ends = metric.get("interval")
    return f"{metric['value']:.1f}" + (f" ({ends[0]:.1f} to {ends[1]:.1f})" if ends else "")


def table(rows: list[dict]) -> str:
    head = "| test | direction | sentences | metric | old | new | difference | p |"
    out = [head, "|---|---|---:|---|---|---|---:|---:|"]
    for row in rows:
        cells = (
            row["test"],
            row["direction"],
            f"{row['sentences']:,}",
            row["new"]["name"],
            cell(row["old"]),
            cell(row["new"]),
            f"{row['difference']:+.1f}",
            f"{row['p']:.3f}",
        )
        out.append("| " + " | ".join(cells) + " |")
    signatures = dict.fromkeys(f"{row['new']['name']} `{row['new']['signature']}`" for row in rows)
    return "\n".join([*out, "", "; ".join(signatures)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--clean", type=Path, help="what clean.py wrote")
    parser.add_argument("--development", action="store_true", help="the sets to choose by")
    parser.add_argument("--out", type=Path, default=Path("paired.json"))
    options = parser.parse_args()
    rows: list[dict] = []
    for test in (development if options.development else tests)(options.data, options.clean):
        rows += compared(options.old, options.new, test)
        options.out.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    if rows:
        print(table(rows))
    else:
        print("no test was answered by both")


if __name__ == "__main__":
    main()
