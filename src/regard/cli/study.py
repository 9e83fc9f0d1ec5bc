"""`regard heads`: what every head does, and how far it can be told from chance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import FILES, SAVED, command
from regard.cli.options import JsonObject, To, refuse_unused
from regard.cli.target import check_language, check_there

if TYPE_CHECKING:
    from regard.traces.head_roles import Head
    from regard.traces.head_survey import Look, Sentence


@command
def heads(
    model: Annotated[
        str,
        Argument(
            metavar="[RUN]",
            help="A run folder, a zip archive of one, the name of a model that comes with regard, or a "
            "folder of Hugging Face's.",
        ),
    ] = "translator",
    data: Annotated[
        list[Path] | None,
        Option(
            metavar=FILES,
            help="Sentences to look at: a text, two files of pairs (`--data test.en test.de`), or a CoNLL-U "
            "file, whose trees say which heads follow grammar; for other models, files as they learn from. "
            "Without it, examples that a run held out, or sentences of regard's own.",
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        Option(metavar="FILE", help="Word links of the pairs, as `0-0 1-2` a line, from 0."),
    ] = None,
    to: To = None,
    most: Annotated[int, Option(min=1, metavar="N", help="How many sentences to look at.")] = 100,
    longest: Annotated[
        int, Option(min=1, metavar="N", help="Leave longer sentences out, in words.")
    ] = 40,
    position: Annotated[
        bool,
        Option(
            "--position",
            help="Also measure how much of each score comes from position, and how much from content.",
        ),
    ] = False,
    sort: Annotated[
        str | None,
        Option(
            metavar="MEASURE",
            help="Sort by a measure, largest first: `entropy`, `previous` and so on.",
        ),
    ] = None,
    role: Annotated[
        str | None,
        Option(
            metavar="ROLE", help="Show only heads with this role, such as `previous` or `rare`."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        Option(
            metavar="KIND",
            help="Show only heads of one kind: `encoder-self`, `decoder-self`, `cross` or `rnn`.",
        ),
    ] = None,
    svg: Annotated[
        Path | None, Option(metavar="FILE", rich_help_panel=SAVED, help="Draw the picture as SVG.")
    ] = None,
    csv: Annotated[
        Path | None, Option(metavar="FILE", rich_help_panel=SAVED, help="Write the table as CSV.")
    ] = None,
    headvis: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            rich_help_panel=SAVED,
            help="Write the folder `data` that HeadVis shows, of one kind of heads whose maps are square; "
            "of a model that has two such kinds, --kind says which.",
        ),
    ] = None,
    as_json: JsonObject = False,
) -> None:
    """Show what every attention head does: looks back, at rare words, along a dependency, ...

    Each role has its published rule, and each number two controls: a random head, and shuffled words.

    - `regard heads translator --to fr --data en_ewt-ud-dev.conllu`
    - `regard heads runs/mine --data test.en test.de --sort entropy`
    - `regard heads folder/of/bert --headvis data`
    """
    output.speak_json(as_json)
    refuse_unused({"--gold": gold is not None and not data}, "links belong to the pairs of --data")
    check_there(model, [*(data or ()), *([gold] if gold else ())])
    check_language(model, to)
    _check(sort, kind, position=position)
    _check_role(role, data)
    from regard.traces.head_survey import survey

    look, sentences = _asked(model, to, data, gold, longest, most, position or headvis is not None)
    output.say(f"looking at {_manner(sentences)}")
    seen = survey(look, sentences)
    if position:
        from regard.traces.position_content import by_shuffling, with_shares

        seen = with_shares(seen, by_shuffling(look, sentences))
    chosen = _chosen(seen, sort, role, kind)
    if headvis is not None:
        from regard.traces.headvis import export

        made = export(headvis, model, (look(one.text, one.target) for one in sentences), kind)
        output.say(f"wrote {headvis}: {made} heads over {len(sentences)} texts, for HeadVis")
    _show_heads(chosen, f"{model}, {len(sentences)} questions", svg, csv, as_json, headvis)


def _asked(
    model: str,
    to: str | None,
    data: list[Path] | None,
    gold: Path | None,
    longest: int,
    most: int,
    words: bool,
) -> tuple[Look, list[Sentence]]:
    """How to look into a model, ours or brought, and what it is judged by; `words` are needed or not."""
    from regard.answer import studies
    from regard.answer.predictor import Predictor
    from regard.answer.tracing import looker
    from regard.interop.studied import look_of
    from regard.run.find import is_brought
    from regard.traces.examples import SENTENCES
    from regard.traces.head_survey import Sentence, read

    if is_brought(model):
        sentences = read(data, gold) if data else [Sentence.of(text) for text in SENTENCES]
        return look_of(model, to), studies.fit_to_judge(sentences, longest, most)
    predictor = Predictor.load(model, "cpu", note=output.say, looking=True)
    if words or gold is not None:
        studies.need_words(predictor, "--position, --headvis and --gold go by the words of a text")
    if not data:
        sentences = studies.own_sentences(predictor)
    elif studies.reads_words(predictor):
        sentences = read(data, gold)
    else:
        sentences = studies.sentences_of(predictor, data, most)
    look = looker(predictor, to or studies.first_direction(predictor))
    return look, studies.fit_to_judge(sentences, longest, most)


def _manner(sentences: list[Sentence]) -> str:
    """What is looked at, and how often."""
    if any(one.words for one in sentences):
        return f"{len(sentences)} sentences, each twice"
    if len(sentences) == 1:
        return "its one example: too few to name what heads do, give --data"
    return f"{len(sentences)} questions without words to shuffle: the one control is a random head"


def _check(sort: str | None, kind: str | None, *, position: bool) -> None:
    """What was mistyped is said before anything is surveyed."""
    from regard.errors import UsageError, nearest
    from regard.traces.head_names import KINDS, MEASURES, SHARES

    if sort is not None and sort not in MEASURES:
        raise UsageError(f"no measure '{sort}'", "--sort", nearest(sort, MEASURES))
    if kind is not None and kind not in KINDS:
        raise UsageError(f"no kind '{kind}'", "--kind", nearest(kind, KINDS))
    if sort in SHARES and not position:
        raise UsageError(f"'{sort}' is measured only with --position", "--sort", "add --position")


def _check_role(role: str | None, data: list[Path] | None) -> None:
    from regard.errors import UsageError, nearest
    from regard.traces.head_names import ROLES

    has_trees = any(".conllu" in path.name for path in data or ())  # whose relations are roles
    if role is not None and role not in ROLES and not has_trees:
        raise UsageError(f"no role '{role}'", "--role", nearest(role, ROLES))


def _chosen(seen: list[Head], sort: str | None, role: str | None, kind: str | None) -> list[Head]:
    from regard.errors import UsageError

    kept = [
        head
        for head in seen
        if (kind is None or head.kind == kind)
        and (role is None or any(one.name.split(" ")[0] == role for one in head.roles))
    ]
    if not kept:
        roles = sorted({one.name for head in seen for one in head.roles})
        known = ", ".join(roles) or "none"
        raise UsageError("no head is left", "--role, --kind", f"the roles seen are: {known}")
    if sort is None:
        return kept
    if all(head.measures[sort] is None for head in kept):
        has = ", ".join(name for name, value in kept[0].measures.items() if value is not None)
        raise UsageError(f"no head here has a measure '{sort}'", "--sort", f"they have: {has}")
    return sorted(kept, key=lambda head: -(head.measures[sort] or 0.0))


def _show_heads(
    chosen: list[Head],
    title: str,
    svg: Path | None,
    csv: Path | None,
    as_json: bool,
    headvis: Path | None,
) -> None:
    from regard.run.files import write_atomic
    from regard.show import head_table as view
    from regard.show.svg_png import written

    if svg is not None:
        write_atomic(svg, written(view.figure(chosen, title)).encode())
        output.say(f"wrote {svg}")
    if csv is not None:
        write_atomic(csv, view.as_csv(chosen).encode())
        output.say(f"wrote {csv}")
    if as_json:
        output.answer({"title": title, "heads": [head.as_dict() for head in chosen]})
    elif svg is csv is headvis is None:
        output.show(view.table(chosen, title))
        print()
        output.show(view.picture(chosen))
