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
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeAlias, final

from regard.errors import ModelFileError, UsageError, kind_of
from regard.strict_json import loads

if TYPE_CHECKING:
    import numpy as np


SOURCE = "source"  # the name of the one source that most questions have
SPELLED = "spell:"  # a sound that is made, not read: `spell:WORD/NUMBER`
_HELD = re.compile(
    r"data:(image|audio)/[^,\s\"]*,[A-Za-z0-9+/=]*"
)  # a picture or a sound as a data URL


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


class _Told(type):
    """`help` tells what a question adds, not all that Python says of a string."""

    def __dir__(cls) -> list[str]:
        return sorted(set(type.__dir__(cls)) - set(dir(str)) | set(vars(cls)))


@final
class Question(str, metaclass=_Told):
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
    def read(
        cls, asked: str, names: Sequence[str] = (SOURCE,), *, partial: bool = False
    ) -> Question:
        """A question of these sources from its string; where there is one source, any string is its text.

        With `partial` some of the sources may be missing, or null.
        """
        if isinstance(asked, Question):
            question = asked
        else:
            question = cls(asked if tuple(names) == (SOURCE,) else _parsed(asked, names))
        missing = set(names) - set(question.sources)
        if set(question.sources) - set(names) or (missing and not partial):
            given = ", ".join(question.sources)
            raise _refused(
                f"this model reads {', '.join(names)}, and was given {given}", "question"
            )
        return question

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
    sources = {name: value for name, value in tree.items() if value is not None}
    if not sources:
        raise _refused(
            f"a question has at least one of its sources: {', '.join(names)}", "question"
        )
    return sources


def _source(value: Any, name: str) -> Source:
    match value:
        case str() | Image() | Sound():
            return value
        case PurePath():
            return str(value)
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


def named_files(sources: Iterable[Any]) -> tuple[str, ...]:
    """The paths among pictures and sounds; one that is its own data, or is to be spelled, has none."""
    data = [one.data for one in sources if isinstance(one, Image | Sound)]
    held = ("data:", SPELLED)
    return tuple(one for one in data if isinstance(one, str) and not one.startswith(held))


def titled(question: str, names: Collection[str] = ()) -> str:
    """A question as a title: a picture or a sound that it holds is named, not spelled.

    Several sources, if these are their names, stand one after the other: `en: a dog; picture: dog.png`.
    """
    kinds = {"image": "(picture)", "audio": "(sound)"}
    several = _several_of(question, names)
    if several is not None:
        question = "; ".join(f"{name}: {_in_title(one)}" for name, one in several.items())
    return _HELD.sub(lambda held: kinds[held[1]], str(question))


def _several_of(question: str, names: Collection[str]) -> Mapping[str, Any] | None:
    """The sources of a question in JSON, if these are their names."""
    if not names or not question.startswith("{"):
        return None
    with suppress(ModelFileError):
        tree = loads(question, where="question")
        if isinstance(tree, dict) and tree and set(tree) <= set(names):
            return tree
    return None


def _in_title(source: Any) -> str:
    """A text as it is, a file by its name."""
    named = (source.get(kind) for kind in ("image", "sound")) if isinstance(source, dict) else ()
    path = next((one for one in named if isinstance(one, str)), None)
    if path is not None:
        return path if path.startswith(("data:", SPELLED)) else PurePath(path).name
    return source if isinstance(source, str) else "(numbers)"


# What is asked in Python, checked: texts are strings, and a pointer's `[0.3, 0.1]` is the text `0.3 0.1`.

# A text, sources by name, or what a verb takes: a path, an array, what Pillow opened. Tasks check it.
Asked: TypeAlias = Any
Problem: TypeAlias = Sequence[float] | Sequence[Sequence[float]]


def listed(texts: Any) -> list[str]:
    """One question or several as a list; a cell of a table that is no text is named by its place."""
    if isinstance(texts, str | Mapping):
        return [single(texts)]
    several = _several(texts, "texts", "give a string, or a list of strings")
    for place, text in enumerate(several):
        if not isinstance(text, str | Mapping):
            raise UsageError(
                f"text {place + 1:,} is {_named(text)}, not a string",
                where=f"texts[{place}]",
                remedy="give a string, or a list of strings",
            )
    return [single(text) for text in several]


def single(text: Any) -> str:
    """One question: a string, or sources by name."""
    if isinstance(text, str):
        return text
    if isinstance(text, Mapping):
        return Question(text)
    what = f"one text is looked into at a time, and this is {_named(text)}"
    raise UsageError(what, where="text", remedy="give a string")


def written(problems: Any, features: int) -> str | list[str]:
    """Problems as text; how deep the lists are says whether it is one problem or several.

    So does the shape of an array: (items, features), or (problems, items, features).
    """
    if isinstance(problems, str):
        return problems
    _refuse_unclear(problems, features)
    remedy = f"give a list of {'numbers' if features == 1 else 'points'}, or a list of such lists"
    rows = _several(_as_lists(problems), "problems", remedy)
    try:
        if rows and all(_is_item(row, features) for row in rows):
            return _items_text(rows)
        return [row if isinstance(row, str) else _items_text(row) for row in rows]
    except (TypeError, ValueError):
        what = f"no problem for a model whose items have {features:,} numbers each: {rows!r:.60}"
        raise UsageError(what, where="problems", remedy=remedy) from None


def _several(values: Any, where: str, remedy: str) -> list[Any]:
    """What can be gone through one by one, and means that: no table, and no bytes, which are numbers."""
    flat = getattr(values, "ndim", 1) == 1 and not isinstance(values, bytes | bytearray | Mapping)
    if not flat or not isinstance(values, Iterable):
        raise UsageError(f"{where} cannot be {_named(values)}", where=where, remedy=remedy)
    return list(values)


def _named(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return kind_of(value) if shape is None else f"{kind_of(value)} of shape {tuple(shape)}"


def _as_lists(value: Any) -> Any:
    """Arrays, tensors and tables as lists, however deep they lie."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if hasattr(value, "tolist"):
        return value.tolist()
    is_nested = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return [_as_lists(one) for one in value] if is_nested else value


def _refuse_unclear(problems: Any, features: int) -> None:
    """A column of numbers is one problem to some and many to others."""
    shape = tuple(getattr(problems, "shape", ()))
    if features == 1 and len(shape) == 2 and shape[1] == 1:
        raise UsageError(
            f"a column of {shape[0]:,} numbers is one problem, or {shape[0]:,} of one number each",
            where="problems",
            remedy=f"one: .reshape({shape[0]}); several: .reshape({shape[0]}, 1, 1)",
        )


def _is_item(row: Any, features: int) -> bool:
    """A number; where items have several numbers, a few of them."""
    if features == 1:
        return not isinstance(row, Sequence)
    return isinstance(row, Sequence) and not any(isinstance(part, Sequence) for part in row)


def _items_text(items: Sequence[Any]) -> str:
    return Question({SOURCE: items})
