"""A port that is not available is named, with anyone who has it (S15)."""

import os
import socket

import pytest

from regard.errors import PortError
from regard.studio.server import bind, holder


@pytest.fixture
def taken():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        yield one.getsockname()[1]


def test_a_free_port_is_ours():
    with bind("127.0.0.1", 0) as one:
        assert one.getsockname()[1] > 0
        assert holder(one.getsockname()[1]) in (os.getpid(), None)


def test_a_port_in_use_names_who_has_it(taken):
    with pytest.raises(PortError) as fault:
        bind("127.0.0.1", taken)
    assert fault.value.what in (
        f"port {taken} is in use by process {os.getpid()}",
        f"port {taken} is in use",
    )
    assert fault.value.where == f"127.0.0.1:{taken}"
    assert fault.value.remedy == f"another one: --port {taken + 1}"
    assert fault.value.exit_code == 9


@pytest.mark.parametrize("port", [-1, 65_536, 10**9])
def test_no_such_port(port):
    with pytest.raises(PortError, match=f"there is no port {port}"):
        bind("127.0.0.1", port)


@pytest.mark.parametrize("host", ["203.0.113.7", "no-such-host.invalid"])
def test_an_address_of_another_machine(host):
    with pytest.raises(PortError) as fault:
        bind(host, 8321)
    assert fault.value.remedy == "use --host 127.0.0.1"


def test_a_port_that_needs_rights(monkeypatch):
    def refuse(self, address):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(PortError, match="port 80 needs rights"):
        bind("127.0.0.1", 80)
