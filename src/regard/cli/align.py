"""`regard align`: which word of a sentence is translated by which, from a translator's attention."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import command
from regard.cli.options import JsonObject, To

if TYPE_CHECKING:
    from regard.evaluate.error_rate import Links
    from regard.traces.head_survey import Look
    from regard.traces.links import Seen, Set


@command
def align(
    model: Annotated[
        str,
        Argument(
            metavar="RUN",
            help="A translator: a run folder, an archive of one, one in the box, or a folder of "
            "Hugging Face's.",
        ),
    ],
    source: Annotated[
        Path, Argument(metavar="SOURCE", help="Sentences, one a line, with spaces between words.")
    ],
    target: Annotated[Path, Argument(metavar="TARGET", help="Their translations, line by line.")],
    to: To = None,
    back: Annotated[
        str | None,
        Option(
            metavar="LANGUAGE",
            help="The language of the sentences. If the model can translate back into it, both "
            "directions are read.",
        ),
    ] = None,
    backward: Annotated[
        str | None,
        Option(metavar="RUN", help="Another model, which translates in the other direction."),
    ] = None,
    gold: Annotated[
        Path | None,
        Option(metavar="FILE", help="Links drawn by people, as `0-0 1-2` a line, to judge by."),
    ] = None,
    first: Annotated[
        int, Option(min=0, max=1, metavar="N", help="Whether --gold counts words from 0 or 1.")
    ] = 0,
    choose: Annotated[
        int,
        Option(min=1, metavar="N", help="How many pairs the best site and heads are found with."),
    ] = 30,
    by: Annotated[
        str,
        Option(
            metavar="WAY",
            help="Choose by `agreement` of both directions, or by `gold`; pairs chosen by are not judged.",
        ),
    ] = "agreement",
    as_json: JsonObject = False,
) -> None:
    """Write the word links of every pair, as `0-0 1-2` a line, counted from 0 (Pharaoh's notation).

    - `regard align translator a.en a.fr --to fr --back en`
    """
    output.speak_json(as_json)
    to = _language(model, source, target, to)
    from regard.interop.studied import look_of
    from regard.traces import links as word_links

    looks: list[Look | None] = [look_of(model, to, output.say), None]
    if back or backward:
        looks[1] = look_of(backward or model, back, output.say)
    pairs, truth = _pairs(source, target, gold, first, by)
    tried = [_read(looks, *pair) for pair in pairs]
    usable = [number for number, one in enumerate(tried) if one is not None]
    few = usable[:choose]
    chosen = word_links.choose(
        [tried[n][0] for n in few],  # type: ignore[index]
        None if looks[1] is None else [tried[n][1] for n in few],  # type: ignore[index, misc]
        [truth[n] for n in few] if by == "gold" else None,
    )
    found = [frozenset() if one is None else word_links.linked(chosen, *one) for one in tried]
    judged = [n for n in range(len(pairs)) if by != "gold" or n not in few]
    rate = 100 * word_links.error([(found[n], truth[n]) for n in judged]) if truth else None
    _tell(found, {
        "forward": str(chosen.forward),
        "backward": None if chosen.backward is None else str(chosen.backward),
        "score": chosen.score,
        "by": by,
        "unread": len(pairs) - len(usable),
        "error": rate,
        "judged": len(judged) if truth else 0,
    }, as_json)  # fmt: skip


def _language(model: str, source: Path, target: Path, to: str | None) -> str | None:
    """The language asked for, or that of the target by its file's ending; files and model are there."""
    from regard.cli.target import Target
    from regard.errors import UsageError, missing
    from regard.text.languages import chosen

    for path in (source, target):
        if not path.is_file():
            raise missing(path)
    if (Path(model) / "config.json").is_file():  # a folder of Hugging Face says no languages
        return to
    known = Target.of(Path(model)).languages
    if to is not None:
        return chosen(to, known)
    ending = target.suffix.removeprefix(".")
    if known and ending not in known:
        what = f"into which language? This model knows {', '.join(known)}, and {target.name} does not say"
        raise UsageError(what, "--to", f"name the language of {target.name}: --to {known[-1]}")
    return ending if known else None


def _read(looks: list[Look | None], one: str, other: str) -> tuple[Seen, Seen | None] | None:
    """What both directions say; None for a pair that the model cannot read."""
    from regard.errors import UsageError
    from regard.traces.links import seen

    assert looks[0] is not None
    try:
        forward = seen(looks[0], one, other)
        return forward, None if looks[1] is None else seen(looks[1], other, one)
    except UsageError:
        return None


def _pairs(
    source: Path, target: Path, gold: Path | None, first: int, by: str
) -> tuple[list[tuple[str, str]], list[Links]]:
    from regard.data.lines import read_lines
    from regard.errors import DataError, UsageError
    from regard.evaluate.error_rate import Links, links

    if by not in ("agreement", "gold") or (by == "gold" and gold is None):
        raise UsageError(
            f"cannot choose by {by}", "--by", "agreement, or gold together with --gold"
        )
    sides = [[line.text.strip() for line in read_lines(path)] for path in (source, target)]
    truth = []
    if gold is not None:
        for line in read_lines(gold):
            own = links(line.text, f"{gold}, line {line.number}")
            moved = (
                frozenset((s - first, t - first) for s, t in some)
                for some in (own.sure, own.possible)
            )
            truth.append(Links(*moved))
    lengths = [*map(len, sides), *([] if gold is None else [len(truth)])]
    if len(set(lengths)) > 1:
        counts = ", ".join(map(str, lengths))
        raise DataError(f"the files have {counts} lines", str(source), "give files of one length")
    return list(zip(*sides, strict=True)), truth


def _tell(found: list[Set], about: dict[str, object], as_json: bool) -> None:
    from regard.traces.links import pharaoh

    lines = [pharaoh(links) for links in found]
    if as_json:
        output.answer({**about, "links": lines})
        return
    for line in lines:
        print(line)
    output.say(f"read at: {about['forward']}")
    if about["backward"]:
        output.say(f"and back: {about['backward']}")
    output.say(f"chosen by {about['by']}: {about['score']:.3f}")
    if about["unread"]:
        output.say(f"{about['unread']} pairs could not be read: their lines are empty")
    if about["error"] is not None:
        output.say(f"alignment error rate: {about['error']:.1f}% of {about['judged']} pairs")
