"""What is sent and what comes back, as the OpenAPI document shows it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, StrictBool, StrictStr

from regard.studio.settings import Limits

_LIMITS = Limits()


def _whole(value: Any) -> Any:
    """JSON does not tell 4.0 from 4."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, Strict(), BeforeValidator(_whole)]


class _Asked(BaseModel):
    """A body: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TraceAsked(_Asked):
    """One text to answer and to look into. `prefix` gives the answer's first symbols, by id or by name."""

    run: Annotated[StrictStr, Field(max_length=200)]
    text: Annotated[StrictStr, Field(max_length=_LIMITS.text_characters)]
    beam: Annotated[Whole, Field(ge=1, le=_LIMITS.beam)] | None = None
    max_length: Annotated[Whole, Field(ge=1, le=_LIMITS.written)] | None = None
    prefix: Annotated[
        list[Annotated[Whole, Field(ge=0, le=2**31)] | Annotated[StrictStr, Field(max_length=200)]],
        Field(max_length=_LIMITS.written),
    ] = []
    sample: StrictBool = False
    temperature: Annotated[float, Field(gt=0, le=100)] | None = None
    top_k: Annotated[Whole, Field(ge=0, le=1_000_000)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: Annotated[Whole, Field(ge=0, le=2**31)] | None = None


class LessonAsked(_Asked):
    """A reader's own numbers, by the names that the lesson lists."""

    inputs: dict[str, Any] = {}


class Fault(BaseModel):
    """Every refusal: what is wrong, where, and what to do."""

    error: str
    what: str
    where: str
    remedy: str


class Score(BaseModel):
    """The deciding metric of the best evaluation."""

    name: str
    value: float | None


class RunAbout(BaseModel):
    """A run in a few words; `live` when it trains now."""

    name: str
    task: str
    parameters: int
    summary: str
    score: Score | None = None
    live: bool


class ToyAbout(BaseModel):
    """Built-in data."""

    name: str
    title: str
    story: str
    task: str


class DemoAbout(BaseModel):
    """The demo: not begun, being trained, trained, or failed with a message."""

    state: Literal["absent", "running", "done", "failed"]
    run: str
    message: str = ""


class About(BaseModel):
    """What the studio has to show."""

    version: str
    runs: list[RunAbout]
    toys: list[ToyAbout]
    demo: DemoAbout


class Alternative(BaseModel):
    """One symbol that a step could have said."""

    symbol: str
    id: int
    log_probability: float | None


class Step(BaseModel):
    """One symbol of the answer; `given` when it was not the model's choice."""

    symbol: str
    id: int
    log_probability: float | None
    given: bool
    alternatives: list[Alternative]


class AxisTokens(BaseModel):
    """The tokens along one side of a map, and the words they belong to."""

    pieces: list[str]
    word_ids: list[int]
    words: list[str]


class SiteAbout(BaseModel):
    """One attention of the model; its matrices are asked for one head at a time."""

    index: int
    path: str
    kind: str
    layer: int
    queries: str
    keys: str
    heads: int
    score: str
    normaliser: str
    shape: tuple[int, int, int]
    width: int


class TraceAbout(BaseModel):
    """An answer and the list of what can be looked at."""

    id: str
    task: str
    model: str
    question: str
    answer: dict[str, Any]
    steps: list[Step]
    axes: dict[str, AxisTokens]
    sites: list[SiteAbout]
    has_tree: bool


class Neurons(BaseModel):
    """One query against its heaviest keys: each row of `contributions`, plus the bias, sums to a score."""

    query: list[float]
    places: list[int]
    keys: list[list[float]]
    contributions: list[list[float]]
    bias: list[float] | None
    scores: list[float | None]
    weights: list[float]
    total: int
    capped: bool


class Expansion(BaseModel):
    """One candidate of one step of the search."""

    parent: int
    symbol: str
    id: int
    log_probability: float | None
    total: float | None
    fate: str
    slot: int
    winner: bool


class TreeAbout(BaseModel):
    """Every candidate that search compared, step by step; none for models that do not search."""

    steps: list[list[Expansion]]


class Metrics(BaseModel):
    """Losses and scores, as the run wrote them down."""

    run: str
    metrics: list[dict[str, Any]]


class Samples(BaseModel):
    """The fixed sentences at each evaluation, with their attention."""

    run: str
    samples: list[dict[str, Any]]


class Lesson(BaseModel):
    """A worked example, with the lecture's numbers as its inputs."""

    name: str
    title: str
    lectures: list[str]
    about: str | None
    inputs: dict[str, Any]


class Health(BaseModel):
    """Whether the server can answer, and what is wrong with which run."""

    ready: bool
    waiting: int
    troubles: dict[str, str]


FAULTS: dict[int | str, dict[str, Any]] = {
    400: {"model": Fault, "description": "No HTTP request we understand"},
    401: {"model": Fault, "description": "The token is missing or wrong"},
    403: {"model": Fault, "description": "Another page asks"},
    404: {"model": Fault, "description": "There is no such thing"},
    405: {"model": Fault, "description": "Not this way"},
    409: {"model": Fault, "description": "The run cannot do this now"},
    413: {"model": Fault, "description": "Too large"},
    415: {"model": Fault, "description": "Not plain JSON"},
    421: {"model": Fault, "description": "Not our name"},
    422: {"model": Fault, "description": "Understood, and beyond a limit or not usable"},
    429: {"model": Fault, "description": "Too many are waiting; see Retry-After"},
    503: {"model": Fault, "description": "The server is stopping"},
    504: {"model": Fault, "description": "Took too long, and was stopped"},
}
