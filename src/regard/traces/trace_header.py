"""The header of a trace: everything but its arrays, as JSON that says all of their sizes.

The one idea: what is read must be what we would have written, field by field (docs/trace-format.md).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, final

import numpy as np
from pydantic import TypeAdapter, ValidationError

from regard import strict_json
from regard.errors import ModelFileError
from regard.question import SOURCE
from regard.tasks import Prediction
from regard.tasks.axis import AnyAxis
from regard.traces.head_names import Kind
from regard.traces.replay import Node, Ribbon, TracedStep
from regard.traces.site import Combine, TracedSite

if TYPE_CHECKING:
    from regard.traces.trace import Trace


VERSION = (
    4  # 1 had axes of tokens alone, and said so by no kind; 2 no ribbons; 3 no places of steps
)
MOST_BYTES = 1 << 26
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
    words: tuple[str, ...]

    @classmethod
    def of(cls, given: Prediction) -> Answer:
        """The same as named fields."""
        others = tuple(Choice(text, score) for text, score in given.alternatives)
        return cls(
            given.text,
            given.score,
            given.symbols,
            given.ids,
            given.log_probabilities,
            given.finish,
            others,
            given.words,
        )

    def prediction(self) -> Prediction:
        """The same as a prediction again."""
        others = tuple((choice.text, choice.score) for choice in self.alternatives)
        return dataclasses.replace(
            Prediction(self.text, self.score, self.symbols, self.ids),
            log_probabilities=self.log_probabilities,
            finish=self.finish,
            alternatives=others,
            words=self.words,
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
    features: int

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
        if self.features:
            sizes["noticed"] = (*self.shape, self.features)
            sizes["notice_weight"] = (heads, self.features, self.width)
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
            arrays.get("noticed"),
            arrays.get("notice_weight"),
        )


@final
@dataclass(frozen=True)
class Document:
    """The header: everything but the arrays."""

    format: Literal["regard-trace"]
    version: int
    task: str
    model: str
    question: str
    answer: Answer
    steps: tuple[TracedStep, ...]
    axes: dict[str, AnyAxis]
    sites: tuple[SiteHead, ...]
    tree: tuple[tuple[Node, ...], ...] | None
    ribbons: tuple[Ribbon, ...]


_READER: TypeAdapter[Document] = TypeAdapter(Document)


def describe(trace: Trace) -> dict[str, Any]:
    """All but the arrays, as JSON; a number that is not finite is null."""
    heads = tuple(SiteHead.of(number, site) for number, site in enumerate(trace.sites))
    document = Document(
        "regard-trace",
        VERSION,
        trace.task,
        trace.model,
        trace.question,
        Answer.of(trace.answer),
        trace.steps,
        dict(trace.axes),  # type: ignore[arg-type]
        heads,
        trace.tree,
        trace.ribbons,
    )
    return _written(document)


def parse(raw: bytes, where: str) -> Document:
    """The header these bytes are, or a `ModelFileError` that says where they are not."""
    parsed = strict_json.loads(
        raw, max_bytes=MOST_BYTES, max_values=1 << 18, where=f"{where}, header"
    )
    if not isinstance(parsed, dict) or parsed.get("format") != "regard-trace":
        refuse("this is no trace: its header is of something else", where)
    parsed = _upgraded(parsed)
    if parsed.get("version") != VERSION:
        version = str(parsed.get("version"))[:20]
        raise ModelFileError(
            f"this trace has format version {version}, and versions 1 to {VERSION} are read here",
            where=where,
            remedy="use the regard that wrote it, or trace again",
        )
    try:
        document = _READER.validate_python(_lifted(parsed))
    except ValidationError as fault:
        path = ".".join(map(str, fault.errors()[0]["loc"]))
        refuse(f"the header of this trace is wrong at {path[:80]}", where)
    if _written(document) != parsed:
        refuse("the header of this trace has settings that are not known here", where)
    _check(document, where)
    return document


def _written(document: Document) -> dict[str, Any]:
    """The document as JSON; every axis has the names of its places, whatever its kind."""
    tree = dataclasses.asdict(document)
    tree["axes"] = {name: axis.describe() for name, axis in document.axes.items()}
    return _plain(tree)


def _upgraded(parsed: dict[str, Any]) -> dict[str, Any]:
    """A header of an earlier version as this one writes it."""
    return _with_places(_with_ribbons(_with_kinds(parsed)))


def _with_places(parsed: dict[str, Any]) -> dict[str, Any]:
    steps = parsed.get("steps")
    if parsed.get("version") != 3 or not isinstance(steps, list):
        return parsed
    known = [{**step, "place": None} if isinstance(step, dict) else step for step in steps]
    return {**parsed, "version": VERSION, "steps": known}


def _with_ribbons(parsed: dict[str, Any]) -> dict[str, Any]:
    sites = parsed.get("sites")
    if parsed.get("version") != 2 or not isinstance(sites, list):
        return parsed
    known = [{**site, "features": 0} if isinstance(site, dict) else site for site in sites]
    return {**parsed, "version": 3, "sites": known, "ribbons": []}


def _with_kinds(parsed: dict[str, Any]) -> dict[str, Any]:
    axes, answer = parsed.get("axes"), parsed.get("answer")
    if parsed.get("version") != 1 or not isinstance(axes, dict) or not isinstance(answer, dict):
        return parsed
    tokens = {
        name: {**axis, "kind": "tokens"} if isinstance(axis, dict) else axis
        for name, axis in axes.items()
    }
    return {**parsed, "version": 2, "axes": tokens, "answer": {**answer, "words": []}}


def _check(document: Document, where: str) -> None:
    """What each part says of the others must be so."""
    for name, axis in document.axes.items():
        words = set(axis.word_ids)
        if len(axis.word_ids) != len(axis.pieces) or words - set(range(len(axis.words))):
            refuse(f"the words of axis '{name[:60]}' do not fit its pieces", where)
    source = document.axes.get(SOURCE)
    for number, step in enumerate(document.steps):
        if step.place is not None and not (source and 0 <= step.place < len(source.pieces)):
            refuse(f"step {number} stands at a place that the source does not have", where)
    for number, site in enumerate(document.sites):
        if not {site.queries, site.keys} <= set(document.axes):
            refuse(f"site {number} looks along an axis that is not there", where)
        sides = [len(document.axes[side].pieces) for side in (site.queries, site.keys)]
        sizes = (site.heads, *sides)
        least = min(site.width, site.value_width, site.features)
        if site.index != number or site.heads < 1 or least < 0:
            refuse(f"site {number} has sizes that cannot be", where)
        if site.shape != sizes or not math.isfinite(site.scale):
            refuse(f"site {number} is {site.shape}, and its axes are {sizes}", where)
    for ribbon in document.ribbons:
        along = document.axes.get(ribbon.axis)
        if along is None or len(along.pieces) != len(ribbon.values):
            refuse(f"ribbon '{ribbon.name[:60]}' does not fit its axis", where)
        if not all(map(math.isfinite, ribbon.values)):
            refuse(f"ribbon '{ribbon.name[:60]}' has numbers that are not finite", where)


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


def refuse(what: str, where: str) -> NoReturn:
    """Say what is wrong with a trace file."""
    raise ModelFileError(what, where=where, remedy="trace the text again") from None
