"""Study a model: what each of its heads does, and whether it tells the meanings of a word apart.

A study takes seconds to a minute. Each of its steps, one text, waits its turn like any question, so that
others are answered in between; anyone who closes the connection ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response, StreamingResponse

from regard.errors import RegardError
from regard.studio import schema
from regard.studio.checks import check_cost, check_files
from regard.studio.refusal import Refusal, as_json
from regard.studio.routes_answer import STREAM, brought, json_line, loaded, streamed
from regard.studio.schema import HeadsAsked, SensesAsked
from regard.studio.state import Studio, warm_studio

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor
    from regard.traces.head_roles import Head
    from regard.traces.head_survey import Steps
    from regard.traces.senses import Senses

T = TypeVar("T")
router = APIRouter(prefix="/api", tags=["study"])
Here = Annotated[Studio, Depends(warm_studio)]


@router.post(
    "/heads", response_class=StreamingResponse, responses=STREAM, summary="What every head does"
)
async def heads(asked: HeadsAsked, request: Request, studio: Here) -> Response:
    """Measure every head over sentences, beside two controls, and name its role by published rules.

    Lines of kind `progress` say how many texts have been read (`done`) and how many there are (`total`); the
    last, `found`, has every head; `failed` says why there is none. What was found is kept for a while.
    """
    from regard.answer import studies

    if studio.shelf.is_brought(asked.run):
        return await _brought_heads(asked, request, studio)
    predictor = await loaded(studio, asked.run, request)
    check_files(predictor, *(asked.sentences or ()))
    await asyncio.to_thread(_check, predictor, asked.sentences, studio)
    if asked.sentences is None:
        sentences = await asyncio.to_thread(studies.own_sentences, predictor)
    else:
        sentences = [studies.sentence_of(predictor, text) for text in asked.sentences]
    kept = studies.fit_to_judge(sentences, most=studio.limits.sentences)
    about = {
        "sentences": len(kept),
        "left_out": len(sentences) - len(kept),
        "to": _direction(predictor, asked.to),
        "own": "typed" if asked.sentences else studies.whose(predictor),
    }

    def told(heads: Sequence[Head]) -> dict[str, Any]:
        return {**heads_about(heads), **about}

    return await _study(asked, studies.head_steps(predictor, kept, asked.to), told, request, studio)


@router.get("/senses", response_model=schema.SensesShipped, summary="Words with sentences")
def shipped(_studio: Here) -> Response:
    """Words of several meanings, with the sentences that come with regard for them."""
    from regard.traces.examples import SENSES

    words = {
        word: {sense: list(some) for sense, some in senses.items()}
        for word, senses in SENSES.items()
    }
    return as_json({"words": words})


@router.post(
    "/senses", response_class=StreamingResponse, responses=STREAM, summary="A word in context"
)
async def senses(asked: SensesAsked, request: Request, studio: Here) -> Response:
    """Every occurrence of a word: its state behind each layer, on a map, with its nearest neighbours.

    Streamed as `POST /api/heads` is. Without `sentences`, those of `GET /api/senses`.
    """
    from regard.answer.studies import sense_steps, texts_of

    word = asked.word.strip()
    texts = texts_of(word, asked.sentences)
    if studio.shelf.is_brought(asked.run):
        from regard.interop.studied import refuse_language, sense_steps_of

        refuse_language(asked.to)
        model = await brought(studio, asked.run, request)
        found = sense_steps_of(model, word, texts, most=studio.limits.sentences)
        return await _study(asked, found, lambda s: {**senses_about(s), "to": ""}, request, studio)
    predictor = await loaded(studio, asked.run, request)
    check_files(predictor, *(asked.sentences or ()))
    await asyncio.to_thread(_check, predictor, asked.sentences, studio)
    steps = sense_steps(predictor, word, texts, asked.to, most=studio.limits.sentences)
    to = _direction(predictor, asked.to)
    return await _study(
        asked, steps, lambda found: {**senses_about(found), "to": to}, request, studio
    )


async def _brought_heads(asked: HeadsAsked, request: Request, studio: Studio) -> Response:
    """The heads of a model of Hugging Face's, over the sentences typed, or regard's own."""
    from regard.answer.studies import fit_to_judge
    from regard.interop.studied import brought_look, refuse_language
    from regard.traces.examples import SENTENCES
    from regard.traces.head_survey import Sentence, surveying

    refuse_language(asked.to)
    sentences = [Sentence.of(text) for text in asked.sentences or SENTENCES]
    kept = fit_to_judge(sentences, most=studio.limits.sentences)
    about = {
        "sentences": len(kept),
        "left_out": len(sentences) - len(kept),
        "to": "",
        "own": "typed" if asked.sentences else "regard",
    }
    model = await brought(studio, asked.run, request)
    steps = surveying(brought_look(model), kept)
    return await _study(asked, steps, lambda f: {**heads_about(f), **about}, request, studio)


async def _study(
    asked: HeadsAsked,
    steps: Steps[T],
    told: Callable[[T], dict[str, Any]],
    request: Request,
    studio: Studio,
) -> Response:
    """The stream of a study, or what it came to before."""
    key = (type(asked).__name__, studio.shelf.stamp(asked.run), asked.model_dump_json())
    known = studio.studies.get(key)
    if known is not None:
        return streamed(_only(json_line("found", known)))

    async def lines() -> AsyncIterator[bytes]:
        kind, entry = "progress", dict[str, Any]()
        try:
            while kind == "progress":
                if studio.draining:
                    raise Refusal(503, "the studio is stopping")
                kind, entry = await studio.queue.do(
                    lambda: _next(steps, told), request, patient=True
                )
                if kind == "found":
                    studio.keep(key, entry)
                yield json_line(kind, entry)
        except (Refusal, RegardError) as fault:
            refusal = fault if isinstance(fault, Refusal) else Refusal.of(fault)
            yield json_line("failed", refusal.as_dict())

    return streamed(lines())


async def _only(line: bytes) -> AsyncIterator[bytes]:
    yield line


def _next(steps: Steps[T], told: Callable[[T], dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """One more step; the thread of the model takes it."""
    try:
        done, total = next(steps)
    except StopIteration as end:
        return "found", told(end.value)
    return "progress", {"done": done, "total": total}


def heads_about(found: Sequence[Head]) -> dict[str, Any]:
    """Every head, and the measures that anything was counted for."""
    from regard.traces.head_names import MEASURES

    heads = [
        {
            "path": head.path,
            "kind": head.kind,
            "layer": head.layer,
            "head": head.head,
            "keys": head.keys,
            "roles": [{"name": role.name, "value": role.value} for role in head.roles],
            "measures": {name: head.measures.get(name) for name in MEASURES},
            "random": {name: head.random.get(name) for name in MEASURES},
            "shuffled": {name: head.shuffled.get(name) for name in MEASURES},
        }
        for head in found
    ]
    counted = [name for name in MEASURES if any(h.measures.get(name) is not None for h in found)]
    return {"heads": heads, "measures": counted}


def senses_about(senses: Sequence[Senses]) -> dict[str, Any]:
    """Every occurrence once, and what differs from layer to layer."""
    entries = [one.as_dict() for one in senses]
    first = entries[0]
    shared = ("text", "span", "sense", "label")
    return {
        "word": first["word"],
        "static_score": first["static_score"],
        "occurrences": [
            {**{name: one[name] for name in shared}, "static": one["static_map"]}
            for one in first["occurrences"]
        ],
        "layers": [
            {
                "map": [one["map"] for one in layer["occurrences"]],
                "groups": [one["cluster"] for one in layer["occurrences"]],
                "neighbours": [one["neighbours"] for one in layer["occurrences"]],
                "score": layer["score"],
            }
            for layer in entries
        ],
    }


def _check(predictor: Predictor, sentences: Sequence[str] | None, studio: Studio) -> None:
    for text in sentences or ():
        check_cost(predictor, text, predictor.run.settings.decode, studio.limits)


def _direction(predictor: Predictor, to: str | None) -> str:
    from regard.answer.studies import first_direction

    return to or first_direction(predictor) or ""
