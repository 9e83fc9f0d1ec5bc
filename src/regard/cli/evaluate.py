"""`regard evaluate`: how good a run is, in numbers that others can compare; and whether another is better."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import output
from regard.cli.main import app

if TYPE_CHECKING:
    from regard.answer.test_set import Exam
    from regard.evaluate import Comparison, Metric
    from regard.run.folder import Run


@app.command()
def evaluate(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN [FILES]",
            help="A run, then test files as for `regard train`; without files, the run's own test set. "
            "With --hypotheses, reference files alone will do.",
        ),
    ],
    against: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Ask another run, too: is it better?")
    ] = None,
    hypotheses: Annotated[
        Path | None, typer.Option(help="Judge the lines of this file; no model is asked.")
    ] = None,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="BLEU and chrF of lower-case text.")
    ] = False,
    tokenize: Annotated[
        str, typer.Option(help="BLEU's tokenizer: 13a, intl, char, zh, or none.")
    ] = "13a",
    examples: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first so many examples.")
    ] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Hypotheses to follow.")
    ] = None,
    truncate: Annotated[
        bool, typer.Option("--truncate", help="Cut texts the model cannot read whole.")
    ] = False,
    to: Annotated[
        str | None,
        typer.Option("--to", help="The language to translate into; else the last file's ending."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1.")] = "auto",
    weights: Annotated[
        str, typer.Option(help="float32 or int8 (CPU: faster, smaller), or as stored.")
    ] = "stored",
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON object.")] = False,
) -> None:
    """Judge a model on a test set, in scores others can compare.

    BLEU, chrF, accuracy, F1 and more, each with its 95% interval and signature.

    - `regard evaluate runs/mine test.en test.de`
    - `regard evaluate translator test.en test.de` asks a model of the box
    - `regard evaluate runs/mine --against runs/other` says whether the difference could be luck
    - `regard evaluate --hypotheses out.de ref.de` needs no model
    """
    output.speak_json(as_json)
    if hypotheses is not None and not _is_run(paths[0]):
        _judge_lines(hypotheses, paths, lowercase, tokenize)
        return
    from regard.answer.test_set import compare, judge

    run, exam = _asked(paths, examples)
    answers = exam.answers(run.task)
    options: dict[str, Any] = {"lowercase": lowercase, "tokenize": tokenize}
    extra: list[Metric] = []
    ending = paths[-1].suffix.removeprefix(".")
    if hypotheses is not None:
        predicted = _bare(_lines(hypotheses)[:examples], run)
    else:
        predicted, extra = _predicted(
            paths[0], exam, (device, weights), beam, truncate, (to, ending)
        )
    metrics = extra + judge(run.task, predicted, answers, **options)
    verdicts: list[Comparison] = []
    if against is not None:
        goal, place = (to, ending), (device, weights)
        other, _ = _predicted(against, exam, place, beam, truncate, goal, run.settings.task)
        verdicts = compare(run.task, predicted, other, answers, **options)
    facts = {"run": str(paths[0]), "test": exam.name, "examples": len(exam.examples)}
    _tell(facts, metrics, verdicts, (str(hypotheses or paths[0]), str(against)))


def _asked(paths: Sequence[Path], most: int | None) -> tuple[Run, Exam]:
    """The run and its test: the files named, or the run's own."""
    from regard.answer.test_set import Exam
    from regard.errors import RegardError, UsageError
    from regard.run.find import folder_of
    from regard.run.folder import Run

    with folder_of(paths[0]) as folder:
        run = Run.open(folder)
    if len(paths) > 1:
        return run, Exam.read(paths[1:], run.settings.task, most)
    try:
        return run, Exam.of(run.settings, most)
    except RegardError as fault:
        remedy = f"name a test set: regard evaluate {paths[0]} test.en test.de"
        raise UsageError(
            f"this run's own test set cannot be had: {fault.what}", fault.where, remedy
        ) from None


def _predicted(
    path: Path,
    exam: Exam,
    place: tuple[str, str],
    beam: int | None,
    truncate: bool,
    to: tuple[str | None, str],
    task: str | None = None,
) -> tuple[list[str], list[Metric]]:
    """A run's answers; of a language model, also how much the test surprised it.

    `place` is the device and the weights there; `to` is the language that was asked for, and the ending of
    the test's last file: that will do for a model that knows it, where no question has a tag.
    """
    from regard.answer.predictor import Predictor
    from regard.answer.test_set import perplexity
    from regard.cli.bar import bar
    from regard.data.example import Line
    from regard.errors import UsageError
    from regard.tasks import Language

    device, weights = place
    predictor = Predictor.load(path, device, weights=weights, note=output.say)  # type: ignore[arg-type]
    if task is not None and task != predictor.task:
        raise UsageError(
            f"one run was trained to {task}, the other to {predictor.task}",
            where=str(path),
            remedy="compare runs of one task on one test set",
        )
    learned = predictor.run.task
    questions = exam.questions(learned)
    tagged = any(question.startswith(">>") for question in questions)
    goal, ending = to
    if goal is None and ending in predictor.languages and not tagged:
        goal = ending
    with bar(f"asking {path.name}", lambda: len(questions)) as shown:
        found = predictor.predict(
            questions, beam=beam, truncate=truncate, to=goal, advance=shown.advance
        )
    extra = []
    if isinstance(learned, Language):
        lines = [example for example in exam.examples if isinstance(example, Line)]
        extra = [perplexity(learned, predictor.model, lines)]
    return [answer.text for answer in found], extra


def _judge_lines(hypotheses: Path, references: list[Path], lowercase: bool, tokenize: str) -> None:
    """Ready-made output against one or several translations of the same text."""
    from regard.answer.test_set import judge_texts

    predicted = _lines(hypotheses)
    metrics = judge_texts(
        predicted, [_lines(path) for path in references], lowercase=lowercase, tokenize=tokenize
    )
    names = ", ".join(path.name for path in references)
    facts = {"hypotheses": str(hypotheses), "test": f"lines of {names}", "examples": len(predicted)}
    _tell(facts, metrics, [], ("", ""))


def _lines(path: Path) -> list[str]:
    from regard.data.lines import read_lines
    from regard.errors import DataError

    found = []
    for line in read_lines(path):
        if line.fault:
            raise DataError(
                f"this line cannot be read: {line.fault}",
                f"{path}:{line.number}",
                remedy="save the file as UTF-8 text, one answer a line",
            )
        found.append(line.text)
    return found


def _bare(lines: list[str], run: Run) -> list[str]:
    """Answers of a tagger without their words: `regard tag` writes `I/PRON saw/VERB`."""
    labels = getattr(run.task, "labels", None)
    known = set(labels.names) if labels is not None else set()

    def tag(token: str) -> str:
        last = token.rpartition("/")[2]
        return last if token not in known and last in known else token

    return [" ".join(map(tag, line.split())) for line in lines] if known else lines


def _is_run(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".zip"


def _tell(
    facts: dict[str, Any],
    metrics: Sequence[Metric],
    verdicts: Sequence[Comparison],
    names: tuple[str, str],
) -> None:
    if output.wants_json:
        compared = {"against": names[1], "comparisons": [one.as_dict() for one in verdicts]}
        found = {**facts, "metrics": [metric.as_dict() for metric in metrics]}
        output.answer({**found, **compared} if verdicts else found)
        return
    from regard.show.report import metric_table, verdict

    output.show(metric_table(metrics, f"{facts['examples']:,} {facts['test']}"))
    for one in verdicts:
        output.show(verdict(one, names))
