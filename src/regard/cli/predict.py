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

if TYPE_CHECKING:
    from regard.data.compressed import Stream as ByteStream
    from regard.data.lines import TextLine
    from regard.run.predictor import Predictor
    from regard.run.stream import Form

# Each friendly name, its task, and one line of help.
NAMES = {
    "predict": ("", "Answer texts with a trained model, whatever its task."),
    "translate": ("translate", "Translate texts."),
    "tag": ("tag", "Give each word of a text its tag."),
    "classify": ("classify", "Give each text its label."),
    "point": ("point", "Point at items of the input, in order."),
    "continue": ("language", "Go on with texts."),
}
PROSE = """

One line in, one line out, in the same order, from standard input to standard output:
`regard {name} runs/mine < input.txt > output.txt`. A few texts can be given in place of a file.
The answer to a line does not depend on the lines around it.
"""


def predict(
    name: str,
    run: Annotated[Path, typer.Argument(help="A run folder, or a zip archive of one.")],
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts; without any, standard input is read.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--input", "-i", help="Read lines from this file.")
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write answers to this new file.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an --output that was cut short.")
    ] = False,
    shard: Annotated[
        str, typer.Option(help="Line i of every n alone, for several machines: `2/3`.")
    ] = "1/1",
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses to follow.")] = None,
    n_best: Annotated[int, typer.Option(min=1, help="Alternatives to write, one a line.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Write `score TAB text`.")] = False,
    max_length: Annotated[
        int | None, typer.Option(min=1, help="The most symbols of an answer.")
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw answers by chance.")] = False,
    temperature: Annotated[
        float | None, typer.Option(help="Draw more boldly (above 1) or less (below).")
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="Draw among the k likeliest.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Draw among the likeliest that make up p.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="What chance begins with.")] = None,
    truncate: Annotated[
        bool, typer.Option("--truncate", help="Cut texts the model cannot read whole.")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Answer unusable lines with nothing.")
    ] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1.")] = "auto",
    precision: Annotated[str, typer.Option(help="float32 or bfloat16.")] = "float32",
    strict: Annotated[
        bool, typer.Option("--strict", help="One thread: scores equal to the last bit.")
    ] = False,
    batch_tokens: Annotated[int, typer.Option(min=8, help="Symbols in a batch.")] = 4096,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Answer texts; `name` is what the command was called, and NAMES has the help of each."""
    output.speak_json(as_json)
    from regard.cli.bar import bar
    from regard.data.lines import count_lines
    from regard.errors import DataError, UsageError
    from regard.run.engine import changed
    from regard.run.stream import Form, Shard, Stream, skip, write_out

    if texts and source is not None:
        raise UsageError("texts or a file, not both", where="--input")
    if source is not None and not source.exists():
        raise DataError("there is no such file", where=str(source))
    share, form = Shard.parse(shard), Form(n_best, scores, as_json)
    predictor = _loaded(run, device, precision, batch_tokens, strict)
    _check_name(name, predictor)
    choices = {
        "beam": beam,
        "top_beams": None if predictor.task in ("tag", "classify") else n_best,
        "max_length": max_length,
        "sample": sample or any(c is not None for c in (temperature, top_k, top_p)) or None,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    decode = changed(predictor.run.settings.decode, choices)
    chunk = 1 if _asks_a_person(texts, source) else max(256, batch_tokens // 16)
    origin = "text" if texts else str(source or "standard input")
    stream = Stream(predictor, decode, origin, chunk, _note, truncate, keep_going)
    with ExitStack() as stack:
        lines = share.of(stack.enter_context(closing(_lines(texts, source, keep_going))))
        file, done = stack.enter_context(_destination(target, form, resume))
        total = None if source is None else lambda: share.size(count_lines(source))
        shown = stack.enter_context(bar("answering", total, done))
        if done:
            output.say(f"{done:,} answers are there already")
        for some in stream.answers(skip(lines, done, origin), shown.advance):
            text = "".join(form.write(line, answer, predictor.task) for line, answer in some)
            write_out(file, text, durable=target is not None)
            done += len(some)
            shown.at(done)


def _loaded(run: Path, device: str, precision: str, batch_tokens: int, strict: bool) -> Predictor:
    from regard.errors import UsageError
    from regard.run.predictor import Predictor

    if precision not in ("float32", "bfloat16"):
        raise UsageError(f"no precision '{precision}'", "--precision", "float32 or bfloat16")
    return Predictor.load(
        run,
        device,
        precision=precision,  # type: ignore[arg-type]
        batch_tokens=batch_tokens,
        strict=strict,
        note=_note,
    )


def _note(message: str) -> None:
    print(f"note: {message}", file=sys.stderr, flush=True)


def _check_name(name: str, predictor: Predictor) -> None:
    """`regard translate` of a tagger is a slip; say which name is meant."""
    from regard.errors import UsageError
    from regard.run.predictor import VERB_OF

    task, _ = NAMES[name]
    if task and task != predictor.task:
        right = next(known for known, (meant, _) in NAMES.items() if meant == predictor.task)
        raise UsageError(
            f"this model was trained to {VERB_OF[predictor.task]}, not to {VERB_OF[task]}",  # type: ignore[index]
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
    from regard.errors import UsageError
    from regard.run.stream import output_file

    if target is not None:
        with output_file(target, form.lines_each, resume) as opened:
            yield opened
    elif resume:
        raise UsageError("only a file can be gone on with", "--resume", "name it with --output")
    else:
        yield sys.stdout.buffer, 0


def _named(name: str) -> Callable[..., None]:
    """The command under one of its names; it has the options of `predict`, for the parser to see."""
    command = partial(predict, name)
    options = signature(command, eval_str=True)
    update_wrapper(command, predict)
    command.__signature__ = options  # type: ignore[attr-defined]
    return command


for _name, (_, _line) in NAMES.items():
    app.command(_name, help=_line + PROSE.format(name=_name))(_named(_name))
