"""Put a trained run into the box: packed, looked at, scored on the project's own test, with its card.

    python recipes/box/shelve.py RUN NAME [--weights int8] [--scores [TEST=]scores.json ...]

What no program can know stands in `cards/NAME.toml`: title, licence, sources, limits, the command. What one
can is worked out here: how many numbers the model has, which attention reads as an alignment, and its scores
on `tests/box/small.*`. `--scores` adds what `score.py`, or `regard evaluate --json` wrote.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard import box
from regard.answer.predictor import Predictor
from regard.answer.test_set import Exam
from regard.answer.tracing import trace
from regard.box.card import CARD, Card, Score, size
from regard.config import parse, read_toml, to_toml
from regard.models import count_parameters
from regard.run.files import sha256_of
from regard.run.find import read_settings
from regard.run.pack import pack
from regard.show.catalogue import markdown
from regard.traces.overview import SENTENCES, rank

HERE = Path(__file__).parent
SMALL = HERE.parents[1] / "tests" / "box"
HASHED = ("model.safetensors", "tokenizer.json")


def small_scores(predictor: Predictor, directions: tuple[str, ...]) -> Iterator[Score]:
    """The scores that `regard evaluate` gives on the files written for this project."""
    task = predictor.run.task
    if directions:
        tests = [(way, *(SMALL / f"small.{side}" for side in way.split("-"))) for way in directions]
    else:
        tests = [("", SMALL / {"tag": "small.conllu", "classify": "small.tsv"}[task.name])]
    for way, *paths in tests:
        exam = Exam.read(paths, predictor.run.settings)
        to = way.partition("-")[2] or None
        found = predictor.predict(exam.questions(task), to=to)
        for metric in task.judge([answer.text for answer in found], exam.answers(task))[:2]:
            yield Score(
                test="small",
                direction=way,
                metric=metric.name,
                value=round(metric.value, 2),
                signature=metric.signature,
            )


def other_scores(given: str) -> Iterator[Score]:
    """What another program measured; `NAME=FILE` says what the test is called."""
    name, _, path = given.rpartition("=")
    found = json.loads(Path(path).read_text("utf-8"))
    for row in found.get("scores") or found["metrics"]:
        yield Score(
            test=name or row.get("test") or found["test"],
            direction=row.get("direction", ""),
            metric=row["name"],
            value=round(row["value"], 2),
            signature=row["signature"],
        )


def forget_places(config: Path) -> None:
    """What a model learned and started from goes by its name: where that lay is nobody's business."""
    settings = read_settings(config)
    names = {
        role: tuple(Path(path).name for path in getattr(settings.data, role))
        for role in ("train", "valid", "test")
    }
    data = settings.data.model_copy(update=names)
    start = None if settings.start is None else Path(settings.start).name
    told = settings.model_copy(update={"data": data, "start": start})
    config.write_text(to_toml(told), "utf-8")


def best_look(predictor: Predictor, directions: tuple[str, ...]) -> dict[str, Any] | None:
    """The site that most looks where it should, as a whole: several heads tell more than one."""
    targets = [way.partition("-")[2] for way in directions if way.startswith("en-")]
    if not targets:
        return None
    ranked = rank(trace(predictor, text, to=to) for text in SENTENCES for to in targets)
    for choice in ranked:
        print(f"  {choice.score:.3f}  {choice.look.site} {list(choice.look.heads) or 'all heads'}")
    chosen = next(choice.look for choice in ranked if len(choice.look.heads) != 1)
    return chosen.model_dump()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--weights", default="int8", choices=("int8", "float16", "float32"))
    parser.add_argument("--scores", nargs="*", default=[], help="FILE or NAME=FILE")
    parser.add_argument("--look", help="SITE or SITE:HEAD,HEAD in place of the best one found")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--place", type=Path, default=box.PLACE)
    options = parser.parse_args()
    facts = read_toml(HERE / "cards" / f"{options.name}.toml")
    folder = options.place / options.name
    if folder.exists():
        shutil.rmtree(folder)
    options.place.mkdir(parents=True, exist_ok=True)
    pack(options.run, folder, options.weights)
    forget_places(folder / "config.toml")
    predictor = Predictor.load(folder, "cpu")
    directions = tuple(facts.get("directions", ()))
    if options.look:
        site, _, heads = options.look.partition(":")
        look: dict[str, Any] | None = {
            "site": site,
            "heads": [int(h) for h in heads.split(",") if h],
        }
    else:
        look = best_look(predictor, directions)
    scores = [*small_scores(predictor, directions)]
    scores += [score for path in options.scores for score in other_scores(path)]
    facts |= {
        "name": options.name,
        "task": predictor.task,
        "date": options.date,
        "parameters": count_parameters(predictor.model),
        "weights": options.weights,
        "scores": [score.model_dump() for score in scores],
        **({} if look is None else {"look": look}),
    }
    facts["sha256"] = {name: sha256_of(folder / name) for name in HASHED}
    card = parse(Card, facts, where=options.name)
    (folder / CARD).write_text(to_toml(card), "utf-8")
    (folder / "README.md").write_text(markdown(card, size(folder)), "utf-8")
    for score in card.scores:
        print(f"{score.test:16} {score.direction:6} {score.metric:12} {score.value:6.2f}")
    total = sum(size(path) for path in options.place.iterdir() if path.is_dir())
    print(f"{folder.name}: {size(folder):,} bytes; the box: {total / (1 << 20):.1f} MiB")


if __name__ == "__main__":
    main()
