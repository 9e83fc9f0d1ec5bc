"""The one line reader: N lines are N lines, whatever is in them, and memory stays bounded."""

from __future__ import annotations

import gzip
import importlib.util
import io
import lzma
import os
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from regard.data import lines as compressed
from regard.data.lines import LINE_BOUND, TextLine, compression_of, count_lines, read_lines
from regard.errors import DataError, DiskError, MissingFileError

# `wc -l` says 6, a text-mode `open` 7, and `str.splitlines` 11.
SIX = "one\u2028still one\ntwo\x85still two\nth\rree\nfour\x0cfour\r\nfi\x1cve\nsix\n"


PACKERS = [(gzip.compress, "gzip"), (lzma.compress, "xz")]
if importlib.util.find_spec("backports.zstd"):
    from backports import zstd

    PACKERS.append((zstd.compress, "zstd"))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Paths in messages are then as short as a person types them."""
    monkeypatch.chdir(tmp_path)


def written(name: str, content: bytes | str) -> Path:
    path = Path(name)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def texts(origin) -> list[str]:
    return [line.text for line in read_lines(origin)]


def test_six_lines_are_six_lines():
    path = written("six.txt", SIX)
    assert len(SIX.splitlines()) == 11
    assert len(path.read_text().split("\n")) - 1 == 7
    assert count_lines(path) == 6
    assert texts(path) == [line.removesuffix("\r") for line in SIX.split("\n")[:-1]]
    assert [line.number for line in read_lines(path)] == [1, 2, 3, 4, 5, 6]


@given(content=st.binary(max_size=200) | st.text("a\r\n\x85\u2028", max_size=60).map(str.encode))
def test_count_is_the_number_of_lines_read(content):
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff", *compressed.MAGIC))
    assume(not marked and content.count(0) < 2)
    lines = list(read_lines(io.BytesIO(content), on_bad_utf8="skip"))
    assert len(lines) == count_lines(io.BytesIO(content))
    assert len(lines) == len(content.removesuffix(b"\n").split(b"\n")) - (not content)


@given(lines=st.lists(st.text(st.characters(exclude_characters="\n\0", codec="utf-8"))))
def test_what_is_written_is_what_is_read(lines):
    content = "".join(line + "\r\n" for line in lines).encode()
    expected = [line.removeprefix("\ufeff") if i == 0 else line for i, line in enumerate(lines)]
    assert texts(io.BytesIO(content)) == expected


@pytest.mark.parametrize(("pack", "name"), PACKERS)
def test_compression_is_known_by_content_not_by_name(pack, name):
    path = written("train.en", pack(SIX.encode()) + pack(b"seven\n"))
    assert compression_of(path) == name
    assert texts(path) == [*texts(io.BytesIO(SIX.encode())), "seven"]
    assert count_lines(path) == 7
    assert texts(written("really-plain.gz", SIX)) == texts(io.BytesIO(SIX.encode()))


@pytest.mark.parametrize(("pack", "name"), PACKERS)
def test_a_cut_archive_is_named(pack, name):
    path = written("train.en.z", pack(os.urandom(3000).hex().encode())[:-50])
    with pytest.raises(DataError) as caught:
        count_lines(path)
    assert caught.value.what == f"the {name} data is damaged or cut short"
    assert caught.value.where == "train.en.z"


@pytest.mark.parametrize(("pack", "name"), PACKERS)
def test_what_unpacks_to_more_than_text_does_is_refused_while_it_is_read(pack, name):
    path = written("train.en.z", pack(b"a\n" * (1 << 22)))
    with pytest.raises(DataError) as caught:
        count_lines(path)
    assert caught.value.what == (
        f"the {name} data unpacks to more than 200 times its size, as no text does"
    )
    assert "if you trust it" in caught.value.remedy


def test_zstd_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 13))  # from 3.14 on, Python reads zstd itself
    monkeypatch.setitem(sys.modules, "backports", None)
    with pytest.raises(DataError) as caught:
        texts(written("train.zst", b"\x28\xb5\x2f\xfd rest"))
    assert str(caught.value) == (
        "the file is compressed with zstd, which this Python cannot read by itself\n"
        "train.zst\n"
        "pip install backports.zstd, or unpack it first: zstd -d FILE"
    )


def test_standard_input_is_read_line_by_line_and_stays_open():
    """A person at a terminal gets an answer after the first line, before the second is typed."""
    receive, send = os.pipe()
    with os.fdopen(receive, "rb") as stream:
        lines = read_lines(stream)
        os.write(send, b"first\r\n")
        assert next(lines) == TextLine(1, "first")
        os.write(send, b"second")
        os.close(send)
        assert list(lines) == [TextLine(2, "second")]
        assert not stream.closed
    buffer = io.BytesIO(b"a\nb")
    assert texts(buffer) == ["a", "b"]
    assert not buffer.closed


def test_a_line_may_be_as_long_as_the_bound_and_no_longer():
    just = "x" * LINE_BOUND
    content = f"\ufeff{just}\r\n{just}\n{just}x\n{just}xxxxx\nafter\n{just}\r"
    faults = [(len(line.text), line.fault) for line in read_lines(io.BytesIO(content.encode()))]
    good, bad = (LINE_BOUND, None), (0, "too long")
    assert faults == [good, good, bad, bad, (5, None), good]


def test_ten_megabytes_on_one_line_take_little_memory():
    path = written("long.txt", b"before\n" + b"word " * 2_000_000 + b"\nafter\n")
    tracemalloc.start()
    lines = list(read_lines(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lines == [TextLine(1, "before"), TextLine(2, "", "too long"), TextLine(3, "after")]
    assert peak < 1_000_000


def test_a_nul_byte_is_an_outcome_of_its_line_alone():
    lines = list(read_lines(written("nul.txt", b"a\nb\0c\nd\n")))
    assert lines == [TextLine(1, "a"), TextLine(2, "", "NUL byte"), TextLine(3, "d")]


def test_bad_utf8_stops_with_file_line_and_byte():
    path = written("train.de", b"gut\nM\xe4dchen\ngut\n")
    with pytest.raises(DataError) as caught:
        texts(path)
    assert str(caught.value) == (
        "byte 0xE4 is not UTF-8\n"
        "train.de:2:2\n"
        "save the file as UTF-8 (iconv -f LATIN1 -t UTF-8), "
        "or leave such lines out (--on-bad-utf8 skip, in Python the setting data.on_bad_utf8; "
        "when predicting, --keep-going)"
    )
    assert caught.value.exit_code == 3


def test_bad_utf8_can_be_skipped_and_keeps_its_place():
    path = written("train.de", b"gut\nM\xe4dchen\nbesser\n")
    lines = list(read_lines(path, on_bad_utf8="skip"))
    assert lines == [TextLine(1, "gut"), TextLine(2, "", "not UTF-8"), TextLine(3, "besser")]


@pytest.mark.parametrize("surrogate", [b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80"])
def test_what_only_looks_like_utf8_is_refused(surrogate):
    with pytest.raises(DataError, match="is not UTF-8\nstandard input:1:2"):
        texts(io.BytesIO(b"a" + surrogate))


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-32", "UTF-32"),
    ],
)
@pytest.mark.parametrize("on_bad_utf8", ["stop", "skip"])
def test_utf16_is_named(encoding, name, on_bad_utf8):
    path = written("wide.txt", "A man rides a bicycle.\nTwo dogs run.\n".encode(encoding))
    with pytest.raises(DataError) as caught:
        list(read_lines(path, on_bad_utf8=on_bad_utf8))
    assert str(caught.value) == (
        f"the file is {name}, not UTF-8\n"
        "wide.txt:1:1\n"
        f"convert it: iconv -f {name} -t UTF-8 wide.txt > NEW"
    )


def test_byte_order_mark_is_left_out_with_a_note():
    notes: list[str] = []
    path = written("train.en", "\ufeffone\n\ufefftwo\n")
    assert [line.text for line in read_lines(path, notes=notes)] == ["one", "\ufefftwo"]
    assert notes == ["train.en: the byte-order mark at its beginning was left out"]


def test_empty_file_has_no_line():
    assert texts(written("nothing", b"")) == []
    assert count_lines(Path("nothing")) == 0


def test_missing_file_and_folder():
    with pytest.raises(MissingFileError, match="there is no such file\nnowhere"):
        texts(Path("nowhere"))
    Path("folder").mkdir()
    with pytest.raises(DataError, match="this is a folder, not a file\nfolder"):
        texts(Path("folder"))


def test_forbidden_file(monkeypatch):
    def forbid(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("regard.data.lines.io.FileIO", forbid)
    with pytest.raises(DiskError, match="the file cannot be read: Permission denied\nsecret"):
        texts(Path("secret"))
