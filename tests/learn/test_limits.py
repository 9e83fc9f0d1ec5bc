"""What attention gains, on two runs that learned and differ in it alone (L10, L14, L15).

Reached on 2026-11-18: chrF2 of the longest words 27.8 without and 99.4 with attention, words in their place
at distance 15 2.1 and 99.3, and a gradient that shrinks to a twelfth without attention alone.
"""

import pytest

from regard.answer.limits import distance_curve, gradient_curve, length_curve
from regard.answer.test_set import Exam
from tests.learn.kit import learned

pytestmark = pytest.mark.slow

PLAIN = ("model.encoder.cell=elman", "model.reader.cell=elman", "model.encoder.bidirectional=false")


def curves(*changes):
    run, model = learned("bahdanau2015", *PLAIN, *changes)
    exam = Exam.of(run.settings, 300)
    greedy = run.settings.decode.model_copy(update={"beam": 1})
    said = [one.text for one in run.task.predict(model, exam.questions(run.task), greedy)]
    found = (
        length_curve(run.task, exam, said),
        distance_curve(run.task, exam, said),
        gradient_curve(run.task, exam, model),
    )
    return [dict(curve.points) for curve in found]


def test_without_attention_long_words_far_letters_and_gradients_are_lost():
    length, distance, gradient = curves("model.reader.score=none")
    assert length[4] > 80
    assert length[11] < 50
    assert distance[1] > 90
    assert distance[15] < 30
    assert gradient[20] < 0.5 * gradient[8]


def test_with_attention_none_of_them_is():
    length, distance, gradient = curves()
    assert min(length.values()) > 95
    assert min(value for at, value in distance.items() if at <= 17) > 95
    assert gradient[20] > gradient[8]
