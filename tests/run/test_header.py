"""A table of crafted files with their verdicts, live agreement with safetensors, and fuzz."""

import json
import random
import struct
import subprocess
import sys

import pytest
import safetensors
import safetensors.torch

from regard.errors import ModelFileError
from regard.run import header
from regard.run.header import Entry, Header


def tensor(dtype="F32", shape=(2,), place=(0, 8), **more) -> dict[str, object]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(place), **more}


def craft(table: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = table if isinstance(table, bytes) else json.dumps(table).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def judge(content: bytes, where: str = "model.safetensors") -> Header:
    length = header.measure(content[:512], len(content), where)
    end = header.PREFIX + length
    return header.parse(content[header.PREFIX : end], len(content) - end, where)


EIGHT = bytes(8)
ONE = {"a": tensor()}
REFUSED = {
    # The first eight bytes.
    "empty file": (b"", "the weights file is empty"),
    "one byte": (b"x", "ends inside its header, at 1 bytes"),
    "seven bytes": (bytes(7), "ends inside its header, at 7 bytes"),
    "eight bytes of nothing": (bytes(8), "claims a header of 0 bytes"),
    "header of length 0": (craft(b"", EIGHT), "claims a header of 0 bytes"),
    "header of length 1": (craft(b"{", EIGHT), "claims a header of 1 bytes"),
    "length 2^63": (craft(ONE, EIGHT, 2**63), "ends inside its header"),
    "length 2^64 - 1": (craft(ONE, EIGHT, 2**64 - 1), "ends inside its header"),
    "length one past the file": (craft(b"{}", b"", 3), "ends inside its header, at 10 bytes"),
    "longer than we allow": (
        craft(b"{" + b" " * header.LONGEST + b"}"),
        "2 to 524,288 are possible",
    ),
    # Text and JSON.
    "bad UTF-8": (craft(b'{"\xff":0}'), "not UTF-8 at byte 2"),
    "overlong UTF-8": (craft(b'{"\xc0\xaf":0}'), "not UTF-8 at byte 2"),
    "half a character": (craft(b'{"\\ud800":0}'), "half a character"),
    "byte order mark": (craft(b"\xef\xbb\xbf{}"), "this is not JSON"),
    "not JSON": (craft(b"{hello}"), "this is not JSON"),
    "cut JSON": (craft(b'{"a":{"dtype":'), "this is not JSON"),
    "two values": (craft(b"{} {}"), "this is not JSON: Extra data"),
    "a list": (craft(b"[]"), "not a JSON object"),
    "a number": (craft(b"17"), "not a JSON object"),
    "null": (craft(b"null"), "not a JSON object"),
    "zeros after the JSON": (craft(b"{}" + bytes(6)), "this is not JSON"),
    "NaN": (craft(b'{"a":NaN}'), "NaN is not a finite number"),
    "1e400": (craft(b'{"a":1e400}'), "1e400 is not a finite number"),
    "5,000 digits": (craft(b'{"a":' + b"1" * 5000 + b"}"), "a whole number has 5,000 digits"),
    "the same name twice": (
        craft(b'{"a":%b,"a":%b}' % ((json.dumps(tensor()).encode(),) * 2), EIGHT),
        "the key 'a' appears twice",
    ),
    "the same key twice": (
        craft(b'{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}', EIGHT),
        "the key 'dtype' appears twice",
    ),
    "deep nesting": (craft(b'{"a":' + b"[" * 100_000), "nested deeper than 3 levels"),
    "deep nesting, closed": (craft({"a": [[[[[]]]]]}), "nested deeper than 3 levels"),
    # One tensor's entry.
    "an empty name": (craft({"": tensor()}, EIGHT), "tensor '' has a name that cannot be printed"),
    "a name with a control character": (
        craft({"a\x1b[2J": tensor()}, EIGHT),
        r"tensor 'a\x1b[2J' has a name that cannot be printed",
    ),
    "an entry that is a word": (craft({"a": "F32"}), "tensor 'a' must have exactly"),
    "no dtype": (
        craft({"a": {"shape": [], "data_offsets": [0, 0]}}),
        "tensor 'a' must have exactly",
    ),
    "a further key": (craft({"a": tensor(stride=[1])}, EIGHT), "tensor 'a' must have exactly"),
    "unknown dtype": (craft({"a": tensor("F31")}, EIGHT), "tensor 'a' has an unknown dtype 'F31'"),
    "dtype in small letters": (
        craft({"a": tensor("f32")}, EIGHT),
        "tensor 'a' has an unknown dtype",
    ),
    "dtype of four bits": (
        craft({"a": tensor("F4")}, EIGHT),
        "tensor 'a' has an unknown dtype 'F4'",
    ),
    "dtype a list": (craft({"a": tensor(["F32"])}, EIGHT), "tensor 'a' has an unknown dtype"),
    "negative axis": (craft({"a": tensor(shape=(-2,))}, EIGHT), "tensor 'a' has a shape"),
    "two negative axes": (craft({"a": tensor(shape=(-1, -2))}, EIGHT), "tensor 'a' has a shape"),
    "half an axis": (craft({"a": tensor(shape=(2.0,))}, EIGHT), "tensor 'a' has a shape"),
    "axis true": (craft({"a": tensor(shape=(True, 2))}, EIGHT), "tensor 'a' has a shape"),
    "axis null": (craft({"a": tensor(shape=(None,))}, EIGHT), "tensor 'a' has a shape"),
    "shape a number": (
        craft({"a": {"dtype": "F32", "shape": 2, "data_offsets": [0, 8]}}, EIGHT),
        "tensor 'a' has a shape",
    ),
    "65 axes": (craft({"a": tensor(shape=[1] * 64 + [2])}, EIGHT), "tensor 'a' has a shape"),
    "shape overflow": (craft({"a": tensor(shape=(2**32, 2**32))}, EIGHT), "whose size overflows"),
    "overflow to the right size": (
        craft({"a": tensor(shape=(2**61 + 1, 2))}, EIGHT),
        "tensor 'a' has a shape whose size overflows",
    ),
    "overflow behind a zero": (
        craft({"a": tensor(shape=(0, 2**62, 2**62), place=(0, 0))}),
        "tensor 'a' has a shape whose size overflows",
    ),
    "shape too small": (
        craft({"a": tensor(shape=(1,))}, EIGHT),
        "needs 4 bytes by its shape but has 8",
    ),
    "shape too large": (
        craft({"a": tensor(shape=(3,))}, EIGHT),
        "needs 12 bytes by its shape but has 8",
    ),
    "zero-size shape with bytes": (craft({"a": tensor(shape=(0,))}, EIGHT), "needs 0 bytes"),
    "bytes of none for two": (
        craft({"a": tensor(place=(0, 0))}),
        "needs 8 bytes by its shape but has 0",
    ),
    # Places.
    "one offset": (craft({"a": tensor(place=(0,))}, EIGHT), "tensor 'a' has data_offsets"),
    "three offsets": (craft({"a": tensor(place=(0, 4, 8))}, EIGHT), "tensor 'a' has data_offsets"),
    "end before begin": (craft({"a": tensor(place=(8, 0))}, EIGHT), "tensor 'a' has data_offsets"),
    "negative begin": (craft({"a": tensor(place=(-8, 0))}, EIGHT), "tensor 'a' has data_offsets"),
    "offset a float": (craft({"a": tensor(place=(0, 8.0))}, EIGHT), "tensor 'a' has data_offsets"),
    "offset of 39 digits": (
        craft({"a": tensor(place=(10**38, 10**38 + 8))}, EIGHT),
        "tensor 'a' leaves a hole before it",
    ),
    "hole at the start": (
        craft({"a": tensor(place=(8, 16))}, bytes(16)),
        "tensor 'a' leaves a hole",
    ),
    "hole between": (
        craft({"a": tensor(), "b": tensor(place=(9, 17))}, bytes(17)),
        "tensor 'b' leaves a hole before it",
    ),
    "overlap by one": (
        craft({"a": tensor(), "b": tensor(place=(7, 15))}, bytes(15)),
        "tensor 'b' overlaps the tensor before it",
    ),
    "one place for two": (craft({"a": tensor(), "b": tensor()}, EIGHT), "tensor 'b' overlaps"),
    "one inside another": (
        craft({"a": tensor("U8", (8,)), "b": tensor("U8", (2,), (3, 5))}, EIGHT),
        "tensor 'b' overlaps the tensor before it",
    ),
    "zero-size inside another": (
        craft({"a": tensor(), "b": tensor(shape=(0,), place=(4, 4))}, EIGHT),
        "tensor 'b' overlaps the tensor before it",
    ),
    "zero-size past the end": (
        craft({"a": tensor(), "b": tensor(shape=(0,), place=(9, 9))}, EIGHT),
        "tensor 'b' leaves a hole before it",
    ),
    "past the end": (craft(ONE, bytes(7)), "tensor 'a' reaches past the end of the file"),
    "one byte too many": (craft(ONE, bytes(9)), "1 bytes at the end belong to no tensor"),
    "bytes but no tensors": (craft({}, EIGHT), "8 bytes at the end belong to no tensor"),
    # Notes.
    "metadata a list": (craft({"__metadata__": []}), "the metadata must map words to words"),
    "metadata with a number": (craft({"__metadata__": {"a": 1}}), "must map words to words"),
    "metadata as a tensor": (craft({"__metadata__": tensor()}, EIGHT), "must map words to words"),
    "a newer format": (
        craft({"__metadata__": {"regard": "2"}}),
        "the weights are in format '2'; this regard reads format '1'",
    ),
    "tied to nothing": (
        craft({"__metadata__": {"regard": "1", "tied": '{"b":"c"}'}, **ONE}, EIGHT),
        "tensor 'b' is tied to a tensor that is not there",
    ),
    "tied in a circle": (
        craft({"__metadata__": {"regard": "1", "tied": '{"b":"c","c":"b"}'}, **ONE}, EIGHT),
        "tensor 'b' is tied to a tensor that is not there",
    ),
    "tied and stored": (
        craft({"__metadata__": {"regard": "1", "tied": '{"a":"a"}'}, **ONE}, EIGHT),
        "tensor 'a' is tied and stored at once",
    ),
    "tied to a list": (
        craft({"__metadata__": {"regard": "1", "tied": '{"b":["a"]}'}, **ONE}, EIGHT),
        "tensor 'b' is tied to a tensor that is not there",
    ),
    "tied not JSON": (
        craft({"__metadata__": {"regard": "1", "tied": "b=a"}, **ONE}, EIGHT),
        "this is not JSON",
    ),
}
ACCEPTED = {
    "no tensors": craft({}),
    "one tensor": craft(ONE, EIGHT),
    "padded with spaces": craft(b'{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}   ', b"x"),
    "zero-size in every gap": craft(
        {
            "a": tensor(),
            "b": tensor(shape=(0,), place=(0, 0)),
            "c": tensor(shape=(3, 0), place=(8, 8)),
            "d": tensor("U8", (1,), (8, 9)),
            "e": tensor("C64", (0,), (9, 9)),
        },
        bytes(9),
    ),
    "64 axes": craft({"a": tensor(shape=[1] * 63 + [2])}, EIGHT),
    "foreign notes": craft({"__metadata__": {"tied": "not ours", "format": "pt"}, **ONE}, EIGHT),
    "a name of another script": craft({"слой.0": tensor()}, EIGHT),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    content, reason = REFUSED[case]
    with pytest.raises(ModelFileError) as caught:
        judge(content)
    assert reason in caught.value.what
    assert caught.value.where.startswith("model.safetensors")
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("case", ACCEPTED)
def test_accepted_as_safetensors_does(case):
    found = judge(ACCEPTED[case])
    theirs = safetensors.deserialize(ACCEPTED[case])
    assert {entry.name: list(entry.shape) for entry in found.entries} == {
        name: item["shape"] for name, item in theirs
    }
    assert {entry.name: entry.dtype for entry in found.entries} == {
        name: item["dtype"] for name, item in theirs
    }


def test_we_refuse_all_that_safetensors_refuses():
    stricter = set()
    for case, (content, _reason) in REFUSED.items():
        try:
            safetensors.deserialize(content)
            stricter.add(case)
        except safetensors.SafetensorError:
            pass
    assert stricter <= {
        "1e400",
        "65 axes",
        "a further key",
        "a name with a control character",
        "a newer format",
        "an empty name",
        "half an axis",
        "longer than we allow",
        "overflow behind a zero",
        "the same key twice",
        "the same name twice",
        "tied and stored",
        "tied in a circle",
        "tied not JSON",
        "tied to a list",
        "tied to nothing",
    }


PICKLES = {
    "protocol 4": b"\x80\x04\x95\x1a\0\0\0\0\0\0\0\x8c\x08builtins",
    "protocol 2, old torch": b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.",
    "protocol 0": b"cposix\nsystem\n(S'id'\ntR.",
    "empty dict": b"\x80\x02}q\0.",
    "torch archive": b"PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0archive/data.pkl",
}


@pytest.mark.parametrize("kind", PICKLES)
def test_a_pickle_is_explained_and_never_loaded(kind):
    with pytest.raises(ModelFileError) as caught:
        judge(PICKLES[kind] + bytes(100))
    assert caught.value.what == (
        "this is a Python pickle, and loading a pickle can run any program hidden in it"
    )
    assert caught.value.remedy == (
        "regard opens only safetensors: convert the file where you trust its maker"
    )


@pytest.mark.parametrize("name", ["m.pt", "M.PTH", "pytorch_model.bin", "m.joblib", "last.ckpt"])
def test_a_pickle_is_known_by_its_name_when_its_bytes_say_nothing(name):
    with pytest.raises(ModelFileError, match="this is a Python pickle"):
        judge(b"\x00" * 100, name)
    assert judge(craft(ONE, EIGHT), name).entries[0].name == "a"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x1f\x8b\x08", "a compressed file"),
        (b"BZh91AY", "a compressed file"),
        (b"\xfd7zXZ\0", "a compressed file"),
        (b"\x78\x9c\x01", "a compressed file"),
        (b"GGUF\x03\0\0\0", "a GGUF file"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (b"\x93NUMPY\x01\0", "a NumPy array"),
        (b"PK\x03\x04\x14\0\0\0readme", "a zip archive"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    ],
)
def test_other_files_are_named(content, kind):
    with pytest.raises(ModelFileError, match=f"this is {kind}"):
        judge(content + b"\x07" * 100)


def test_a_header_whose_length_looks_like_a_pickle_is_read():
    table = {"__metadata__": {"note": "x" * 600}, **ONE}
    text = json.dumps(table).encode()
    text += b" " * (0x0480 - len(text))
    content = craft(text, EIGHT)
    assert content.startswith(b"\x80\x04")
    assert judge(content).entries[0].name == "a"


WORST = """
import resource, sys
from regard.errors import ModelFileError
from regard.run import header
texts = [
    b"{" + b",".join(b'"%x":0' % number for number in range(58_000)) + b"}",
    b'{"a":[' + b"0," * 262_000 + b"0]}",
    b'{"a":[' + b"{}," * 174_000 + b"0]}",
    b'{"a":[' + b"[]," * 174_000 + b"0]}",
    b'{"' + b"\\\\u0041" * 87_000 + b'":0}',
]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for text in texts:
    assert 0.95 * header.LONGEST < len(text) <= header.LONGEST
    try:
        header.parse(text, 0, "x")
    except ModelFileError as fault:
        assert "tensor" in fault.what, fault
    else:
        raise AssertionError(text[:20])
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(grown * (1 if sys.platform == "darwin" else 1024), "torch" in sys.modules)
"""


def test_the_worst_headers_need_little_memory_and_no_torch():
    output = subprocess.run(
        [sys.executable, "-c", WORST], capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(output[0]) < 50 * 2**20
    assert output[1] == "False"


def test_the_same_content_composes_the_same_bytes_and_reads_back():
    entries = (Entry("b", "F32", (2, 3), 0, 24), Entry("a.é", "BF16", (), 24, 26))
    one = header.compose(entries, {"y": "1", "x": "2"})
    assert one == header.compose(entries, {"x": "2", "y": "1"})
    assert len(one) % 8 == 0
    assert judge(one + bytes(26)) == Header(entries, {"x": "2", "y": "1"})


WORDS = [b'"', b"{", b"}", b"[", b"]", b",", b":", b"0", b"-1", b"1e9", b"null", b"\\u0000", b"\xff", b"F32",
         b"18446744073709551616", b'"shape":', b'"a":{}', b"\0", b"  ", b"9" * 30]  # fmt: skip


def fuzz(count: int, seed: int) -> int:
    """Spoil good files in `count` ways; each is refused cleanly, or accepted by safetensors too."""
    source = random.Random(seed)
    good = [content for content in ACCEPTED.values() if len(content) > 30]
    accepted = 0
    for _ in range(count):
        content = bytearray(source.choice(good))
        for _change in range(source.choice((1, 1, 1, 2, 5))):
            place = source.randrange(len(content))
            match source.randrange(4):
                case 0:
                    content[place] ^= 1 << source.randrange(8)
                case 1:
                    content[place] = source.randrange(256)
                case 2:
                    content[place:place] = source.choice(WORDS)
                case 3:
                    del content[place : place + source.choice((1, 1, 3, 10))]
            content = content or bytearray(1)
        if source.random() < 0.5:  # so that the change is seen, not only the length
            length = max(0, len(content) - 8 - 8)
            content[:8] = length.to_bytes(8, "little")
        spoiled = bytes(content)
        try:
            judge(spoiled)
        except ModelFileError:
            continue
        safetensors.deserialize(spoiled)
        accepted += 1
    return accepted


def test_fuzz():
    assert 0 < fuzz(10_000, seed=1) < 5_000


@pytest.mark.slow
def test_fuzz_a_million():
    assert fuzz(1_000_000, seed=2) > 0
