"""An archive comes back file by file; anything but what we write is refused before a byte is written."""

import contextlib
import io
import os
import random
import stat
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from regard.errors import DiskError, ModelFileError, UsageError
from regard.run import archive, files

CONTENT = {
    "README.md": b"# A model\n",
    "config.toml": b'task = "translate"\n',
    "metrics.jsonl": b"",
    "model.safetensors": bytes(range(256)) * 50,
    "tokenizer.json": b"{}",
}


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)
    (folder / "checkpoints").mkdir()
    (folder / ".lock").write_bytes(b"{}")
    return folder


@pytest.fixture
def packed(run, tmp_path):
    archive.pack(run, tmp_path / "run.zip")
    return tmp_path / "run.zip"


def refused(path: Path) -> ModelFileError:
    """The refusal of an archive, after which there is nothing new in its folder."""
    target = path.parent / "unpacked" / "here"
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(ModelFileError) as caught:
        archive.unpack(path, target)
    assert sorted(path.parent.rglob("*")) == before
    assert caught.value.exit_code == 4
    return caught.value


def zipped(
    path: Path, *entries: tuple[str | zipfile.ZipInfo, bytes], compression=zipfile.ZIP_STORED
):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in entries:
            file.writestr(name, content)
    return path


def test_a_run_comes_back(run, tmp_path, packed):
    assert archive.unpack(packed, tmp_path / "new") == sorted(CONTENT)
    assert {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()} == CONTENT


def test_any_zip_tool_reads_it(packed):
    with zipfile.ZipFile(packed) as file:
        assert file.testzip() is None
        assert {name: file.read(name) for name in file.namelist()} == CONTENT
        assert all(stat.S_ISREG(info.external_attr >> 16) for info in file.infolist())


def test_the_same_files_give_the_same_bytes(run, tmp_path, packed):
    for path in run.iterdir():
        os.utime(path, (7, 7))
    archive.pack(run, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()


def test_a_folder_without_a_model_is_not_packed(run, tmp_path):
    (run / "model.safetensors").unlink()
    with pytest.raises(UsageError, match=r"there is no model\.safetensors here"):
        archive.pack(run, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def test_nothing_is_written_over(run, packed):
    with pytest.raises(UsageError, match="run is there already"):
        archive.unpack(packed, run)


NAMES = [
    "../x",
    "../../etc/passwd",
    "/etc/passwd",
    "C:\\x",
    "..\\x",
    "a/../config.toml",
    "./config.toml",
    "config.toml/",
    "data/config.toml",
    "CONFIG.TOML",
    "Model.safetensors",
    "CON",
    "aux.txt",
    "config.toml ",
    "config.toml.",
    "config.toml:stream",
    "config.tom\u0142",
    "model.pt",
    "",
    "a" * 60_000,
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:20])
def test_names_that_are_not_of_a_run_are_refused(tmp_path, name):
    good = [("config.toml", b""), ("model.safetensors", b"")]
    path = tmp_path / "x.zip"
    for entries in ([(name, b"x"), *good], [*good, (name, b"x")]):
        path.write_bytes(canonical(*entries))
        assert refused(path).what.endswith(" is not a file of a run")
    if name:
        assert refused(zipped(path, (name, b"x"), *good)).what.endswith(" is not a file of a run")


def test_the_refusal_names_the_entry(tmp_path):
    assert (
        refused(zipped(tmp_path / "x.zip", ("../x", b"x"))).what == "'../x' is not a file of a run"
    )


def respelled(packed: Path, change) -> Path:
    """The same archive with its list of contents changed by hand."""
    content = bytearray(packed.read_bytes())
    start = content.index(b"PK\x01\x02")
    change(content, start)
    packed.write_bytes(content)
    return packed


@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK]
)
def test_links_and_special_nodes_are_refused(packed, kind):
    def change(content: bytearray, start: int) -> None:
        content[start + 38 : start + 42] = struct.pack("<I", (kind | 0o777) << 16)

    assert "a link, hidden bytes, or another tool" in refused(respelled(packed, change)).what


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR])
def test_a_link_made_by_a_zip_tool_is_refused(tmp_path, kind):
    link = zipfile.ZipInfo("config.toml", (1980, 1, 1, 0, 0, 0))
    link.create_system, link.external_attr = 3, (kind | 0o777) << 16
    refused(zipped(tmp_path / "x.zip", (link, b"/etc/passwd"), ("model.safetensors", b"")))


def test_two_readings_are_refused(packed):
    """The list of contents calls another file by the name that the file itself has."""

    def change(content: bytearray, start: int) -> None:
        place = content.index(b"README.md", start)
        content[place : place + 9] = b"README.mx"

    refused(respelled(packed, change))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_name_twice_is_refused(tmp_path):
    entries = [("config.toml", b"1"), ("config.toml", b"2"), ("model.safetensors", b"")]
    path = tmp_path / "x.zip"
    path.write_bytes(canonical(*entries))
    assert refused(path).what == "'config.toml' is in the archive twice or out of order"
    refused(zipped(tmp_path / "y.zip", *entries))


def canonical(*entries: tuple[str, bytes]) -> bytes:
    """An archive in our own form of any entries."""
    members, content, offset = [], b"", 0
    for name, data in entries:
        members.append(archive._Member(name, offset, len(data), zlib.crc32(data)))
        content += members[-1].local() + data
        offset = members[-1].end
    return content + archive._directory(members)


def test_ten_gigabytes_from_ten_kilobytes_are_refused(tmp_path):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = b"".join(packer.compress(bytes(2**20)) for _ in range(10)) + packer.flush()
    claimed = 10 * 2**30
    header = struct.pack("<4s5H3I2H", b"PK\3\4", 45, 0, 8, 0, 0x21, 0, len(body), 2**32 - 1, 17, 20)
    extra = struct.pack("<2H2Q", 1, 16, claimed, len(body))
    path = tmp_path / "bomb.zip"
    path.write_bytes(header + b"model.safetensors" + extra + body)
    assert path.stat().st_size < 11_000
    assert refused(path).what == "'model.safetensors' is compressed or encrypted"
    deflated = [("config.toml", b""), ("model.safetensors", bytes(10 * 2**20))]
    refused(zipped(tmp_path / "x.zip", *deflated, compression=zipfile.ZIP_DEFLATED))


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (11, "list of contents differs"),
        (2**32, "ends inside"),
        (2**63, "ends inside 'config.toml'"),
    ],
)
def test_files_that_claim_more_than_the_archive_has_are_refused(tmp_path, size, reason):
    member = archive._Member("config.toml", 0, size, 0)
    (tmp_path / "x.zip").write_bytes(member.local() + bytes(10) + archive._directory([member]))
    assert reason in refused(tmp_path / "x.zip").what


def test_bytes_before_between_or_after_are_refused(packed):
    content = packed.read_bytes()
    second = content.index(b"PK\3\4", 4)
    for spoiled in (
        b"#!/bin/sh\n" + content,
        content[:second] + b"hidden" + content[second:],
        content + b"\0",
        content[:-1],
        content[:-2] + struct.pack("<H", 6) + b"remark",
        content[: content.index(b"PK\1\2")],
    ):
        packed.write_bytes(spoiled)
        refused(packed)


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"PK\5\6" + bytes(18), b"{}" * 100, b"\x1f\x8b\x08"]
)
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "x.zip").write_bytes(content)
    assert refused(tmp_path / "x.zip").what == "this is not an archive of a run"


def test_an_archive_without_a_model_is_refused(tmp_path):
    (tmp_path / "x.zip").write_bytes(canonical(("README.md", b"")))
    assert refused(tmp_path / "x.zip").what == (
        "the archive has no config.toml and no model.safetensors and no tokenizer.json"
    )


def test_folders_pipes_and_missing_files_are_no_archives(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder", "missing"):
        refused(tmp_path / name)


def test_no_flipped_or_lost_byte_goes_unnoticed(packed, tmp_path):
    content, source = packed.read_bytes(), random.Random(3)
    target = tmp_path / "unpacked"
    heads = [*range(0, 60, 3), *range(len(content) - 400, len(content), 5)]
    for place in [*heads, *(source.randrange(len(content)) for _ in range(30))]:
        spoiled = bytearray(content)
        spoiled[place] ^= 1 << source.randrange(8)
        packed.write_bytes(spoiled if source.random() < 0.8 else spoiled[:place])
        with pytest.raises(ModelFileError):
            archive.unpack(packed, target)
        assert not target.exists()
        assert list(tmp_path.glob(".tmp-*")) == []


def test_large_files_have_large_numbers(tmp_path):
    """The headers of an archive past four gigabytes, read back by Python's own reader."""
    size = 5 * 2**30
    first = archive._Member("config.toml", 0, 0, 0)
    second = archive._Member("model.safetensors", first.end, size, 0)
    third = archive._Member("tokenizer.json", second.end, 3, zlib.crc32(b"abc"))
    path = tmp_path / "large.zip"
    with path.open("wb") as file:
        file.write(first.local() + second.local())
        file.truncate(second.end)
        file.seek(second.end)
        file.write(third.local() + b"abc" + archive._directory([first, second, third]))
    with zipfile.ZipFile(path) as theirs:
        assert [info.file_size for info in theirs.infolist()] == [0, size, 3]
        assert theirs.read("tokenizer.json") == b"abc"
    with io.FileIO(path) as file:
        assert archive._members(file, "x") == [first, second, third]


@pytest.mark.parametrize("verb", ["pack", "unpack"])
def test_a_fault_at_any_call_leaves_nothing_half_done(run, packed, tmp_path, monkeypatch, verb):
    target = tmp_path / "target"
    expected = packed.read_bytes()

    for point in range(1, 1000):
        calls = 0

        def spoil(_operation: str, _path: Path, length: int, point=point) -> int:
            nonlocal calls
            calls += 1
            if calls == point:
                raise OSError(5, "Input/output error")
            return length

        with monkeypatch.context() as patch:
            patch.setattr(files, "fault_hook", spoil)
            with contextlib.suppress(DiskError):
                archive.pack(run, target) if verb == "pack" else archive.unpack(packed, target)
        if target.is_file():
            assert target.read_bytes() == expected
        elif target.exists():
            assert {path.name: path.read_bytes() for path in target.iterdir()} == CONTENT
        assert list(tmp_path.glob(".tmp-*")) == []
        if calls < point:
            assert target.exists()
            assert point > 10
            return
        files.remove_tree(target)


def test_a_file_changed_while_it_is_packed_is_noticed(run, tmp_path, monkeypatch):
    original = archive._pieces

    def meddle(members, sources):
        (run / "README.md").write_bytes(b"# B model\n")
        return original(members, sources)

    monkeypatch.setattr(archive, "_pieces", meddle)
    with pytest.raises(
        ModelFileError, match=r"'README\.md' is damaged, or changed while it was read"
    ):
        archive.pack(run, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()
