"""A port of our own, or a sentence that says who has it."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from regard.errors import PortError

BACKLOG = 512


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; whatever prevents it names the port (S15)."""
    where = f"{host}:{port}"
    if not 0 <= port <= 65_535:
        raise PortError(f"there is no port {port}", "--port", "choose one from 1024 to 65535")
    try:
        kind, address = _resolved(host, port)
    except OSError:
        raise PortError("no such address on this machine", where, "use --host 127.0.0.1") from None
    found = socket.socket(kind, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError as fault:
        found.close()
        raise _explained(fault, where, port) from None
    found.setblocking(False)
    return found


def _resolved(host: str, port: int) -> tuple[int, tuple[str, int]]:
    kind, _, _, _, address = socket.getaddrinfo(
        host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return kind, (str(address[0]), int(address[1]))


def _explained(fault: OSError, where: str, port: int) -> PortError:
    if fault.errno == errno.EADDRINUSE:
        pid = holder(port)
        by = f" by process {pid}" if pid else ""
        return PortError(f"port {port} is in use{by}", where, f"another one: --port {port + 1}")
    if fault.errno == errno.EACCES:
        remedy = "choose a port above 1023"
        return PortError(f"port {port} needs rights that this user does not have", where, remedy)
    return PortError(
        f"port {port} is not available: {fault.strerror}", where, "use --host 127.0.0.1"
    )


def holder(port: int) -> int | None:
    """The process that listens on a port, where the system lets us see it."""
    listening = {f"socket:[{number}]" for number in _inodes(port)}
    for folder in Path("/proc").glob("[0-9]*") if listening else ():
        try:
            if any(str(entry.readlink()) in listening for entry in (folder / "fd").iterdir()):
                return int(folder.name)
        except OSError:
            continue
    return None


def _inodes(port: int) -> set[str]:
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        rows = [line.split() for line in lines]
        found |= {
            row[9] for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port
        }
    return found
