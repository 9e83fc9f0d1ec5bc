"""What the server counts: routes and times, and how late its own loop is."""

import asyncio
import re
import time

from regard.studio.work_queue import Meter


def test_answers_by_route_and_time():
    meter = Meter()
    for seconds in (0.001, 0.02, 0.3, 4.0, 100.0):
        meter.count("/api/trace", 200, seconds)
    meter.count("/api/trace", 429, 0.001)
    text = meter.text({"queue_inside": 3})
    assert 'regard_requests_total{route="/api/trace",status="200"} 5' in text
    assert 'regard_requests_total{route="/api/trace",status="429"} 1' in text
    counts = re.findall(r'seconds_bucket{le="([^"]+)"} (\d+)', text)
    assert counts == [
        ("0.005", "2"), ("0.05", "3"), ("0.5", "4"), ("5", "5"), ("60", "5"), ("+Inf", "6")
    ]  # fmt: skip
    assert "regard_queue_inside 3" in text
    assert "loop_delay" not in text, "nothing was measured yet"


def test_a_loop_that_is_held_up_is_late():
    async def inside(meter):
        beating = asyncio.create_task(meter.beat())
        await asyncio.sleep(0.12)
        time.sleep(0.2)  # what nobody should do
        await asyncio.sleep(0.1)
        beating.cancel()

    meter = Meter()
    asyncio.run(inside(meter))
    found = dict(re.findall(r'loop_delay_seconds{share="([^"]+)"} (\S+)', meter.text({})))
    assert list(found) == ["0.5", "0.99", "1"]
    assert float(found["1"]) >= 0.1
    assert float(found["0.5"]) <= float(found["0.99"]) <= float(found["1"])
