"""Symbols: whole wherever they are typed, one id each, and nothing else becomes one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.config import parse
from regard.errors import ModelFileError, UsageError
from regard.text import Codec, TextSettings
from tests.text.samples import KINDS, LINES, LOSSLESS

SYMBOLS = (">>de<<", "<keep0>", "<keep1>")
FIRST = {"bpe": 260, "unigram": 260, "byte": 260, "char": 4, "word": 4}
SIGNED = [f">>de<< {line} <keep1>" for line in LINES]

mixed = st.lists(
    st.sampled_from((*SYMBOLS, " ", "  ", ">", "<", "de", "keep0", "<<", "dog", "ß", "."))
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    max_size=9,
).map("".join)


def learned(kind: str, **more) -> Codec:
    return Codec.train(SIGNED, TextSettings(kind=kind, vocabulary=400, symbols=SYMBOLS, **more))


@pytest.fixture(scope="module")
def codecs() -> dict[str, Codec]:
    return {kind: learned(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_a_symbol_is_one_piece_with_or_without_spaces(codecs, kind):
    codec = codecs[kind]
    for number, symbol in enumerate(SYMBOLS):
        assert codec.encode(symbol) == [FIRST[kind] + number]
        assert codec.piece(FIRST[kind] + number) == symbol
        for written in (f"dog {symbol} dog", f"dog{symbol}dog", f"{symbol}{symbol}"):
            ids = codec.encode(written)
            assert ids.count(FIRST[kind] + number) == written.count(symbol)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word"])
def test_what_follows_a_leading_symbol_is_written_as_without_it(codecs, kind):
    codec = codecs[kind]
    assert codec.encode(">>de<< the dog") == [FIRST[kind], *codec.encode("the dog")]


@pytest.mark.parametrize("kind", LOSSLESS)
@given(written=mixed)
def test_any_string_returns(codecs, kind, written):
    assert codecs[kind].decode(codecs[kind].encode(written)) == written


@pytest.mark.parametrize("kind", KINDS)
@given(written=mixed)
def test_symbols_are_counted_as_they_are_typed(codecs, kind, written):
    ids = codecs[kind].encode(written)
    # Where two overlap, as in `>>de<<keep0>`, the first has what both want.
    found = re.findall("|".join(map(re.escape, SYMBOLS)), written)
    for number, symbol in enumerate(SYMBOLS):
        assert ids.count(FIRST[kind] + number) == found.count(symbol)


@pytest.mark.parametrize("kind", KINDS)
@given(written=mixed)
def test_every_piece_has_its_word_and_every_symbol_is_one(codecs, kind, written):
    found = codecs[kind].explain(written)
    assert list(found.ids) == codecs[kind].encode(written)
    steps = [b - a for a, b in zip((-1, *found.word_ids), found.word_ids, strict=False)]
    assert set(steps) <= {0, 1}
    for number, word in zip(found.ids, found.word_ids, strict=True):
        if FIRST[kind] <= number < FIRST[kind] + len(SYMBOLS):
            assert found.words[word] == SYMBOLS[number - FIRST[kind]]


def test_words_around_symbols():
    found = learned("bpe").explain(">>de<< the dog (<keep0>) the dog's")
    assert found.words == (">>de<<", "the", "dog", "(", "<keep0>", ")", "the", "dog's")


def test_lower_case_makes_no_symbol():
    codec = learned("word", lowercase=True)
    assert not {4, 5, 6} & set(codec.encode(">>DE<< <KEEP0> keep0"))
    assert codec.encode(">>de<< THE") == [4, *codec.encode("the")]


def test_symbols_teach_no_pieces():
    plain = Codec.train(LINES, TextSettings(vocabulary=400))
    signed = learned("bpe")
    learn = [codec.piece(n) for codec, first in ((plain, 260), (signed, 263)) for n in (first,)]
    assert learn[0] == learn[1]
    pieces = {signed.piece(number) for number in range(263, signed.size)}
    assert not [piece for piece in pieces if "keep" in piece or ">>" in piece]


@pytest.mark.parametrize("kind", KINDS)
def test_symbols_are_saved(codecs, kind):
    again = Codec.from_json(codecs[kind].to_json())
    assert again.settings.symbols == SYMBOLS
    assert again.to_json() == codecs[kind].to_json()
    assert again.encode(SIGNED[0]) == codecs[kind].encode(SIGNED[0])


def test_a_file_without_the_setting_is_one_without_symbols():
    text = Codec.train(LINES, TextSettings(vocabulary=400)).to_json()
    assert Codec.from_json(text.replace(',"symbols":[]', "")).settings.symbols == ()


def test_a_file_whose_symbols_are_not_its_pieces_is_refused(codecs):
    text = codecs["bpe"].to_json().replace('"symbols":[">>de<<"', '"symbols":[">>fr<<"')
    with pytest.raises(ModelFileError, match=r"pieces\[260\] must be '>>fr<<'"):
        Codec.from_json(text)


@pytest.mark.parametrize(
    ("symbols", "fault"),
    [
        (["de"], "'de' has 2 characters; a symbol has 3 to 32"),
        (["keep0"], "'keep0' must begin and end with a sign and hold a letter or digit"),
        (["<<>>"], "'<<>>' must begin and end with a sign and hold a letter or digit"),
        (["<a b>"], "'<a b>' holds a space or a character that does not show"),
        (["<unk>"], "'<unk>' is the name of a piece that every vocabulary has"),
        (["<0x41>"], "'<0x41>' is the name of a piece that every vocabulary has"),
        (["<a>", "<a>"], "a symbol is there twice"),
        (["<a>", "<<a>>"], "'<a>' is part of another symbol"),
    ],
)
def test_what_cannot_be_a_symbol(symbols, fault):
    with pytest.raises(UsageError) as refused:
        parse(TextSettings, {"symbols": symbols})
    assert fault in refused.value.what


@pytest.mark.parametrize("kind", ["word", "char"])
def test_symbols_need_room_beside_something_to_learn(kind):
    """With less room than the symbols take, all words but the last were learned."""
    symbols = (">>de<<", ">>fr<<")
    with pytest.raises(UsageError, match=f"a {kind} vocabulary needs room for at least 7 pieces"):
        parse(TextSettings, {"kind": kind, "vocabulary": 6, "symbols": symbols})
    codec = Codec.train(LINES, TextSettings(kind=kind, vocabulary=7, symbols=symbols))
    assert codec.size == 7
    assert Codec.from_json(codec.to_json()).size == 7
