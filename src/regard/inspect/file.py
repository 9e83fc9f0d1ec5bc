"""A trace as one file: an .npz whose first entry is a JSON header, read strictly or not at all.

The one idea: the header alone says which arrays there are and how large each is. So everything is
checked before memory is taken, and a file that is not what we would write is refused (docs/trace-format.md).
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, final

import numpy as np
from pydantic import TypeAdapter, ValidationError

from regard import strict_json
from regard.data.example import TaskName
from regard.errors import ModelFileError, UsageError
from regard.inspect.site import Combine, Kind, TracedSite
from regard.inspect.step import Node, TracedStep
from regard.inspect.words import Axis
from regard.run import disk, files
from regard.tasks import Prediction

if TYPE_CHECKING:
    from regard.inspect.trace import Trace

VERSION = 1
HEADER = "header"
MOST_BYTES = 1 << 32
MOST_HEADER = 1 << 26
_DATE = (1980, 1, 1, 0, 0, 0)  # equal traces give equal files
_PREAMBLE = 4096  # an array's own header is far shorter
_DAMAGE = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError, RuntimeError)
_MAY_BE_INFINITE = ("score", "total", "log_probability")


@final
@dataclass(frozen=True)
class Choice:
    """A whole answer and its score."""

    text: str
    score: float


@final
@dataclass(frozen=True)
class Answer:
    """`Prediction`, field by field."""

    text: str
    score: float
    symbols: tuple[str, ...]
    ids: tuple[int, ...]
    log_probabilities: tuple[float, ...]
    finish: str
    alternatives: tuple[Choice, ...]

    @classmethod
    def of(cls, found: Prediction) -> Answer:
        """The same as named fields."""
        others = tuple(Choice(text, score) for text, score in found.alternatives)
        return cls(
            found.text,
            found.score,
            found.symbols,
            found.ids,
            found.log_probabilities,
            found.finish,
            others,
        )

    def prediction(self) -> Prediction:
        """The same as a prediction again."""
        others = tuple((choice.text, choice.score) for choice in self.alternatives)
        return dataclasses.replace(
            Prediction(self.text, self.score, self.symbols, self.ids),
            log_probabilities=self.log_probabilities,
            finish=self.finish,
            alternatives=others,
        )


@final
@dataclass(frozen=True)
class SiteHead:
    """A site without its numbers: where it is, and the sizes of its arrays."""

    index: int
    path: str
    kind: Kind
    layer: int
    queries: str
    keys: str
    heads: int
    score: str
    normaliser: str
    combine: Combine
    scale: float
    shape: tuple[int, int, int]
    width: int
    value_width: int
    has_bias: bool

    @classmethod
    def of(cls, index: int, site: TracedSite) -> SiteHead:
        """All but the numbers."""
        return cls(**{"index": index, **site.describe(), "shape": site.weights.shape})

    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The arrays that this site has, and their shapes."""
        heads, queries, keys = self.shape
        sizes: dict[str, tuple[int, ...]] = {
            "weights": self.shape,
            "scores": self.shape,
            "query": (heads, queries, self.width),
            "key": (heads, keys, self.width),
            "value": (heads, keys, self.value_width),
        }
        if self.combine == "additive":
            sizes["neuron_weight"] = (heads, self.width)
        if self.has_bias:
            sizes["bias"] = self.shape
        return sizes

    def site(self, arrays: Mapping[str, np.ndarray]) -> TracedSite:
        """The site with its numbers."""
        return TracedSite(
            self.path,
            self.kind,
            self.layer,
            self.queries,
            self.keys,
            self.score,
            self.normaliser,
            self.combine,
            self.scale,
            arrays["weights"],
            arrays["scores"],
            arrays["query"],
            arrays["key"],
            arrays["value"],
            arrays.get("neuron_weight"),
            arrays.get("bias"),
        )


@final
@dataclass(frozen=True)
class Document:
    """The header: everything but the arrays."""

    format: Literal["regard-trace"]
    version: int
    task: TaskName
    model: str
    question: str
    answer: Answer
    steps: tuple[TracedStep, ...]
    axes: dict[str, Axis]
    sites: tuple[SiteHead, ...]
    tree: tuple[tuple[Node, ...], ...] | None


_READER: TypeAdapter[Document] = TypeAdapter(Document)


def describe(trace: Trace) -> dict[str, Any]:
    """All but the arrays, as JSON; a number that is not finite is null."""
    heads = tuple(SiteHead.of(number, site) for number, site in enumerate(trace.sites))
    document = Document(
        "regard-trace",
        VERSION,
        trace.task,  # type: ignore[arg-type]
        trace.model,
        trace.question,
        Answer.of(trace.answer),
        trace.steps,
        dict(trace.axes),
        heads,
        trace.tree,
    )
    return _plain(dataclasses.asdict(document))


def write(path: Path, content: bytes) -> None:
    """Replace the file as a whole."""
    files.write_atomic(path, content)


def packed(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of the file."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        head = np.frombuffer(text.encode(), np.uint8)
    except UnicodeEncodeError:
        raise UsageError("half a character cannot be saved", where="text") from None
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in {HEADER: head, **arrays}.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)
    return buffer.getvalue()


def read(path: Path) -> tuple[Document, list[dict[str, np.ndarray]]]:
    """The header and each site's arrays, or a `ModelFileError` that says what is wrong with the file."""
    where = str(path)
    with disk.opened(path, "trace") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                return _read(archive, where)
        except ModelFileError:
            raise
        except _DAMAGE as fault:
            _refuse(f"this trace is damaged: {fault}", where)


def _read(archive: zipfile.ZipFile, where: str) -> tuple[Document, list[dict[str, np.ndarray]]]:
    entries = {entry.filename: entry for entry in archive.infolist()}
    if len(entries) < len(archive.infolist()):
        _refuse("two entries of this trace have one name", where)
    first = entries.pop(f"{HEADER}.npy", None)
    if first is None:
        _refuse("this is no trace: it has no header", where)
    if first.file_size > MOST_HEADER:
        _refuse(f"the header of this trace has {first.file_size:,} bytes", where)
    head = _array(archive, first, np.dtype(np.uint8), (None,), where)
    document = _document(head.tobytes(), where)
    expected = {
        f"{number}.{name}.npy": (number, name, shape)
        for number, site in enumerate(document.sites)
        for name, shape in site.sizes().items()
    }
    if set(expected) != set(entries):
        odd = sorted(set(expected) ^ set(entries))[0]
        _refuse(f"the arrays of this trace are not those of its header: see {odd[:60]!r}", where)
    if sum(4 * math.prod(shape) for _, _, shape in expected.values()) > MOST_BYTES:
        _refuse("this trace is too large", where)
    arrays: list[dict[str, np.ndarray]] = [{} for _ in document.sites]
    for entry_name, (number, name, shape) in expected.items():
        found = _array(archive, entries[entry_name], np.dtype("<f4"), shape, where)
        if not _sound(name, found):
            _refuse(f"{entry_name} has numbers that are not finite", where)
        arrays[number][name] = found
    return document, arrays


def _array(
    archive: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    dtype: np.dtype[Any],
    shape: tuple[int | None, ...],
    where: str,
) -> np.ndarray:
    """One array, when it is of this type and shape and as long as it says; then memory is taken."""
    name = entry.filename
    with archive.open(entry) as stream:
        if np.lib.format.read_magic(stream) != (1, 0):
            _refuse(f"{name} is of a version that is not read here", where)
        found, fortran, kind = np.lib.format.read_array_header_1_0(stream, _PREAMBLE)
        fits = len(found) == len(shape) and all(
            wanted in (None, own) for own, wanted in zip(found, shape, strict=True)
        )
        expected = math.prod(found) * dtype.itemsize
        room = entry.file_size - expected
        if fortran or kind != dtype or not fits or not 0 <= room <= _PREAMBLE:
            _refuse(f"{name} is {kind} {found}, where {dtype} {shape} belongs", where)
        data = stream.read(
            expected + 1
        )  # one more, so that the end is seen and its checksum tested
    if len(data) != expected:
        _refuse(f"{name} has {len(data):,} bytes of {expected:,}", where)
    return np.frombuffer(data, dtype).reshape(found)


def _document(raw: bytes, where: str) -> Document:
    parsed = strict_json.loads(raw, max_bytes=MOST_HEADER, where=f"{where}, {HEADER}")
    if not isinstance(parsed, dict) or parsed.get("format") != "regard-trace":
        _refuse("this is no trace: its header is of something else", where)
    if parsed.get("version") != VERSION:
        version = str(parsed.get("version"))[:20]
        raise ModelFileError(
            f"this trace has format version {version}, and version {VERSION} is read here",
            where=where,
            remedy="use the regard that wrote it, or trace again",
        )
    try:
        document = _READER.validate_python(_lifted(parsed))
    except ValidationError as fault:
        path = ".".join(map(str, fault.errors()[0]["loc"]))
        _refuse(f"the header of this trace is wrong at {path[:80]}", where)
    if _plain(dataclasses.asdict(document)) != parsed:
        _refuse("the header of this trace has settings that are not known here", where)
    _check(document, where)
    return document


def _check(document: Document, where: str) -> None:
    """What each part says of the others must be so."""
    for name, axis in document.axes.items():
        words = set(axis.word_ids)
        if len(axis.word_ids) != len(axis.pieces) or words - set(range(len(axis.words))):
            _refuse(f"the words of axis '{name[:60]}' do not fit its pieces", where)
    for number, site in enumerate(document.sites):
        if not {site.queries, site.keys} <= set(document.axes):
            _refuse(f"site {number} looks along an axis that is not there", where)
        sides = [len(document.axes[side].pieces) for side in (site.queries, site.keys)]
        sizes = (site.heads, *sides)
        if site.index != number or site.heads < 1 or min(site.width, site.value_width) < 0:
            _refuse(f"site {number} has sizes that cannot be", where)
        if site.shape != sizes or not math.isfinite(site.scale):
            _refuse(f"site {number} is {site.shape}, and its axes are {sizes}", where)


def _sound(name: str, array: np.ndarray) -> bool:
    """Scores are -inf where a query could not look; all else is finite."""
    fine = np.isfinite(array)
    return bool((fine | np.isneginf(array)).all() if name == "scores" else fine.all())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(own) for own in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lifted(value: Any, name: str = "") -> Any:
    """Null as the log-probability of what cannot be."""
    if isinstance(value, dict):
        return {key: _lifted(own, key) for key, own in value.items()}
    if isinstance(value, list):
        within = "log_probability" if name == "log_probabilities" else ""
        return [_lifted(own, within) for own in value]
    return -math.inf if value is None and name in _MAY_BE_INFINITE else value


def _refuse(what: str, where: str) -> NoReturn:
    raise ModelFileError(what, where=where, remedy="trace the text again") from None
