"""Results come in order, faults at their place, and nobody waits for a worker that is gone."""

import ctypes
import itertools
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import loader
from regard.data.loader import prefetch
from regard.errors import MemoryLimitError


def workers_alive() -> int:
    return sum(thread.name.startswith("regard-data") for thread in threading.enumerate())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 4), st.integers(1, 7), st.integers(0, 40))
def test_the_same_as_map_and_in_order(workers, depth, count):
    def make(number):
        time.sleep(0.0005 * (number % 3))  # later items may be done first
        return number * number

    found = list(prefetch(make, iter(range(count)), workers, depth))
    assert found == [number * number for number in range(count)]
    assert workers_alive() == 0


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_fault_is_raised_where_its_result_would_have_come(workers):
    def make(number):
        if number == 5:
            raise KeyError("five")
        return number

    results = prefetch(make, range(100), workers, depth=11)
    assert list(itertools.islice(results, 5)) == [0, 1, 2, 3, 4]
    with pytest.raises(KeyError, match="five"):
        next(results)
    assert workers_alive() == 0


@pytest.mark.parametrize("workers", [0, 2])
def test_a_fault_of_the_work_comes_after_what_it_had_given(workers):
    def work():
        yield from range(7)
        raise OSError("the data went away")

    results = prefetch(str, work(), workers, depth=30)
    assert list(itertools.islice(results, 7)) == list("0123456")
    with pytest.raises(OSError, match="the data went away"):
        next(results)
    assert workers_alive() == 0


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stop_iteration_of_make_does_not_end_the_epoch_quietly(workers):
    def make(number):
        raise StopIteration

    with pytest.raises(RuntimeError):
        list(prefetch(make, range(3), workers, depth=2))


def test_no_further_ahead_than_asked():
    made, given_out = [], []
    ahead = []

    def work():
        for number in range(50):
            ahead.append(number - len(given_out))
            yield number

    for number in prefetch(made.append, work(), workers=3, depth=4):
        given_out.append(number)
    assert max(ahead) == 4
    assert len(made) == 50


def test_closing_early_ends_the_workers():
    made = []
    results = prefetch(lambda number: made.append(number) or number, itertools.count(), 2, 3)
    assert next(results) == 0
    assert workers_alive() > 0
    results.close()
    assert workers_alive() == 0
    assert len(made) <= 5
    before = len(made)
    time.sleep(0.02)
    assert len(made) == before


def test_the_workers_end_when_the_reader_fails():
    def read():
        for number in prefetch(str, range(100), 2, 3):
            raise MemoryError(number)

    with pytest.raises(MemoryError):
        read()
    assert workers_alive() == 0


def kill(ident: int) -> None:
    """The thread ends at its next breath, as if it had fallen over."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(SystemExit))


def test_a_dead_worker_is_replaced(monkeypatch, caplog):
    """T17: a thread that is gone never leaves the reader waiting, and the order stays."""
    monkeypatch.setattr(loader, "PATIENCE", 0.01)
    threads, second = [], threading.Event()

    def make(number):
        threads.append(threading.current_thread())
        if number == 1:
            second.set()
        return number

    results = prefetch(make, range(9), workers=1, depth=1)
    assert next(results) == 0
    assert second.wait(5)
    time.sleep(0.02)  # now the thread waits for work, and gets this instead:
    kill(threads[0].ident)
    assert list(results) == list(range(1, 9))
    assert len(set(threads)) == 2
    assert workers_alive() == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 5), st.sets(st.integers(0, 19), max_size=20))
def test_work_that_ends_its_thread_once_is_done_again_in_its_place(workers, depth, dying):
    fatal = set(dying)

    def make(number):
        if number in fatal:
            fatal.remove(number)
            raise SystemExit(0)
        return -number

    assert list(prefetch(make, range(20), workers, depth)) == [-number for number in range(20)]
    assert not fatal
    assert workers_alive() == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_work_that_always_ends_its_thread_is_named(workers):
    tries = []

    def make(number):
        if number == 5:
            tries.append(number)
            raise SystemExit(0)
        return number

    results = prefetch(make, range(9), workers, 2, lambda number: f"row {number}")
    assert list(itertools.islice(results, 5)) == list(range(5))
    with pytest.raises(MemoryLimitError) as caught:
        next(results)
    assert caught.value.what == (
        "a thread that prepares batches ended before its work did, 4 times"
    )
    assert caught.value.where == "row 5"
    assert caught.value.exit_code == 6
    assert len(tries) == 4
    assert workers_alive() == 0


def test_each_item_has_its_own_three_chances():
    left = dict.fromkeys(range(4), loader.RESTARTS)

    def make(number):
        if left[number]:
            left[number] -= 1
            raise SystemExit(0)
        return number

    assert list(prefetch(make, range(4), 1, 1)) == list(range(4))
