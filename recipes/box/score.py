"""How good a translator of the box is: BLEU and chrF on every test set that training never saw.

    python recipes/box/score.py RUN DATA [--clean CLEAN] [--weights int8] [--beam 4] [--out scores.json]

RUN is a run folder, an archive of one, or a model in the box. DATA holds `tatoeba`, `newstest2013`
and `multi30k/raw`; CLEAN, what `clean.py` wrote, the software text that was held out. What is not there is
skipped. The table is Markdown for the card; after each set all figures so far are in the JSON file.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CODES = {"de": ("de", "deu"), "fr": ("fr", "fra")}
CAPTIONS = ("test_2016_flickr", "test_2017_flickr", "test_2018_flickr")


@dataclass(frozen=True)
class TestSet:
    """Lines that belong together, English and foreign."""

    name: str
    language: str
    english: list[str]
    foreign: list[str]


def tests(data: Path, clean: Path | None) -> Iterator[TestSet]:
    for short, long in CODES.values():
        news = data / "newstest2013" / f"newstest2013.en-{long}"
        yield from beside("Tatoeba test", short, data / "tatoeba" / long / "test", "eng", long)
        yield from beside("newstest2013", short, news, "eng", long)
        for name in CAPTIONS:
            path = data / "multi30k" / "raw" / name
            yield from beside(f"Multi30k {name.split('_')[1]}", short, path, "en", short)
        held_out = None if clean is None else clean / f"{short}.test.tsv"
        if held_out is not None and held_out.is_file():
            rows = [row.split("\t") for row in lines(held_out)]
            yield TestSet("software", short, [row[0] for row in rows], [row[1] for row in rows])


def development(data: Path, clean: Path | None) -> Iterator[TestSet]:
    """Kin of the tests, to choose by: Tatoeba's and Multi30k's development parts, and news and software."""
    for short, long in CODES.values():
        yield from beside("Tatoeba valid", short, data / "tatoeba" / long / "valid", "eng", long)
        captions = data / "multi30k" / "raw" / "val"
        yield from beside("Multi30k val", short, captions, "en", short)
    yield from (test for test in tests(data, clean) if test.name in ("newstest2013", "software"))


def watched(clean: Path) -> Iterator[TestSet]:
    """What was watched while training: to choose by, so that no test set is."""
    for short, _ in CODES.values():
        rows = [row.split("\t") for row in lines(clean / f"{short}.valid.tsv")]
        yield TestSet("validation", short, [row[0] for row in rows], [row[1] for row in rows])


def beside(name: str, language: str, stem: Path, english: str, foreign: str) -> Iterator[TestSet]:
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in (english, foreign)]
    if all(path.is_file() for path in paths):
        yield TestSet(name, language, lines(paths[0]), lines(paths[1]))


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").removesuffix("\n").split("\n")


def load(options: argparse.Namespace):
    """The model, its weights rounded as they would be when they are stored in fewer bytes."""
    from regard.answer.predictor import Predictor
    from regard.models.compress import narrowed, widened

    predictor = Predictor.load(
        options.run,
        options.device,
        precision=options.precision,
        batch_tokens=options.tokens,
        weights=options.form,
    )
    if options.weights != "float32":
        state = widened(narrowed(predictor.model.state_dict(), options.weights))
        predictor.model.load_state_dict(state)
    return predictor


def scores(predictor, test: TestSet, options: argparse.Namespace) -> Iterator[dict]:
    """Both directions of one test set."""
    from regard.evaluate import bleu, chrf

    sides = ((test.language, test.english, test.foreign), ("en", test.foreign, test.english))
    for to, questions, answers in sides:
        asked, wanted = questions[: options.most], answers[: options.most]
        began = time.monotonic()
        found = predictor.translate(asked, to=to, beam=options.beam)
        seconds = time.monotonic() - began
        direction = f"en-{to}" if to != "en" else f"{test.language}-en"
        if options.texts is not None:
            name = f"{test.name.replace(' ', '-').lower()}.{direction}.txt"
            (options.texts / name).write_text("".join(f"{line}\n" for line in found), "utf-8")
        for measure in (bleu, chrf):
            metric = measure(found, wanted, interval=options.interval)
            about = {"test": test.name, "direction": direction, "sentences": len(asked)}
            yield {**about, "seconds": round(seconds, 2), **metric.as_dict()}


def table(rows: list[dict]) -> str:
    """BLEU / chrF, a line a test set, a column a direction."""
    directions = sorted({row["direction"] for row in rows})
    cells: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        cells.setdefault((row["test"], row["direction"]), []).append(f"{row['value']:.1f}")
    lines = ["| test | " + " | ".join(directions) + " |", "|---" * (len(directions) + 1) + "|"]
    for test in dict.fromkeys(row["test"] for row in rows):
        both = (" / ".join(cells.get((test, one), [])) for one in directions)
        lines.append(f"| {test} | " + " | ".join(both) + " |")
    signatures = dict.fromkeys(f"{row['name']} `{row['signature']}`" for row in rows)
    return "\n".join([*lines, "", "; ".join(signatures)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("data", type=Path)
    parser.add_argument("--clean", type=Path, help="what clean.py wrote")
    parser.add_argument("--weights", default="float32", choices=("float32", "float16", "int8"))
    parser.add_argument("--form", default="stored", help="what a CPU multiplies: int8, float32")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--validation", action="store_true", help="CLEAN's validation set alone")
    parser.add_argument("--development", action="store_true", help="the sets to choose by")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--tokens", type=int, default=16384, help="of a batch")
    parser.add_argument("--beam", type=int)
    parser.add_argument("--most", type=int, help="only the first so many sentences of each set")
    parser.add_argument("--interval", action="store_true", help="95%% intervals, by resampling")
    parser.add_argument("--only", nargs="*", help="only these test sets")
    parser.add_argument("--out", type=Path, default=Path("scores.json"))
    parser.add_argument("--texts", type=Path, help="a folder for the translations")
    options = parser.parse_args()
    if options.texts is not None:
        options.texts.mkdir(parents=True, exist_ok=True)
    predictor = load(options)
    rows: list[dict] = []
    chosen = (development if options.development else tests)(options.data, options.clean)
    chosen = watched(options.clean) if options.validation else chosen
    for test in chosen:
        if options.only and test.name not in options.only:
            continue
        try:
            rows += scores(predictor, test, options)
        except Exception as fault:  # one set that fails must not cost the others their figures
            print(f"{test.name} {test.language}: {type(fault).__name__}: {fault}", flush=True)
            continue
        for row in rows[-4:]:
            print(
                f"{row['test']:14} {row['direction']}  {row['name']:6} {row['value']:6.2f}",
                flush=True,
            )
        about = {"run": options.run, "weights": options.weights, "beam": options.beam}
        options.out.write_text(json.dumps({**about, "scores": rows}, indent=1) + "\n")
    if rows:
        print("\n" + table(rows))


if __name__ == "__main__":
    main()
