"""Counted words -> a vocabulary. Same words, same vocabulary: every tie is broken by the alphabet."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from regard.errors import UsageError
from regard.text.count import count_letters, count_words, most_frequent
from regard.text.settings import TextSettings
from regard.text.unigram import unigram
from regard.text.vocabulary import (
    LONGEST_PIECE,
    MOST_BEGINNINGS,
    Vocabulary,
    beginnings,
    reserved,
)
from regard.text.words import is_control

LONGEST_LEARNED = 20  # characters; longer ones would be addresses and rules of dashes
PATTERN = 2  # what is seen once is no pattern


def learn(
    lines: Iterable[str], settings: TextSettings, progress: Callable[[int], None] | None = None
) -> Vocabulary:
    """The vocabulary these lines ask for; bytes need no lines, and read none."""
    if settings.kind == "sentencepiece":
        raise UsageError(
            "a sentencepiece vocabulary comes with a model that is imported",
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
