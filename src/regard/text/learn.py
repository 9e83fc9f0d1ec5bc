"""Counted words -> a vocabulary. Same words, same vocabulary: every tie is broken by the alphabet."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice

from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram
from tokenizers.normalizers import Lowercase
from tokenizers.trainers import BpeTrainer

from regard.errors import DataError, UsageError
from regard.text.settings import BROUGHT, TextSettings
from regard.text.vocabulary import LONGEST_PIECE, MOST_BEGINNINGS, Vocabulary, beginnings, reserved
from regard.text.words import is_control, splitter

LONGEST_LEARNED = 20  # characters; longer ones would be addresses and rules of dashes
PATTERN = 2  # what is seen once is no pattern


def learn(
    lines: Iterable[str], settings: TextSettings, progress: Callable[[int], None] | None = None
) -> Vocabulary:
    """The vocabulary these lines ask for; bytes need no lines, and read none."""
    if settings.kind in BROUGHT:
        raise UsageError(
            f"a {settings.kind} vocabulary comes with a model that is imported",
            where="text.kind",
            remedy="learn one with text.kind = unigram, or begin with the imported run: --from RUN",
        )
    first = reserved(settings)
    if settings.kind == "byte":
        return Vocabulary(settings, first)
    words = count_words(islice(lines, settings.lines), settings, progress)
    room = settings.vocabulary - len(first)
    if settings.kind == "word":
        return Vocabulary(settings, first + tuple(_frequent(words, settings.min_count)[:room]))
    letters = count_letters(words, settings.min_count)
    if settings.kind == "char":
        return Vocabulary(settings, first + tuple(letters[:room]))
    # Rare letters are left to their bytes rather than crowd out what could be learned.
    alphabet = tuple(sorted({" ", *letters[: room // 2 - 1]}))
    segments = _within(words, frozenset(alphabet))
    least, fewer = max(PATTERN, settings.min_count), room - len(alphabet)
    if settings.kind == "unigram":
        scores = _bearable(unigram(segments, alphabet, fewer, least, LONGEST_LEARNED))
        weights = (0.0,) * len(first) + tuple(scores.values())
        return Vocabulary(settings, first + tuple(scores), scores=weights)
    pairs = _merge(segments, alphabet, fewer, least)
    ids = {piece: number for number, piece in enumerate(first + alphabet)}
    for left, right in pairs:
        ids.setdefault(left + right, len(ids))
    return Vocabulary(settings, tuple(ids), tuple((ids[left], ids[right]) for left, right in pairs))


def _bearable(scores: dict[str, float]) -> dict[str, float]:
    """Without the least likely of the longer pieces, where all of them would take too much memory."""
    while beginnings(scores) > MOST_BEGINNINGS:
        longer = [piece for piece in scores if len(piece) > 1]
        for piece in longer[-max(1, len(longer) // 10) :]:
            del scores[piece]
    return scores


def _frequent(words: Counter[str], min_count: int) -> list[str]:
    return [
        word
        for word, count in most_frequent(words)
        if count >= min_count and len(word) <= LONGEST_PIECE and not any(map(is_control, word))
    ]


def _within(words: Counter[str], alphabet: frozenset[str]) -> Counter[str]:
    """The stretches of words that the alphabet can spell."""
    segments: Counter[str] = Counter()
    for word, count in words.items():
        for spelled, group in groupby(word, alphabet.__contains__):
            if spelled:
                segments["".join(group)] += count
    return segments


def _merge(
    segments: Counter[str], alphabet: tuple[str, ...], merges: int, least: int
) -> list[tuple[str, str]]:
    """Byte-pair encoding: join the most frequent neighbours, again and again (Sennrich et al. 2016)."""
    tokenizer = Tokenizer(BPE())
    trainer = BpeTrainer(
        vocab_size=len(alphabet) + merges,
        min_frequency=least,
        initial_alphabet=list(alphabet),
        max_token_length=LONGEST_LEARNED,
        show_progress=False,
    )
    tokenizer.train_from_iterator(_repeated(segments), trainer)
    return [(left, right) for left, right in json.loads(tokenizer.to_str())["model"]["merges"]]


def _repeated(segments: Counter[str], most: int = 4096) -> Iterator[list[str]]:
    """The trainer takes text, not counts: say each word as often as it occurred."""
    for segment, count in segments.items():
        for start in range(0, count, most):
            yield [segment] * min(most, count - start)


# The unigram vocabulary: start with far too many pieces, drop what text misses least (Kudo 2018).
# A text's probability is the product of its pieces' probabilities, in its best segmentation. The library
# finds the segmentations; it does not train here, because its trainer adds floats in the order of a
# randomly seeded hash table, and the same lines would give another vocabulary each time.

MOST_SEGMENTS = 100_000  # the rest is too rare to move a score
SEEDS = 8  # times the pieces wanted
KEPT = 0.75  # of the pieces, at each pruning
ROUNDS = 2  # of counting and weighing between prunings
DIGITS = 6


def unigram(
    segments: Counter[str], alphabet: Sequence[str], wanted: int, least: int, longest: int
) -> dict[str, float]:
    """Log probabilities of the letters and of at most `wanted` longer pieces, the likeliest first."""
    words = most_frequent(segments)[:MOST_SEGMENTS]
    uses = _seeds(words, SEEDS * wanted, least, longest)
    while True:
        for _ in range(ROUNDS):
            scores = _scores(uses, alphabet)
            uses = _count(words, scores)
        longer = [piece for piece in uses if len(piece) > 1]
        if len(longer) <= wanted:
            break
        kept = max(wanted, min(len(longer) - 1, int(KEPT * len(longer))))
        missed = {piece: _loss(piece, scores) * uses[piece] for piece in longer}
        best = sorted(longer, key=lambda piece: (-missed[piece], piece))[:kept]
        uses = Counter({piece: uses[piece] for piece in (*alphabet, *best)})
    scores = _scores(uses, alphabet)
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def _seeds(words: Sequence[tuple[str, int]], most: int, least: int, longest: int) -> Counter[str]:
    """Every letter, and the stretches that cover the most text."""
    letters = _stretches(words, 1, frozenset([""]))
    known = frozenset(letters)
    covered: Counter[str] = Counter()
    for length in range(2, longest + 1):
        stretches = _stretches(words, length, known)
        frequent = {piece: count for piece, count in stretches.items() if count >= least}
        covered.update({piece: count * length for piece, count in frequent.items()})
        known = frozenset(frequent)
    chosen = most_frequent(covered)[:most]
    return letters + Counter({piece: cover // len(piece) for piece, cover in chosen})


def _stretches(
    words: Sequence[tuple[str, int]], length: int, known: frozenset[str]
) -> Counter[str]:
    """Counts of the stretches of one length; one that is frequent has frequent parts, so ask only those."""
    counts: Counter[str] = Counter()
    for word, count in words:
        for start in range(len(word) - length + 1):
            piece = word[start : start + length]
            if piece[:-1] in known and piece[1:] in known:
                counts[piece] += count
    return counts


def _scores(uses: Mapping[str, int], alphabet: Sequence[str]) -> dict[str, float]:
    """The log probability of each piece; a letter that was never needed alone still gets half a count."""
    counts = dict.fromkeys(alphabet, 0.5) | {piece: n for piece, n in uses.items() if n > 0}
    total = math.log(sum(counts.values()))
    return {piece: round(math.log(n) - total, DIGITS) for piece, n in counts.items()}


def _count(words: Sequence[tuple[str, int]], scores: Mapping[str, float]) -> Counter[str]:
    """How often each piece stands in the best segmentations of all words."""
    pieces = tuple(scores)
    tokenizer = Tokenizer(Unigram(list(scores.items())))
    uses: Counter[str] = Counter()
    segmented = tokenizer.encode_batch_fast([word for word, _ in words])
    for (_, count), encoding in zip(words, segmented, strict=True):
        for number in encoding.ids:
            uses[pieces[number]] += count
    return uses


def _loss(piece: str, scores: Mapping[str, float]) -> float:
    """What one use of a piece would cost if it had to be spelled by others."""
    best = [0.0] + [-math.inf] * len(piece)
    for stop in range(1, len(piece) + 1):
        for start in range(stop):
            part = piece[start:stop]
            if part in scores and part != piece:
                best[stop] = max(best[stop], best[start] + scores[part])
    return scores[piece] - best[-1]


# Lines -> how often each word occurs, in one pass and bounded memory. All learning starts here.

MOST_WORDS = 2_000_000  # beyond these, only words already met are counted
_FOLD_AT = 100_000
_REPORT_EVERY = 1000

# Cutting at spaces first is cheap, and each different cut is split into words only once.
_CHUNK = re.compile(r" ?[^ ]+| +(?![^ ])")


def count_words(
    lines: Iterable[str], settings: TextSettings, progress: Callable[[int], None] | None = None
) -> Counter[str]:
    """Every word with the space before it, and its count; `progress` hears how many lines were read."""
    words: Counter[str] = Counter()
    chunks: Counter[str] = Counter()
    symbols = re.compile("|".join(map(re.escape, settings.symbols)) or "$^")
    number = 0
    for number, line in enumerate(lines, start=1):
        for part in symbols.split(" " + line) if line else ():
            chunks.update(_CHUNK.findall(part))
        if not line.isascii():
            refuse_surrogates(line, f"line {number}")
        if len(chunks) >= _FOLD_AT:
            _fold(chunks, words, settings.lowercase)
        if progress is not None and number % _REPORT_EVERY == 0:
            progress(number)
    _fold(chunks, words, settings.lowercase)
    if progress is not None:
        progress(number)
    if not words:
        raise DataError(
            "there is no text to learn a vocabulary from",
            where=f"{number} lines",
            remedy="give at least one line that is not empty",
        )
    return words


def count_letters(words: Counter[str], min_count: int) -> list[str]:
    """The characters of all words, the most frequent first.

    Control characters are left out: where there are bytes they travel as bytes, so that no vocabulary
    file has a reason to hold one.
    """
    letters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            letters[character] += count
    return [
        letter
        for letter, count in most_frequent(letters)
        if count >= min_count and not is_control(letter)
    ]


def most_frequent(counts: Counter[str]) -> list[tuple[str, int]]:
    """By count, ties by the alphabet: the same counts give the same list, in whatever order they came."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def refuse_surrogates(text: str, where: str) -> None:
    """Half a character is not text: no file can hold it and no screen can show it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as fault:
        raise DataError(
            f"character {fault.start + 1} is half a character (U+{ord(text[fault.start]):04X})",
            where=where,
            remedy="read the text as UTF-8 again, without `surrogateescape` or `surrogatepass`",
        ) from None


def _fold(chunks: Counter[str], words: Counter[str], lowercase: bool) -> None:
    split, lower = splitter().pre_tokenize_str, Lowercase().normalize_str
    for chunk, count in chunks.items():
        for word, _ in split(lower(chunk) if lowercase else chunk):
            if word in words or len(words) < MOST_WORDS:
                words[word] += count
    chunks.clear()
