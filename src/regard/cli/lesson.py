"""`regard lesson`: a worked example of the lectures in the terminal, with its numbers or with your own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import SAVED, command
from regard.cli.options import JsonObject
from regard.errors import UsageError, nearest

if TYPE_CHECKING:
    from regard.show.figure import Figure
    from regard.worked import Worked


@command
def lesson(
    name: Annotated[
        str | None,
        Argument(metavar="[NAME]", help="Which lesson; without a name, all are listed."),
    ] = None,
    given: Annotated[
        list[str] | None,
        Option(
            metavar="INPUT=VALUE",
            help="A number, a list or a table of your own in place of the lecture's, written as JSON: "
            "`x=[1, 0]`. May be given several times; --json without a value shows every input.",
        ),
    ] = None,
    svg: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            rich_help_panel=SAVED,
            help="Draw the result as SVG: a table of numbers as colours, word links as lines.",
        ),
    ] = None,
    as_json: JsonObject = False,
) -> None:
    """Work an example of the lectures out, step by step, and say where a slide is wrong.

    The same as the studio's *Lessons*. L17 and the like are the items of the lectures (docs/lectures.md).

    - `regard lesson` lists them
    - `regard lesson six-steps` is attention in six steps
    - `regard lesson flying-arrows --given x=1` has a number of your own
    - `regard lesson position-picture --svg positions.svg` draws its result
    """
    output.speak_json(as_json)
    from regard.worked import EXAMPLES, render

    if name is None:
        if given or svg:
            remedy = "name the lesson, too: regard lesson flying-arrows --given x=1"
            which = "--given" if given else "--svg"
            raise UsageError("this belongs to a lesson, and none is named", which, remedy)
        _list(as_json)
        return
    if name not in EXAMPLES:
        raise UsageError(f"there is no lesson '{name}'", "NAME", nearest(name, EXAMPLES))
    example = EXAMPLES[name]
    inputs = _inputs(given or [], example.inputs, name)
    if not inputs and not as_json and svg is None:
        print(render(example))
        return
    from torch.linalg import LinAlgError  # type: ignore[attr-defined]

    try:
        worked = example.work(**inputs)
    except (ArithmeticError, LookupError, TypeError, ValueError, RuntimeError, LinAlgError):
        remedy = f"regard lesson {name} --json shows every input as the lecture has it"
        raise UsageError("these numbers do not fit together", "--given", remedy) from None
    if svg is not None:
        title = f"{example.title} ({', '.join(example.lectures)})"
        _draw(_links(worked, title) if example.picture == "links" else _table(worked, title), svg)
    if as_json:
        output.answer({"name": name, **example.as_dict(), "worked": worked.as_dict()})
    elif svg is None:
        print(render(worked))


def _draw(figure: Figure, svg: Path) -> None:
    from regard.run.files import write_atomic
    from regard.show.svg_png import written

    write_atomic(svg, written(figure).encode())
    output.say(f"wrote {svg}")


def _table(worked: Worked, title: str) -> Figure:
    """A result that is a table of numbers, as colours."""
    import numpy as np

    from regard.show.signed import signed_figure

    result = worked.result
    table = result.value if isinstance(result.value, tuple) else ()
    if not table or not all(isinstance(row, tuple) and _is_numbers(row) for row in table):
        remedy = "draw position-picture, or another lesson whose result is a table"
        raise UsageError("the result of this lesson is no table of numbers", "--svg", remedy)
    rows = result.rows or tuple(str(number + 1) for number in range(len(table)))
    return signed_figure(np.array(table, np.float32), rows, title, result.formula, "columns")


def _links(worked: Worked, title: str) -> Figure:
    """Steps that are sentences with the numbers of other words below them, as lines."""
    from regard.show.orders import orders_figure
    from regard.worked.word_orders import hand_drawn

    (source,) = (step.value for step in worked.given)
    numbers = {step.name: step.value for step in worked.steps}
    sentences = {step.name: step.columns for step in worked.steps}
    orders = hand_drawn(source, sentences, numbers)  # type: ignore[arg-type]
    return orders_figure(source, orders, title, "links drawn by hand")  # type: ignore[arg-type]


def _is_numbers(row: Sequence[Any]) -> bool:
    return all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in row)


def _list(as_json: bool) -> None:
    """Every lesson with the items that it teaches."""
    from regard.worked import EXAMPLES

    if as_json:
        lessons = [{"name": name, **one.as_dict()} for name, one in EXAMPLES.items()]
        output.answer({"lessons": lessons})
        return
    wide = max(map(len, EXAMPLES))
    for name, one in EXAMPLES.items():
        print(f"{name:{wide}}  {one.title}  [{', '.join(one.lectures)}]")


def _inputs(given: Sequence[str], usual: Mapping[str, Any], lesson: str) -> dict[str, Any]:
    """A reader's own values, each of the kind of the lecture's."""
    from regard.worked.worked_example import tuples

    inputs: dict[str, Any] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or name not in usual:
            what = f"{lesson} has no input '{name}'" if equals else "an input needs a value"
            known = nearest(name, usual) if equals else f"write --given {name}=..."
            raise UsageError(what, f"--given {one}", known)
        try:
            value = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            value = text
        if not _alike(value, usual[name]):
            remedy = f"write one like the lecture's: {name}={json.dumps(usual[name])}"
            what = "this is not of the kind of the lecture's value"
            raise UsageError(what, f"--given {one}", remedy)
        inputs[name] = tuples(value)
    return inputs


def _alike(value: Any, usual: Any) -> bool:
    """Whether a value is of the kind of the lecture's: a number, a word, a list, a table by name."""
    if isinstance(usual, bool) or isinstance(value, bool):
        return isinstance(usual, bool) and isinstance(value, bool)
    if isinstance(usual, float):
        return isinstance(value, int | float)
    return isinstance(value, type(usual))
