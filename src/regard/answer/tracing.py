"""Where a model looked for an answer: answer, then replay that answer under `watch`. One search, one answer.

>>> regard.look("runs/first", "two dogs run")
>>> model = regard.load("runs/first")
>>> regard.trace(model, "two dogs run", answer=model.predict("two dogs run")[0])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from regard.answer.passage import Part
from regard.answer.predictor import Predictor
from regard.decode import DecodeSettings
from regard.errors import UsageError, kind_of
from regard.question import Asked, Question
from regard.run.folder import Run
from regard.settings.decode import changed
from regard.tasks import Prediction
from regard.tasks.axis import Tokens, joined
from regard.tasks.search import Found, Symbols
from regard.text.languages import chosen
from regard.traces.trace import Trace, replayed
from regard.traces.unrolled import Unrolled, unrolled

__all__ = ["looker", "trace", "traces", "unroll"]


def trace(
    run: Predictor | Run | str | Path,
    question: Asked,
    settings: DecodeSettings | None = None,
    *,
    beam: int | None = None,
    max_length: int | None = None,
    prefix: Symbols = (),
    truncate: bool = False,
    to: str | None = None,
    answer: Prediction | None = None,
) -> Trace:
    """Answer a question and keep everything: `prefix` gives the answer's first symbols, by id or by name.

    Of a model that knows several languages, `to` says into which. The text is read as a whole. An `answer`
    that `predict` gave to this text is replayed as it is: what was printed is what is seen.
    """
    predictor = _predictor(run)
    text = predictor.learned.one_asked(question)
    changes = {"beam": beam, "max_length": max_length}
    own = changed(settings or predictor.run.settings.decode, changes)
    part = predictor.whole(text, to)
    if part is None:
        seen = _seen(predictor, text, own, prefix, truncate, answer)
    else:
        text = text[len(text) - part.span[1] :]  # without a tag that somebody typed
        seen = _part_of(predictor, text, part, own, prefix, truncate, answer)
    doubts = predictor.doubts(None if to is None else chosen(to, predictor.languages))
    return replace(seen, doubt=doubts.why(text, seen.answer.text) or "")


def unroll(
    run: Predictor | Run | str | Path, question: Asked, *, beam: int | None = None
) -> Unrolled:
    """Answer a question with a recurrent run, and keep the hidden state of every time step (L11)."""
    predictor = _predictor(run)
    task = predictor.run.task
    text = predictor.learned.one_asked(question)
    (read,) = predictor.fitting([text], truncate=False)
    settings = changed(predictor.run.settings.decode, {"beam": beam})
    own = predictor.room.bounded(settings, task, read, 0)
    answered = predictor.engine.find(read, own, ())
    return unrolled(task, predictor.run.load_model(), read, answered.answer)


def looker(predictor: Predictor, to: str | None = None) -> Callable[[str, str], Trace]:
    """`look(text, answer)`: the trace of an answer somebody wrote; where it is empty, of a greedy one."""

    def look(text: str, answer: str) -> Trace:
        task = predictor.run.task
        forced = task.told(text, answer)
        if forced is not None:
            forced = task.sayable(predictor.model, forced)
        return trace(predictor, text, beam=1, to=to, answer=forced, truncate=forced is None)

    return look


def traces(
    run: Predictor | Run | str | Path,
    text: str,
    settings: DecodeSettings | None = None,
    *,
    to: str | None = None,
    split: bool = True,
    answer: Prediction | None = None,
) -> Iterator[Trace]:
    """A trace for each sentence of a text that a translator is asked; for other models, one.

    An `answer` to the text is replayed, sentence by sentence where it was found so.
    """
    predictor = _predictor(run)
    own = settings or predictor.run.settings.decode
    passages = predictor.passages
    if passages is None or not split:
        yield trace(predictor, text, own, to=to, answer=answer)
        return
    bare = passages.bare(text)
    parts = [part for part in passages.parts(bare, passages.target(text, to)) if part.read]
    given: Sequence[Prediction | None] = answer.parts if answer else [None] * len(parts)
    for part, own_answer in zip(parts, given, strict=True):
        yield _part_of(predictor, bare[slice(*part.span)], part, own, answer=own_answer)


def _part_of(
    predictor: Predictor,
    text: str,
    part: Part,
    settings: DecodeSettings,
    prefix: Symbols = (),
    truncate: bool = False,
    answer: Prediction | None = None,
) -> Trace:
    """The trace of a sentence in the person's own words, whatever the model read in their place."""
    seen = _seen(predictor, part.read, settings, prefix, truncate, answer)
    restored, named = part.hidden.restored, part.hidden.named
    tokens = {name: joined(axis) for name, axis in seen.axes.items() if isinstance(axis, Tokens)}
    axes = {
        name: Tokens(tuple(map(named, axis.pieces)), axis.word_ids, tuple(map(named, axis.words)))
        for name, axis in tokens.items()
    }
    others = tuple((restored(other), score) for other, score in seen.answer.alternatives)
    own = replace(seen.answer, text=restored(seen.answer.text), alternatives=others)
    return replace(seen, question=Question(text), answer=own, axes={**seen.axes, **axes})


def _seen(
    predictor: Predictor,
    text: str,
    settings: DecodeSettings,
    prefix: Symbols,
    truncate: bool,
    answer: Prediction | None,
) -> Trace:
    if (
        answer is None
        and len(predictor.learned.cut(text, predictor.run.settings.batch.max_length)) > 1
    ):
        (answer,) = predictor.predict([text])  # what `tag` prints; its map is of the whole text
    (read,) = predictor.fitting([text], truncate=truncate)
    task, name = predictor.run.task, predictor.run.folder.name
    own = predictor.room.bounded(settings, task, read, len(prefix))
    if answer is None:
        answered = predictor.engine.find(read, own, prefix)
    else:
        given = len(task.prompt(read))
        answered = Found(answer, given, most=own.max_length + given)
    seen = replayed(task, predictor.model, read, answered, name)
    seen = replace(seen, answer=task.worded(seen.answer, settings))
    return seen if predictor.card is None else replace(seen, look=predictor.card.look)


def _predictor(run: Predictor | Run | str | Path) -> Predictor:
    match run:
        case Predictor():
            return run
        case Run():
            return Predictor(run, run.load_model())
        case str() | Path():
            return Predictor.load(run, looking=True)
        case _:
            raise UsageError(
                f"a trace needs a trained model, and this is {kind_of(run)}",
                where="run",
                remedy="give what regard.load gives, or the path of a run",
            )
