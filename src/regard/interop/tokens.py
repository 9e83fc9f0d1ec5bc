"""What any tokenizer made of a text: its pieces, and the words they belong to, as our own views show them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from regard.tasks.axis import Tokens
from regard.text.words import starts_word, visible, word_label, word_starts

Span = tuple[int, int, int] | None  # which text, and from where to where; None for a special piece
SECOND = "┃"  # stands before the first piece of a second text


def read(tokenizer: Any, encoding: Any, texts: Sequence[str]) -> Tokens:
    """The pieces of one or two texts that somebody wrote; where the second begins is marked."""
    ids = [int(number) for number in encoding["input_ids"][0]]
    if not getattr(encoding, "is_fast", False):
        return written(tokenizer, ids)
    owned = zip(encoding.sequence_ids(0), encoding[0].offsets, strict=True)
    spans: list[Span] = [None if owner is None else (owner, *span) for owner, span in owned]
    names = [name_of(tokenizer, number) for number in ids]
    seconds = [place for place, span in enumerate(spans) if span is not None and span[0] == 1]
    if seconds:
        own = names[seconds[0]]
        names[seconds[0]] = f"▁{SECOND}{own[1:]}" if own.startswith("▁") else SECOND + own
    return _grouped(names, spans, texts)


def written(tokenizer: Any, ids: Sequence[int]) -> Tokens:
    """The pieces of these ids, their words by the text that they are decoded to."""
    special = set(tokenizer.all_special_ids)
    spans: list[Span] = []
    plain: list[int] = []
    text = ""
    for number in ids:
        if number in special:
            spans.append(None)
            continue
        plain.append(number)
        longer = _decoded(tokenizer, plain)
        start = sum(
            1 for _ in takewhile(lambda two: two[0] == two[1], zip(text, longer, strict=False))
        )
        text = longer.rstrip("\ufffd")  # a byte of a character that is not whole yet
        spans.append((0, min(start, len(text)), len(text)))
    return _grouped([name_of(tokenizer, number) for number in ids], spans, [text])


def name_of(tokenizer: Any, number: int) -> str:
    """One piece as a person reads it: `▁the`, `##ing`, `[SEP]`."""
    name = str(tokenizer.convert_ids_to_tokens(int(number)))
    if number in tokenizer.all_special_ids or "▁" in name or name.startswith("##"):
        return visible(name)
    alone = _decoded(tokenizer, [number])
    return visible(alone if alone.strip() and "\ufffd" not in alone else name)


def _decoded(tokenizer: Any, ids: Sequence[int]) -> str:
    return str(tokenizer.decode(list(ids), clean_up_tokenization_spaces=False))


def _grouped(names: Sequence[str], spans: Sequence[Span], texts: Sequence[str]) -> Tokens:
    """Pieces with their words; a special piece is a word by itself."""
    starts = [word_starts(text) for text in texts]
    words: list[str] = []
    word_ids: list[int] = []
    here: tuple[int, int] | None = None  # the text and the beginning of the word at hand
    for name, span in zip(names, spans, strict=True):
        if span is None or (span[1] >= span[2] and here is None):
            words.append(name)
            here = None
        elif span[1] < span[2]:
            owner, start, stop = span
            text = texts[owner]
            first = next((n for n in range(start, stop) if not text[n].isspace()), start)
            begin = first if starts_word(text[first]) else starts[owner][first]
            if (owner, begin) != here:
                words.append("")
                here = owner, begin
            words[-1] = word_label(text[begin:stop].strip()) or name
        word_ids.append(len(words) - 1)
    return Tokens(tuple(names), tuple(word_ids), tuple(words))
