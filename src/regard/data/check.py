"""A look at the data before anything is trained on it: what is refused, what is only warned about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import final

from regard.data.drift import Sides, refuse_uneven
from regard.data.example import (
    Example,
    Line,
    Pair,
)
from regard.data.formats.format import Parallel, Row
from regard.data.lines import LINE_BOUND
from regard.data.recognise import go_together
from regard.data.source import Source
from regard.data.survey import Places, Seen, Survey, key_of
from regard.data.tally import counted, require_some

__all__ = ["Examined", "Report", "examine", "require_some"]

TOLD = 2_000  # examples between two words about how far the look has come
REASONS = {
    "too long": f"a line over {LINE_BOUND // 1024} KiB",
    "NUL byte": "a NUL byte",
    "empty": "an empty side",
    "not UTF-8": "not UTF-8",
}


@final
@dataclass(frozen=True)
class Examined:
    """One source, in numbers."""

    role: str
    description: str
    kept: int
    dropped: dict[str, int]


@final
@dataclass(frozen=True)
class Report:
    """What was found: sources, three rows to show, and warnings with counts and lines."""

    sources: tuple[Examined, ...]
    rows: tuple[Example, ...]
    warnings: list[str]

    def summary(self) -> str:
        """The report as plain text."""
        lines = [f"{source.role}: {source.description}" for source in self.sources]
        lines += [f"  {row.line()}" for row in self.rows]
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, object]:
        """The report as an object, for `--json`."""
        return {
            "sources": [asdict(source) for source in self.sources],
            "rows": [row.as_dict() for row in self.rows],
            "warnings": list(self.warnings),
        }


def examine(
    train: Source,
    valid: Source | None = None,
    test: Source | None = None,
    *,
    most: int | None = None,
    advance: Callable[[int], None] | None = None,
) -> Report:
    """Go through every source once; stop where nothing could be learned, warn about the rest.

    Of each source at most the first `most` examples; `advance` hears now and then how many were seen.
    """
    given = {"train": train, "valid": valid, "test": test}
    sources = {role: source for role, source in given.items() if source is not None}
    for source in sources.values():
        for part in source.parts:
            if isinstance(part, Parallel):
                refuse_uneven(part.first, part.second)
    # The held-out sets are small: remember them, then see which of them training goes past.
    held_out: dict[str, _HeldOut] = {}
    surveys = {
        role: _survey(sources[role], role, held_out, most, advance or (lambda _seen: None))
        for role in reversed(list(sources))
    }
    ordered = {role: surveys[role] for role in sources}
    return Report(
        sources=tuple(_examined(role, survey, most) for role, survey in ordered.items()),
        rows=tuple(ordered["train"].rows),
        warnings=[
            *_beside(train),
            *(warning for survey in ordered.values() for warning in _alone(survey)),
            *(warning for role in reversed(held_out) for warning in held_out[role].warnings()),
            *_together(ordered),
        ],
    )


@final
class _HeldOut:
    """The examples of a valid or test set, and where another set holds them as well."""

    def __init__(self, role: str, noun: str) -> None:
        self.role, self.noun = role, noun
        self.count = 0
        self.whole, self.inputs = Seen(), Seen()
        self.met: dict[str, _Met] = {}

    def remember(self, row: Row, key: int, input_key: int) -> None:
        self.count += 1
        self.whole.add(key, row.place)
        self.inputs.add(input_key, row.place)

    def meet(self, role: str, row: Row, key: int, input_key: int) -> None:
        met = self.met.setdefault(role, _Met())
        if key in self.whole.places:
            met.whole.setdefault(key, row.place)
        if input_key in self.inputs.places:
            met.inputs.setdefault(input_key, row.place)

    def warnings(self) -> Iterator[str]:
        for role, met in self.met.items():
            whole = _with_repeats(self.whole, met.whole)
            inputs = _with_repeats(self.inputs, met.inputs)
            about = "about " if self.inputs.rate > 1 else ""
            shared = f"{about}{inputs:,} of {self.count:,} {self.role} {self.noun}s"
            other = "training" if role == "train" else "validation"
            if whole and whole == inputs:
                yield f"{shared} are also in {other}: {_first(self.whole, met.whole)}"
            elif whole:
                same = _first(self.whole, met.whole)
                yield f"{shared} share their input with {other}, {whole:,} the output as well: {same}"
            elif inputs:
                yield f"{shared} share their input with {other}: {_first(self.inputs, met.inputs)}"


@final
@dataclass
class _Met:
    """What two sets share, by hash, with the place in the other set."""

    whole: dict[int, str] = field(default_factory=dict)
    inputs: dict[int, str] = field(default_factory=dict)


def _with_repeats(seen: Seen, met: Mapping[int, str]) -> int:
    return sum(1 + seen.repeats[key] for key in met) * seen.rate


def _first(seen: Seen, met: Mapping[int, str]) -> str:
    key, place = next(iter(met.items()))
    return f"{seen.places[key]} = {place}"


def _survey(
    source: Source,
    role: str,
    held_out: dict[str, _HeldOut],
    most: int | None,
    advance: Callable[[int], None],
) -> Survey:
    """One pass, which also meets the sets held out so far and joins them."""
    survey, earlier = Survey(source), list(held_out.values())
    own = _HeldOut(role, source.noun)
    for number, row in enumerate(islice(source.rows(survey.tally), most)):
        if number % TOLD == 0:
            advance(number)
        key = key_of(row.example)
        survey.add(row, key)
        if earlier or role != "train":
            input_key = key_of(row.example, input_only=True)
            for other in earlier:
                other.meet(role, row, key, input_key)
            if role != "train":
                own.remember(row, key, input_key)
    where = ", ".join(str(path) for path in source.paths[:2])
    require_some(survey.tally.kept, survey.tally.dropped, source.noun, where)
    if role != "train":
        held_out[role] = own
    return survey


def _examined(role: str, survey: Survey, most: int | None) -> Examined:
    description = survey.source.describe(survey.tally.kept)
    if survey.tally.kept == most:
        description = f"the first {description}"
    if role == "train" and survey.source.kind is Line:
        description = f"{description}; for a language model"
    return Examined(role, description, survey.tally.kept, dict(survey.tally.dropped))


def _beside(source: Source) -> Iterator[str]:
    """Two files are two sides; sides among three or more are read as text and no more, which may surprise."""
    paths = source.paths
    if source.kind is Line and len(paths) > 2 and go_together(paths[0], paths[1]):
        yield (
            f"{paths[0].name} and {paths[1].name} look like two sides of one text; of {len(paths)} files "
            "each line is read by itself, for a language model: for a translator, name two"
        )


def _alone(survey: Survey) -> Iterator[str]:
    """What one source shows by itself."""
    noun, tally = survey.source.noun, survey.tally
    yield from tally.notes
    for reason, count in tally.dropped.most_common():
        reason_in_words = REASONS.get(reason, reason)
        yield f"{counted(count, noun)} left out ({reason_in_words}): {tally.first[reason]}" + (
            ", ..." if count > 1 else ""
        )
    if survey.seen.repeated:
        about = "about " if survey.seen.rate > 1 else ""
        repeated = counted(survey.seen.repeated, noun)
        yield f"{about}{repeated} repeated word for word: {survey.repeats}"
    for places, reason_in_words in (
        (survey.misread, "with letters read in the wrong encoding (such as Ã© for é)"),
        (survey.lost, "with U+FFFD, where a letter was lost"),
        (
            survey.line_ends,
            "with U+2028, U+0085, a lone \\r or the like, where other tools end a line",
        ),
        (survey.outliers(), "far longer or shorter than the other side"),
    ):
        if places.count:
            yield f"{counted(places.count, noun)} {reason_in_words}: {places}"
    yield from _copied_rows(survey)
    yield from _swapped_rows(survey)


def _copied_rows(survey: Survey) -> Iterator[str]:
    pairs = survey.pairs()
    same = sum(pair.source == pair.target for pair in pairs)
    if 2 * same > len(pairs):
        yield f"{same:,} of {len(pairs):,} pairs say the same on both sides: was one file named twice?"


def _swapped_rows(survey: Survey) -> Iterator[str]:
    if survey.source.kind is not Pair:
        return
    sides = Sides(survey.pairs())
    swapped = Places()
    for row in sorted(survey.sample, key=lambda row: (row.path, row.line)):
        if isinstance(row.example, Pair) and sides.swapped(row.example):
            swapped.add(row)
    if swapped.count:
        among = (
            ""
            if len(survey.sample) == survey.tally.kept
            else f" of {len(survey.sample):,} looked at"
        )
        yield (
            f"{counted(swapped.count, 'pair')}{among} with source and target the wrong way round: "
            f"{swapped}"
        )


def _together(surveys: Mapping[str, Survey]) -> Iterator[str]:
    """What a held-out source shows beside the training source."""
    train = surveys["train"]
    sides = Sides(train.pairs()) if train.source.kind is Pair else None
    for role, survey in surveys.items():
        if role == "train":
            continue
        if sides is not None and sides.mostly_swapped(survey.pairs()):
            yield (
                f"the pairs to {role} with have source and target the other way round than training: "
                + ", ".join(str(path) for path in survey.source.paths[:2])
            )
        unknown = sorted(survey.labels - train.labels)
        if unknown:
            names = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
            yield f"{counted(len(unknown), 'label')} to {role} with, but never trained on: {names}"
