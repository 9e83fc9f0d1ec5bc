"""The lectures' worked examples, with the reader's own numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from regard.errors import nearest
from regard.studio import schema
from regard.studio.refusal import Refusal, as_json
from regard.studio.schema import LessonAsked
from regard.studio.state import Studio, warm_studio

router = APIRouter(prefix="/api/lessons", tags=["lessons"])
Here = Annotated[Studio, Depends(warm_studio)]


@router.get("", response_model=list[schema.Lesson], summary="All lessons, in the lectures' order")
def lessons(studio: Here) -> Response:
    """Each with its inputs and the lecture's numbers for them."""
    del studio
    from regard.worked import EXAMPLES

    return as_json([{"name": name, **example.as_dict()} for name, example in EXAMPLES.items()])


@router.post("/{name}", summary="Work one out")
async def lesson(name: str, asked: LessonAsked, request: Request, studio: Here) -> Response:
    """Every step with its formula and numbers, and the slips of the slide; by default, as it was taught."""
    from regard.worked import EXAMPLES

    if name not in EXAMPLES:
        raise Refusal(404, "there is no such lesson", "name", nearest(name, EXAMPLES))
    example = EXAMPLES[name]
    inputs = check_inputs(asked.inputs, example.inputs)

    def work() -> dict[str, Any]:
        from torch.linalg import LinAlgError  # type: ignore[attr-defined]

        try:
            return example.work(**inputs).as_dict()
        except (ArithmeticError, LookupError, TypeError, LinAlgError) as fault:
            raise Refusal(422, "these numbers do not fit together", "inputs") from fault

    return as_json(await studio.queue.do(work, request))


# A reader's own numbers for a worked example: of the kind and about the size of the lecture's.

ROOM = 64  # what any list may hold, and any count may be, at least
LARGEST = 1e9
LONGEST_WORD = 80
MOST = 4_096  # values in all


def check_inputs(given: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs, each like its usual value; only sizes may differ, and those not by much."""
    from regard.worked.worked_example import tuples

    for name in given:
        if name not in usual:
            raise Refusal(422, "this lesson has no such input", "inputs", nearest(name, usual))
    counted = sum(_check(name, value, usual[name]) for name, value in given.items())
    if counted > MOST:
        raise Refusal(422, f"these are {counted:,} values; the limit is {MOST:,}", "inputs")
    return {name: tuples(value) for name, value in given.items()}


def _check(name: str, value: Any, usual: Any) -> int:
    """How many values there are, when all are of the kind of the usual one."""
    match usual, value:
        case bool(), bool():
            return 1
        case int(), int() if not isinstance(value, bool):
            most = 2**31 if name == "seed" else max(ROOM, 2 * abs(usual))
            return _fits(name, value, most)
        case float(), int() | float() if not isinstance(value, bool):
            return _fits(name, value, LARGEST)
        case str(), str() if len(value) <= max(LONGEST_WORD, 2 * len(usual)):
            return 1
        case list(), list():
            _fits(name, len(value), max(ROOM, 2 * len(usual)))
            like = _likest(usual)
            return sum(_check(name, one, like) for one in value)
        case dict(), dict():
            _fits(name, len(value), max(ROOM, 2 * len(usual)))
            if any(len(key) > LONGEST_WORD for key in value):
                raise _unlike(name)
            like = _likest(list(usual.values()))
            return sum(_check(name, one, like) for one in value.values())
    raise _unlike(name)


def _likest(usual: list[Any]) -> Any:
    """What one of a list is like: its largest number, or the one inside that says most about the others."""
    if all(isinstance(one, int | float) for one in usual):
        largest = max(map(abs, usual))
        return float(largest) if _has_parts(usual) else largest
    return max(usual, key=lambda one: (_has_parts(one), len(one)))


def _has_parts(value: Any) -> bool:
    """Whether any number inside is more than a count."""
    inside = value.values() if isinstance(value, dict) else value
    return isinstance(value, float) or (
        isinstance(value, list | dict) and any(_has_parts(one) for one in inside)
    )


def _fits(name: str, value: int | float, most: int | float) -> int:
    if not math.isfinite(value) or abs(value) > most:
        raise Refusal(422, f"a number or a length is above the limit of {most:g}", f"inputs.{name}")
    return 1


def _unlike(name: str) -> Refusal:
    return Refusal(
        422,
        "this is not of the kind of the lesson's own value",
        f"inputs.{name}",
        "GET /api/lessons",
    )
