"""What happens is told in order, to all who listen and to those who come late."""

import asyncio
import json

import pytest

from regard.studio.live import KEPT, WAITING, Broadcast, Demo
from regard.studio.refusal import Refusal


def told(part):
    return json.loads(part.decode().partition("data: ")[2])


def test_events_have_the_names_of_the_page():
    async def inside():
        broadcast = Broadcast(2)
        stream = broadcast.listen()
        assert await anext(stream) == b"retry: 2000\n\n"
        for kind in ("train", "valid", "sample", "note", "finished", "preparing"):
            broadcast.tell("demo", {"kind": kind, "step": 1})
        found = [told(await anext(stream)) for _ in range(6)]
        kinds = ["stepped", "evaluated", "sampled", "noted", "finished", "preparing"]
        assert [event["kind"] for event in found] == kinds
        assert {event["run"] for event in found} == {"demo"}

    asyncio.run(inside())


def test_who_comes_back_hears_what_was_missed():
    async def inside():
        broadcast = Broadcast(2)
        for step in range(KEPT + 5):
            broadcast.tell("a", {"kind": "train", "step": step})
        stream = broadcast.listen(after=KEPT + 3)
        await anext(stream)
        first = await anext(stream)
        assert first.startswith(f"id: {KEPT + 4}\n".encode())
        assert told(first)["step"] == KEPT + 3
        late = broadcast.listen()
        await anext(late)
        assert told(await anext(late))["step"] == 5, "only the last are kept"

    asyncio.run(inside())


def test_a_line_cannot_be_broken_into_two_events():
    async def inside():
        broadcast = Broadcast(2)
        stream = broadcast.listen()
        broadcast.tell("a", {"kind": "note", "message": "x\n\nid: 7\ndata: {}\r\u2028y"})
        await anext(stream)
        part = await anext(stream)
        assert part.count(b"\n") == 3
        assert told(part)["message"].startswith("x\n\nid: 7")

    asyncio.run(inside())


def test_listeners_are_bounded_and_slow_ones_let_go():
    async def inside():
        broadcast = Broadcast(1)
        broadcast.listen()  # never read, and so never counted
        stream = broadcast.listen()
        await anext(stream)
        with pytest.raises(Refusal) as refused:
            broadcast.listen()
        assert refused.value.status == 429
        for step in range(WAITING + 1):
            broadcast.tell("a", {"kind": "train", "step": step})
        assert len(broadcast) == 0
        parts = [part async for part in stream]
        assert len(parts) == WAITING
        broadcast.listen()

    asyncio.run(inside())


def test_closing_ends_every_stream():
    async def inside():
        broadcast = Broadcast(3)
        streams = [broadcast.listen() for _ in range(3)]
        for stream in streams:
            await anext(stream)
        broadcast.close()
        assert [[part async for part in stream] for stream in streams] == [[]] * 3
        assert len(broadcast) == 0

    asyncio.run(inside())


def test_a_stream_that_begins_after_the_end_ends():
    """It was let in before the last word and read from after it: nobody would tell it again."""

    async def inside():
        broadcast = Broadcast(3)
        broadcast.tell("demo", {"kind": "note", "step": 1})
        stream = broadcast.listen()
        broadcast.close()
        parts = [part async for part in stream]
        assert [part[:6] for part in parts] == [b"retry:", b"id: 1\n"]
        assert len(broadcast) == 0

    asyncio.run(asyncio.wait_for(inside(), 20))


@pytest.mark.slow
def test_a_demo_that_fails_says_why(tmp_path):
    (tmp_path / "demo").write_text("a file is in the way")

    async def inside():
        broadcast = Broadcast(2)
        demo = Demo("demo", tmp_path / "demo", broadcast)
        assert demo.state == "absent"
        await demo.start()
        assert demo.state == "running"
        first = demo._process
        await demo.start()
        assert demo._process is first, "asked twice, it learns once"
        await asyncio.wait_for(demo._telling, 120)
        assert demo.state == "failed"
        assert demo.message
        stream = broadcast.listen()
        await anext(stream)
        assert told(await anext(stream))["kind"] == "failed"

    asyncio.run(inside())


def test_a_demo_that_does_not_leave_is_ended_and_waited_for(tmp_path, monkeypatch):
    """It hears no polite word; when `stop` returns, it is gone."""
    deaf = tmp_path / "deaf"
    deaf.write_text("#!/bin/sh\ntrap '' TERM\necho '{}'\nexec sleep 60\n")
    deaf.chmod(0o755)
    monkeypatch.setattr("regard.studio.live.sys.executable", str(deaf))
    monkeypatch.setattr("regard.studio.live.PATIENCE", 0.5)

    async def inside():
        demo = Demo("demo", tmp_path / "demo", Broadcast(2))
        await demo.start()
        await asyncio.sleep(0.2)
        await demo.stop()
        assert demo._process.returncode == -9
        assert demo.state == "failed"

    asyncio.run(inside())


@pytest.mark.slow
def test_the_demo_learns_and_tells(tmp_path):
    async def inside():
        broadcast = Broadcast(2)
        demo = Demo("demo", tmp_path / "demo", broadcast)
        stream = broadcast.listen()
        await anext(stream)
        await demo.start()
        kinds = set()
        async for part in stream:
            if b"data: " not in part:
                continue
            kinds.add(told(part)["kind"])
            if {"began", "stepped", "evaluated", "sampled"} <= kinds:
                break
        await demo.stop()
        assert demo.state in ("done", "absent"), demo.message

    asyncio.run(asyncio.wait_for(inside(), 300))
