"""`regard predict`, and by its friendly names `translate`, `tag`, `classify`, `point` and `continue`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial, update_wrapper
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli import output
from regard.cli.main import app
from regard.cli.target import meant, refuse_files

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor
    from regard.answer.stream import Form, Manner, Shard
    from regard.data.compressed import Stream as ByteStream
    from regard.data.lines import TextLine
    from regard.decode import DecodeSettings
    from regard.tasks import Prediction

# Each friendly name, its task, and one line of help.
NAMES = {
    "predict": ("", "Answer texts with a trained model, whatever its task."),
    "translate": ("translate", "Translate texts; English, French and German are in the box."),
    "tag": ("tag", "Give each word of a text its tag."),
    "classify": ("classify", "Give each text its label."),
    "point": ("point", "Point at items of the input, in order."),
    "continue": ("language", "Go on where a text ends."),
}
PROSE = """

One line in, one line out, in the same order; an answer does not depend on the lines around it.

- `regard {name} runs/mine < input.txt > output.txt`
- `regard {name} runs/mine "a text" "and another"`
"""
BOXED = """- `regard {name} "a text"` asks the model of the box (`regard models`)
"""
FILES, SEARCH, MACHINE = "Lines and files", "Search", "Machine"  # the panels of its help
# What only a translator can be asked.
TRANSLATING = ("to", "spoken", "split")


def predict(
    name: str,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN] [TEXTS]",
            help="A run folder, a zip archive of one, or a model of the box by name; then texts. "
            "Without texts, standard input is read.",
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="The language to translate into: fr, de, en.")
    ] = None,
    spoken: Annotated[
        str | None, typer.Option("--from", help="The language of the texts; else it is guessed.")
    ] = None,
    split: Annotated[
        bool | None,
        typer.Option(
            "--split/--whole",
            help="Read sentence by sentence, or each line as a whole; models that know several "
            "languages split.",
        ),
    ] = None,
    looking: Annotated[
        bool, typer.Option("--look", help="Show below each answer where the model looked.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="A run or a model of the box; all else is text."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--input", "-i", rich_help_panel=FILES, help="Read lines from this file."),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", rich_help_panel=FILES, help="Write answers to this new file."
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", rich_help_panel=FILES, help="Go on with an --output that was cut short."
        ),
    ] = False,
    shard: Annotated[
        str,
        typer.Option(
            rich_help_panel=FILES, help="Line i of every n alone, for several machines: `2/3`."
        ),
    ] = "1/1",
    beam: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", rich_help_panel=SEARCH, help="Hypotheses to follow."),
    ] = None,
    n_best: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", rich_help_panel=SEARCH, help="Alternatives to write, one a line."
        ),
    ] = 1,
    scores: Annotated[
        bool, typer.Option("--scores", rich_help_panel=SEARCH, help="Write `score TAB text`.")
    ] = False,
    max_length: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", rich_help_panel=SEARCH, help="The most symbols of an answer."
        ),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", rich_help_panel=SEARCH, help="Draw answers by chance.")
    ] = False,
    temperature: Annotated[
        float | None,
        typer.Option(rich_help_panel=SEARCH, help="Draw more boldly (above 1) or less (below)."),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", rich_help_panel=SEARCH, help="Draw among the N likeliest."
        ),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(rich_help_panel=SEARCH, help="Draw among the likeliest that make up p."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(rich_help_panel=SEARCH, help="What chance begins with.")
    ] = None,
    truncate: Annotated[
        bool,
        typer.Option(
            "--truncate", rich_help_panel=FILES, help="Cut texts the model cannot read whole."
        ),
    ] = False,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going", rich_help_panel=FILES, help="Answer unusable lines with nothing."
        ),
    ] = False,
    device: Annotated[
        str, typer.Option(rich_help_panel=MACHINE, help="auto, cpu, cuda, cuda:1.")
    ] = "auto",
    precision: Annotated[
        str, typer.Option(rich_help_panel=MACHINE, help="float32 or bfloat16.")
    ] = "float32",
    weights: Annotated[
        str,
        typer.Option(
            rich_help_panel=MACHINE, help="float32 or int8 (CPU: faster, smaller), or as stored."
        ),
    ] = "stored",
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", rich_help_panel=MACHINE, help="One thread: scores equal to the last bit."
        ),
    ] = False,
    batch_tokens: Annotated[
        int,
        typer.Option(min=8, metavar="N", rich_help_panel=MACHINE, help="Symbols in a batch."),
    ] = 4096,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Answer texts; `name` is what the command was called, and NAMES has the help of each."""
    output.speak_json(as_json)
    from regard.answer.engine import changed
    from regard.answer.stream import Form, Manner, Shard, Stream, skip, write_out
    from regard.cli.bar import bar
    from regard.errors import UsageError, missing

    run, texts = meant(words or (), model, NAMES[name][0])
    if texts and source is not None:
        raise UsageError(
            "texts or a file, not both", where="--input", remedy="leave out the texts, or --input"
        )
    refuse_files(texts, "answer its lines: --input {}")
    if source is not None and not source.exists():
        raise missing(source)
    if looking and (as_json or target is not None or n_best > 1):
        raise UsageError("a map is for the eye", "--look", "for files: regard look --svg, --json")
    share, form = Shard.parse(shard), Form(n_best, scores, as_json)
    predictor = _loaded(run, device, (precision, weights), batch_tokens, strict)
    _check_name(name, predictor)
    choices = {
        "beam": beam,
        "top_beams": n_best if predictor.run.task.searches else None,
        "max_length": max_length,
        "sample": sample or any(c is not None for c in (temperature, top_k, top_p)) or None,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    decode = changed(predictor.run.settings.decode, choices)
    manner = Manner.of(predictor, to, spoken, split)
    chunk = 1 if looking or _asks_a_person(texts, source) else max(256, batch_tokens // 16)
    origin = "text" if texts else str(source or "standard input")
    stream = Stream(predictor, decode, origin, chunk, _note, truncate, keep_going, manner)
    with ExitStack() as stack:
        lines = share.of(stack.enter_context(closing(_lines(texts, source, keep_going))))
        file, done = stack.enter_context(_destination(target, form, resume))
        total = _total(predictor, manner, share, texts, source)
        shown = stack.enter_context(bar("answering", total, 0 if manner.split else done))
        if done:
            output.say(f"{done:,} answers are there already")
        for some in stream.answers(skip(lines, done, origin), shown.advance):
            text = "".join(form.write(line, answer) for line, answer in some)
            with shown.aside():
                write_out(file, text, durable=target is not None)
                if looking:
                    ((line, answer),) = some
                    _show_look(predictor, line.text, manner, decode, answer)
            done += len(some)
            if not manner.split:
                shown.at(done)


def _total(
    predictor: Predictor,
    manner: Manner,
    share: Shard,
    texts: list[str],
    source: Path | None,
) -> Callable[[], int] | None:
    """How much there is to do, in lines; of a text that is read by sentences, in sentences."""
    from regard.data.lines import count_lines, read_lines

    passages = predictor.passages if manner.split else None
    if passages is None:
        return None if source is None else lambda: share.size(count_lines(source))
    if source is not None:
        return lambda: sum(
            passages.count(line.text) for line in share.of(read_lines(source)) if not line.fault
        )
    return (lambda: sum(map(passages.count, texts))) if texts else None


def _show_look(
    predictor: Predictor, text: str, manner: Manner, decode: DecodeSettings, answer: Prediction
) -> None:
    """The map of the answer that was printed: it is replayed, and nothing is searched for again."""
    from regard.answer.look import traces
    from regard.show.heatmap import alignment

    for seen in traces(predictor, text, decode, to=manner.to, split=manner.split, answer=answer):
        print()
        output.show(alignment(seen))
    print()


def _loaded(
    run: Path, device: str, numbers: tuple[str, str], batch_tokens: int, strict: bool
) -> Predictor:
    from regard.answer.predictor import Predictor
    from regard.errors import UsageError

    precision, weights = numbers
    if precision not in ("float32", "bfloat16"):
        raise UsageError(f"no precision '{precision}'", "--precision", "float32 or bfloat16")
    return Predictor.load(
        run,
        device,
        precision=precision,  # type: ignore[arg-type]
        weights=weights,  # type: ignore[arg-type]
        batch_tokens=batch_tokens,
        strict=strict,
        note=_note,
    )


def _note(message: str) -> None:
    print(f"note: {message}", file=sys.stderr, flush=True)


def _check_name(name: str, predictor: Predictor) -> None:
    """`regard translate` of a tagger is a slip; say which name is meant."""
    from regard.errors import UsageError
    from regard.tasks import TASKS

    task, _ = NAMES[name]
    if task and task != predictor.task:
        right = next(known for known, (meant, _) in NAMES.items() if meant == predictor.task)
        raise UsageError(
            f"this model was trained to {predictor.run.task.verb}, not to {TASKS[task].verb}",
            where=str(predictor.run.folder),
            remedy=f"regard {right} {predictor.run.folder}",
        )


def _lines(
    texts: list[str] | None, source: Path | None, keep_going: bool
) -> Generator[TextLine, None, None]:
    """All lines: of texts, of a file, or of standard input."""
    from regard.data.lines import TextLine, read_lines

    if texts:
        yield from (TextLine(number, text) for number, text in enumerate(texts, start=1))
        return
    if _asks_a_person(texts, source):
        output.say("Type a text and press Enter; Ctrl-D ends. Or: regard ... < input.txt")
    yield from read_lines(source or sys.stdin.buffer, on_bad_utf8="skip" if keep_going else "stop")


def _asks_a_person(texts: list[str] | None, source: Path | None) -> bool:
    return not texts and source is None and sys.stdin.isatty()


@contextmanager
def _destination(target: Path | None, form: Form, resume: bool) -> Iterator[tuple[ByteStream, int]]:
    from regard.answer.stream import output_file
    from regard.errors import UsageError

    if target is not None:
        with output_file(target, form.lines_each, resume) as opened:
            try:
                yield opened
            except KeyboardInterrupt:
                output.say(f"{target} has what was answered so far; --resume goes on with it")
                raise
    elif resume:
        raise UsageError("only a file can be gone on with", "--resume", "name it with --output")
    else:
        yield sys.stdout.buffer, 0


def _named(name: str) -> Callable[..., None]:
    """The command under one of its names; it has the options of `predict` that make sense for it."""
    command = partial(predict, name)
    options = signature(command, eval_str=True)
    task = NAMES[name][0]
    kept = [
        option
        for option in options.parameters.values()
        if task in ("", "translate") or option.name not in TRANSLATING
    ]
    update_wrapper(command, predict)
    command.__signature__ = options.replace(parameters=kept)  # type: ignore[attr-defined]
    return command


for _name, (_task, _line) in NAMES.items():
    _prose = PROSE + (BOXED if _task in ("translate", "tag", "classify") else "")
    app.command(_name, help=_line + _prose.format(name=_name))(_named(_name))
