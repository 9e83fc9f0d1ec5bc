"""No test times anything: the clock is given, and what is made of it is checked."""

import itertools

import pytest

from regard.measure import instruments
from regard.measure.instruments import Timing, summary, timed


def test_the_median_and_the_quartiles_around_it():
    assert summary([5.0, 1.0, 3.0, 2.0, 4.0]) == Timing(3.0, 2.0, 4.0, 5)
    assert summary([7.0]) == Timing(7.0, 7.0, 7.0, 1)


@pytest.fixture
def ticking(monkeypatch):
    """Each look at the clock finds it one second later."""
    ticks = itertools.count()
    monkeypatch.setattr(instruments.time, "perf_counter", lambda: float(next(ticks)))


def test_works_take_turns_and_the_first_rounds_do_not_count(ticking):
    calls = []
    works = {"one": lambda: calls.append("one"), "other": lambda: calls.append("other")}
    found = timed(works, rounds=5, warmup=2)
    assert calls == ["one", "other"] * 7
    assert found == {name: Timing(1.0, 1.0, 1.0, 5) for name in works}


def test_time_runs_out_but_three_rounds_are_taken(ticking):
    found = timed({"slow": lambda: None}, rounds=100, warmup=1, seconds=0.5)
    assert found["slow"].rounds == 3


def test_a_fault_leaves_the_collector_as_it_was():
    import gc

    def fails():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        timed({"fails": fails})
    assert gc.isenabled()


def test_rates_are_work_over_time(monkeypatch):
    monkeypatch.setattr(
        instruments,
        "timed",
        lambda works, *_, **__: {name: Timing(2.0, 0.5, 3.0, 9) for name in works},
    )
    assert instruments.matrix_rate("cpu", side=10) == 2 * 10**3 / 0.5
    assert instruments.copy_rate("cpu", size=400) == 2 * 400 / 0.5
