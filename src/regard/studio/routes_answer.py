"""Ask a model: one text as a whole, or running text sentence by sentence, each answer sent as it comes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response, StreamingResponse

from regard.errors import RegardError
from regard.studio import schema
from regard.studio.brought import check_brought
from regard.studio.checks import check_cost, check_files, check_goal, goal_of, symbols_of
from regard.studio.refusal import Refusal, as_json
from regard.studio.schema import AnswerAsked, TraceAsked
from regard.studio.state import Studio, warm_studio

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor
    from regard.decode import DecodeSettings
    from regard.interop.bring import Brought

router = APIRouter(prefix="/api", tags=["trace"])
Here = Annotated[Studio, Depends(warm_studio)]
LINES = "application/x-ndjson"
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {LINES: {}}, "description": "A JSON object a line, as each is ready"}
}


@router.post("/trace", response_model=schema.TraceAbout, summary="Answer a text and look inside")
async def ask(asked: TraceAsked, request: Request, studio: Here) -> Response:
    """Search for the answer, replay it under observation, and keep everything under an `id` for a while.

    The text is read as a whole. The matrices are not in here: ask for them by `id`, the `index` of a site,
    and a head. With many waiting already this is refused at once with 429.
    """
    work = await _work(asked, request, studio)
    whole = await asyncio.to_thread(work.whole)
    return as_json(await studio.queue.do(lambda: work.answered(whole.parts[0].text), request))


@router.post(
    "/answer", response_class=StreamingResponse, responses=STREAM, summary="Answer, streamed"
)
async def answer(asked: AnswerAsked, request: Request, studio: Here) -> Response:
    """Answer a text of any length sentence by sentence, and send each answer as soon as it is there.

    The first line, of kind `parts`, lists the sentences; a line of kind `answered` has the number of its
    `part` and its `trace`, as `POST /api/trace` gives it; `failed` says why one has none; the last line,
    `finished`, has the whole answer. Anyone who closes the connection ends the work.
    """
    work = await _work(asked, request, studio)
    passage = await asyncio.to_thread(work.passage, asked.split)
    return streamed(_answers(work, passage, request))


def streamed(lines: AsyncIterator[bytes]) -> Response:
    """Lines of JSON, each sent as it comes."""
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(lines, headers=headers, media_type=LINES)


async def _answers(
    work: _Work | _Brought, passage: _Passage, request: Request
) -> AsyncIterator[bytes]:
    studio = work.studio
    yield json_line("parts", passage.as_dict())
    texts = [part.text for part in passage.parts]
    for place, part in enumerate(passage.parts):
        if not part.asked:
            continue
        do = partial(work.answered, part.text, passage.to)
        try:
            if studio.draining:
                raise Refusal(503, "the studio is stopping")
            found = await studio.queue.do(do, request, patient=True)
        except (Refusal, RegardError) as fault:
            refusal = fault if isinstance(fault, Refusal) else Refusal.of(fault)
            yield json_line("failed", {"part": place, **refusal.as_dict()})
            if refusal.status in (499, 503):  # nobody listens, or nobody answers any more
                return
        else:
            texts[place] = found["answer"]["text"]
            yield json_line("answered", {"part": place, "trace": found})
    yield json_line("finished", {"text": passage.woven(texts)})


@final
@dataclass(frozen=True)
class _Part:
    """What the model reads at once; one that says nothing to it is not asked, and stands as it is."""

    text: str
    asked: bool
    span: tuple[int, int]


@final
@dataclass(frozen=True)
class _Passage:
    """A text in parts, the language to translate it into, and how many sentences it could be cut into."""

    text: str
    parts: tuple[_Part, ...]
    to: str | None
    sentences: int

    @classmethod
    def whole(cls, text: str, to: str | None, sentences: int = 1) -> _Passage:
        """All of a text as one part."""
        return cls(text, (_Part(text, True, (0, len(text))),), to, max(1, sentences))

    def as_dict(self) -> dict[str, Any]:
        """The first line of the stream."""
        parts = [{"text": part.text, "asked": part.asked} for part in self.parts]
        return {"parts": parts, "sentences": self.sentences}

    def woven(self, said: list[str]) -> str:
        """The text with each part's answer in its place."""
        from regard.text.sentences import weave

        return weave(self.text, [part.span for part in self.parts], said)


@final
@dataclass(frozen=True)
class _Work:
    """A question and the model it goes to. All that costs time runs in threads, never in the event loop."""

    predictor: Predictor
    asked: TraceAsked
    settings: DecodeSettings
    studio: Studio

    def whole(self) -> _Passage:
        """The text as one part; a costly one is refused before it waits."""
        to = goal_of(self.predictor, self.asked.text, self.asked.to)
        check_cost(self.predictor, self.asked.text, self.settings, self.studio.limits)
        return _Passage.whole(self.asked.text, to)

    def passage(self, split: bool | None) -> _Passage:
        """The sentences of the text, where the model reads sentence by sentence; else all of it as one."""
        text, passages = self.asked.text, self.predictor.passages
        if passages is None:
            return self.whole()
        check_goal(self.predictor, text)
        bare, to = passages.bare(text), goal_of(self.predictor, text, self.asked.to)
        sentences = passages.parts(bare, to)
        split = bool(passages.languages) if split is None else split
        if not split or len(sentences) < 2:
            return replace(self.whole(), sentences=max(1, len(sentences)))
        if self.asked.prefix:
            remedy = "send that sentence alone"
            raise Refusal(422, "the first symbols are those of one sentence", "prefix", remedy)
        parts = tuple(
            _Part(bare[slice(*part.span)], bool(part.read), part.span) for part in sentences
        )
        for part in parts:
            if part.asked:
                check_cost(self.predictor, part.text, self.settings, self.studio.limits)
        return _Passage(bare, parts, passages.target(text, to), len(parts))

    def answered(self, text: str, to: str | None = None) -> dict[str, Any]:
        """The trace of one text, kept, as the page hears of it; the thread of the model does this."""
        from regard.answer.tracing import trace
        from regard.traces.overview import overview

        predictor, asked = self.predictor, self.asked
        check_goal(predictor, text)
        to = to or goal_of(predictor, asked.text, asked.to)
        prefix = symbols_of(predictor, asked.prefix)
        seen = trace(predictor, text, self.settings, prefix=prefix, to=to)
        return {"id": self.studio.traces.add(seen), **overview(seen)}


@final
@dataclass(frozen=True)
class _Brought:
    """A question to a model of Hugging Face's, which reads it as a whole and answers as it does."""

    brought: Brought
    asked: TraceAsked
    studio: Studio

    def whole(self) -> _Passage:
        """The text as one part; a costly one is refused before it waits."""
        check_brought(self.brought, self.asked, self.studio.limits)
        return _Passage.whole(self.asked.text, None)

    def passage(self, split: bool | None) -> _Passage:
        """The same: where its sentences end, it does not say."""
        del split
        return self.whole()

    def answered(self, text: str, to: str | None = None) -> dict[str, Any]:
        """The trace of one text, kept, as the page hears of it; the thread of the model does this."""
        from regard.traces.overview import overview

        del to
        most = self.asked.max_length
        most = most if most is None else min(most, self.studio.limits.written)
        seen = self.brought.trace(text, beam=self.asked.beam, most=most)
        return {"id": self.studio.traces.add(seen), **overview(seen)}


async def _work(asked: TraceAsked, request: Request, studio: Studio) -> _Work | _Brought:
    if studio.shelf.is_brought(asked.run):
        return _Brought(await brought(studio, asked.run, request), asked, studio)
    predictor = await loaded(studio, asked.run, request)
    check_files(predictor, asked.text)
    return _Work(predictor, asked, _settings(predictor, asked, studio.limits.written), studio)


async def loaded(studio: Studio, run: str, request: Request) -> Predictor:
    """The model of a run, loaded if need be."""
    predictor = studio.shelf.loaded(run)
    if predictor is None:
        predictor = await studio.queue.do(lambda: studio.shelf.predictor(run), request)
    return predictor


async def brought(studio: Studio, run: str, request: Request) -> Brought:
    """A model of Hugging Face's, opened if need be."""
    return await studio.queue.do(lambda: studio.shelf.brought(run), request)


def json_line(kind: str, entry: Mapping[str, Any]) -> bytes:
    """One line of a stream."""
    return json.dumps({"kind": kind, **entry}, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _settings(predictor: Predictor, asked: TraceAsked, longest: int) -> DecodeSettings:
    from regard.settings.decode import changed

    usual = predictor.run.settings.decode
    beam = asked.beam or usual.beam
    most = min(asked.max_length or usual.max_length, longest)
    changes = {
        "beam": beam,
        "top_beams": min(usual.top_beams, beam),
        "max_length": most,
        "min_length": min(usual.min_length, most),
        "sample": asked.sample,
        "temperature": asked.temperature,
        "top_k": asked.top_k,
        "top_p": asked.top_p,
        "seed": asked.seed,
    }
    return changed(usual, changes)
