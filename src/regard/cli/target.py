"""Which model a person means: a run by its path, one of the box by its name, or the box's own for a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_SNIFF = 1024


def meant(words: Sequence[str], model: str | None, task: str) -> tuple[Path, list[str]]:
    """The model, and the texts to answer; `task` is what the command does ("" for whatever a model does).

    A first word that is there on disk is a run, or a slip; so is one that is written like a path. Everything
    else is text, for the model of the box that does this.
    """
    from regard import box

    if model is not None:
        _refuse_text(model)
        return Path(model), list(words)
    first = words[0] if words else None
    if first is not None and (_exists(first) or first in box.names()):
        _refuse_text(first)
        return Path(first), list(words[1:])
    if first is not None and not _is_text(first) and (_is_pathlike(first) or not _in_box(task)):
        from regard.run.find import no_such_run

        raise no_such_run(first)
    return Path(box.first(task)), list(words)


def _in_box(task: str) -> bool:
    from regard import box

    return bool(task) and any(box.card(name).task == task for name in box.names())


def _exists(word: str) -> bool:
    try:
        return Path(word).exists()
    except (OSError, ValueError):  # a text can be longer than any path
        return False


def _is_pathlike(word: str) -> bool:
    """Whether a word that names nothing was meant as a path: and/or is none, runs/mine is."""
    if _is_text(word):
        return False
    parent = Path(word).parent
    rooted = word.startswith(("./", "../", "/", "~/", "runs/"))
    return rooted or word.endswith((".zip", "/")) or (parent != Path() and _exists(str(parent)))


def _is_text(word: str) -> bool:
    return any(character.isspace() for character in word)


def _refuse_text(word: str) -> None:
    """A file of text is no model: its lines are what should be answered."""
    from regard.errors import UsageError

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
    from regard.errors import UsageError

    for text in texts:
        if text and _exists(text) and Path(text).is_file():
            raise UsageError(
                f"{text} is a file: its name would be answered, not its lines",
                where=text,
                remedy=remedy.format(text),
            )
