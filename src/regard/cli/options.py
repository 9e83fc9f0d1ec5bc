"""The options that commands share, in typed groups; each group refuses what does not go together.

All of it is checked before torch is loaded, so that a slip is told at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, final

from typer import Argument, Option

from regard.cli.command import FILES, NAMES
from regard.errors import UsageError, missing

if TYPE_CHECKING:
    from regard.data.example import Columns
    from regard.run.settings import DataSettings

# The panels of the help.
DATA, SETTINGS, LINES, SEARCH = "Data", "Settings", "Lines and files", "Search"
CHANCE, MACHINE = "Random answers (with --sample)", "Machine"
_DEVICE = re.compile(r"auto|(?:cpu|cuda|mps|xpu)(?::\d{1,3})?")

JsonLines: TypeAlias = Annotated[
    bool, Option("--json", help="Write JSON for programs: one object a line, errors included.")
]
JsonObject: TypeAlias = Annotated[
    bool, Option("--json", help="Write the result as one JSON object, for programs.")
]
Changes: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        rich_help_panel=SETTINGS,
        help="Change one setting, such as `train.steps=500`. It may be given several times, and overrides "
        "preset and file. `regard config PRESET` lists all settings with their meaning.",
    ),
]
Config: TypeAlias = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        rich_help_panel=SETTINGS,
        help="A TOML file of settings. It overrides the preset.",
    ),
]
Toy: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="NAME",
        rich_help_panel=DATA,
        help="Use a built-in toy problem instead of files; `regard data --toys` lists them.",
    ),
]
Beam: TypeAlias = Annotated[
    int | None,
    Option(
        min=1,
        metavar="N",
        rich_help_panel=SEARCH,
        help="The beam size: how many partial answers the search keeps at each step. 1 is greedy search, 4 "
        "to 10 are usual, and more take longer. The default is the setting decode.beam of the run.",
    ),
]
Truncate: TypeAlias = Annotated[
    bool,
    Option(
        "--truncate",
        rich_help_panel=LINES,
        help="Cut off the end of a text that is longer than the model can read. Without it, such a text is "
        "an error.",
    ),
]
To: TypeAlias = Annotated[
    str | None,
    Option(
        "--to",
        metavar="LANGUAGE",
        help="The language to translate into, by its code or its name: `fr`, `de`, `en`, `french`. "
        "Without it, French and German texts are translated into English.",
    ),
]


def refuse_unused(given: Mapping[str, bool], why: str) -> None:
    """Nothing typed is ignored in silence: options, whether each was given, and why none has a use."""
    for option, is_given in given.items():
        if is_given:
            raise UsageError(f"{option} changes nothing: {why}", option, f"leave out {option}")


@dataclass(frozen=True)
class Device:
    """Where to compute."""

    device: Annotated[
        str,
        Option(
            metavar="NAME",
            rich_help_panel=MACHINE,
            help="Where to compute: `auto` (a GPU if there is one), `cpu`, `cuda`, or `cuda:1` for the "
            "second GPU.",
        ),
    ] = "auto"

    def __post_init__(self) -> None:
        if not _DEVICE.fullmatch(self.device):
            what, remedy = f"no device '{self.device}'", "auto, cpu, cuda, or cuda:0"
            raise UsageError(what, "--device", remedy)


@dataclass(frozen=True)
class Weights(Device):
    """Where to compute, and with which form of the weights."""

    weights: Annotated[
        Literal["stored", "float32", "int8"],
        Option(
            rich_help_panel=MACHINE,
            help="The number format of the weights. `int8` is smaller and faster on a CPU, `float32` is more "
            "exact; `stored` takes them as the model has them.",
        ),
    ] = "stored"


@final
@dataclass(frozen=True)
class Machine(Weights):
    """How answers are computed."""

    precision: Annotated[
        Literal["float32", "bfloat16"],
        Option(
            rich_help_panel=MACHINE,
            help="The number format of activations. `bfloat16` is faster on a GPU and less exact.",
        ),
    ] = "float32"
    strict: Annotated[
        bool,
        Option(
            "--strict",
            rich_help_panel=MACHINE,
            help="Compute with one thread, so that a score does not depend on other lines even in its last "
            "bit. Slower.",
        ),
    ] = False
    batch_tokens: Annotated[
        int,
        Option(
            min=8,
            metavar="N",
            rich_help_panel=MACHINE,
            help="The most tokens in a batch, with padding. More are faster and take more memory.",
        ),
    ] = 4096


@final
@dataclass(frozen=True)
class Asked:
    """Which model is asked, and what."""

    words: Annotated[
        list[str] | None,
        Argument(
            metavar="[RUN] [TEXT]...",
            help="A run folder, a zip archive of one, or the name of a model that comes with regard "
            "(`regard models` lists them); then the texts, each in quotes. Without texts, standard input is "
            "read, one text a line.",
        ),
    ] = None
    model: Annotated[
        str | None,
        Option(
            "--model",
            "-m",
            metavar="RUN",
            help="The run folder, archive or model that answers. With this option, every argument is a text.",
        ),
    ] = None


@final
@dataclass(frozen=True)
class Languages:
    """From which language, into which, and in which pieces."""

    to: To = None
    spoken: Annotated[
        str | None,
        Option(
            "--from",
            metavar="LANGUAGE",
            help="The language of the texts. Without it the language is guessed, and a text that is in "
            "none of the model's languages is refused.",
        ),
    ] = None
    split: Annotated[
        bool | None,
        Option(
            "--split/--whole",
            help="Translate sentence by sentence, or each line as one sequence. The default is --split for a "
            "model that knows several languages.",
        ),
    ] = None


@final
@dataclass(frozen=True)
class Lines:
    """Where lines come from and where answers go."""

    source: Annotated[
        Path | None,
        Option(
            "--input",
            "-i",
            metavar="FILE",
            rich_help_panel=LINES,
            help="Read the texts from this file, one a line. It may be compressed with gzip, xz or zstd.",
        ),
    ] = None
    target: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            rich_help_panel=LINES,
            help="Write the answers to this file. It must not exist yet, except with --resume.",
        ),
    ] = None
    resume: Annotated[
        bool,
        Option(
            "--resume",
            rich_help_panel=LINES,
            help="Continue an --output file that was interrupted. Answers that are there are not computed "
            "again.",
        ),
    ] = False
    shard: Annotated[
        str,
        Option(
            metavar="I/N",
            rich_help_panel=LINES,
            help="Answer only lines I, I + N, I + 2N and so on, so that N machines can share one input: "
            "`--shard 2/3` is the second of three.",
        ),
    ] = "1/1"
    truncate: Truncate = False
    keep_going: Annotated[
        bool,
        Option(
            "--keep-going",
            rich_help_panel=LINES,
            help="Answer a line that cannot be read with an empty line. Without it, such a line is an error.",
        ),
    ] = False

    def __post_init__(self) -> None:
        if self.source is not None and not self.source.exists():
            raise missing(self.source)
        if self.resume and self.target is None:
            raise UsageError("only a file can be resumed", "--resume", "name it with --output")


@final
@dataclass(frozen=True)
class Shown:
    """How an answer is written."""

    looking: Annotated[
        bool,
        Option(
            "--look",
            help="Draw a map of the attention weights below each answer: where the model looked for it.",
        ),
    ] = False
    scores: Annotated[
        bool,
        Option(
            "--scores",
            help="Write the score of each answer before it, with a tab between them: its log-probability, "
            "which a beam search divides by its length penalty.",
        ),
    ] = False
    as_json: JsonLines = False

    def __post_init__(self) -> None:
        if self.looking and self.as_json:
            remedy = "leave out --json, or ask for the trace: regard look --json"
            raise UsageError("a map cannot be written as JSON", "--look", remedy)


@final
@dataclass(frozen=True)
class Alternatives:
    """How many answers."""

    n_best: Annotated[
        int,
        Option(
            min=1,
            metavar="N",
            help="How many answers to write for each text, one a line, the best first.",
        ),
    ] = 1


@final
@dataclass(frozen=True)
class Certainty:
    """How probable a label must be to be told."""

    sure: Annotated[
        float | None,
        Option(
            metavar="P",
            help="Tell a label only if its probability is at least P, from 0 to below 1; else write the "
            "model's word for being unsure, which is `neutral` for sentiment. 0 always tells the label. The "
            "default is the setting `decode.sure` of the model; `--json` shows probabilities either way.",
        ),
    ] = None


@final
@dataclass(frozen=True)
class Search:
    """How an answer is searched for."""

    beam: Beam = None
    max_length: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            rich_help_panel=SEARCH,
            help="The longest answer, in tokens (pieces of words). The default is the setting "
            "decode.max_length of the run.",
        ),
    ] = None

    @property
    def given(self) -> dict[str, bool]:
        """Which of its options were typed."""
        return {"--beam": self.beam is not None, "--max-length": self.max_length is not None}


@final
@dataclass(frozen=True)
class Chance:
    """How an answer is drawn at random, if it is."""

    sample: Annotated[
        bool,
        Option(
            "--sample",
            rich_help_panel=CHANCE,
            help="Draw each token at random by its probability, instead of searching for the best answer.",
        ),
    ] = False
    temperature: Annotated[
        float | None,
        Option(
            metavar="T",
            rich_help_panel=CHANCE,
            help="Divide the logits by T before drawing: below 1 likely tokens become likelier, above 1 "
            "answers become more varied. The default is 1.",
        ),
    ] = None
    top_k: Annotated[
        int | None,
        Option(
            min=1,
            metavar="K",
            rich_help_panel=CHANCE,
            help="Draw among the K most probable tokens only. The default is all.",
        ),
    ] = None
    top_p: Annotated[
        float | None,
        Option(
            metavar="P",
            rich_help_panel=CHANCE,
            help="Draw among the most probable tokens whose probabilities add up to P, a number from 0 to "
            "1. The default is 1, which is all.",
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option(
            metavar="N",
            rich_help_panel=CHANCE,
            help="The number that random draws begin with. The same seed gives the same answers. The default "
            "is 1.",
        ),
    ] = None

    def __post_init__(self) -> None:
        for name in ("temperature", "top_k", "top_p", "seed"):
            if getattr(self, name) is not None and not self.sample:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(
                    f"{option} is for answers drawn at random, and without --sample none is",
                    where=option,
                    remedy=f"add --sample, or leave out {option}",
                )


@dataclass(frozen=True)
class Heldout:
    """What is not learned from, and what the data are."""

    valid: Annotated[
        list[Path] | None,
        Option(
            metavar=FILES,
            rich_help_panel=DATA,
            help="Validation data, in the same forms as the training data: `--valid valid.en valid.de`. "
            "Without it, one training example in 50 is held out, at most 2,000.",
        ),
    ] = None
    test: Annotated[
        list[Path] | None,
        Option(
            metavar=FILES,
            rich_help_panel=DATA,
            help="Test data, in the same forms. They are never learned from; `regard evaluate RUN` uses "
            "them.",
        ),
    ] = None
    task: Annotated[
        str | None,
        Option(
            metavar="NAME",
            rich_help_panel=DATA,
            help="What to learn: `translate`, `tag`, `classify`, `point` or `language`. The default is "
            "what the data look like.",
        ),
    ] = None
    toy: Toy = None
    on_bad_utf8: Annotated[
        Literal["stop", "skip"],
        Option(
            rich_help_panel=DATA,
            help="What to do at a line that is not UTF-8: stop with an error, or skip the line.",
        ),
    ] = "stop"


@final
@dataclass(frozen=True)
class Corpus(Heldout):
    """What is learned from."""

    files: Annotated[
        list[Path] | None,
        Argument(
            metavar="[FILE]...",
            help="Training data: two text files side by side (`train.en train.de`), one TSV, CSV, JSONL "
            "or CoNLL-U file, or a folder of such files.",
        ),
    ] = None
    to: Annotated[
        str | None,
        Option(
            "--to",
            metavar="FILE",
            rich_help_panel=DATA,
            help="The target, where several sources are read at once: `train.en train.de --to train.fr`, "
            "or the name of a column: `data.tsv --from en de --to fr`.",
        ),
    ] = None
    read_from: Annotated[
        list[str] | None,
        Option(
            "--from",
            metavar=NAMES,
            rich_help_panel=DATA,
            help="The names of several sources: columns of a TSV file with a header, or of JSON lines. A "
            "column may name pictures or sounds that lie beside the file.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.toy is not None and self.files:
            what, remedy = "a toy and files cannot both be used", "leave out the toy, or the files"
            raise UsageError(what, f"--toy {self.toy}", remedy)
        if self.toy is not None:
            given = {"--valid": bool(self.valid), "--test": bool(self.test), "--to": bool(self.to)}
            given |= {"--from": bool(self.read_from), "--on-bad-utf8": self.on_bad_utf8 != "stop"}
            refuse_unused(given, f"the toy {self.toy} makes its own examples")
        for path in (*(self.files or ()), *(self.valid or ()), *(self.test or ())):
            if not path.exists():
                raise missing(path)
        if self.read_from and self.to is None:
            raise UsageError("several sources need a target", "--from", "name its column: --to fr")

    @property
    def training(self) -> list[Path]:
        """The files to learn from, the target's behind the sources'."""
        return self._sides[0]

    @property
    def _sides(self) -> tuple[list[Path], Columns | None]:
        from regard.data.formats.beside import sides

        if self.to is None:
            return list(self.files or ()), None
        return sides(self.files or (), self.to, self.read_from or ())

    @property
    def changes(self) -> list[str]:
        """What is said here about the data, as changes of settings."""
        tests = [str(path.resolve()) for path in self.test or ()]
        return [
            *([f"data.on_bad_utf8={self.on_bad_utf8}"] if self.on_bad_utf8 != "stop" else []),
            *([f"data.test={json.dumps(tests)}"] if tests else []),
            *self._column_changes,
        ]

    @property
    def _column_changes(self) -> list[str]:
        _, columns = self._sides
        if columns is None:
            return []
        return [f"data.sources={json.dumps(columns.sources)}", f"data.target={columns.target}"]

    @property
    def data(self) -> DataSettings:
        """The files as settings of a run."""
        from regard.run.settings import DataSettings

        files, columns = self._sides
        train, valid = (tuple(map(str, paths or ())) for paths in (files, self.valid))
        return DataSettings(
            train=train,
            valid=valid,
            sources=columns.sources if columns else (),
            target=columns.target if columns else None,
            on_bad_utf8=self.on_bad_utf8,
        )

    def require_training(self, config: Path | None) -> None:
        """Files behind `--valid` and `--test` alone are nothing to learn from."""
        if not self.files and self.toy is None and config is None and (self.valid or self.test):
            option = "--valid" if self.valid else "--test"
            raise UsageError(
                f"no training file was named: {option} takes every file behind it",
                where=option,
                remedy=f"name the training files first: train.en train.de {option} other.en other.de",
            )


@final
@dataclass(frozen=True)
class Choice:
    """Which settings."""

    preset: Annotated[
        str | None,
        Option(
            "--preset",
            "-p",
            metavar="NAME",
            rich_help_panel=SETTINGS,
            help="A ready-made model with its settings, such as `bahdanau2015` or `vaswani2017-base`; "
            "`regard config` lists them.",
        ),
    ] = None
    config: Config = None
    changes: Changes = None
