"""One choice of hard attention (L26): its gradient by hand, and four estimators of it."""

import math

import pytest

from regard.errors import UsageError
from regard.worked import hard_choice

SCORES = (0.3, -0.7, 1.1, 0.2)
VALUES = ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (-1.0, 0.4))
OUTPUT = ((2.0, -1.0), (-1.0, 2.0), (0.0, 0.3))


def by_hand(scores):
    """Chances, losses and the expected loss, in plain numbers."""
    total = sum(math.exp(e) for e in scores)
    chances = [math.exp(e) / total for e in scores]
    losses = []
    for value in VALUES:
        logits = [sum(w * v for w, v in zip(row, value, strict=True)) for row in OUTPUT]
        losses.append(math.log(sum(map(math.exp, logits))) - logits[0])
    return chances, losses, sum(a * loss for a, loss in zip(chances, losses, strict=True))


@pytest.fixture(scope="module")
def worked():
    return hard_choice(SCORES, VALUES, OUTPUT, target=1, samples=100_000)


def test_the_true_gradient_is_that_of_finite_differences(worked):
    for key in range(4):
        ends = []
        for sign in (1, -1):
            moved = [e + sign * 1e-6 * (n == key) for n, e in enumerate(SCORES)]
            ends.append(by_hand(moved)[2])
        assert worked["true gradient"][key] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


def test_reinforce_is_right_on_average_and_the_baseline_lowers_its_variance(worked):
    """The variance has a closed form: choice i gives (L_i - baseline) ([j = i] - a_j) with chance a_i."""
    chances, losses, expected = by_hand(SCORES)
    true = worked["true gradient"]
    for row, baseline in ((3, 0.0), (4, expected)):
        for key in range(4):
            each = [
                (loss - baseline) * ((key == i) - chances[key]) for i, loss in enumerate(losses)
            ]
            square = sum(a * g * g for a, g in zip(chances, each, strict=True))
            error = math.sqrt((square - true[key] ** 2) / 100_000)
            assert abs(worked["mean of the estimates"][row][key] - true[key]) < 3 * error
    soft, straight, gumbel, plain, based = worked["variance"]
    assert soft == straight == 0 < gumbel < based < plain


def test_the_others_are_wrong_and_the_exact_sum_is_never_above_the_expected_loss(worked):
    distance = worked["distance"]
    assert min(distance[:3]) > 5 * max(distance[3:])
    assert worked["marginal loss"] < worked["expected loss"]


@pytest.mark.parametrize("given", [{"target": 4}, {"target": 0}, {"samples": 10**7}])
def test_what_is_not_there_is_refused(given):
    with pytest.raises(UsageError):
        hard_choice(**given)
