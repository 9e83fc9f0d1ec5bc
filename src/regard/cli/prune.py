"""`regard prune`: a smaller run without the heads that matter least."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import FILES, command
from regard.cli.options import SAVED, JsonObject

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
            help="What says how much a head matters: `importance`, the loss without it, or `gradient`, that "
            "of its gate (Michel 2019), which is faster.",
        ),
    ] = "gradient",
    data: Annotated[
        list[Path] | None,
        Option(
            metavar=FILES,
            help="Examples to judge by, such as `--data valid.en valid.de`. Default: the run's own test.",
        ),
    ] = None,
    most: Annotated[int, Option(min=1, metavar="N", help="How many examples to judge by.")] = 200,
    as_json: JsonObject = False,
) -> None:
    """Write a smaller run without the heads that matter least; it loads everywhere, and trains on.

    Without `--keep` and `--until-loss`, nothing is written: a curve shows the loss with ever fewer heads,
    removed from the least important, at random, and from the most important.

    - `regard prune runs/mine --keep 12 --out runs/small`
    - `regard train train.en train.de --start-from runs/small --out runs/again`
    """
    output.speak_json(as_json)
    from regard.answer.test_set import Exam
    from regard.run.find import folder_of
    from regard.run.folder import Run
    from regard.traces.importance import batches, loss_of

    _refuse(by, keep, until_loss, out)
    with folder_of(Path(model)) as folder:
        run = Run.open(folder)
        whole = run.load_model()
    exam = Exam.read(data, run.settings.task, most) if data else Exam.of(run.settings, most)
    some = batches(run.task, exam.examples)

    def measure() -> float:
        return loss_of(run.task, whole, some)

    importance = _importance(run, whole, exam.examples, by, measure)
    if out is None:
        _show_curve(whole, measure, importance, as_json)
    else:
        _write(run, whole, measure, importance, keep, until_loss, out, as_json)


def _refuse(by: str, keep: int | None, until_loss: float | None, out: Path | None) -> None:
    from regard.errors import UsageError, nearest

    if by not in ("importance", "gradient"):
        raise UsageError(f"no way '{by}'", "--by", nearest(by, ("importance", "gradient")))
    if keep is not None and until_loss is not None:
        raise UsageError("two ends at once", "--keep, --until-loss", "give one of them")
    if (out is None) != (keep is None and until_loss is None):
        remedy = "give --keep or --until-loss together with --out FOLDER; or none, for the curve"
        raise UsageError("what to write is half said", "--out", remedy)


def _importance(
    run: Run, model: Model, examples: Sequence[Example], by: str, measure: Measure
) -> dict[Place, float]:
    from regard.errors import UsageError
    from regard.traces.importance import by_ablation, by_gradient, places

    if not places(model):
        raise UsageError("this model has no heads to remove", "model", "take a Transformer")
    if by == "gradient":
        return by_gradient(run.task, model, examples)
    return by_ablation(model, measure)


def _write(
    run: Run,
    model: Model,
    measure: Measure,
    importance: dict[Place, float],
    keep: int | None,
    until_loss: float | None,
    out: Path,
    as_json: bool,
) -> None:
    from regard.traces.importance import closed, orders
    from regard.traces.pruning import counted, least_needed, write_pruned

    rising = orders(importance)["least important first"]
    if keep is not None:
        remove = rising[: max(0, len(rising) - keep)]
    else:
        remove = least_needed(model, measure, rising, until_loss or 0.0)
    before = measure()
    with closed(model, remove):
        after = measure()
    left = counted(model, remove)
    write_pruned(run, model, remove, out)
    if as_json:
        removed = [{"path": path, "head": head} for path, head in remove]
        output.answer(
            {"folder": str(out), "left": left, "removed": removed, "loss": [before, after]}
        )
        return
    for kind, (now, all_of_them) in left.items():
        output.say(f"{kind}: {now} of {all_of_them} heads left")
    output.say(f"loss a symbol: {before:.4f} before, {after:.4f} without them")
    output.say(f"wrote {out}")


def _show_curve(
    model: Model, measure: Measure, importance: dict[Place, float], as_json: bool
) -> None:
    from rich.table import Table

    from regard.traces.importance import curve, orders

    total = len(importance)
    lefts = sorted({round(total * share / 8) for share in range(9)}, reverse=True)
    points = {
        name: curve(model, measure, order, lefts) for name, order in orders(importance).items()
    }
    if as_json:
        lines = {name: [[p.left, p.value] for p in some] for name, some in points.items()}
        worth = [
            {"path": path, "head": head, "importance": value}
            for (path, head), value in importance.items()
        ]
        output.answer({"importance": worth, "curves": lines})
        return
    table = Table(title="loss a symbol, by heads left", title_justify="left", box=None)
    for column in ("heads left", *points):
        table.add_column(column, justify="right")
    for place, left in enumerate(lefts):
        table.add_row(str(left), *(f"{some[place].value:.4f}" for some in points.values()))
    output.show(table)
