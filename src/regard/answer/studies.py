"""Studies of a loaded model: what every head does, and whether meanings of a word are told apart (L5).

>>> from regard.answer.studies import heads, senses
>>> heads("translator", to="fr")
>>> senses("translator", "bank", to="fr").score()

Both take a while. `head_steps` and `sense_steps` do the same step by step and say how far they are, so that
others can ask the same model in between.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from regard.answer.predictor import Predictor
from regard.answer.test_set import Exam
from regard.answer.tracing import looker, trace
from regard.errors import DataError, UsageError
from regard.question import Image, Question, Sound
from regard.tasks import Task
from regard.tasks.axis import Axis
from regard.traces.examples import SENSES, SENTENCES
from regard.traces.head_roles import Head
from regard.traces.head_survey import Sentence, Steps, finished, surveying
from regard.traces.senses import (
    Occurrence,
    Senses,
    at_layer,
    check_read,
    encoder_of,
    find,
    studied,
    translated_by,
)

LONGEST = 40  # words of a sentence that heads are judged by
MOST = 100  # sentences that heads are judged by
OCCURRENCES = 200  # of a word

Texts = Mapping[
    str, Sequence[str]
]  # sentences by the sense of the word in them; "" where nobody said


def heads(
    run: Predictor | str | Path, sentences: Sequence[str] | None = None, *, to: str | None = None
) -> list[Head]:
    """Every head of a model with its roles, measures and controls, over these sentences or its own."""
    predictor = _predictor(run)
    known = None if sentences is None else [sentence_of(predictor, text) for text in sentences]
    return finished(head_steps(predictor, known, to))


def senses(
    run: Predictor | str | Path,
    word: str,
    sentences: Sequence[str] | Texts | None = None,
    *,
    to: str | None = None,
    layer: int | None = None,
    groups: int | None = None,
) -> Senses:
    """Every occurrence of a word with its state behind a layer, in these sentences or those that ship."""
    predictor = _predictor(run)
    senses = finished(sense_steps(predictor, word, texts_of(word, sentences), to, groups=groups))
    return at_layer(senses, layer)


def head_steps(
    predictor: Predictor, sentences: Sequence[Sentence] | None = None, to: str | None = None
) -> Steps[list[Head]]:
    """The same as `heads`, one text a step."""
    kept = fit_to_judge(own_sentences(predictor) if sentences is None else sentences)
    return surveying(looker(predictor, to or first_direction(predictor)), kept)


def need_words(predictor: Predictor, why: str) -> None:
    """Refuse a model whose questions are no text, whose words could be put in another order."""
    task = predictor.run.task
    if reads_words(predictor):
        return
    if not task.accepts and len(task.sources) == 1:
        raise UsageError(
            f"{why}, and this model reads items",
            predictor.where,
            "look at single answers: regard look",
        )
    reads = f"one file ({task.accepts})" if task.accepts else f"sources: {', '.join(task.sources)}"
    raise UsageError(
        f"{why}, and this model reads {reads}",
        where=predictor.where,
        remedy="look at single answers: regard look",
    )


def first_direction(predictor: Predictor) -> str | None:
    """The first language that a model's card says it translates into."""
    if predictor.card is None or not predictor.card.directions:
        return None
    return predictor.card.directions[0].partition("-")[2]


def reads_words(predictor: Predictor) -> bool:
    """Whether its questions are one running text, or labelled words."""
    task = predictor.run.task
    return not task.features and not task.accepts and len(task.sources) == 1


def takes_ours(predictor: Predictor) -> bool:
    """Whether it is judged by the sentences that come with regard: a model of the box that reads text."""
    return predictor.card is not None and reads_words(predictor)


def whose(predictor: Predictor) -> str:
    """Where `own_sentences` come from: `regard`, the `run`, or its one `example`, without its data."""
    run = predictor.run
    if takes_ours(predictor):
        return "regard"
    if run.has_probes or run.settings.data.toy is not None:
        return "run"
    if predictor.card is not None:
        return "example"
    if reads_words(predictor):
        return "regard"
    raise UsageError("this run kept no examples", predictor.where, "name some: --data FILE")


def own_sentences(predictor: Predictor) -> list[Sentence]:
    """What a model is judged by where nobody says otherwise.

    Examples of its own that it never learned from; of a model of the box that reads text, and of a run
    without examples, regard's sentences.
    """
    run = predictor.run
    match whose(predictor):
        case "regard":
            return [Sentence.of(text) for text in SENTENCES]
        case "example":
            return [sentence_of(predictor, predictor.example)]
    if run.has_probes:
        return [sentence_of(predictor, *pair) for pair in run.probes()]
    return _of_exam(predictor, Exam.of(run.settings, MOST))


def sentences_of(predictor: Predictor, paths: Sequence[Path], most: int) -> list[Sentence]:
    """The examples of files, read as the data of the run were."""
    return _of_exam(predictor, Exam.read(paths, predictor.run.settings, most))


def _of_exam(predictor: Predictor, exam: Exam) -> list[Sentence]:
    task = predictor.run.task
    pairs = zip(exam.questions(task), exam.answers(task), strict=True)
    return [sentence_of(predictor, question, answer) for question, answer in pairs]


def sentence_of(predictor: Predictor, question: str, answer: str = "") -> Sentence:
    """A question as this model reads it, whose words are its own: a picture and a sound have none."""
    task = predictor.run.task
    if task.accepts:
        return Sentence(
            question, (), answer.partition("\n")[0]
        )  # of several right answers, the first
    if len(task.sources) > 1:
        return Sentence.of(_opened(task, task.ask(question)), answer)
    return Sentence.of(str(question), answer)


def _opened(task: Task, question: Question) -> Question:
    """The same, pictures and sounds told from texts, where they were given by their paths alone."""
    sources = dict[str, Any](question.sources)
    for name, size in (task.sizes.sources or {}).items():
        if size.features and isinstance(sources.get(name), str):
            sources[name] = (Image if size.rows else Sound)(sources[name])
    return Question(sources)


def fit_to_judge(
    sentences: Sequence[Sentence], longest: int = LONGEST, most: int = MOST
) -> list[Sentence]:
    """Those of 3 words and more, and not too long; an error where none is left.

    A picture or a sound has no words, and is never too short.
    """
    kept = [one for one in sentences if _fits(one, longest)][:most]
    if not kept:
        what = f"no sentence has 3 to {longest} words"
        raise DataError(what, where="data", remedy="give longer sentences, or raise --longest")
    return kept


def _fits(one: Sentence, longest: int) -> bool:
    return 3 <= one.length <= longest if one.words else bool(one.text.strip())


def texts_of(word: str, sentences: Sequence[str] | Texts | None = None) -> Texts:
    """Sentences for a word by sense: somebody's own, or those that come with regard."""
    if isinstance(sentences, Mapping):
        return sentences
    if sentences is not None:
        return {"": sentences}
    if word.casefold() not in SENSES:
        known = ", ".join(SENSES)
        what = f"no sentences for '{word}' come with regard"
        raise UsageError(what, "word", f"take {known}; or give sentences of your own (--corpus)")
    return SENSES[word.casefold()]


def sense_steps(
    predictor: Predictor,
    word: str,
    texts: Texts,
    to: str | None = None,
    *,
    groups: int | None = None,
    most: int = OCCURRENCES,
) -> Steps[list[Senses]]:
    """The word in every sentence, with its state behind each layer from 0 on; one occurrence a step."""
    need_words(predictor, "senses are those of a word in a text")
    encoder_of(predictor.model)  # a model without layers is refused before anything is read
    to = to or first_direction(predictor)
    task = predictor.run.task
    if predictor.run.settings.text.kind != "byte":
        check_read(word, task.only_read(word)[1])

    @lru_cache(4 * OCCURRENCES)
    def axis_of(text: str) -> Axis:
        return task.only_read(text)[1]

    def read(text: str) -> str:
        part = predictor.whole(text, to)
        return text if part is None else part.read

    own = {read(text): text for some in texts.values() for text in some}
    known = {sense: [read(text) for text in some] for sense, some in texts.items()}
    places = find(word, known, axis_of)[:most]
    labelled = []
    for number, one in enumerate(places):
        yield number, len(places)
        words = [other.casefold() for other in axis_of(one.text).words[: one.place]]
        labelled.append(
            _labelled(predictor, one, own[one.text], word, words.count(word.casefold()), to)
        )
    return studied(task, predictor.model, word, labelled, axis_of, groups or max(2, len(texts)))


def _labelled(
    predictor: Predictor, one: Occurrence, text: str, word: str, before: int, to: str | None
) -> Occurrence:
    """In the person's own words, and with the word that it was translated by, if it was.

    `before` are other occurrences in front of it in its sentence.
    """
    shown = replace(one, shown=_bare(predictor, text))
    shown = replace(shown, span=_span(shown.shown, word, before))
    if predictor.passages is None:
        return shown
    seen = trace(predictor, text, beam=1, to=to)
    words = [own.casefold() for own in seen.axes["source"].words]
    places = [number for number, own in enumerate(words) if own == word.casefold()]
    if len(places) <= before:
        return shown
    return replace(shown, label=translated_by(seen, places[before]))


def _bare(predictor: Predictor, text: str) -> str:
    return text if predictor.passages is None else predictor.passages.bare(text)


def _span(text: str, word: str, before: int) -> tuple[int, int] | None:
    """Where the word stands among the letters of its sentence."""
    matches = list(re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE))
    return matches[before].span() if before < len(matches) else None


def _predictor(run: Predictor | str | Path) -> Predictor:
    return run if isinstance(run, Predictor) else Predictor.load(run, looking=True)
