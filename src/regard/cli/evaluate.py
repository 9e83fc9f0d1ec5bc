"""`regard evaluate`: how good a run is, in numbers that others can compare; and whether another is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

from typer import Argument, Option

from regard.cli import evaluate_by, output
from regard.cli.command import SAVED, command
from regard.cli.options import Beam, JsonObject, Truncate, Weights, refuse_unused
from regard.errors import UsageError
from regard.tasks.names import AT_ONCE

if TYPE_CHECKING:
    from regard.answer.limits import Curve
    from regard.answer.test_set import Exam
    from regard.evaluate import Comparison, Metric
    from regard.run.folder import Run


@final
@dataclass(frozen=True)
class Scoring:
    """How BLEU and chrF read a text."""

    lowercase: Annotated[
        bool, Option("--lowercase", help="Compute BLEU and chrF on lower-cased text.")
    ] = False
    tokenize: Annotated[
        str,
        Option(
            metavar="NAME", help="The tokenizer of BLEU: `13a`, `intl`, `char`, `zh` or `none`."
        ),
    ] = "13a"

    @property
    def given(self) -> dict[str, bool]:
        """Which of these options were typed."""
        return {"--lowercase": self.lowercase, "--tokenize": self.tokenize != "13a"}


@final
@dataclass(frozen=True)
class Asking:
    """How a model is asked."""

    beam: Beam = None
    truncate: Truncate = False
    to: Annotated[
        str | None,
        Option(
            "--to",
            metavar="LANGUAGE",
            help="The language to translate into, such as `fr` or `french`. The default is the ending of "
            "the last file: test.fr is French.",
        ),
    ] = None

    @property
    def given(self) -> dict[str, bool]:
        """Which of these options were typed."""
        named = {"--beam": self.beam is not None, "--to": self.to is not None}
        return {**named, "--truncate": self.truncate}


@command
def evaluate(
    *,
    place: Weights,
    paths: Annotated[
        list[Path],
        Argument(
            metavar="RUN [FILE]...",
            help="A run folder, or a model that comes with regard; then test data in the forms that `regard "
            "train` takes. Without files, the run's own test set. With --hypotheses, reference files alone "
            "are enough.",
        ),
    ],
    against: Annotated[
        Path | None,
        Option(
            metavar="RUN",
            help="Ask another run, too, and test whether the difference could be chance.",
        ),
    ] = None,
    hypotheses: Annotated[
        Path | None,
        Option(metavar="FILE", help="Score the lines of this file instead of asking a model."),
    ] = None,
    scoring: Scoring,
    examples: Annotated[
        int | None, Option(min=1, metavar="N", help="Use only the first N examples of the test.")
    ] = None,
    asking: Asking,
    by: Annotated[
        str | None,
        Option(
            metavar="WAY",
            help="Take the test apart: scores by `length` of the question; words by `distance` between "
            "where they were read and where they belong; or the `gradient` that reaches the source, by "
            "distance. With --against, both runs are in one table.",
        ),
    ] = None,
    svg: Annotated[
        Path | None,
        Option(metavar="FILE", rich_help_panel=SAVED, help="Draw the curve of --by as SVG."),
    ] = None,
    as_json: JsonObject = False,
) -> None:
    """Score a model on a test set, in numbers that others can compare.

    BLEU, chrF, accuracy, F1 and more, each with its 95% confidence interval and its signature.

    - `regard evaluate runs/mine test.en test.de`
    - `regard evaluate translator test.en test.de` asks a model that comes with regard
    - `regard evaluate runs/mine --against runs/other` tests whether one run is better
    - `regard evaluate runs/mine --against runs/other --by length --svg curve.svg` draws where they differ
    - `regard evaluate --hypotheses out.de ref.de` needs no model
    """
    output.speak_json(as_json)
    _check_tokenizer(scoring.tokenize)
    asked = {**asking.given, "--weights": place.weights != "stored"}
    unused = {"--hypotheses": hypotheses is not None, **scoring.given}
    evaluate_by.check(by, svg, unused | asked if by == "gradient" else unused)
    if hypotheses is not None:
        alone = not _is_run(paths[0])
        if alone or against is None:
            asked["--device"] = place.device != "auto"
            refuse_unused(asked, "with --hypotheses no model is asked")
        if alone:
            refuse_unused({"--against": against is not None}, "no run was named to be compared")
            _judge_lines(hypotheses, paths, scoring, examples)
            return
    _check(paths, against, hypotheses, asking)
    run, exam = _asked(paths, examples)
    _check_scoring(run, scoring)
    _check_labels(run, exam)
    ask = _Ask(exam, place, asking, paths[-1].suffix.removeprefix("."))
    facts = {"run": str(paths[0]), "test": exam.name, "examples": len(exam.examples)}
    if by is not None:
        runs = [paths[0], *([against] if against else [])]
        curves = {str(path): ask.curve(by, path, run.settings.task) for path in runs}
        evaluate_by.tell(facts, curves, svg)
        return
    extra: list[Metric] = []
    if hypotheses is not None:
        predicted = _bare(_lines(hypotheses)[:examples], run)
    else:
        predicted, extra = ask.of(paths[0])
    other = None if against is None else ask.of(against, run.settings.task)[0]
    metrics, verdicts = _judged(run, exam, scoring, predicted, other)
    _tell(facts, extra + metrics, verdicts, (str(hypotheses or paths[0]), str(against)))


def _judged(
    run: Run, exam: Exam, scoring: Scoring, predicted: list[str], other: list[str] | None
) -> tuple[list[Metric], list[Comparison]]:
    """What answers are worth, and whether another model's are better."""
    from regard.answer.test_set import compare, judge

    answers = exam.answers(run.task)
    metrics = judge(run.task, predicted, answers, **vars(scoring))
    metrics += run.task.beside(exam.questions(run.task), predicted, answers)
    if other is None:
        return metrics, []
    return metrics, compare(run.task, predicted, other, answers, **vars(scoring))


def _check_tokenizer(name: str) -> None:
    from regard.evaluate.translation import check_tokenizer

    check_tokenizer(name)


def _check(
    paths: Sequence[Path],
    against: Path | None,
    hypotheses: Path | None,
    asking: Asking,
) -> None:
    """Runs and files that were named are there, and hold what the run was trained for."""
    from regard.cli.target import Target
    from regard.data.source import understand
    from regard.errors import missing
    from regard.run.find import folder_of, read_settings
    from regard.tasks.names import example_of
    from regard.text.languages import chosen

    with folder_of(paths[0]) as folder:
        settings = read_settings(folder / "config.toml")
    if asking.to is not None:
        chosen(asking.to, Target(paths[0], settings).languages)
    searched = settings.task not in AT_ONCE
    refuse_unused(
        {"--beam": asking.beam is not None and not searched}, "this model searches for nothing"
    )
    if against is not None:
        with folder_of(against):
            pass
    if hypotheses is not None and not hypotheses.exists():
        raise missing(hypotheses)
    if len(paths) > 1:
        columns = settings.data.columns
        understand(paths[1:], example_of(settings.task), keep_empty=True, columns=columns)


def _check_scoring(run: Run, scoring: Scoring) -> None:
    """How BLEU and chrF read a text is no matter where neither is computed; nothing is ignored in silence."""
    option = "--lowercase" if scoring.lowercase else "--tokenize"
    if any(scoring.given.values()) and not run.task.writes_text:
        raise UsageError(
            f"{option} is for BLEU and chrF, and this model was trained to {run.task.verb}",
            where=option,
            remedy=f"leave out {option}",
        )


def _check_labels(run: Run, exam: Exam) -> None:
    """A test with labels of another list, or with the wrong column for labels, would give 0 in silence."""
    doubt = run.task.check_labels(exam.examples, exam.name)
    if doubt:
        output.say(f"note: {doubt}")


def _asked(paths: Sequence[Path], most: int | None) -> tuple[Run, Exam]:
    """The run and its test: the files named, or the run's own."""
    from regard.answer.test_set import Exam
    from regard.run.find import folder_of
    from regard.run.folder import Run

    with folder_of(paths[0]) as folder:
        run = Run.open(folder)
    if len(paths) > 1:
        return run, Exam.read(paths[1:], run.settings, most)
    remedy = f"name a test set: regard evaluate {paths[0]} test.en test.de"
    return run, Exam.own(run.settings, most, remedy)


@final
@dataclass(frozen=True)
class _Ask:
    """How a run is asked; `ending` is that of the test's last file, perhaps the code of a language."""

    exam: Exam
    place: Weights
    asking: Asking
    ending: str

    def of(self, path: Path, task: str | None = None) -> tuple[list[str], list[Metric]]:
        """A run's answers; of a language model, also its perplexity on the test."""
        from regard.answer.predictor import Predictor
        from regard.answer.test_set import perplexity
        from regard.cli.output import bar

        device, weights = self.place.device, self.place.weights
        predictor = Predictor.load(path, device, weights=weights, note=output.say)
        if task is not None and task != predictor.task:
            raise UsageError(
                f"one run was trained to {task}, the other to {predictor.task}",
                where=str(path),
                remedy="compare runs of one task on one test set",
            )
        learned = predictor.run.task
        questions = self.exam.questions(learned)
        tagged = any(question.startswith(">>") for question in questions)
        beam, truncate, goal = self.asking.beam, self.asking.truncate, self.asking.to
        if goal is None and self.ending in predictor.languages and not tagged:
            goal = self.ending
        with bar(f"asking {path.name}", lambda: len(questions)) as shown:
            answers = predictor.predict(
                questions, beam=beam, truncate=truncate, to=goal, advance=shown.advance
            )
        extra = []
        if learned.decided_by == "perplexity":
            extra = [perplexity(learned, predictor.model, self.exam.examples)]
        return [answer.text for answer in answers], extra

    def curve(self, by: str, path: Path, task: str) -> Curve:
        """A run's curve over the test."""
        device = self.place.device
        return evaluate_by.measured(by, path, self.exam, lambda: self.of(path, task)[0], device)


def _judge_lines(
    hypotheses: Path, references: list[Path], scoring: Scoring, most: int | None
) -> None:
    """Ready-made output against one or several translations of the same text."""
    predicted, *right = (_lines(path) for path in (hypotheses, *references))
    if most is not None and len({len(predicted), *map(len, right)}) == 1:
        predicted, *right = (lines[:most] for lines in (predicted, *right))
    from regard.answer.test_set import judge_texts

    metrics = judge_texts(predicted, right, **vars(scoring))
    names = ", ".join(path.name for path in references)
    facts = {"hypotheses": str(hypotheses), "test": f"lines of {names}", "examples": len(predicted)}
    _tell(facts, metrics, [], ("", ""))


def _lines(path: Path) -> list[str]:
    from regard.data.lines import read_lines
    from regard.errors import DataError

    lines = []
    for line in read_lines(path):
        if line.fault:
            raise DataError(
                f"this line cannot be read: {line.fault}",
                f"{path}:{line.number}",
                remedy="save the file as UTF-8 text, one answer a line",
            )
        lines.append(line.text)
    return lines


def _bare(lines: list[str], run: Run) -> list[str]:
    """Answers of a tagger without their words: `regard tag` writes `I/PRON saw/VERB`."""
    labels = getattr(run.task, "labels", None)
    known = set(labels.names) if labels is not None else set()

    def tag(token: str) -> str:
        last = token.rpartition("/")[2]
        return last if token not in known and last in known else token

    return [" ".join(map(tag, line.split())) for line in lines] if known else lines


def _is_run(path: Path) -> bool:
    from regard import box

    return path.is_dir() or path.suffix == ".zip" or str(path) in box.names()


def _tell(
    facts: dict[str, Any],
    metrics: Sequence[Metric],
    verdicts: Sequence[Comparison],
    names: tuple[str, str],
) -> None:
    if output.wants_json:
        compared = {"against": names[1], "comparisons": [one.as_dict() for one in verdicts]}
        result = {**facts, "metrics": [metric.as_dict() for metric in metrics]}
        output.answer({**result, **compared} if verdicts else result)
        return
    from regard.show.report import metric_table, verdict

    output.show(metric_table(metrics, f"{facts['examples']:,} {facts['test']}"))
    for one in verdicts:
        output.show(verdict(one, names))
