"""`regard data`: look at files as training would, before anything is trained on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from regard.cli import output
from regard.cli.command import command
from regard.cli.options import Choice, Corpus, JsonObject, refuse_unused

if TYPE_CHECKING:
    from regard.data.toys import Toy


@command
def data(
    corpus: Corpus,
    choice: Choice,
    toys: Annotated[bool, Option("--toys", help="List the built-in toy problems.")] = False,
    tokens: Annotated[
        bool,
        Option(
            "--tokens",
            help="Also learn a vocabulary and plan the batches: how texts are cut into tokens, how long "
            "they are, how much of a batch is padding, and how many steps make an epoch.",
        ),
    ] = False,
    as_json: JsonObject = False,
) -> None:
    """Look at your files as training would, before you train on them.

    It says what was recognised, shows three examples, and warns of what would harm training. With --tokens
    (or a preset, or --set) it also plans the batches. `regard data --toys` lists what needs no files at
    all.

    - `regard data train.en train.de --valid valid.en valid.de`
    - `regard data mine.tsv --tokens --preset vaswani2017-tiny`
    """
    output.speak_json(as_json)
    if toys:
        given = {"--tokens": tokens, "a file": bool(corpus.files), "--toy": corpus.toy is not None}
        given |= {"--preset": choice.preset is not None, "--set": bool(choice.changes)}
        refuse_unused(given, "--toys lists the toy problems")
        _list_toys()
        return
    corpus.require_training(choice.config)
    facts = _look(corpus)
    if tokens or choice != Choice():
        facts["tokens"] = _planned(corpus, choice)
    if as_json:
        output.answer({name: _plain(part) for name, part in facts.items()})
    else:
        _show(facts)


def _look(corpus: Corpus) -> dict[str, Any]:
    """A toy is as it is; files are gone through once."""
    from regard.data.check import examine
    from regard.data.source import splits, understand
    from regard.data.toys import toy as toy_named
    from regard.run.resolve import usual_preset
    from regard.tasks.names import example_of, task_for

    if corpus.toy is not None:
        return {"toy": toy_named(corpus.toy)}
    columns = corpus.data.columns
    parts = splits(
        corpus.training,
        example_of(corpus.task),
        on_bad_utf8=corpus.on_bad_utf8,
        columns=columns,
    )
    held_out = {"valid": parts.valid, "test": parts.test}
    for role, given in (("valid", corpus.valid), ("test", corpus.test)):
        if given:
            held_out[role] = understand(
                given,
                parts.train.kind,
                on_bad_utf8=corpus.on_bad_utf8,
                keep_empty=role == "test",
                columns=columns,
            )
    task = corpus.task or task_for(parts.train.kind)
    report = examine(parts.train, held_out["valid"], held_out["test"])
    return {"task": task, "preset": usual_preset(task, corpus.data), "report": report}


def _planned(corpus: Corpus, choice: Choice) -> Any:
    """The vocabulary and the batches that training would make of these data."""
    from rich.console import Console

    from regard.run.resolve import resolve

    settings = resolve(
        name=choice.preset,
        config=choice.config,
        toy=corpus.toy,
        train=corpus.training,
        valid=corpus.valid or [],
        task=corpus.task,
        changes=[*corpus.changes, *(choice.changes or [])],
    )
    from regard.training.feed import preview

    with Console(stderr=True).status("") as shown:
        return preview(settings, lambda what, done: shown.update(f"{what}: {done:,}"))


def _plain(part: Any) -> Any:
    from regard.data.toys import Toy

    if isinstance(part, Toy):
        return _toy_facts(part)
    return part if isinstance(part, str) else part.as_dict()


def _toy_facts(toy: Toy) -> dict[str, Any]:
    from regard.tasks.names import task_for

    plain = {name: getattr(toy, name) for name in ("name", "title", "unit", "story")}
    plain["task"] = task_for(toy.kind)
    rows = [example.as_dict() for example in toy.examples("train", 3)]
    return {**plain, "probe": toy.probe.as_dict(), "rows": rows}


def _show(found: dict[str, Any]) -> None:
    from regard.show import catalogue, report

    if "toy" in found:
        output.show(catalogue.toy_card(found["toy"]))
    else:
        output.show(report.data_report(found["report"]))
        print(f"\ntask: {found['task']}")
        print(f"model by default: {found['preset']}")
    if "tokens" in found:
        print()
        output.show(catalogue.tokens(found["tokens"]))


def _list_toys() -> None:
    from regard.data.toys import TOYS
    from regard.show.catalogue import toy_list

    if output.wants_json:
        output.answer({name: _toy_facts(toy) for name, toy in TOYS.items()})
    else:
        output.show(toy_list(TOYS.values()))
