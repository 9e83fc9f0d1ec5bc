"""Strings <-> ids. A piece is a stretch of whole characters or one byte, so decoding is joining bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from typing import SupportsInt, final

from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.models import BPE, Model, Unigram, WordLevel, WordPiece
from tokenizers.normalizers import (
    BertNormalizer,
    Lowercase,
    Normalizer,
    Precompiled,
    Replace,
    Strip,
)
from tokenizers.normalizers import Sequence as Sequential
from tokenizers.pre_tokenizers import BertPreTokenizer, ByteLevel, Metaspace

from regard.errors import UsageError
from regard.text import document
from regard.text.learn import learn, refuse_surrogates
from regard.text.settings import BROUGHT, TextSettings
from regard.text.vocabulary import BEGIN, BYTES, END, NEVER, SPECIALS, UNKNOWN, Vocabulary, reserved
from regard.text.words import piece_label, splitter, starts_word, word_label, word_starts


@dataclass(frozen=True)
class Encoding:
    """A text as the model reads it: its pieces, and for each piece the word it belongs to."""

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    word_ids: tuple[int, ...]
    words: tuple[str, ...]


@final
class Codec:
    """One vocabulary at work: text to ids and back.

    Text gets one space in front (not for bytes and characters, nor before a symbol), so that a word is
    the same piece at the start of a line as within it, and `encode("a b") == encode("a") + encode("b")`.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._spaced = vocabulary.settings.kind not in ("byte", "char", "byte-bpe")
        # Vocabularies that come with a model have their own rule for what stands in front.
        self._adds_space = self._spaced and vocabulary.settings.kind not in BROUGHT
        self._tokenizer = _tokenizer(vocabulary)
        self._raw = _raw(vocabulary)

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        settings: TextSettings,
        progress: Callable[[int], None] | None = None,
    ) -> Codec:
        """Learn a vocabulary from one pass over lines; `progress` hears how many were read."""
        return cls(learn(lines, settings, progress))

    @classmethod
    def from_json(cls, text: str | bytes, where: str = "tokenizer.json") -> Codec:
        """The codec that `to_json` wrote, or a `ModelFileError`."""
        vocabulary = Vocabulary.from_json(text, where)
        try:
            return cls(vocabulary)
        except BaseException as fault:
            # A panic of the library is no Exception; an interrupt from the keyboard is not ours.
            if not isinstance(fault, Exception) and type(fault).__name__ != "PanicException":
                raise
            document.refuse(f"this vocabulary cannot be used: {fault}", where)

    def to_json(self) -> str:
        """The whole codec as one JSON document; equal codecs give equal text."""
        return self._vocabulary.to_json()

    @property
    def vocabulary(self) -> Vocabulary:
        """All that it knows, as plain data."""
        return self._vocabulary

    @property
    def settings(self) -> TextSettings:
        """What it was trained with."""
        return self._vocabulary.settings

    @property
    def begin(self) -> int:
        """What a decoder reads before its first word: the begin sign, or the end sign (L100)."""
        return END if self.settings.start == "end" else BEGIN

    def assembled(self) -> Tokenizer:
        """The library's tokenizer that does the cutting, put together anew: its owner may change it."""
        return _tokenizer(self._vocabulary)

    @property
    def size(self) -> int:
        """How many ids there are, specials included."""
        return len(self._raw)

    @cached_property
    def letters(self) -> frozenset[str]:
        """The characters that have a piece of their own; any other is unknown, or a row of bytes."""
        learned: Iterable[str] = self._vocabulary.pieces[len(reserved(self.settings)) :]
        if self.settings.kind == "sentencepiece":
            scored = zip(self._vocabulary.pieces, self._vocabulary.scores, strict=True)
            learned = [piece for piece, score in scored if score > NEVER]
        elif self.settings.kind == "wordpiece":
            learned = [piece.removeprefix(" ") for piece in learned]
        elif self.settings.kind == "byte-bpe":
            learned = []
        own = frozenset(piece for piece in learned if len(piece) == 1)
        return own | {" "} | {letter.upper() for letter in own if self.settings.lowercase}

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without specials."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, on all cores."""
        try:
            spaced = [self._spaced_out(text) for text in texts]
            encodings = self._tokenizer.encode_batch_fast(spaced, add_special_tokens=False)
        except TypeError:
            _refuse(texts)
            raise
        return [encoding.ids for encoding in encodings]

    def typed_batch(self, texts: Sequence[str]) -> list[tuple[list[int], list[str]]]:
        """The ids of many texts, and for each id the letters it stands for as they were typed."""
        try:
            spaced = [self._spaced_out(text) for text in texts]
            encodings = self._tokenizer.encode_batch(spaced, add_special_tokens=False)
        except TypeError:
            _refuse(texts)
            raise
        return [
            (one.ids, [text[start:stop] for start, stop in one.offsets])
            for one, text in zip(encodings, spaced, strict=True)
        ]

    def explain(self, text: str) -> Encoding:
        """The pieces of a text and the words they belong to, written so that a person can read them."""
        refuse_surrogates(text, "text")
        if self.settings.kind == "sentencepiece":
            return self._explained(text)
        spaced = self._spaced_out(text)
        encoding = self._tokenizer.encode(spaced, add_special_tokens=False)
        more = len(spaced) - len(text)
        # The space put in front counts as part of what it was put before.
        offsets = [
            (max(start - more, 0), max(stop - more, more)) for start, stop in encoding.offsets
        ]
        spans: list[tuple[int, int]] = []
        word_ids: list[int] = []
        before = None
        places = self._places(encoding.ids, offsets)
        for (start, stop), word in zip(places, encoding.word_ids, strict=True):
            if word != before or (starts_word(text[start]) and text[spans[-1][0] : start].strip()):
                spans.append((start, stop))
            spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
            word_ids.append(len(spans) - 1)
            before = word
        return Encoding(
            ids=tuple(encoding.ids),
            pieces=tuple(self.piece(number) for number in encoding.ids),
            word_ids=tuple(word_ids),
            words=tuple(word_label(text[start:stop]) for start, stop in spans),
        )

    def _explained(self, text: str) -> Encoding:
        """The same where pieces know nothing of words: each belongs to the word its first letter is in."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        starts = word_starts(text)
        words: list[str] = []
        word_ids: list[int] = []
        here = -1
        for start, stop in encoding.offsets:
            first = next((n for n in range(start, stop) if not text[n].isspace()), None)
            if first is not None:
                begin = first if starts_word(text[first]) else starts[first]
                if begin != here:
                    words.append("")
                    here = begin
                words[-1] = word_label(text[begin:stop].strip())
            elif not words:  # the space in front of everything
                words.append("")
                here = 0
            word_ids.append(len(words) - 1)
        pieces = tuple(self.piece(number) for number in encoding.ids)
        return Encoding(tuple(encoding.ids), pieces, tuple(word_ids), tuple(words))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; specials vanish, but an unknown piece leaves its mark �."""
        text = b"".join([self._raw[self._known(number)] for number in ids])
        decoded = text.decode("utf-8", errors="replace")
        return decoded.removeprefix(" ") if self._spaced else decoded

    def piece(self, id: int) -> str:
        """One piece as a person reads it: `▁the`, `ing`, `<0xC3>`, `</s>`."""
        if self._known(id) < len(SPECIALS):
            return SPECIALS[id]
        return piece_label(self._raw[id])

    def pieces(self, ids: Iterable[SupportsInt]) -> tuple[str, ...]:
        """Several of them."""
        return tuple(self.piece(int(id)) for id in ids)

    def numbers_as(self, other: Codec) -> bool:
        """Whether every id stands for the same piece in both, however each of them cuts."""
        return self is other or self._vocabulary.pieces == other._vocabulary.pieces

    def __repr__(self) -> str:
        return f"Codec({self.settings.kind}, {self.size:,} pieces)"

    def _places(
        self, ids: Sequence[int], offsets: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Where each piece lies in the text.

        Of characters that the vocabulary has as bytes alone, the library may tell only where all of them lie;
        each one's own place is where its first byte stands among theirs.
        """
        places: list[tuple[int, int]] = []
        pieces = [self._raw[number] for number in ids]
        for (start, stop), run in groupby(zip(offsets, pieces, strict=True), lambda one: one[0]):
            parts = [piece for _, piece in run]
            firsts = [part[0] & 0xC0 != 0x80 for part in parts if len(part) == 1]
            if len(firsts) == len(parts) > sum(firsts) == stop - start:
                places += [(start + number - 1, start + number) for number in accumulate(firsts)]
            else:
                places += [(start, stop)] * len(parts)
        return places

    def _spaced_out(self, text: str) -> str:
        bare = not self._adds_space or not text or text.startswith(self.settings.symbols)
        return text if bare else " " + text

    def _known(self, id: int) -> int:
        if not 0 <= id < len(self._raw):
            raise UsageError(
                f"there is no piece {id}", where="ids", remedy=f"ids go from 0 to {self.size - 1}"
            )
        return id


def _tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """The library's parts, put together here and nowhere else; a file only brings words and numbers."""
    tokenizer = Tokenizer(_model(vocabulary))
    match vocabulary.settings.kind:
        case "sentencepiece":
            tokenizer.normalizer = _charmap(vocabulary)
            tokenizer.pre_tokenizer = Metaspace("▁", "always", split=True)
        case "wordpiece":  # accents go where capitals go (Devlin 2019)
            tokenizer.normalizer = BertNormalizer(lowercase=vocabulary.settings.lowercase)
            tokenizer.pre_tokenizer = BertPreTokenizer()
        case "byte-bpe":
            tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
        case _:
            if vocabulary.settings.lowercase:
                tokenizer.normalizer = Lowercase()
            tokenizer.pre_tokenizer = splitter()
    # As they are typed, before anything is lower-cased or cut; their ids are the vocabulary's.
    tokenizer.add_tokens(
        [AddedToken(symbol, normalized=False) for symbol in vocabulary.settings.symbols]
    )
    return tokenizer


def _model(vocabulary: Vocabulary) -> Model:
    pieces = vocabulary.pieces
    ids = {piece: number for number, piece in enumerate(pieces)}
    match vocabulary.settings.kind:
        case "bpe" | "byte":
            merges = [(pieces[left], pieces[right]) for left, right in vocabulary.merges]
            return BPE(ids, merges, byte_fallback=True)
        case "unigram":
            scored = list(zip(pieces, vocabulary.scores, strict=True))
            return Unigram(scored, unk_id=UNKNOWN, byte_fallback=True)
        case "sentencepiece":
            names = list(map(_as_cut, pieces, vocabulary.scores, range(len(pieces))))
            return Unigram(list(zip(names, _weighed(vocabulary.scores), strict=True)), UNKNOWN)
        case "wordpiece":
            first = len(reserved(vocabulary.settings))
            named = [*pieces[:first], *map(continued, pieces[first:])]
            return WordPiece(
                {name: number for number, name in enumerate(named)}, unk_token=SPECIALS[UNKNOWN]
            )
        case "byte-bpe":
            merges = [(pieces[left], pieces[right]) for left, right in vocabulary.merges]
            return BPE(ids, merges)
        case "char":
            return BPE(ids, [], unk_token=SPECIALS[UNKNOWN])
        case "word":
            return WordLevel(ids, unk_token=SPECIALS[UNKNOWN])


def _charmap(vocabulary: Vocabulary) -> Normalizer:
    """What sentencepiece does before it cuts: its table of characters, then single spaces and none around."""
    spaces = [Replace(Regex(" {2,}"), " "), Strip()]
    return Sequential([Precompiled(vocabulary.charmap), *spaces] if vocabulary.charmap else spaces)


def _as_cut(piece: str, score: float, number: int) -> str:
    """A piece as the library compares it; specials and what is never cut get names that nobody types."""
    if number < len(SPECIALS) or score <= NEVER:
        return f"\ufffe\uffff{number}"
    return piece.replace(" ", "▁")


def _weighed(scores: Sequence[float]) -> list[float]:
    """The scores, where no piece that is never cut makes the unknown cheaper than it was."""
    return [0.0 if score <= NEVER else score for score in scores]


def continued(piece: str) -> str:
    """A piece as WordPiece names it: a subword within a word has `##` in front."""
    return piece[1:] if piece.startswith(" ") else f"##{piece}"


# A letter for each byte: itself where it is a plain sign, else one that nobody types (Radford 2019).
_PLAIN = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = (byte for byte in range(256) if byte not in _PLAIN)
_BYTE_OF = {chr(byte): byte for byte in _PLAIN} | {chr(256 + n): b for n, b in enumerate(_OTHERS)}


def spelled_bytes(piece: str) -> bytes:
    """The bytes that a piece of `byte-bpe` stands for."""
    return bytes(_BYTE_OF[letter] for letter in piece)


def _raw(vocabulary: Vocabulary) -> list[bytes]:
    """What each id adds to a decoded text."""
    unknown = " \ufffd" if vocabulary.settings.kind == "word" else "\ufffd"
    first = reserved(vocabulary.settings)
    raw = [b"", b"", b"", unknown.encode()]
    raw += [bytes([byte]) for byte in range(256)] if BYTES[0] in first else []
    if vocabulary.settings.kind == "byte-bpe":
        raw += [name.encode() for name in vocabulary.settings.symbols]
        return raw + [spelled_bytes(piece) for piece in vocabulary.pieces[len(raw) :]]
    return raw + [piece.encode() for piece in vocabulary.pieces[len(raw) :]]


def _refuse(texts: Sequence[str]) -> None:
    for number, text in enumerate(texts, start=1):
        refuse_surrogates(text, f"text {number}")
