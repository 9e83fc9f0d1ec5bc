"""What a model is asked: sources by name, each a text, an image, a sound, or a list of items.

A question is a string, so that it can be typed, sent and kept everywhere: one text is that text, so that a
plain `str` is its shorthand; one list of items is `0.3,0.1 0.5,0.9`; several sources are one JSON object.

>>> Question("two dogs run").sources
{'source': 'two dogs run'}
>>> Question({"word": "top", "picture": Image("cells.png")})
Question('{"word": "top", "picture": {"image": "cells.png"}}')
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

from regard.errors import ModelFileError, UsageError, kind_of
from regard.strict_json import loads

if TYPE_CHECKING:
    import numpy as np

SOURCE = "source"  # the name of the one source that most questions have


@final
@dataclass(frozen=True, eq=False)
class Image:
    """A picture: the path of its file, or its numbers as an array or nested lists."""

    data: Any

    @property
    def array(self) -> np.ndarray:
        """Its numbers, where they are given and not a path."""
        return _array(self.data, "image")


@final
@dataclass(frozen=True, eq=False)
class Sound:
    """A sound: the path of its file, or its samples, `rate` of them a second."""

    data: Any
    rate: int | None = None

    @property
    def array(self) -> np.ndarray:
        """Its samples, where they are given and not a path."""
        return _array(self.data, "sound")


Items: TypeAlias = tuple[tuple[float, ...], ...]
Source: TypeAlias = str | Image | Sound | Items


@final
class Question(str):
    """Sources by name; its string says all of it, and `read` makes the question of that string again."""

    __slots__ = ("sources",)
    sources: dict[str, Source]

    def __new__(cls, asked: str | Mapping[str, Any]) -> Question:
        """One text, or sources by name; an array stands for its list of items."""
        named = {SOURCE: str(asked)} if isinstance(asked, str) else asked
        if not isinstance(named, Mapping) or not named:
            raise _refused(f"a question cannot be {kind_of(asked)}", "question")
        sources = {str(name): _source(value, str(name)) for name, value in named.items()}
        self = super().__new__(cls, _written(sources))
        self.sources = sources
        return self

    @classmethod
    def read(cls, asked: str, names: Sequence[str] = (SOURCE,)) -> Question:
        """A question of these sources from its string; where there is one source, any string is its text."""
        if isinstance(asked, Question):
            found = asked
        else:
            found = cls(asked if tuple(names) == (SOURCE,) else _parsed(asked, names))
        if set(found.sources) != set(names):
            given = ", ".join(found.sources)
            raise _refused(
                f"this model reads {', '.join(names)}, and was given {given}", "question"
            )
        return found

    def __repr__(self) -> str:
        return f"Question({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Question, (self.sources,)


def _parsed(asked: str, names: Sequence[str]) -> dict[str, Any]:
    """The JSON object that a string is; each source of it as it was before."""
    try:
        tree = loads(asked, where="question")
    except ModelFileError as fault:
        tree = None
        why = fault.what
    else:
        why = "this is no JSON object"
    if not isinstance(tree, dict):
        example = ", ".join(f'"{name}": ..' for name in names)
        what = f"a question of several sources is a JSON object: {why}"
        raise UsageError(what, where="question", remedy=f"write {{{example}}}")
    return tree


def _source(value: Any, name: str) -> Source:
    match value:
        case str() | Image() | Sound():
            return value
        case {"image": data}:
            return Image(data)
        case {"sound": data}:
            return Sound(data, value.get("rate"))
    try:
        rows = value.tolist() if hasattr(value, "tolist") else value
        return tuple(
            tuple(map(float, row)) if isinstance(row, Sequence) else (float(row),) for row in rows
        )
    except (TypeError, ValueError):
        raise _refused(f"'{name}' cannot be {kind_of(value)}", f"question, {name}") from None


def _written(sources: Mapping[str, Source]) -> str:
    """One text as it is, one list of items by its numbers, and anything else as JSON."""
    only = sources.get(SOURCE) if len(sources) == 1 else None
    if isinstance(only, str):
        return only
    if isinstance(only, tuple):
        return " ".join(",".join(map(repr, item)) for item in only)
    return json.dumps({name: _plain(source) for name, source in sources.items()}, allow_nan=False)


def _plain(source: Source) -> Any:
    if not isinstance(source, Image | Sound):
        return source
    data = source.data.tolist() if hasattr(source.data, "tolist") else source.data
    if isinstance(source, Image):
        return {"image": data}
    return {"sound": data} if source.rate is None else {"sound": data, "rate": source.rate}


def _array(data: Any, kind: str) -> np.ndarray:
    import numpy as np

    if isinstance(data, str):
        raise _refused(f"this {kind} is a path, {data[:60]!r}, and no file was read", "question")
    return np.asarray(data, np.float32)


def _refused(what: str, where: str) -> UsageError:
    remedy = "give a text, an Image, a Sound, or a list of items, each by the name of its source"
    return UsageError(what, where=where, remedy=remedy)
