"""Named tensors in one safetensors file, written and read so that nothing in it has to be trusted.

The header is checked before any memory is taken, and the numbers are read from the descriptor that was
checked, each tensor into its own memory: a file of two gigabytes needs two gigabytes. Tensors that share
memory are stored once, and share it again when read.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import final

import torch
from torch import Tensor

from regard.errors import MemoryLimitError, ModelFileError, UsageError
from regard.run import files, header, system
from regard.run.header import Entry, Header, shown

_DTYPES = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "U16": torch.uint16,
    "U32": torch.uint32,
    "U64": torch.uint64,
    "I8": torch.int8,
    "I16": torch.int16,
    "I32": torch.int32,
    "I64": torch.int64,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E4M3FNUZ": torch.float8_e4m3fnuz,
    "F8_E5M2": torch.float8_e5m2,
    "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
    "F8_E8M0": torch.float8_e8m0fnu,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
    "C64": torch.complex64,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_SNIFF = 512
_MOST_LISTED = 10


@final
@dataclass(frozen=True)
class Layout:
    """Tensors in the order a file will have them; `pieces` gives its bytes, as often as asked."""

    head: bytes
    stored: tuple[Tensor, ...]

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return len(self.head) + sum(tensor.nbytes for tensor in self.stored)

    def pieces(self) -> Iterator[bytes | memoryview]:
        """The file's bytes: the header, then one tensor at a time, copied only where it must be."""
        yield self.head
        yield from _pieces(self.stored)


def lay_out(
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
    *,
    checked: bool = True,
) -> Layout:
    """Decide the bytes of a file: the same tensors and notes give the same bytes, in any order.

    `checked` puts a checksum among the notes; who keeps a hash elsewhere needs none.
    """
    stored, tied = _once(tensors)
    # Wide numbers first, so that each tensor begins at a multiple of its item size.
    names = sorted(stored, key=lambda name: (-stored[name].itemsize, name))
    entries, position = [], 0
    for name in names:
        tensor = stored[name]
        end = position + tensor.nbytes
        entries.append(Entry(name, _NAMES[tensor.dtype], tuple(tensor.shape), position, end))
        position = end
    notes = {**(metadata or {}), "format": "pt", "regard": str(header.VERSION)}
    if tied:
        notes["tied"] = json.dumps(tied, separators=(",", ":"))
    ordered = tuple(stored[name] for name in names)
    if checked:
        checksum = header.checksum(Header(tuple(entries), notes))
        for piece in _pieces(ordered):
            checksum = zlib.crc32(piece, checksum)
        notes[header.CHECKSUM] = f"{checksum:08x}"
    head = header.compose(entries, notes)
    if len(head) - header.PREFIX > header.LONGEST:
        raise UsageError(
            f"{len(tensors):,} tensors are too many for one weights file",
            where="tensors",
            remedy="join some of them, or write several files",
        )
    return Layout(head, ordered)


def _once(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Each tensor under the first of its names; and the owner's name for every other one."""
    stored: dict[str, Tensor] = {}
    tied: dict[str, str] = {}
    owners: dict[tuple[object, ...], str] = {}
    for name, tensor in sorted(tensors.items()):
        _check_storable(name, tensor)
        owner = owners.setdefault(_memory(tensor), name) if tensor.numel() else name
        if owner == name:
            stored[name] = tensor
        else:
            tied[name] = owner
    return stored, tied


def write(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> files.Written:
    """Save tensors under a name in one step; tied ones are stored once."""
    layout = lay_out(tensors, metadata)
    return files.write_atomic(path, layout.pieces(), needed=layout.size)


def read(
    path: Path,
    device: str | torch.device = "cpu",
    *,
    sha256: str | None = None,
    allow_nonfinite: bool = False,
) -> dict[str, Tensor]:
    """The tensors of a file, each checked and in its own memory; tied ones are one tensor again.

    With `sha256` the very bytes that become tensors must have that hash; without, the file's own checksum.
    """
    device = torch.device(device)
    tensors: dict[str, Tensor] = {}
    nonfinite = []
    with system.opened(path, "weights file") as file:
        head, raw = _header(file, path)
        check = _Check(head, raw, sha256)
        _check_memory(head, device, path)
        for entry in head.entries:
            tensor = _allocated(entry, path)
            for piece in _filled(file, _bytes_of(tensor), path):
                check.update(piece)
            _check_truth(entry, tensor, path)
            if not allow_nonfinite and not _finite(tensor):
                nonfinite.append(entry.name)
            tensors[entry.name] = tensor.to(device)
    check.refuse_other(path)
    if nonfinite:
        raise ModelFileError(
            f"numbers that are not finite in {_listed(sorted(nonfinite))}",
            str(path),
            "take an earlier checkpoint",
        )
    return tensors | {alias: tensors[name] for alias, name in head.tied.items()}


@final
class _Check:
    """What the bytes of a file must come to: a hash kept elsewhere, else the checksum among its own notes.

    Files of others, and of regard 0.1, have no checksum.
    """

    def __init__(self, head: Header, raw: bytes, sha256: str | None) -> None:
        self._sha256, self._digest = sha256, hashlib.sha256(raw)
        self._crc = header.checksum(head)
        self._noted = head.metadata.get(header.CHECKSUM) if "regard" in head.metadata else None

    def update(self, piece: memoryview) -> None:
        if self._sha256 is not None:
            self._digest.update(piece)
        elif self._noted is not None:
            self._crc = zlib.crc32(piece, self._crc)

    def refuse_other(self, path: Path) -> None:
        if self._sha256 is not None:
            name, same = "SHA-256", self._digest.hexdigest() == self._sha256
        else:
            name, same = "checksum", self._noted in (None, f"{self._crc:08x}")
        if not same:
            what = f"{path.name} is not what was written: its {name} differs"
            remedy = (
                "use another copy; of a run, `regard train FOLDER` makes it from a checkpoint; "
                "of a model in the box, install regard again"
            )
            raise ModelFileError(what, str(path), remedy)


def read_header(path: Path) -> Header:
    """What a file says it holds, checked, without reading one number of it."""
    with system.opened(path, "weights file") as file:
        return _header(file, path)[0]


def outline(head: Header) -> dict[str, Tensor]:
    """The tensors that a header describes, with shapes but without memory."""
    tensors = {
        entry.name: torch.empty(entry.shape, dtype=_DTYPES[entry.dtype], device="meta")
        for entry in head.entries
    }
    return tensors | {alias: tensors[name] for alias, name in head.tied.items()}


def check_against(
    expected: Mapping[str, tuple[tuple[int, ...], torch.dtype]],
    tensors: Mapping[str, Tensor],
    where: str = "",
) -> None:
    """Refuse tensors that are not exactly the ones a model has, with the list of differences."""
    missing = sorted(expected.keys() - tensors.keys())
    extra = sorted(tensors.keys() - expected.keys())
    other = [
        f"{shown(name)} is {_described(tuple(tensors[name].shape), tensors[name].dtype)}"
        f" instead of {_described(tuple(shape), dtype)}"
        for name, (shape, dtype) in sorted(expected.items())
        if name in tensors and (tensors[name].shape, tensors[name].dtype) != (shape, dtype)
    ]
    faults = [f"missing: {_listed(missing)}"] if missing else []
    faults += [f"not of this model: {_listed(extra)}"] if extra else []
    faults += [f"different: {_first(other)}"] if other else []
    if faults:
        raise ModelFileError(
            f"the weights do not fit the model; {'; '.join(faults)}",
            where,
            "take the weights and the settings from the same run",
        )


def _pieces(stored: Iterable[Tensor]) -> Iterator[memoryview]:
    for tensor in stored:
        yield _bytes_of(tensor.detach().cpu().resolve_conj().resolve_neg().contiguous())


def _bytes_of(tensor: Tensor) -> memoryview:
    return tensor.reshape(-1).view(torch.uint8).numpy().data


def _memory(tensor: Tensor) -> tuple[object, ...]:
    """Two tensors with equal keys are the same numbers in the same memory."""
    place = (tensor.device, tensor.untyped_storage().data_ptr(), tensor.storage_offset())
    return (*place, tensor.shape, tensor.stride(), tensor.dtype, tensor.is_conj(), tensor.is_neg())


def _check_storable(name: str, tensor: Tensor) -> None:
    if not name or not name.isprintable() or name == "__metadata__":
        raise UsageError(
            f"{shown(name)} cannot be the name of a tensor",
            where="tensors",
            remedy="use printable names, as a state dict has them",
        )
    if tensor.dtype not in _NAMES or tensor.layout is not torch.strided or tensor.is_meta:
        raise UsageError(
            f"tensor {shown(name)} cannot be saved: {tensor.dtype}, {tensor.layout}, {tensor.device}",
            where="tensors",
            remedy="make it a dense tensor of a usual kind: tensor.to_dense().float()",
        )


def _header(file: FileIO, path: Path) -> tuple[Header, bytes]:
    size = os.fstat(file.fileno()).st_size
    start = file.read(_SNIFF) or b""
    length = header.measure(start, size, str(path))
    head_size = header.PREFIX + length
    if head_size < len(start):
        file.seek(head_size)
        raw = start[:head_size]
    else:
        rest = bytearray(head_size - len(start))
        for _ in _filled(file, memoryview(rest), path):
            pass
        raw = start + rest
    return header.parse(raw[header.PREFIX :], size - head_size, str(path)), raw


def _filled(file: FileIO, room: memoryview, path: Path) -> Iterator[memoryview]:
    """Read until `room` is full, giving each piece as it comes."""
    while room:
        count = file.readinto(room[: files.CHUNK])
        if not count:
            raise ModelFileError(
                f"{path.name} was cut while it was read",
                str(path),
                remedy="load it again when nobody writes it",
            )
        yield room[:count]
        room = room[count:]


def _check_memory(head: Header, device: torch.device, path: Path) -> None:
    """A file with holes can claim more than any disk has: compare with memory before taking any."""
    largest = max((entry.end - entry.begin for entry in head.entries), default=0)
    needed = head.size if device.type == "cpu" else largest
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if needed > memory:
        raise MemoryLimitError(
            f"{path.name} needs {needed:,} bytes of memory; this machine has {memory:,}",
            str(path),
            remedy="close other programs, or use a machine with more memory",
        )


def _allocated(entry: Entry, path: Path) -> Tensor:
    try:
        return torch.empty(entry.shape, dtype=_DTYPES[entry.dtype])
    except RuntimeError as fault:  # torch's way to say that memory is short
        raise MemoryLimitError(
            f"no memory for tensor {shown(entry.name)} of {entry.end - entry.begin:,} bytes",
            str(path),
            remedy="close other programs, or use a machine with more memory",
        ) from fault


def _check_truth(entry: Entry, tensor: Tensor, path: Path) -> None:
    """A truth value is 0 or 1: on any other byte torch's kernels disagree with each other."""
    if tensor.dtype is torch.bool and tensor.numel() and int(tensor.view(torch.uint8).max()) > 1:
        raise ModelFileError(
            f"tensor {shown(entry.name)} has truth values other than 0 and 1",
            str(path),
            remedy="fetch or train the model again: this file is damaged",
        )


def _finite(tensor: Tensor) -> bool:
    """Whether all numbers are finite, without a second copy of a large tensor."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if not tensor.is_floating_point():
        return True
    for piece in tensor.reshape(-1).split(1 << 20):
        wide = piece if piece.dtype in (torch.float32, torch.float64) else piece.float()
        low, high = torch.aminmax(wide) if wide.numel() else (wide.sum(), wide.sum())
        if not (low.isfinite() and high.isfinite()):
            return False
    return True


def _described(shape: tuple[int, ...], dtype: torch.dtype) -> str:
    return f"{str(dtype).removeprefix('torch.')} {list(shape)}"


def _listed(names: list[str]) -> str:
    return _first([shown(name) for name in names])


def _first(items: list[str]) -> str:
    more = len(items) - _MOST_LISTED
    return ", ".join(items[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
