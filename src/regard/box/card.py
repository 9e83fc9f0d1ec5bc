"""The card of a model that travels: card.toml beside its weights, read strictly, so nothing is half said."""

from __future__ import annotations

import base64
import datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from regard.config import Settings, parse, read_toml
from regard.errors import ModelFileError, UsageError

CARD = "card.toml"
EXAMPLE = "example"  # the stem of a file beside the card: a picture or a sound as the question
_MEDIA = {".png": "image/png", ".wav": "audio/wav"}
OWN = "small"  # this project's own small test: nobody else's scores can be compared with it

Words = Annotated[str, Field(min_length=1)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]


class Source(Settings):
    """Something the model learned from."""

    name: Words
    licence: Words
    examples: int = 0  # not counted
    url: str = ""


class Score(Settings):
    """A number with how it was made; `direction` is `en-fr`, or empty where there is none."""

    test: Words
    metric: Words
    value: float
    signature: Words
    direction: str = ""


class Answer(Settings):
    """An answer that went wrong, kept so that a reader knows what to expect."""

    source: Words
    answer: Words
    wrong: Words  # what is wrong with it
    direction: str = ""


class Look(Settings):
    """Where the model's attention reads as an alignment: a site, and its heads (none: the mean of all)."""

    site: Words
    heads: tuple[int, ...] = ()


class Card(Settings):
    """What a model is, what it learned from, how good it is, and where it is weak."""

    name: Words
    title: Words
    task: Words
    languages: tuple[Language, ...]
    directions: tuple[str, ...] = ()
    licence: Words
    date: datetime.date
    parameters: int
    weights: Words
    command: Words
    example: Words
    limits: tuple[Words, ...]
    sources: tuple[Source, ...]
    scores: tuple[Score, ...]
    worst: tuple[Answer, ...] = ()  # of a hundred that were read
    look: Look | None = None
    # Of files beside the card: model.safetensors, tokenizer.json.
    sha256: dict[str, Hash] = Field(default_factory=dict)

    @property
    def is_shown(self) -> bool:
        """Whether its example is a file beside the card, and no text."""
        path = Path(self.example)
        return path.stem == EXAMPLE and path.suffix in _MEDIA and path.name == self.example

    def question(self, folder: Path) -> str:
        """The example as a question: its text; of a picture or a sound in the card's folder, a data URL."""
        if not self.is_shown:
            return self.example
        path = folder / self.example
        try:
            content = base64.b64encode(path.read_bytes()).decode("ascii")
        except OSError:
            what, remedy = "the example of this model is gone", "put its folder back as it was"
            raise ModelFileError(what, str(path), remedy) from None
        return f"data:{_MEDIA[path.suffix]};base64,{content}"

    def foremost(self) -> list[Score]:
        """The first score of each direction, of a test that others know where there is one."""
        known = [score for score in self.scores if score.test != OWN] or self.scores
        return list({score.direction: score for score in reversed(known)}.values())[::-1]


def read(folder: Path) -> Card | None:
    """The card that lies in a folder, if one does."""
    path = folder / CARD
    if not path.is_file():
        return None
    about = path.stat()
    return _parsed(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=64)
def _parsed(path: Path, _changed: int, _size: int) -> Card:
    """The same file is checked once: to choose a model, and for the hashes of each of its files."""
    try:
        return parse(Card, read_toml(path), where=str(path))
    except UsageError as fault:
        raise ModelFileError(fault.what[:500], str(path), fault.remedy) from None


def stated_hash(path: Path) -> str | None:
    """The SHA-256 that the card beside a file states for it, if there is a card and it states one."""
    card = read(path.parent)
    return None if card is None else card.sha256.get(path.name)


def size(folder: Path) -> int:
    """The bytes of a model's files."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
