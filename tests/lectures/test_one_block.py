"""L59 to L62 and L65 in one word: residual, norm, network, dropout, against plain arithmetic."""

import math

import pytest

from regard.errors import UsageError
from regard.worked import one_block, position_places


def normed(numbers, eps=1e-5):
    mu = sum(numbers) / len(numbers)
    variance = sum((x - mu) ** 2 for x in numbers) / len(numbers)
    return [(x - mu) / math.sqrt(variance + eps) for x in numbers]


def test_one_word_through_a_block():
    worked = one_block()
    assert worked["sum"] == (2.0, 2.0, 0.0)
    assert worked["mean and deviation"] == pytest.approx((4 / 3, math.sqrt(8) / 3))
    sigma = math.sqrt(8) / 3
    plain = [(x - 4 / 3) / (sigma + 1e-5) for x in (2, 2, 0)]
    assert worked["plain norm"] == pytest.approx(plain)
    y = [g * x + b for g, x, b in zip((1, 2, 1), normed([2, 2, 0]), (0, 0, 0.5), strict=True)]
    assert worked["norm"] == pytest.approx(y)
    wide = [y[0] + y[2], -y[0] + y[1], 0.5 * y[0] - 0.5 * y[1] + y[2], y[1] - y[2]]
    assert worked["widened"] == pytest.approx(wide)
    a, b, c, d = (max(0.0, x) for x in wide)
    assert worked["activated"] == pytest.approx((a, b, c, d))
    change = [a + 0.5 * c, b + 0.5 * c - d, -a + d]
    assert worked["change"] == pytest.approx(change)
    total = [x + z for x, z in zip(y, change, strict=True)]
    assert worked["second sum"] == pytest.approx(total)
    assert worked["out"] == pytest.approx(normed(total))


def test_what_dropout_keeps_is_doubled():
    worked = one_block()
    ratios = set()
    for seed in range(1, 9):
        kept = one_block(seed=seed)["dropout"]
        pairs = zip(worked["activated"], kept, strict=True)
        ratios |= {after / before for before, after in pairs if before}
    assert ratios == {0.0, 2.0}
    whole = one_block(dropout=0)
    assert whole["dropout"] == whole["activated"]
    assert whole["out"] == worked["out"]  # answers are given without dropout


@pytest.mark.parametrize(
    "wrong", [{"dropout": 1.0}, {"narrow": ((1.0, 0.0, 0.0),)}, {"context": (1.0,)}]
)
def test_misfits_are_refused(wrong):
    with pytest.raises(UsageError):
        one_block(**wrong)


def test_positions_before_and_behind_the_projection():
    worked = position_places()
    assert worked["difference"] < 1e-12
    # Word 2 asks at place 1 for word 1 at place 0, by hand; e is sine and cosine of the place.
    words, places = ((1, 0), (0, 1), (1, 1)), [(math.sin(n), math.cos(n)) for n in range(3)]

    def projected(x, table):
        return [sum(x[i] * table[i][j] for i in range(2)) for j in range(2)]

    asks, offers = ((2, 0), (0, 1)), ((1, 0), (1, 1))

    def weights(queries, keys):
        scores = [
            sum(a * b for a, b in zip(queries[1], key, strict=True)) / math.sqrt(2) for key in keys
        ]
        every = [math.exp(score) for score in scores]
        return tuple(one / sum(every) for one in every)

    def added(xs, ps):
        return [[a + b for a, b in zip(x, p, strict=True)] for x, p in zip(xs, ps, strict=True)]

    before = added(words, places)
    assert worked["added to the input"][1] == pytest.approx(
        weights([projected(x, asks) for x in before], [projected(x, offers) for x in before])
    )
    assert worked["added in the heads"][1] == pytest.approx(
        weights(
            added([projected(x, asks) for x in words], places),
            added([projected(x, offers) for x in words], places),
        )
    )
