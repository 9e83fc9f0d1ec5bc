"""What `regard look` draws beside attention: states over time, tables of positions, and word orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from regard.cli import output
from regard.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regard.answer.predictor import Predictor
    from regard.show.figure import Figure

POSITIONS = 20  # as many as the lectures' picture has


@final
@dataclass(frozen=True)
class Files:
    """Where a drawing goes: into files, or the terminal; or what it shows, as JSON."""

    svg: Path | None = None
    png: Path | None = None
    as_json: bool = False

    @property
    def wanted(self) -> bool:
        """Whether a figure is needed at all."""
        return self.svg is not None or self.png is not None

    def draw(self, figure: Figure) -> None:
        """Write the figure into each file by its kind."""
        if self.svg is not None:
            from regard.show.svg_png import written

            write(self.svg, written(figure).encode())
        if self.png is not None:
            write(self.png, _pixels(figure))


def write(path: Path, content: bytes) -> None:
    """Write a file whole, and say so."""
    from regard.run.files import write_atomic

    write_atomic(path, content)
    output.say(f"wrote {path}")


def _pixels(drawn: Figure) -> bytes:
    from regard.show import svg_png

    content, missing = svg_png.painted(drawn)
    if missing:
        output.say(
            f"no font of this machine has {' '.join(missing)}: drawn as boxes, --svg has them"
        )
    return content


def unrolled(predictor: Predictor, text: str, beam: int | None, files: Files) -> None:
    """Every time step of a recurrent run: what it reads, its state in colours, what it says."""
    from regard.answer.tracing import unroll
    from regard.show.unrolled_figure import maps, unrolled_figure

    seen = unroll(predictor, text, beam=beam)
    title = f"{seen.question}  ->  {seen.answer}"
    figure = unrolled_figure(seen) if files.wanted else None
    _tell(seen.as_dict(), list(maps(seen)), title, seen.note, files, figure)


def plane(predictor: Predictor, text: str, beam: int | None, files: Files) -> None:
    """Items where they lie, and the answer as a line through them."""
    from regard.answer.tracing import trace
    from regard.show import plane as planes

    path = planes.Path.of(trace(predictor, text, beam=beam))
    title = "".join(f"{number} \u2192 " for number in path.order)
    title += str(path.order[0]) if path.order else "nothing"
    figure = planes.plane_figure(path, title) if files.wanted else None
    _tell(path.as_dict(), [planes.plane(path)], title, path.note, files, figure)


def positions(predictor: Predictor, files: Files) -> None:
    """The vectors that a model adds to tell positions, learned or computed, as colours."""
    from regard.attention.position import added_tables
    from regard.show.signed import signed_figure, signed_map

    tables = [
        (path, type(part).__name__.lower(), table.numpy())
        for path, part, table in added_tables(predictor.run.load_model(), POSITIONS)
    ]
    if not tables:
        raise UsageError(
            "this model adds no vectors to tell positions",
            where="--positions",
            remedy="ask a Transformer whose model.encoder.position is sinusoidal or learned",
        )
    about = [
        {"path": path, "kind": kind, "table": [list(map(float, row)) for row in table]}
        for path, kind, table in tables
    ]
    titles = [f"{path}, {kind}: positions down, dimensions across" for path, kind, _ in tables]
    names = [[str(place) for place in range(len(table))] for _, _, table in tables]
    pictures = [
        signed_map(table, own, title, "dimension")
        for (_, _, table), own, title in zip(tables, names, titles, strict=True)
    ]
    first = tables[0]
    note = (
        f"{first[0]}: {first[1]} positions of the run {predictor.run.folder.name}, counted from 0"
    )
    figure = signed_figure(
        first[2], names[0], f"{len(first[2])} positions of {first[2].shape[1]} numbers", note, "dimension"
    )  # fmt: skip
    _tell({"positions": about}, pictures, "", "", files, figure)


def orders(
    predictor: Predictor,
    text: str,
    languages: Sequence[str],
    beam: int | None,
    files: Files,
) -> None:
    """A sentence and its translations, each word linked to the one that it looked at most."""
    from rich.text import Text

    from regard.answer.tracing import trace
    from regard.show.orders import lines_of, order_of, orders_figure

    ordered = [
        order_of(trace(predictor, text, beam=beam, to=language), language) for language in languages
    ]
    source, own = ordered[0][0], [order for _, order in ordered]
    note = f"each word is linked to the word that {predictor.run.folder.name} looked at most for it"
    figure = orders_figure(source, own, text, note) if files.wanted else None
    about = {"source": list(source), "orders": [order.as_dict() for order in own]}
    shown = Text("\n".join(lines_of(source, own)))
    _tell(about, [shown], "", note, files, figure)


def _tell(
    about: dict[str, Any],
    pictures: Sequence[RenderableType],
    title: str,
    note: str,
    files: Files,
    figure: Figure | None,
) -> None:
    """JSON, a file, or the terminal, as `regard look` does with attention."""
    if figure is not None:
        files.draw(figure)
    if files.as_json:
        output.answer(about)
    elif not files.wanted:
        from rich.text import Text

        from regard.show.label import one_line

        if title:
            output.show(Text(one_line(title)))
        for picture in pictures:
            print()
            output.show(picture)
        if note:
            output.say(f"\n{note}")
