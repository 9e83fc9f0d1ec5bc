"""`regard prune`: a smaller run without the heads that matter least."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import FILES, SAVED, command
from regard.cli.options import JsonObject
from regard.cli.target import check_there

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.data.example import Example
    from regard.models import Model
    from regard.run.folder import Run
    from regard.traces.importance import Measure, Place


@command
def prune(
    model: Annotated[
        str, Argument(metavar="RUN", help="A run folder, or a model in the box by its name.")
    ],
    out: Annotated[
        Path | None,
        Option("--out", "-o", metavar="FOLDER", rich_help_panel=SAVED, help="The smaller run."),
    ] = None,
    keep: Annotated[
        int | None, Option(min=1, metavar="N", help="How many heads of the whole model to keep.")
    ] = None,
    until_loss: Annotated[
        float | None,
        Option(
            min=0.0,
            metavar="LOSS",
            help="Remove as many heads as the loss allows, when it may grow by this much a symbol.",
        ),
    ] = None,
    by: Annotated[
        str,
        Option(
            metavar="WAY",
            help="What says how much a head matters: `importance`, the loss without it; `gradient`, that of "
            "its gate (Michel 2019), which is faster; or `l0`, gates it was trained with (Voita 2019).",
        ),
    ] = "gradient",
    data: Annotated[
        list[Path] | None,
        Option(
            metavar=FILES,
            help="Examples to judge by, such as `--data valid.en valid.de`. Default: the run's own test.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        Option(
            metavar="LANGUAGE",
            help="The language that the examples are translated into, for a model that knows several. The "
            "default is the ending of their second file.",
        ),
    ] = None,
    most: Annotated[int, Option(min=1, metavar="N", help="How many examples to judge by.")] = 200,
    score: Annotated[
        bool,
        Option(
            "--score",
            help="Judge by the score of the answers, such as BLEU, instead of the loss. This takes longer.",
        ),
    ] = False,
    svg: Annotated[
        Path | None,
        Option(metavar="FILE", rich_help_panel=SAVED, help="Draw the curve as SVG."),
    ] = None,
    as_json: JsonObject = False,
) -> None:
    """Write a smaller run without the heads that matter least; it loads everywhere, and trains on.

    Without `--out`, nothing is written: a curve shows the loss with ever fewer heads, removed from the least
    important, at random, and from the most important. With `--by l0`, `--out` alone removes the heads whose
    gates training has closed.

    - `regard prune runs/mine --keep 12 --out runs/small`
    - `regard train a.en a.de --start-from runs/mine -s objective.l0=0.01 -o runs/l0`
    - `regard prune runs/l0 --by l0 --out runs/small`
    """
    output.speak_json(as_json)
    check_there(model, data or ())
    _refuse(by, keep, until_loss, out, score, svg)
    from regard.answer.test_set import Exam
    from regard.run.find import folder_of
    from regard.run.folder import Run
    from regard.traces.importance import batches, loss_of, score_of
    from regard.training.judge import greedy

    with folder_of(Path(model)) as folder:
        run = Run.open(folder)
        whole = run.load_model()
    if data:
        exam = Exam.read(data, run.settings, most)
    else:
        remedy = f"name one: regard prune {model} --data test.en test.de"
        exam = Exam.own(run.settings, most, remedy)
    exam = replace(exam, examples=_addressed(run, exam.examples, to, data))
    some = batches(run.task, exam.examples)

    def measure() -> float:
        if score:  # counted downward: more is worse, as of a loss
            return -score_of(run.task, whole, exam.examples, greedy(run))
        return loss_of(run.task, whole, some)

    importance = _importance(run, whole, exam.examples, by, measure)
    if out is None:
        _show_curve(whole, measure, importance, score, svg, as_json)
    else:
        _write(run, whole, measure, importance, keep, until_loss, out, score, as_json)


def _addressed(
    run: Run, examples: tuple[Example, ...], to: str | None, data: list[Path] | None
) -> tuple[Example, ...]:
    """The examples as the model reads them: where it knows several languages, with a tag in front."""
    from regard.data.lines import bare_name
    from regard.errors import UsageError
    from regard.text.keep import languages, tag
    from regard.text.languages import chosen

    known = languages(run.settings.text.symbols)
    if to is None and (not known or any(one.asked.startswith(">>") for one in examples)):
        return examples
    ending = bare_name(data[-1]).rpartition(".")[2] if data else ""
    goal = chosen(to, known) if to is not None else ending
    if goal not in known:
        what, remedy = (
            "into which language are these examples translated?",
            f"one of {', '.join(known)}",
        )
        raise UsageError(what, "--to", remedy)
    tagged = (type(one).made(f"{tag(goal)} {one.asked}", one.answer) for one in examples)
    return tuple(one for one in tagged if not isinstance(one, str))


WAYS = ("importance", "gradient", "l0")


def _refuse(
    by: str,
    keep: int | None,
    until_loss: float | None,
    out: Path | None,
    score: bool,
    svg: Path | None,
) -> None:
    from regard.errors import UsageError, nearest

    if by not in WAYS:
        raise UsageError(f"no way '{by}'", "--by", nearest(by, WAYS))
    if score and until_loss is not None:
        raise UsageError("a score is no loss", "--score", "leave it out, or give --keep")
    if svg is not None and out is not None:
        raise UsageError("a curve is drawn where nothing is written", "--svg", "leave --out out")
    if keep is not None and until_loss is not None:
        raise UsageError("two ends at once", "--keep, --until-loss", "give one of them")
    if by == "l0" and keep is until_loss is None:
        return
    if (out is None) != (keep is None and until_loss is None):
        remedy = "give --keep or --until-loss together with --out FOLDER; or none, for the curve"
        raise UsageError("what to write is half said", "--out", remedy)


def _importance(
    run: Run, model: Model, examples: Sequence[Example], by: str, measure: Measure
) -> dict[Place, float]:
    from regard.errors import UsageError
    from regard.traces.importance import by_ablation, by_gates, by_gradient, places

    if not places(model):
        raise UsageError("this model has no heads to remove", "model", "take a Transformer")
    if by == "gradient":
        return by_gradient(run.task, model, examples)
    return by_gates(model) if by == "l0" else by_ablation(model, measure)


def _write(
    run: Run,
    model: Model,
    measure: Measure,
    importance: dict[Place, float],
    keep: int | None,
    until_loss: float | None,
    out: Path,
    score: bool,
    as_json: bool,
) -> None:
    from regard.traces.importance import closed, counted, write_pruned

    remove = _to_remove(model, measure, importance, keep, until_loss)
    before = measure()
    what, name, sign = ("score", "score", -1) if score else ("loss a symbol", "loss", 1)
    with closed(model, remove):
        after = measure()
    left = counted(model, remove)
    write_pruned(run, model, remove, out)
    if as_json:
        removed = [{"path": path, "head": head} for path, head in remove]
        output.answer(
            {
                "folder": str(out),
                "left": left,
                "removed": removed,
                name: [sign * before, sign * after],
            }
        )
        return
    for kind, (now, all_of_them) in left.items():
        output.say(f"{kind}: {now} of {all_of_them} heads left")
    if bare := {path for path, _ in importance} - {
        path for path, _ in importance.keys() - {*remove}
    }:
        output.say(
            f"{len(bare)} attentions without any: one closed head stays in each, and says nothing"
        )
    output.say(f"{what}: {sign * before:.4f} before, {sign * after:.4f} without them")
    output.say(f"wrote {out}")


def _to_remove(
    model: Model,
    measure: Measure,
    importance: dict[Place, float],
    keep: int | None,
    until_loss: float | None,
) -> list[Place]:
    """The least important heads: all but so many, or as many as the loss allows."""
    from regard.traces.importance import least_needed, orders

    rising = orders(importance)["least important first"]
    if keep is not None:
        return rising[: max(0, len(rising) - keep)]
    if until_loss is not None:
        return least_needed(model, measure, rising, until_loss)
    return [place for place in rising if importance[place] == 0]  # whose gates training closed


def _show_curve(
    model: Model,
    measure: Measure,
    importance: dict[Place, float],
    score: bool,
    svg: Path | None,
    as_json: bool,
) -> None:
    from rich.table import Table

    from regard.run.files import write_atomic
    from regard.show.plot import curves
    from regard.show.svg_png import written
    from regard.traces.importance import curve, orders

    total, sign = len(importance), -1 if score else 1
    what = "score" if score else "loss a symbol"
    lefts = sorted({round(total * share / 8) for share in range(9)}, reverse=True)
    points = {
        name: [(one.left, sign * one.value) for one in curve(model, measure, order, lefts)]
        for name, order in orders(importance).items()
    }
    if svg is not None:
        drawn = curves(points, f"{what}, by heads left", "heads left", what)
        write_atomic(svg, written(drawn).encode())
        output.say(f"wrote {svg}")
    if as_json:
        lines = {name: [list(point) for point in some] for name, some in points.items()}
        worth = [
            {"path": path, "head": head, "importance": value}
            for (path, head), value in importance.items()
        ]
        output.answer({"importance": worth, "curves": lines})
        return
    table = Table(title=f"{what}, by heads left", title_justify="left", box=None)
    for column in ("heads left", *points):
        table.add_column(column, justify="right")
    for place, left in enumerate(lefts):
        table.add_row(str(left), *(f"{some[place][1]:.4f}" for some in points.values()))
    output.show(table)
