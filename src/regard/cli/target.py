"""Which model a person means: a run by its path, one of the box by its name, or the box's own for a text.

What a run's settings say about it is known here, too, before torch is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from regard.errors import DataError, MissingFileError, UsageError
from regard.question import SPELLED
from regard.tasks.names import BY_SENTENCES, COMMANDS, LEARNS_FROM, READS_FILES

if TYPE_CHECKING:
    from regard.answer.stream import Manner
    from regard.cli.options import Languages
    from regard.run.settings import RunSettings

_SNIFF = 1024
_ALIKE = 0.85  # how like the name of a run one word must be to be no text


def meant(words: Sequence[str], model: str | None, task: str) -> tuple[Path, list[str]]:
    """The model, and the texts to answer; `task` is what the command does ("" for whatever a model does).

    A first word that is there on disk is a run, or a slip; so is one that is written like a path or nearly
    like the name of a run, and one before other texts. Everything else is text, for the model of the box.
    """
    from regard import box
    from regard.run.find import nearest_run, no_such_run

    if model is not None:
        _refuse_text(model)
        if not _exists(model) and model not in box.names():
            raise no_such_run(model)
        return Path(model), list(words)
    first = words[0] if words else None
    if first is not None and task in READS_FILES and _is_question(first, task):
        return _of_the_box(task), list(words)
    if first is not None and (_exists(first) or first in box.names()):
        _refuse_text(first)
        return Path(first), list(words[1:])
    if first is not None and not any(map(str.isspace, first)):
        if _is_pathlike(first) or not _in_box(task):
            raise no_such_run(first)
        if len(words) > 1 or nearest_run(first, _ALIKE):
            raise _run_or_text(words, box.first(task))
    return _of_the_box(task), list(words)


def _run_or_text(words: Sequence[str], model: str) -> MissingFileError:
    """One word before other texts is a run mistyped, or a text whose quotes are missing."""
    from regard.run.find import no_such_run

    fault, text = no_such_run(words[0]), " ".join(words)
    quoted = f"put it in quotes: '{text[:60]}'" if len(words) > 1 else f"name the model: -m {model}"
    return MissingFileError(fault.what, fault.where, f"{fault.remedy}; if it is a text, {quoted}")


def _of_the_box(task: str) -> Path:
    """The model in the box for a task, or how to make one."""
    from regard import box

    able = box.of_task(task)
    if task and not able and box.names():
        verb = COMMANDS.get(task, "predict")
        what = f"which model? None that comes with regard can {verb}"
        raise UsageError(what, where=f"regard {verb}", remedy=_how_to_make(task, verb))
    if task in READS_FILES and len(able) > 1:  # toys that see different things: none is meant more
        verb = COMMANDS[task]
        what = f"which model? {' and '.join(able)} come with regard"
        remedy = f"name one: regard {verb} {able[0]} FILE; or a run of your own"
        raise UsageError(what, where=f"regard {verb}", remedy=remedy)
    return Path(able[0] if able else box.first(task))


def _how_to_make(task: str, verb: str) -> str:
    """What trains a small model for a task: the first toy that teaches it, or a person's own files."""
    from regard.data.toys import TOYS

    toy = next((name for name, toy in TOYS.items() if toy.kind is LEARNS_FROM[task]), None)
    own = f"regard train my.txt --task {task} --out runs/mine"
    if toy is None:
        return f"train one: {own}"
    run = f"runs/{toy}"
    return f"train one: regard train --toy {toy} --out {run}; then: regard {verb} {run}; or: {own}"


def check_there(model: str | Path, files: Sequence[Path] = ()) -> None:
    """A model and files that were named are there: said before torch is loaded."""
    from regard import box
    from regard.errors import missing
    from regard.run.find import no_such_run

    if not _exists(str(model)) and str(model) not in box.names():
        raise no_such_run(str(model))
    for path in files:
        if not path.exists():
            raise missing(path)


def check_language(model: str | Path, to: str | None) -> None:
    """A language that was named is one that the model translates into: said before torch is loaded."""
    from regard.cli.options import Languages
    from regard.run.find import is_brought

    if to is not None and not is_brought(Path(model)):
        Target.of(Path(model)).manner(Languages(to), ())


def task_of(verb: str) -> str:
    """The task that a command is for; "" of one that takes every task."""
    return next((task for task, command in COMMANDS.items() if command == verb), "")


@final
@dataclass(frozen=True)
class Target:
    """A run as far as its settings tell, before its weights are read."""

    run: Path
    settings: RunSettings | None  # None for an archive, which is unpacked only once
    reads: tuple[str, ...] = ()  # the languages of its questions, where its card says them

    @classmethod
    def of(cls, run: Path) -> Target:
        """Read the settings of a run folder, or of a model in the box."""
        from regard.box.card import read
        from regard.run.find import folder_of, read_settings

        if run.is_file():
            return cls(run, None)
        with folder_of(run) as folder:
            card = read(folder)
            reads = card.languages if card is not None else ()
            return cls(run, read_settings(folder / "config.toml"), reads)

    @property
    def reads_files(self) -> bool:
        """Whether its questions name pictures or sounds; what is in an archive is not known yet, and may."""
        return self.settings is None or self.settings.task in READS_FILES

    def files_of(self, texts: Sequence[str]) -> list[str]:
        """The same texts, where the pictures or sounds in a folder stand for the folder."""
        task = self.settings.task if self.settings is not None else ""
        if task not in READS_FILES:
            return list(texts)
        files: list[str] = []
        for text in texts:
            is_folder = _exists(text) and Path(text).is_dir()
            media = _media(Path(text), task) if is_folder else [text]
            if not media:
                noun = READS_FILES[task]
                remedy = f"name a folder whose {noun}s lie in it, not in folders below"
                raise DataError(f"there is no {noun} in this folder", text, remedy)
            files += media
        return files

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that a translator can be asked for."""
        from regard.text.keep import languages

        return languages(self.settings.text.symbols) if self.settings is not None else ()

    def check_task(self, task: str) -> None:
        """`regard translate` of a tagger is a slip; say which command is meant."""
        if self.settings is None or not task or task == self.settings.task:
            return
        right = COMMANDS.get(self.settings.task, "predict")
        own = (
            f"; if it is a text, name the model: -m {_of_the_box(task)}"
            if self._is_word(task)
            else ""
        )
        raise UsageError(
            f"this model was trained to {right}, not to {COMMANDS.get(task, task)}",
            where=str(self.run),
            remedy=f"regard {right} {self.run}{own}",
        )

    def _is_word(self, task: str) -> bool:
        """Whether the name of this model is also a word that a model of the box could be asked."""
        from regard import box

        named = str(self.run) in box.names() and not self.run.exists()
        return named and _in_box(task) and task not in READS_FILES

    def manner(self, asked: Languages, texts: Sequence[str]) -> Manner:
        """How to read these texts; one that is in none of the model's languages is refused."""
        from regard.answer.stream import Manner
        from regard.cli.options import refuse_unused
        from regard.text.keep import tag
        from regard.text.languages import doubt, target_of

        known = self.languages
        if self.settings is not None and self.settings.task not in BY_SENTENCES:
            given = {"--split": asked.split is True, "--whole": asked.split is False}
            refuse_unused(given, "this model always reads a line as one sequence")
        manner = Manner.of(known, asked.to, asked.spoken, asked.split)
        if manner.spoken is not None and manner.spoken == manner.to:
            what = (
                f"the texts are said to be in '{manner.to}' already, the language to translate into"
            )
            raise UsageError(
                what, f"--from {asked.spoken}", "name two languages, or leave out --from"
            )
        for text in texts if known and manner.spoken is None else ():
            if text.startswith(tuple(map(tag, known))):
                continue
            to = target_of(text, manner.to, known)
            why = doubt(text, to, self.reads)
            if why is not None:
                others = [code for code in known if code != to]
                remedy = f"if it is none, name its language: --from {others[0]}"
                raise UsageError(why, f"text {text[:60]!r}", remedy)
        return manner


def _in_box(task: str) -> bool:
    from regard import box

    return bool(task) and any(box.card(name).task == task for name in box.names())


def _exists(word: str) -> bool:
    with suppress(OSError, ValueError):  # a text can be longer than any path
        return Path(word).exists()
    return False


def _is_question(word: str, task: str) -> bool:
    """Whether a word is pictures or sounds, and no model: a file that is no archive, its data, a folder."""
    if word.startswith(("data:", SPELLED)):
        return True
    path = Path(word)
    if not _exists(word) or path.suffix == ".zip":
        return False
    if path.is_dir():
        return not (path / "config.toml").exists() and bool(_media(path, task))
    _refuse_text(word)
    return True


def _media(folder: Path, task: str) -> list[str]:
    """The pictures or sounds that lie in a folder, by name; not those of folders below."""
    from regard.data.formats.format import PICTURES, SOUNDS, listed
    from regard.run.system import disk_errors

    kinds = {"picture": PICTURES, "sound": SOUNDS}[READS_FILES[task]]
    with disk_errors("read", folder):
        return [str(path) for path in listed(folder) if path.suffix.lower() in kinds]


def _is_pathlike(word: str) -> bool:
    """Whether a word that names nothing was meant as a path: and/or is none, runs/mine is."""
    parent = Path(word).parent
    rooted = word.startswith(("./", "../", "/", "~/", "runs/"))
    return rooted or word.endswith((".zip", "/")) or (parent != Path() and _exists(str(parent)))


def _refuse_text(word: str) -> None:
    """A file of text is no model: its lines are what should be answered."""
    path = Path(word)
    if not path.is_file() or path.suffix == ".zip":
        return
    with path.open("rb") as file:
        start = file.read(_SNIFF)
    if start and not any(byte < 9 or 13 < byte < 32 for byte in start):
        raise UsageError(
            f"{path.name} is a file of text, not a model",
            where=word,
            remedy=f"answer its lines: --input {word}",
        )


def refuse_files(texts: Sequence[str], remedy: str) -> None:
    """The name of a file is no text, and its lines are not what would be answered."""
    for text in texts:
        if text and _exists(text) and Path(text).is_file():
            raise UsageError(
                f"{text} is a file: its name would be answered, not its lines",
                where=text,
                remedy=remedy.format(text),
            )
