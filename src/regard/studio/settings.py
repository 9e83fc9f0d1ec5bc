"""What the server allows: every bound in one place, small enough for a laptop and checked before any work."""

from __future__ import annotations

from ipaddress import ip_address

from pydantic import PositiveFloat, PositiveInt

from regard.config import Settings


class Limits(Settings):
    """How much one request may ask for, and how long anyone may wait."""

    body_bytes: PositiveInt = 1 << 20
    json_depth: PositiveInt = 32
    text_characters: PositiveInt = 20_000
    held_characters: PositiveInt = 700_000
    symbols: PositiveInt = 2_000  # of a text, once it is cut
    beam: PositiveInt = 32
    written: PositiveInt = 512  # symbols of an answer
    sentences: PositiveInt = 100  # of a study of heads or of a word
    steps: PositiveInt = 65_536  # symbols x beam
    cells: PositiveInt = 64_000_000  # attention weights of one trace: heads x query x key
    queue: PositiveInt = 16  # requests that wait for the model
    request_seconds: PositiveFloat = 60.0
    receive_seconds: PositiveFloat = 10.0
    drain_seconds: PositiveFloat = 30.0
    traces: PositiveInt = 256
    studies: PositiveInt = 32  # of heads or of words, kept
    trace_bytes: PositiveInt = 512 << 20  # of all traces that are kept
    models: PositiveInt = 4  # kept in memory
    listeners: PositiveInt = 32  # pages that hear events
    neuron_keys: PositiveInt = 64


class StudioSettings(Settings):
    """Where to listen, and who may speak. Beyond this machine, only with the token."""

    host: str = "127.0.0.1"
    port: int = 8321
    token: str | None = None
    limits: Limits = Limits()

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False
