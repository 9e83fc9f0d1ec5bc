"""`regard predict`, and for each task a command: `translate`, `tag`, `classify`, `point` and `continue`.

Each command has the options that make sense for it; what they say is checked before torch is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

from regard.cli import output
from regard.cli.command import command, name_of
from regard.cli.options import (
    Alternatives,
    Asked,
    Certainty,
    Chance,
    Languages,
    Lines,
    Machine,
    Search,
    Shown,
    refuse_unused,
)
from regard.cli.target import Target, meant, refuse_files, task_of
from regard.errors import UsageError
from regard.tasks.names import AT_ONCE, COMMANDS, ONE_ANSWER

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor
    from regard.answer.stream import Form, Manner, Shard, Stream
    from regard.data.lines import Stream as ByteStream
    from regard.data.lines import TextLine
    from regard.decode import DecodeSettings
    from regard.tasks import Prediction


@command
def translate(
    asked: Asked,
    languages: Languages,
    shown: Shown,
    lines: Lines,
    alternatives: Alternatives,
    search: Search,
    chance: Chance,
    machine: Machine,
) -> None:
    """Translate texts. A model for English, French and German comes with regard.

    One line in, one line out, in the same order; an answer does not depend on the lines around it.

    - `regard translate "Where is the station?" --to fr` asks the model that comes with regard
    - `regard translate runs/mine "a text" "and another"` asks a model of your own
    - `regard translate runs/mine < input.txt > output.txt` answers every line of a file
    """
    _answer(translate, asked, lines, shown, machine, languages, alternatives, search, chance)


@command
def tag(asked: Asked, shown: Shown, lines: Lines, machine: Machine) -> None:
    """Give each word its tag. A model for English parts of speech comes with regard.

    One line in, one line out: `I/PRON saw/VERB her/PRON`. Running text is cut into words as the English
    Universal Dependencies do (`do n't`); words that are set apart by spaces already, or by tabs with one in
    front, are taken as they are.

    - `regard tag "I saw her duck."` asks the model that comes with regard
    - `regard tag runs/mine < input.txt > output.txt` answers every line of a file
    """
    _answer(tag, asked, lines, shown, machine)


@command
def classify(
    asked: Asked,
    shown: Shown,
    lines: Lines,
    alternatives: Alternatives,
    certainty: Certainty,
    machine: Machine,
) -> None:
    """Give each text its label. A model for English sentiment comes with regard.

    One line in, one line out, in the same order; an answer does not depend on the lines around it. The
    sentiment model knows `positive` and `negative`, and says `neutral` where neither is probable enough.

    - `regard classify "What a lovely film."` asks the model that comes with regard
    - `regard classify "The film is two hours long." --sure 0` always tells the likelier label
    - `regard classify runs/mine < input.txt > output.txt` answers every line of a file
    """
    _answer(classify, asked, lines, shown, machine, alternatives=alternatives, certainty=certainty)


@command
def point(
    asked: Asked,
    shown: Shown,
    lines: Lines,
    alternatives: Alternatives,
    search: Search,
    chance: Chance,
    machine: Machine,
) -> None:
    """Point at items of the input, in order: their positions, counted from 0.

    Items are separated by spaces, and the numbers of one item by commas: `0.3 0.1` are two numbers, `0,1
    2,3` two points. A model that sorts numbers comes with regard.

    - `regard point "0.3 0.1 0.2"` asks the model that comes with regard
    - `regard point runs/mine "0.3 0.1 0.2"` asks a model of your own
    - `regard point runs/mine < input.txt > output.txt` answers every line of a file
    """
    _answer(point, asked, lines, shown, machine, None, alternatives, search, chance)


@command
def continue_(
    asked: Asked,
    shown: Shown,
    lines: Lines,
    alternatives: Alternatives,
    search: Search,
    chance: Chance,
    machine: Machine,
) -> None:
    """Continue a text with a language model. A small one for everyday English comes with regard.

    `regard train my.txt --task language --out runs/mine` trains a model on your own text. By default the most
    probable continuation is searched for; with `--sample` it is drawn at random.

    - `regard continue "I would like to" --sample` asks the model that comes with regard
    - `regard continue runs/mine "Once upon a time" --sample --seed 3`
    - `regard continue runs/mine < input.txt > output.txt` continues every line of a file
    """
    _answer(continue_, asked, lines, shown, machine, None, alternatives, search, chance)


@command
def caption(
    asked: Asked,
    shown: Shown,
    lines: Lines,
    alternatives: Alternatives,
    search: Search,
    chance: Chance,
    machine: Machine,
) -> None:
    """Say what pictures show: captions, formulas, digits, whatever the model was trained on.

    Each picture is a file, PNG or JPEG (`pip install 'regard[images]'`), or features in a `.npz` file; a list
    of such files has one a line. `regard train FOLDER` learns from pictures and a table of file and text.

    Two small models come with regard, for pictures like their own toys: `digits` and `shapes`.

    - `regard caption digits strip.png` asks one of them
    - `regard caption runs/mine dog.jpg cat.png`
    - `regard caption runs/mine photographs/ > captions.tsv` names and answers all of a folder
    - `regard caption runs/mine < files.txt > captions.txt` answers every line of a list of files
    """
    _answer(caption, asked, lines, shown, machine, None, alternatives, search, chance)


@command
def transcribe(
    asked: Asked,
    shown: Shown,
    lines: Lines,
    alternatives: Alternatives,
    search: Search,
    chance: Chance,
    machine: Machine,
) -> None:
    """Write down what is said in sounds. A small model for spoken English digits comes with regard.

    Each sound is a WAV file of any rate; other kinds need `pip install 'regard[sounds]'`. A list of such
    files has one a line. `regard train FOLDER` learns from sounds and a table of file and text.

    - `regard transcribe digits.wav` asks the model that comes with regard
    - `regard transcribe runs/mine one.wav two.wav`
    - `regard transcribe runs/mine recordings/ > texts.tsv` names and answers all of a folder
    - `regard transcribe runs/mine < files.txt > texts.txt` answers every line of a list of files
    """
    _answer(transcribe, asked, lines, shown, machine, None, alternatives, search, chance)


@command
def predict(
    asked: Asked,
    languages: Languages,
    shown: Shown,
    lines: Lines,
    alternatives: Alternatives,
    search: Search,
    chance: Chance,
    machine: Machine,
) -> None:
    """Answer texts with a trained model, whatever its task.

    One line in, one line out, in the same order; an answer does not depend on the lines around it.

    - `regard predict runs/mine "a text" "and another"`
    - `regard predict runs/mine < input.txt > output.txt` answers every line of a file
    - `regard predict runs/mine photographs/` answers every picture or sound of a folder, behind its name
    """
    _answer(predict, asked, lines, shown, machine, languages, alternatives, search, chance)


@final
@dataclass(frozen=True)
class _Job:
    """All that was asked for and checked."""

    texts: list[str]
    lines: Lines
    share: Shard
    form: Form
    looking: bool

    @property
    def asks_a_person(self) -> bool:
        """Whether somebody types the texts just now."""
        return not self.texts and self.lines.source is None and sys.stdin.isatty()

    @property
    def origin(self) -> str:
        """What to call the place that texts come from."""
        return "text" if self.texts else str(self.lines.source or "standard input")


def _answer(
    asking: Callable[..., None],
    asked: Asked,
    lines: Lines,
    shown: Shown,
    machine: Machine,
    languages: Languages | None = None,
    alternatives: Alternatives | None = None,
    search: Search | None = None,
    chance: Chance | None = None,
    certainty: Certainty | None = None,
) -> None:
    """Check all that can be checked without the model, then answer."""
    output.speak_json(shown.as_json)
    from regard.answer.stream import Form, Shard
    from regard.settings.decode import changed

    task = task_of(name_of(asking))
    run, texts = meant(asked.words or (), asked.model, task)
    n_best = alternatives.n_best if alternatives is not None else 1
    target = Target.of(run)
    _check(texts, lines, shown, n_best, files=target.reads_files)
    share, files = Shard.parse(lines.shard), target.files_of(texts)
    choices = {
        **(vars(search) if search is not None else {}),
        **({**vars(chance), "sample": chance.sample or None} if chance is not None else {}),
        **(vars(certainty) if certainty is not None else {}),
        "top_beams": n_best if search is not None else None,
    }
    manner = _fitting(target, task, languages, texts, choices)
    if target.settings is not None:
        changed(target.settings.decode, choices)
    predictor = _loaded(run, machine, looking=shown.looking)
    if target.settings is None:  # an archive shows its settings only now
        reads = predictor.card.languages if predictor.card is not None else ()
        target = Target(run, predictor.run.settings, reads)
        manner = _fitting(target, task, languages, texts, choices)
        files = target.files_of(texts)
    decode = changed(predictor.run.settings.decode, choices)
    form = Form(n_best, shown.scores, shown.as_json, named=files != texts)
    job = _Job(files, lines, share, form, shown.looking)
    _stream(job, predictor, decode, manner, machine)


def _check(texts: list[str], lines: Lines, shown: Shown, n_best: int, *, files: bool) -> None:
    if texts and lines.source is not None:
        remedy = "leave out the texts, or --input"
        raise UsageError("texts and a file cannot both be answered", "--input", remedy)
    if not files:
        refuse_files(texts, "answer its lines: --input {}")
    if shown.looking and (lines.target is not None or n_best > 1):
        remedy = "leave out --look, or draw one text into a file: regard look --svg"
        raise UsageError("a map is drawn in the terminal, for one answer", "--look", remedy)


def _fitting(
    target: Target,
    task: str,
    languages: Languages | None,
    texts: list[str],
    choices: Mapping[str, object],
) -> Manner:
    """How these texts are read, by a model that does what the command does and has a use for each option."""
    target.check_task(task)
    own = target.settings.task if target.settings is not None else ""
    verb = COMMANDS.get(own, own)
    given = {name: value is not None for name, value in choices.items()}
    if own in AT_ONCE:
        searches = ("beam", "max_length", "sample")
        unused = {f"--{name.replace('_', '-')}": given.get(name, False) for name in searches}
        refuse_unused(unused, f"a model that was trained to {verb} chooses its answers at once")
    if own in ONE_ANSWER:
        several = choices.get("top_beams") not in (None, 1)
        refuse_unused({"--n-best": several}, f"a model that was trained to {verb} has one answer")
    if given.get("sample"):
        refuse_unused({"--beam": given["beam"]}, "with --sample nothing is searched for")
    return target.manner(languages or Languages(), texts)


def _stream(
    job: _Job, predictor: Predictor, decode: DecodeSettings, manner: Manner, machine: Machine
) -> None:
    """Answer line by line, with a bar for who watches."""
    from regard.answer.stream import Stream, skip, write_out
    from regard.cli.output import bar

    lines = job.lines
    chunk = 1 if job.looking or job.asks_a_person else max(256, machine.batch_tokens // 16)
    names = (job.origin, chunk, _note, lines.truncate, lines.keep_going, manner)
    stream = Stream(predictor, decode, *names)
    with ExitStack() as stack:
        texts = job.share.of(stack.enter_context(closing(_lines(job))))
        file, done = stack.enter_context(_destination(lines, job.form))
        total = _total(job, predictor, manner)
        shown = stack.enter_context(bar("answering", total, 0 if manner.split else done))
        if done:
            output.say(f"{done:,} answers are there already")
        for some in stream.answers(skip(texts, done, job.origin), shown.advance):
            text = "".join(job.form.write(line, answer) for line, answer in some)
            with shown.aside():
                write_out(file, text, durable=lines.target is not None)
                if job.looking:
                    _show_look(stream, *some[0])
            done += len(some)
            if not manner.split:
                shown.at(done)


def _total(job: _Job, predictor: Predictor, manner: Manner) -> Callable[[], int] | None:
    """How much there is to do, in lines; of a text that is read by sentences, in sentences."""
    from regard.data.lines import count_lines, read_lines

    source, passages = job.lines.source, predictor.passages if manner.split else None
    if passages is None:
        if source is None and len(job.texts) > 1:
            return lambda: job.share.size(len(job.texts))
        return None if source is None else lambda: job.share.size(count_lines(source))
    if source is not None:
        return lambda: sum(
            passages.count(line.text) for line in job.share.of(read_lines(source)) if not line.fault
        )
    return (lambda: sum(map(passages.count, job.texts))) if job.texts else None


def _show_look(stream: Stream, line: TextLine, answer: Prediction) -> None:
    """The map of the answer that was printed: it is replayed, and nothing is searched for again."""
    from regard.answer.tracing import traces
    from regard.show.overlay import maps

    manner = partial(traces, to=stream.manner.to, split=stream.manner.split, answer=answer)
    for seen in manner(stream.predictor, line.text, stream.decode):
        for drawn in maps(seen):
            print()
            output.show(drawn)
    print()


def _loaded(run: object, machine: Machine, *, looking: bool) -> Predictor:
    from regard.answer.predictor import Predictor

    return Predictor.load(
        str(run),
        machine.device,
        precision=machine.precision,
        weights=machine.weights,
        batch_tokens=machine.batch_tokens,
        strict=machine.strict,
        note=_note,
        looking=looking,
    )


def _note(message: str) -> None:
    print(output.harmless(f"note: {message}"), file=sys.stderr, flush=True)


def _lines(job: _Job) -> Generator[TextLine, None, None]:
    """All lines: of texts, of a file, or of standard input."""
    from regard.data.lines import TextLine, read_lines

    if job.texts:
        yield from (TextLine(number, text) for number, text in enumerate(job.texts, start=1))
        return
    if job.asks_a_person:
        output.say("Type a text and press Enter; Ctrl-D ends. Or: regard ... < input.txt")
    source = job.lines.source or sys.stdin.buffer
    yield from read_lines(source, on_bad_utf8="skip" if job.lines.keep_going else "stop")


@contextmanager
def _destination(lines: Lines, form: Form) -> Iterator[tuple[ByteStream, int]]:
    """Where answers go, and how many are there already."""
    from regard.answer.stream import output_file

    if lines.target is None:
        yield sys.stdout.buffer, 0
        return
    with output_file(lines.target, form.lines_each, lines.resume) as opened:
        try:
            yield opened
        except KeyboardInterrupt:
            output.say(f"{lines.target} has what was answered so far; --resume continues it")
            raise
