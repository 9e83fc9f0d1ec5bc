"""A model that hears: its attention is checked against when each letter really sounds, on new words.

Reached with the preset as it is: see the log of 2026-11-18.
"""

import numpy as np
import pytest

from regard.data.toys.spelling import spoken
from regard.tasks.axis import Times
from regard.traces.head_roles import is_special
from regard.traces.trace import look_inside
from regard.traces.word_times import monotony, word_times
from tests.learn.kit import learned, unseen

pytestmark = pytest.mark.slow
LOOKED_AT = 40


@pytest.fixture(scope="module")
def seen():
    """Traces of right answers, each with the moments of its letters."""
    run, model = learned("chan2016")
    found = []
    for example in unseen(run, LOOKED_AT):
        trace = look_inside(run.task, model, example.sound, run.settings.decode)
        if trace.answer.text == example.text:
            take = int(example.sound.rpartition("/")[2])
            found.append((trace, example.text, spoken(example.text, take)[1]))
    assert len(found) >= 0.9 * LOOKED_AT
    return found


def test_attention_goes_from_the_beginning_to_the_end(seen):
    assert np.mean([monotony(trace) for trace, _, _ in seen]) >= 0.95


def test_attention_is_where_the_letter_sounds(seen):
    """The state that is looked at most is within 40 ms, its own length, of the letter; spaces are silent."""
    right = []
    for trace, text, spans in seen:
        times = trace.axes["source"]
        assert isinstance(times, Times)
        pieces = trace.axes["target"].pieces
        steps = [n for n, piece in enumerate(pieces) if not is_special(piece)]
        steps = steps[len(steps) - len(text) :]  # a first piece may be the space before the text
        for step, letter, (begin, end) in zip(steps, text, spans, strict=True):
            moment = times.seconds[int(trace.site().weights[0, step].argmax())]
            right += [begin - 0.04 <= moment <= end + 0.04] * (letter != " ")
    assert np.mean(right) >= 0.95


def test_words_are_said_when_it_is_said_that_they_are(seen):
    errors = []
    for trace, text, spans in seen:
        starts = [
            n for n, letter in enumerate(text) if letter != " " and text[:n][-1:] in ("", " ")
        ]
        ends = [
            n for n, letter in enumerate(text) if letter != " " and text[n + 1 :][:1] in ("", " ")
        ]
        found = word_times(trace)
        assert [one.word for one in found] == text.split()
        for one, first, last in zip(found, starts, ends, strict=True):
            errors += [abs(one.begin - spans[first][0]), abs(one.end - spans[last][1])]
    assert np.mean(errors) <= 0.06
