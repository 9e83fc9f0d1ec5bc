"""The lectures' worked examples, with the reader's own numbers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from regard.errors import nearest
from regard.studio import schema
from regard.studio.lesson import check_inputs
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
