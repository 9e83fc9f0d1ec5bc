"""What is asked in Python, checked: texts are strings, and a pointer's `[0.3, 0.1]` is the text `0.3 0.1`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from regard.errors import UsageError, kind_of
from regard.question import SOURCE, Question

Asked: TypeAlias = str | Mapping[str, Any]  # a question, or what `Question` makes one of
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
    rows = _several(_plain(problems), "problems", remedy)
    try:
        if rows and all(_is_item(row, features) for row in rows):
            return _written(rows)
        return [row if isinstance(row, str) else _written(row) for row in rows]
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


def _plain(value: Any) -> Any:
    """Arrays, tensors and tables as lists, however deep they lie."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if hasattr(value, "tolist"):
        return value.tolist()
    is_nested = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    return [_plain(one) for one in value] if is_nested else value


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


def _written(items: Sequence[Any]) -> str:
    return Question({SOURCE: items})
