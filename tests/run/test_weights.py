"""Tensors come back bit for bit, tied ones tied; foreign and damaged files are refused."""

import os
import pickle
import subprocess
import sys

import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from regard.errors import DiskError, MemoryLimitError, ModelFileError, UsageError
from regard.run import files, weights
from regard.run.header import ITEM_BYTES

names = st.text(min_size=1, max_size=9).filter(str.isprintable)
shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)
kinds = st.sampled_from(sorted(weights._DTYPES))


def filled(shape: tuple[int, ...], kind: str, seed: int) -> torch.Tensor:
    """A tensor of any dtype, with random bytes."""
    dtype = weights._DTYPES[kind]
    room = torch.empty(shape, dtype=dtype)
    generator = torch.Generator().manual_seed(seed)
    most = 2 if dtype is torch.bool else 256
    raw = torch.randint(0, most, (room.nbytes,), dtype=torch.uint8, generator=generator)
    return raw.view(dtype).reshape(shape)


def bits(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


@given(st.dictionaries(names, st.tuples(shapes, kinds, st.integers(0, 99)), max_size=6))
def test_any_tensors_come_back_bit_for_bit(tmp_path_factory, plan):
    path = tmp_path_factory.mktemp("weights") / "x.safetensors"
    tensors = {name: filled(*how) for name, how in plan.items()}
    written = weights.write(path, tensors)
    found = weights.read(path, sha256=written.sha256, allow_nonfinite=True)
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].shape == tensor.shape
        assert found[name].dtype == tensor.dtype
        assert bits(found[name]) == bits(tensor)
    assert written.size == path.stat().st_size


def test_every_dtype_has_its_size():
    assert {name: dtype.itemsize for name, dtype in weights._DTYPES.items()} == ITEM_BYTES


def test_safetensors_reads_what_we_write_and_we_read_what_it_writes(tmp_path):
    theirs = {name: filled((3, 5), name, 7) for name in weights._DTYPES if name != "F8_E8M0"}
    weights.write(tmp_path / "ours", theirs, {"note": "x"})
    safetensors.torch.save_file(theirs, tmp_path / "theirs", {"note": "x"})
    for name, tensor in safetensors.torch.load_file(tmp_path / "ours").items():
        assert bits(tensor) == bits(theirs[name])
    for name, tensor in weights.read(tmp_path / "theirs", allow_nonfinite=True).items():
        assert bits(tensor) == bits(theirs[name])


def test_the_bytes_depend_on_the_content_alone(tmp_path):
    one = {
        "b": torch.ones(3),
        "a": torch.zeros(2, dtype=torch.int64),
        "c": torch.ones(1).bfloat16(),
    }
    first = weights.write(tmp_path / "1", one, {"x": "1", "y": "2"})
    second = weights.write(tmp_path / "2", dict(reversed(one.items())), {"y": "2", "x": "1"})
    assert first == second
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_each_tensor_begins_at_a_multiple_of_its_item_size(tmp_path):
    tensors = {name: filled((3,), name, 1) for name in weights._DTYPES}
    weights.write(tmp_path / "x", tensors)
    head_length = int.from_bytes((tmp_path / "x").read_bytes()[:8], "little")
    assert head_length % 8 == 0
    for entry in weights.read_header(tmp_path / "x").entries:
        assert entry.begin % ITEM_BYTES[entry.dtype] == 0


def test_tied_weights_are_stored_once_and_tied_again(tmp_path):
    model = nn.ModuleDict({"embed": nn.Embedding(11, 5), "output": nn.Linear(5, 11, bias=False)})
    model["output"].weight = model["embed"].weight
    written = weights.write(tmp_path / "x", model.state_dict())
    assert written.size < 2 * 11 * 5 * 4
    found = weights.read(tmp_path / "x")
    assert found["output.weight"] is found["embed.weight"]
    assert torch.equal(found["embed.weight"], model["embed"].weight)
    assert weights.read_header(tmp_path / "x").tied == {"output.weight": "embed.weight"}


def test_views_that_only_overlap_are_not_tied(tmp_path):
    base = torch.arange(9.0).reshape(3, 3)
    tensors = {
        "all": base,
        "turned": base.T,
        "row": base[1],
        "next": base[2],
        "column": base[:, 1],
        "flat": base.reshape(-1),
        "bits": base.view(torch.int32),
    }
    weights.write(tmp_path / "x", tensors)
    found = weights.read(tmp_path / "x")
    assert weights.read_header(tmp_path / "x").tied == {}
    for name, tensor in tensors.items():
        assert torch.equal(found[name], tensor)
    found["all"].zero_()
    assert torch.equal(found["row"], base[1])


def test_lazy_views_are_written_as_they_read(tmp_path):
    number = torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex64)
    tensors = {"plain": number, "conjugate": number.conj(), "imaginary": number.conj().imag}
    weights.write(tmp_path / "x", tensors)
    found = weights.read(tmp_path / "x")
    for name, tensor in tensors.items():
        assert torch.equal(found[name], tensor)


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("a", torch.zeros(2, dtype=torch.complex128)),
        ("a", torch.zeros(2).to_sparse()),
        ("a", torch.zeros(2, device="meta")),
        ("", torch.zeros(2)),
        ("a\nb", torch.zeros(2)),
        ("__metadata__", torch.zeros(2)),
    ],
)
def test_what_cannot_be_stored_is_refused_before_the_disk_is_touched(tmp_path, name, tensor):
    with pytest.raises(UsageError, match="cannot be"):
        weights.write(tmp_path / "x", {name: tensor})
    assert list(tmp_path.iterdir()) == []


def test_too_many_tensors_for_one_header(tmp_path):
    with pytest.raises(UsageError, match="10,000 tensors are too many for one weights file"):
        weights.lay_out({f"tensor.{number}": torch.zeros(0) for number in range(10_000)})


def test_numbers_that_are_not_finite_are_named(tmp_path):
    tensors = {
        "good": torch.ones(3),
        "hole": torch.tensor([1.0, float("nan")]),
        "wide": torch.tensor([float("-inf")], dtype=torch.float64),
        "half": torch.tensor([float("inf")]).bfloat16(),
        "eight": torch.tensor([float("nan")]).to(torch.float8_e4m3fn),
        "complex": torch.tensor([complex(0, float("nan"))], dtype=torch.complex64),
        "large": torch.tensor([1e300], dtype=torch.float64),
        "count": torch.tensor([2**62]),
        "none": torch.zeros(0),
    }
    weights.write(tmp_path / "x", tensors)
    with pytest.raises(ModelFileError) as caught:
        weights.read(tmp_path / "x")
    assert caught.value.what == (
        "numbers that are not finite in 'complex', 'eight', 'half', 'hole', 'wide'"
    )
    assert caught.value.remedy == "take an earlier checkpoint"
    assert weights.read(tmp_path / "x", allow_nonfinite=True)["hole"].isnan().any()


def test_truth_values_are_zero_or_one(tmp_path):
    weights.write(tmp_path / "x", {"flags": torch.tensor([True, False])})
    content = bytearray((tmp_path / "x").read_bytes())
    content[-1] = 2
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ModelFileError, match="tensor 'flags' has truth values other than 0 and 1"):
        weights.read(tmp_path / "x")


def test_a_wrong_hash_is_noticed(tmp_path):
    written = weights.write(tmp_path / "x", {"a": torch.zeros(1000)})
    content = bytearray((tmp_path / "x").read_bytes())
    content[-500] ^= 1
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ModelFileError, match="its checksum differs"):
        weights.read(tmp_path / "x")
    with pytest.raises(ModelFileError, match="its SHA-256 differs"):
        weights.read(tmp_path / "x", sha256=written.sha256)


def test_no_flipped_bit_changes_a_number(tmp_path):
    """Each of all bits of a file: refused; or it was in the name of a note, and all numbers are right."""
    path, tensors = tmp_path / "x", {"a": torch.arange(6.0), "b": torch.ones(2, 3)}
    weights.write(path, tensors)
    whole, refused = path.read_bytes(), 0
    for bit in range(8 * len(whole)):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        try:
            found = weights.read(path)
        except (ModelFileError, MemoryLimitError):
            refused += 1
        else:
            assert {name: one.tolist() for name, one in found.items()} == {
                name: one.tolist() for name, one in tensors.items()
            }
    assert 8 * len(whole) - refused < 8 * len("regardcrc32")


def test_files_of_others_have_no_checksum_and_are_read(tmp_path):
    safetensors.torch.save_file({"a": torch.arange(6.0)}, tmp_path / "x", {"crc32": "00000000"})
    assert weights.read(tmp_path / "x")["a"].tolist() == [0, 1, 2, 3, 4, 5]


def test_the_library_reads_what_has_a_checksum(tmp_path):
    weights.write(tmp_path / "x", {"a": torch.arange(6.0)}, {"note": "b"})
    with safetensors.safe_open(tmp_path / "x", "pt") as file:
        assert file.metadata().keys() == {"format", "regard", "note", "crc32"}
        assert file.get_tensor("a").tolist() == [0, 1, 2, 3, 4, 5]


def test_a_file_swapped_after_opening_is_not_seen(tmp_path, monkeypatch):
    path = tmp_path / "x"
    written = weights.write(path, {"a": torch.ones(1000)})
    original = weights.header.measure

    def swap(prefix: bytes, size: int, where: str) -> int:
        weights.write(path, {"a": torch.zeros(1000)})
        return original(prefix, size, where)

    monkeypatch.setattr(weights.header, "measure", swap)
    assert weights.read(path, sha256=written.sha256)["a"].sum() == 1000
    assert files.sha256_of(path) != written.sha256


def test_a_file_cut_while_it_is_read_is_told(tmp_path, monkeypatch):
    path = tmp_path / "x"
    weights.write(path, {"a": torch.ones(1000)})
    original = weights.header.parse

    def cut(text: bytes, size: int, where: str):
        os.truncate(path, 2000)
        return original(text, size, where)

    monkeypatch.setattr(weights.header, "parse", cut)
    with pytest.raises(ModelFileError, match="x was cut while it was read"):
        weights.read(path)


def test_headers_longer_than_the_first_look_are_read_whole(tmp_path):
    tensors = {f"layer.{number}.weight": torch.full((2,), float(number)) for number in range(40)}
    written = weights.write(tmp_path / "x", tensors, {"note": "x" * 3000})
    found = weights.read(tmp_path / "x", sha256=written.sha256)
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())


def test_folders_pipes_and_missing_files_are_no_weights(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, reason in [
        (tmp_path, "is a folder; a weights file is needed"),
        (tmp_path / "pipe", "pipe is not a plain file; a weights file is needed"),
        (tmp_path / "none", "there is no weights file none"),
    ]:
        with pytest.raises(ModelFileError, match=reason):
            weights.read(path)


def test_a_disk_that_cannot_be_read_is_a_disk_error(tmp_path, monkeypatch):
    def refuse(*_arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(DiskError, match="cannot read x: Permission denied"):
        weights.read(tmp_path / "x")


class Poison:
    def __reduce__(self):
        return os.abort, ()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_pickle_is_ever_run(tmp_path, protocol):
    path = tmp_path / "model.safetensors"
    path.write_bytes(pickle.dumps(Poison(), protocol))
    with pytest.raises(ModelFileError, match="Python pickle"):
        weights.read(path)


@pytest.mark.parametrize("archive", [True, False])
def test_torch_files_are_refused(tmp_path, archive):
    path = tmp_path / "model.safetensors"
    torch.save({"a": torch.zeros(3)}, path, _use_new_zipfile_serialization=archive)
    with pytest.raises(ModelFileError, match="Python pickle"):
        weights.read(path)


def test_more_than_the_machine_has_is_refused_before_it_is_taken(tmp_path):
    path = tmp_path / "x"
    count = 2**50
    text = b'{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (count, count)
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    try:
        os.truncate(path, 8 + len(text) + count)
    except OSError:
        count = 2**43  # a disk that cannot hold even the hole of a larger file
        text = b'{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (count, count)
        path.write_bytes(len(text).to_bytes(8, "little") + text)
        os.truncate(path, 8 + len(text) + count)
    with pytest.raises(MemoryLimitError, match="bytes of memory; this machine has"):
        weights.read(path)


def test_differences_from_the_model_are_listed():
    expected = {
        "embed": ((7, 3), torch.float32),
        "bias": ((3,), torch.float32),
        "scale": ((), torch.float32),
        **{f"gone.{number:02d}": ((1,), torch.float32) for number in range(12)},
    }
    found = {
        "embed": torch.zeros(3, 7),
        "bias": torch.zeros(3, dtype=torch.bfloat16),
        "scale": torch.zeros(()),
        "more": torch.zeros(2),
    }
    with pytest.raises(ModelFileError) as caught:
        weights.check_against(expected, found, "model.safetensors")
    listed = ", ".join(f"'gone.{number:02d}'" for number in range(10))
    assert caught.value.what == (
        f"the weights do not fit the model; missing: {listed} and 2 more; not of this model: 'more';"
        " different: 'bias' is bfloat16 [3] instead of float32 [3],"
        " 'embed' is float32 [3, 7] instead of float32 [7, 3]"
    )
    assert caught.value.where == "model.safetensors"
    weights.check_against({"a": ((2,), torch.int64)}, {"a": torch.zeros(2, dtype=torch.int64)})


LARGE = """
import os, resource, sys
from pathlib import Path
import torch
from regard.run import weights
path, size = Path(sys.argv[1]), 2**28
tensors = {str(part): torch.full((size // 16,), part, dtype=torch.float32) for part in range(4)}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
written = weights.write(path, tensors)
after_write = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
del tensors
found = weights.read(path, sha256=written.sha256)
after_read = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
unit = 1 if sys.platform == "darwin" else 1024
print((after_write - before) * unit, (after_read - after_write) * unit)
assert all((tensor == int(name)).all() for name, tensor in found.items())
"""


@pytest.mark.slow
def test_a_large_file_needs_its_own_size_in_memory_and_no_more(tmp_path):
    output = subprocess.run(
        [sys.executable, "-c", LARGE, str(tmp_path / "x")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert int(output[0]) < 50 * 2**20
    assert int(output[1]) < 50 * 2**20
