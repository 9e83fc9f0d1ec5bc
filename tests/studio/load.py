"""How the server bears a crowd: answers, refusals, wrong ones, and what it cost, in numbers.

    python -m tests.studio.load                            64 clients for a minute
    python -m tests.studio.load --soak --seconds 600       four times as many clients as there are places

The crowd speaks raw HTTP over sockets of its own and hardly works, so that its own delay is not the server's.
It still shares the machine: both sides' event loops are measured, and a figure is to be read beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from regard.studio.settings import Limits
from tests.run import kinds
from tests.studio.kit import server

TICK = 0.01
TEXTS = ["a b c", "d e", "f g h i", "a", "k s k s", "b b b"]
PLACES = Limits().queue + 1


def share(times, part):
    """The time below which this part of all lie."""
    return sorted(times)[min(len(times) - 1, int(part * len(times)))] if times else 0.0


@dataclass
class Seen:
    """What a crowd saw, in seconds."""

    served: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: int = 0
    dropped: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)

    @property
    def faults(self) -> int:
        return sum(count for status, count in self.statuses.items() if status >= 500)


class Line:
    """One kept connection that sends a text and reads the answer."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: asyncio.StreamReader | None = None

    async def ask(self, path: str, body: dict[str, object] | None = None):
        """Status, headers, content, and the time until the first byte of the answer."""
        if self.reader is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        began = time.perf_counter()
        self.writer.write(head.encode() + b"\r\n" + content)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        spent = time.perf_counter() - began
        headers = dict(re.findall(r"(?m)^([a-z-]+): (.*)\r$", answer.lower()))
        found = await self.reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            await self.close()
        return int(answer[9:12]), headers, found, spent

    async def close(self) -> None:
        """Gone when this returns: a line that still closes when the loop ends would be a warning."""
        if self.reader is not None:
            self.reader = None
            self.writer.close()
            with contextlib.suppress(OSError):
                await self.writer.wait_closed()


class Crowd:
    """Clients that ask, take the answer, and ask again; who is refused waits a little."""

    def __init__(self, port: int, run: str, pause: float, lengths: int = 0) -> None:
        self.port, self.run, self.pause, self.lengths = port, run, pause, lengths
        self.seen = Seen()
        self.right: dict[str, object] = {}
        self.until = 0.0

    def text(self, chance: random.Random) -> str:
        if not self.lengths:
            return chance.choice(TEXTS)
        return " ".join(chance.choice("abcdefghik") for _ in range(chance.randint(1, self.lengths)))

    async def learn(self) -> float:
        """The right answers, asked for while nobody else asks; texts a second of one client alone."""
        line = Line(self.port)
        for text in TEXTS:
            _, _, content, _ = await line.ask("/api/trace", {"run": self.run, "text": text})
            self.right[text] = json.loads(content)["answer"]
        began, chance, count = time.perf_counter(), random.Random(0), 0
        while time.perf_counter() - began < 3:
            await line.ask("/api/trace", {"run": self.run, "text": self.text(chance)})
            count += 1
        await line.close()
        return count / (time.perf_counter() - began)

    async def press(self, clients: int, seconds: float) -> Seen:
        self.until = time.monotonic() + seconds
        ticking = asyncio.create_task(self._tick())
        await asyncio.gather(*(self._client(number) for number in range(clients)))
        ticking.cancel()
        return self.seen

    async def _client(self, number: int) -> None:
        chance, line = random.Random(number), Line(self.port)
        await asyncio.sleep(chance.random() * self.pause)
        while time.monotonic() < self.until:
            text = self.text(chance)
            try:
                status, _, content, spent = await line.ask(
                    "/api/trace", {"run": self.run, "text": text}
                )
            except (OSError, asyncio.IncompleteReadError):
                self.seen.dropped += 1
                await line.close()
                continue
            self.seen.statuses[status] += 1
            if status == 200:
                self.seen.served.append(spent)
                known = self.right.get(text)
                self.seen.wrong += known is not None and json.loads(content)["answer"] != known
            else:
                self.seen.refused.append(spent)
                await asyncio.sleep(self.pause * (0.5 + chance.random()))
        await line.close()

    async def _tick(self) -> None:
        """How late this side's own loop is."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK)
            self.seen.delays.append(time.perf_counter() - began - TICK)


async def watched(crowd: Crowd, pid: int, every: float) -> None:
    """The server's memory over time."""
    began = time.monotonic()
    while True:
        crowd.seen.memory.append((time.monotonic() - began, memory(pid)))
        print(f"  {time.monotonic() - began:6.0f} s  {memory(pid):8.1f} MB", flush=True)
        await asyncio.sleep(every)


def memory(pid: int) -> float:
    """Resident, in MB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def processor(pid: int) -> float:
    """Seconds of processor time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def whole(one, run: str, clients: int, seconds: float, pause: float, soak: bool) -> Seen:
    """Press, and print."""
    crowd = Crowd(one.port, run, pause, 40 if soak else 0)
    alone = await crowd.learn()
    pid = one.process.pid
    watching = asyncio.create_task(watched(crowd, pid, 30)) if soak else None
    before, began = processor(pid), time.perf_counter()
    seen = await crowd.press(clients, seconds)
    spent, used = time.perf_counter() - began, processor(pid) - before
    if watching is not None:
        watching.cancel()
    line = Line(one.port)
    _, _, content, _ = await line.ask("/metrics")
    await line.close()
    loop = re.findall(r'regard_loop_delay_seconds\{share="([^"]+)"\} (\S+)', content.decode())
    print(f"{clients} clients, {spent:.0f} s, load average {os.getloadavg()[0]:.1f}")
    print(f"  one client alone   {alone:8.1f} answers a second")
    print(f"  all of them        {len(seen.served) / spent:8.1f} answers a second")
    for name, times in (("answered", seen.served), ("refused", seen.refused)):
        row = "  ".join(f"p{100 * p:g} {share(times, p) * 1e3:.1f} ms" for p in (0.5, 0.9, 0.99))
        print(f"  {name:9} {len(times):8}  {row}")
    row = "  ".join(f"p{100 * p:g} {share(seen.delays, p) * 1e3:.1f} ms" for p in (0.5, 0.99))
    print(f"  the crowd's own loop is late by  {row}")
    row = "  ".join(f"p{100 * float(p):g} {float(value) * 1e3:.1f} ms" for p, value in loop)
    print(f"  the server's loop is late by     {row}")
    print(f"  server: {used / spent:.2f} processors, {memory(pid):.1f} MB")
    print(f"  wrong {seen.wrong}, faults {seen.faults}, dropped {seen.dropped}", flush=True)
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=0.25, help="of a client that is refused")
    parser.add_argument("--kind", default="rnn", choices=sorted(kinds.KINDS))
    parser.add_argument("--soak", action="store_true", help="texts of many lengths; memory shown")
    options = parser.parse_args()
    clients = options.clients or (4 * PLACES if options.soak else 64)
    with tempfile.TemporaryDirectory() as place:
        folder = kinds.make(Path(place) / options.kind, options.kind)
        with server(folder, folder=Path(place)) as one:
            seen = asyncio.run(
                whole(one, options.kind, clients, options.seconds, options.pause, options.soak)
            )
            code = one.stop()
            print(f"  left with {code}, log {one.log.read_text()!r}")
    raise SystemExit(bool(seen.wrong or seen.faults or seen.dropped or code))


if __name__ == "__main__":
    main()
