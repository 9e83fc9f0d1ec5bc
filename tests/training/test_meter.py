"""Speed is that of training, whatever else takes time in between."""

from contextlib import suppress

from regard.training import guard


def test_a_pause_is_no_part_of_the_speed(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(guard.time, "monotonic", lambda: now[0])
    clock = guard.Meter()
    clock.add(loss=6.0, count=3, norm=1.0, rate=0.1)
    now[0] += 2
    with suppress(KeyError), clock.paused():
        now[0] += 50
        raise KeyError
    clock.add(loss=6.0, count=3, norm=1.0, rate=0.1)
    now[0] += 1
    report = clock.report(step=2, epoch=0)
    assert (report.tokens_per_second, report.seconds, report.loss) == (2.0, 53.0, 2.0)
