"""What is sent and what comes back: the one schema of the API.

The OpenAPI document is made from it, and so are the page's types, `web/src/schema.ts`
(`python -m tests.house.schema --write`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StrictBool,
    StrictStr,
)
from pydantic_core import PydanticCustomError

from regard.studio.settings import Limits

_LIMITS = Limits()


def _whole(value: Any) -> Any:
    """JSON does not tell 4.0 from 4."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, Strict(), BeforeValidator(_whole)]


def _not_too_long(text: str) -> str:
    """Only a picture or a sound, as a data URL, may have more letters than a text."""
    if len(text) > _LIMITS.text_characters and not text.startswith(("data:image/", "data:audio/")):
        limit = "String should have at most {max_length} characters"
        raise PydanticCustomError("string_too_long", limit, {"max_length": _LIMITS.text_characters})
    return text


class _Asked(BaseModel):
    """A body: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TraceAsked(_Asked):
    """One text to answer and to look into; what is left out or null is as the run's settings have it."""

    run: Annotated[StrictStr, Field(max_length=200, description="a name of `GET /api/about`")]
    text: Annotated[
        StrictStr, Field(max_length=_LIMITS.held_characters), AfterValidator(_not_too_long)
    ]
    to: Annotated[
        StrictStr | None,
        Field(
            max_length=20,
            description="into which of the run's `languages`, by its code; else English from another "
            "language, and from English the first other",
        ),
    ] = None
    beam: Annotated[
        Whole | None,
        Field(ge=1, le=_LIMITS.beam, description="hypotheses to follow; 1 is greedy search"),
    ] = None
    max_length: Annotated[
        Whole | None, Field(ge=1, le=_LIMITS.written, description="symbols of the answer at most")
    ] = None
    prefix: Annotated[
        list[Annotated[Whole, Field(ge=0, le=2**31)] | Annotated[StrictStr, Field(max_length=200)]],
        Field(
            max_length=_LIMITS.written,
            description="the answer's first symbols, each by its id or name as `steps` show them",
        ),
    ] = []
    sample: Annotated[
        StrictBool,
        Field(description="draw by chance in place of searching; the next four are for it"),
    ] = False
    temperature: Annotated[
        float | None, Field(gt=0, le=100, description="above 1 is bolder, below 1 is safer")
    ] = None
    top_k: Annotated[
        Whole | None,
        Field(ge=0, le=1_000_000, description="draw among this many likeliest; 0 is all"),
    ] = None
    top_p: Annotated[
        float | None, Field(gt=0, le=1, description="draw among the likeliest that hold this share")
    ] = None
    seed: Annotated[
        Whole | None, Field(ge=0, le=2**31, description="equal seeds draw equal answers")
    ] = None


class AnswerAsked(TraceAsked):
    """A text of any length to answer; with a `prefix`, one sentence."""

    split: Annotated[
        StrictBool | None,
        Field(
            description="sentence by sentence, or as one text; else as `regard translate` reads it: a "
            "model that knows several languages sentence by sentence, any other as one"
        ),
    ] = None


Sentences = Annotated[
    list[Annotated[StrictStr, Field(max_length=1_000)]] | None,
    Field(max_length=_LIMITS.sentences, description="to read in place of those that come with it"),
]


class HeadsAsked(_Asked):
    """Which model's heads to survey, over which sentences: its own held-out ones, or regard's."""

    run: Annotated[StrictStr, Field(max_length=200, description="a name of `GET /api/about`")]
    to: Annotated[StrictStr | None, Field(max_length=20, description="a code of `languages`")] = (
        None
    )
    sentences: Sentences = None


class SensesAsked(HeadsAsked):
    """A word to study; sentences of `GET /api/senses` are known by sense, somebody's own are not."""

    word: Annotated[StrictStr, Field(min_length=1, max_length=60)]


class LessonAsked(_Asked):
    """A reader's own numbers, by the names that the lesson lists."""

    inputs: Annotated[
        dict[str, Any],
        Field(
            description="each like the lesson's own value, of any size up to about twice its own"
        ),
    ] = {}


class Fault(BaseModel):
    """Every refusal: what is wrong, where, and what to do."""

    error: Annotated[str, Field(description="one word for programs, such as Busy or TooLarge")]
    what: Annotated[str, Field(description="what is wrong, for a person")]
    where: Annotated[str, Field(description="the part of the request it is about; may be empty")]
    remedy: Annotated[str, Field(description="what to do; may be empty")]


class Score(BaseModel):
    """A score of the model's card; of a run without a card, the deciding metric of its best evaluation."""

    name: Annotated[str, Field(description="the metric, such as BLEU")]
    value: float | None
    test: Annotated[str, Field(description="the test set, or `held out` for the run's own")]
    direction: Annotated[str, Field(description="the pair of languages, such as `en-fr`, if any")]


class RunCard(BaseModel):
    """A run in a few words; `languages` where it knows several."""

    name: str
    task: str
    parameters: int
    summary: Annotated[str, Field(description="what it is made of and trained on")]
    scores: list[Score] = []
    languages: dict[str, str] = {}
    directions: Annotated[
        list[str], Field(description="the pairs of languages it learned, such as `en-fr`, if told")
    ] = []
    pieces: Annotated[str, Field(description="how it cuts text: `bpe`, `word` and so on")] = ""
    learned: Annotated[str, Field(description="the built-in data or the files it learned")] = ""
    example: Annotated[str, Field(description="a text to begin with, if one is known")] = ""
    place: Annotated[
        str, Field(description="what `regard.load` takes, where the studio was started")
    ]
    live: Annotated[bool, Field(description="it trains now")]
    ready: Annotated[bool, Field(description="it has a model that can be asked")]


class TaskAbout(BaseModel):
    """What a page must know of a task: how it is asked for, and how its answers are read."""

    verb: Annotated[str, Field(description="what a model of it does, such as `tag words`")]
    hint: Annotated[str, Field(description="what a person is asked to type")]
    accepts: Annotated[
        str, Field(description="the kind of file that may be given instead, such as `image/*`")
    ] = ""
    reading: Annotated[
        str, Field(description="how the symbols of an answer are read; may be empty")
    ]
    searches: Annotated[bool, Field(description="an answer is searched for symbol by symbol")]
    continues: Annotated[bool, Field(description="an answer begins with the question")]


class Toy(BaseModel):
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
    runs: list[RunCard]
    tasks: Annotated[dict[str, TaskAbout], Field(description="by the `task` of runs and traces")]
    toys: list[Toy]
    demo: DemoAbout


class Alternative(BaseModel):
    """One symbol that a step could have said."""

    symbol: str
    id: int
    log_probability: float | None


class Step(BaseModel):
    """One symbol of the answer, or its end; probabilities are natural logarithms, null for impossible."""

    symbol: str
    id: int
    log_probability: float | None
    given: Annotated[bool, Field(description="it was asked for, by `prefix` or as the prompt")]
    alternatives: Annotated[
        list[Alternative], Field(description="the ten likeliest in its place, best first")
    ]
    place: Annotated[
        int | None,
        Field(description="the piece of the source whose state it was said from, if it was one"),
    ]


class Axis(BaseModel):
    """One side of a map: a name for every place, and the words, or other wholes, they belong to."""

    pieces: Annotated[list[str], Field(description="as the model reads them; `▁` is a space")]
    word_ids: Annotated[list[int], Field(description="for each piece the number of its word")]
    words: list[str]


class TokensAxis(Axis):
    """The tokens of a text."""

    kind: Literal["tokens"]


class GridAxis(Axis):
    """The cells of a picture, column after column."""

    kind: Literal["grid"]
    rows: int
    columns: int
    picture: Annotated[str, Field(description="the picture as a data URL; empty if not known")]
    covered: Annotated[
        list[float],
        Field(description="how much of the grid's height and width the picture takes, up to 1"),
    ]


class TimesAxis(Axis):
    """Moments of a sound."""

    kind: Literal["times"]
    seconds: Annotated[list[float], Field(description="of each moment, from the beginning")]
    waveform: Annotated[list[float], Field(description="the loudness of the sound, to draw it")]
    spectrogram: Annotated[
        str,
        Field(description="a picture of it as a data URL, low tones at the bottom; may be empty"),
    ]
    sound: Annotated[str, Field(description="the sound itself as a data URL; may be empty")]
    until: Annotated[
        float, Field(description="how long the sound lasts, in seconds; 0 if not known")
    ]


class ItemsAxis(Axis):
    """Items to choose from."""

    kind: Literal["items"]
    points: Annotated[list[list[float]], Field(description="the numbers of each; may be empty")]


class Site(BaseModel):
    """One attention of the model; its matrices are asked for one head at a time."""

    index: Annotated[int, Field(description="the `site` of other requests")]
    path: Annotated[str, Field(description="of the module inside the model")]
    kind: Annotated[
        str, Field(description="encoder-self, decoder-self, cross, rnn, pointer or pool")
    ]
    layer: Annotated[int, Field(description="from 0")]
    queries: Annotated[str, Field(description="the axis of the rows")]
    keys: Annotated[str, Field(description="the axis of the columns")]
    heads: int
    score: Annotated[str, Field(description="how a query meets a key, such as scaled-dot")]
    normaliser: Annotated[str, Field(description="how scores become weights, such as softmax")]
    combine: Annotated[str, Field(description="what a neuron adds: a product, or additive")]
    scale: Annotated[float, Field(description="what a product is multiplied by")]
    shape: Annotated[tuple[int, int, int], Field(description="heads, query, key")]
    width: Annotated[int, Field(description="neurons that a score is a sum of")]
    value_width: int
    has_bias: Annotated[bool, Field(description="whether the distance adds to a score")]
    features: Annotated[
        int,
        Field(description="numbers that a query notices about a key beside it; nearly always 0"),
    ]
    sharpness: Annotated[
        list[float],
        Field(description="of each head: the mean, over queries, of its largest weight"),
    ]


class RunnerUp(BaseModel):
    """Another whole answer that the search ended with."""

    text: str
    score: float | None


class Answer(BaseModel):
    """What the model answered; `words` where each symbol belongs to a word of the question."""

    text: str
    score: Annotated[float | None, Field(description="what the search ranked it by")]
    symbols: list[str]
    log_probabilities: list[float | None]
    finish: Annotated[str, Field(description="end, or what stopped it before, such as length")]
    alternatives: list[RunnerUp]
    words: list[str] = []


class Ribbon(BaseModel):
    """One number for each place of an axis."""

    name: Annotated[str, Field(description="p_gen, coverage, gate: as the literature calls it")]
    axis: Annotated[str, Field(description="the axis whose places have these values")]
    values: list[float]


class TraceAbout(BaseModel):
    """An answer and the list of what can be looked at."""

    id: Annotated[str, Field(description="for the other requests; forgotten when many newer came")]
    task: str
    model: str
    question: str
    answer: Answer
    steps: list[Step]
    axes: Annotated[
        dict[str, TokensAxis | GridAxis | TimesAxis | ItemsAxis],
        Field(description="source, target, said and others, by name"),
    ]
    sites: list[Site]
    language: Annotated[str, Field(description="of the question, guessed; empty if of no matter")]
    to: Annotated[str, Field(description="the language of the answer; empty if there is one alone")]
    doubt: Annotated[
        str, Field(description="why the answer may be wrong; empty if nothing is known")
    ]
    ribbons: Annotated[list[Ribbon], Field(description="numbers along an axis, such as gates")]
    look: Annotated[
        str, Field(description="the path of the site that best shows the answer's origin")
    ]
    look_heads: Annotated[
        list[int], Field(description="the heads of it to take the mean of; none: of all")
    ]
    has_tree: bool


class Neurons(BaseModel):
    """One query against its heaviest keys: each row of `contributions`, plus the bias, sums to a score."""

    query: list[float]
    places: Annotated[list[int], Field(description="which keys: their columns in the matrix")]
    keys: Annotated[list[list[float]], Field(description="a row a key, a number a neuron")]
    contributions: list[list[float]]
    bias: Annotated[list[float] | None, Field(description="what the distance adds, if it does")]
    scores: Annotated[list[float | None], Field(description="null where the query could not look")]
    weights: list[float]
    total: Annotated[int, Field(description="keys there are")]
    capped: Annotated[bool, Field(description="whether some are left out")]


class Expansion(BaseModel):
    """One candidate of one step of the search."""

    parent: Annotated[int, Field(description="the slot it continues, of the step before")]
    symbol: str
    id: int
    log_probability: float | None
    total: Annotated[
        float | None, Field(description="of the hypothesis so far, forced symbols included")
    ]
    fate: Literal["kept", "ended", "dropped"]
    slot: Annotated[int, Field(description="where it is kept; -1 when dropped")]
    winner: Annotated[bool, Field(description="part of the answer")]
    forced: Annotated[bool, Field(description="it was asked for, by `prefix` or as the prompt")]


class TreeAbout(BaseModel):
    """Every candidate that search compared, step by step; none for models that do not search."""

    steps: list[list[Expansion]]


class HeadRole(BaseModel):
    """What a head is called, and the number that the rule looked at."""

    name: str
    value: float


class HeadStudied(BaseModel):
    """One head over many sentences; a measure is null where nothing could be counted."""

    path: Annotated[str, Field(description="of the attention inside the model")]
    kind: Annotated[str, Field(description="encoder-self, decoder-self, cross or rnn")]
    layer: Annotated[int, Field(description="from 0")]
    head: Annotated[int, Field(description="from 0")]
    keys: Annotated[str, Field(description="of what it looks at: of several sources, which one")]
    roles: list[HeadRole]
    measures: dict[str, float | None]
    random: Annotated[
        dict[str, float | None], Field(description="the same of a head that looks at random")
    ]
    shuffled: Annotated[
        dict[str, float | None], Field(description="the same where the words are shuffled")
    ]


class HeadsStudied(BaseModel):
    """Every head of a model."""

    heads: list[HeadStudied]
    measures: Annotated[list[str], Field(description="those that something was counted for")]
    sentences: Annotated[int, Field(description="that were read, each twice")]
    left_out: Annotated[int, Field(description="too short or too long to judge by")]
    to: Annotated[str, Field(description="the language translated into; empty if of no matter")]
    own: Annotated[
        str, Field(description="whose sentences they are: `regard`, `run`, `example` or `typed`")
    ]


class WordOccurrence(BaseModel):
    """A word in one sentence."""

    text: str
    span: Annotated[
        tuple[int, int] | None, Field(description="where it stands, in Unicode characters")
    ]
    sense: Annotated[str, Field(description="as the sentences say; empty if they do not")]
    label: Annotated[str, Field(description="the word it was translated by, if it was")]
    static: Annotated[list[float], Field(description="its static vector on a map of its own")]


class SenseLayer(BaseModel):
    """All occurrences behind one layer of the encoder."""

    map: Annotated[list[list[float]], Field(description="along two principal components")]
    groups: Annotated[list[int], Field(description="k-means by cosine")]
    neighbours: Annotated[
        list[list[list[float]]], Field(description="of each, the nearest: number and cosine")
    ]
    score: Annotated[
        float | None, Field(description="how often the nearest neighbour has the same sense")
    ]


class SensesStudied(BaseModel):
    """A word in many sentences; layer 0 is before the first."""

    word: str
    to: Annotated[str, Field(description="the language translated into; empty if of no matter")]
    occurrences: list[WordOccurrence]
    layers: list[SenseLayer]
    static_score: Annotated[float | None, Field(description="the same by the static vectors")]


class SensesShipped(BaseModel):
    """The sentences that come with regard: by word, then by sense."""

    words: dict[str, dict[str, list[str]]]


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
