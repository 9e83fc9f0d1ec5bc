"""JSON from a file we did not just write: read strictly, or refused at once, never half believed.

The language is the same; what goes is everything two readers could understand differently
(duplicate keys, NaN, lone surrogates) and everything that only serves to hurt (size, depth, digits).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

from regard.errors import ModelFileError

MAX_BYTES = 64 * 2**20
MAX_VALUES = (
    1 << 20
)  # an empty list takes 3 bytes of a file and 64 of memory: so they are counted first
MAX_DIGITS = 40  # a 128-bit counter has 39
_LONG = re.compile(rf"\d{{{MAX_DIGITS + 1}}}")
# Whole, or to the end where it has none, so that time grows with the text and no faster.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)


def loads(
    text: str | bytes,
    *,
    max_bytes: int = MAX_BYTES,
    max_depth: int = 32,
    max_values: int = MAX_VALUES,
    where: str = "JSON",
) -> Any:
    """The value this text stands for, or a `ModelFileError` that says where it goes wrong.

    Time and memory grow with the text and no faster; `max_values` counts lists, objects and what is in them.
    """
    size = len(text) if isinstance(text, bytes) or text.isascii() else _size(text, where)
    if size > max_bytes:
        _refuse(f"this JSON has {size:,} bytes, more than the {max_bytes:,} allowed", where)
    try:
        source = text.decode("utf-8") if isinstance(text, bytes) else text
        if _count(source) > max_values and _count(_STRING.sub("", source)) > max_values:
            _refuse(f"this JSON has more than {max_values:,} values", where)
        value = json.loads(
            source,
            object_pairs_hook=_object,
            parse_int=_integer if _LONG.search(source) else None,  # reads ints several times faster
            parse_float=_number,
            parse_constant=_number,
        )
    except UnicodeDecodeError as fault:
        _refuse(f"this JSON is not UTF-8 at byte {fault.start}", where)
    except json.JSONDecodeError as fault:
        place = f"{where}, line {fault.lineno}, column {fault.colno}"
        _refuse(f"this is not JSON: {fault.msg}", place)
    except RecursionError:
        _refuse(f"this JSON is nested deeper than {max_depth} levels", where)
    except _RefusedError as fault:
        _refuse(str(fault), where)
    if is_deeper(value, max_depth):
        _refuse(f"this JSON is nested deeper than {max_depth} levels", where)
    if "\\u" in source and _has_surrogate(value):
        _refuse("this JSON has half a character (a lone surrogate)", where)
    return value


class _RefusedError(Exception):
    """What a hook of the parser found; `loads` adds where."""


def _refuse(what: str, where: str) -> NoReturn:
    raise ModelFileError(
        what, where=where, remedy="the file is damaged or foreign; get it again from its source"
    ) from None


def _count(text: str) -> int:
    """At least as many as there are values, and twice as many at most."""
    return 1 + sum(map(text.count, "[{,"))


def _size(text: str, where: str) -> int:
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError:
        _refuse("this JSON has half a character (a lone surrogate)", where)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise _RefusedError(f"the key {twice[:60]!r} appears twice")
    return result


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _RefusedError(f"a whole number has {len(digits):,} digits")
    return int(digits)


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _RefusedError(f"{digits[:60]} is not a finite number")
    return number


def is_deeper(value: Any, most: int) -> bool:
    """Whether lists and objects are nested deeper; level by level, so that the check needs no stack."""
    level = [value]
    for _ in range(most):
        level = [
            child
            for node in level
            if isinstance(node, (list, dict))
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, (list, dict))
        ]
        if not level:
            return False
    return True


def _has_surrogate(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
