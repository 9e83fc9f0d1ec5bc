"""Means over seeds: the interval is Student's, differences are seed by seed, and what failed is said."""

import math

import pytest

from regard.training.compare_runs import Row, Table
from regard.training.repeats import Repeats, Spread, T


def student(t: float, freedom: int, steps: int = 20_000) -> float:
    """The mass of Student's density between -t and t, by Simpson's rule."""
    constant = (
        math.gamma((freedom + 1) / 2) / math.gamma(freedom / 2) / math.sqrt(freedom * math.pi)
    )

    def density(x):
        return constant * (1 + x * x / freedom) ** (-(freedom + 1) / 2)

    width = 2 * t / steps
    inner = sum((4 if n % 2 else 2) * density(-t + n * width) for n in range(1, steps))
    return (2 * density(t) + inner) * width / 3


@pytest.mark.parametrize("freedom", range(1, len(T) + 1))
def test_the_quantiles_leave_five_per_cent_outside(freedom):
    assert student(T[freedom - 1], freedom) == pytest.approx(0.95, abs=2e-4)


def test_an_interval_is_the_textbooks():
    spread = Spread.of([10.0, 12.0, 17.0])
    assert spread.mean == 13.0
    assert spread.half == pytest.approx(4.303 * math.sqrt(13) / math.sqrt(3))
    assert spread.shown() == "13.00 ± 8.96"
    assert Spread.of([3.0]).shown() == "3.00"
    assert Spread.of([]).shown() == "–"


def row(name, value, fault="", loss=1.0):
    metric = {"name": "accuracy", "value": value, "signature": "n:3", "higher_is_better": True}
    return Row(name, 7, 2, loss, () if fault else (metric,), 1.0, fault)


GROUPS = {"base": ["base-1", "base-2", "base-3"], "other": ["other-1", "other-2", "other-3"]}


def table(*rows):
    return Table("test examples", 3, "base-1", rows, {})


def test_a_difference_is_taken_seed_by_seed():
    """Seeds move both models far, and the difference hardly at all."""
    values = {"base": (50, 70, 90), "other": (48, 67, 88)}
    rows = [row(run, values[name][n]) for name in GROUPS for n, run in enumerate(GROUPS[name])]
    found = Repeats.of(table(*rows), GROUPS)
    base, other = found.rows
    assert (base.metrics["accuracy"].mean, base.difference.mean) == (70, 0)
    assert other.difference.mean == pytest.approx(-7 / 3)
    assert other.difference.half < 2 < base.metrics["accuracy"].half
    assert found.cells()[2] == (
        *("", "other", "7", "1.0000 ± 0.0000"),
        *("67.67 ± 49.71", "-2.33 ± 1.43"),
    )
    assert "3 test examples; each model was trained by 3 seeds." in found.markdown()


def test_a_run_that_failed_is_counted_and_named():
    rows = [row(f"base-{n}", 50) for n in (1, 2, 3)]
    rows += [row("other-1", 0, "it diverged"), row("other-2", 40), row("other-3", 44)]
    found = Repeats.of(table(*rows), GROUPS)
    assert found.cells()[2][1] == "other (2 of 3 seeds)"
    assert found.rows[1].difference == Spread.of([-10.0, -6.0])
    assert "other: it diverged" in list(found.notes())
    assert found.as_dict()["rows"][1]["faults"] == ["it diverged"]

    all_failed = [row(f"base-{n}", 50) for n in (1, 2, 3)]
    all_failed += [row(f"other-{n}", 0, "it diverged") for n in (1, 2, 3)]
    assert Repeats.of(table(*all_failed), GROUPS).cells()[2] == ("✗", "other", "–", "–", "–", "–")
