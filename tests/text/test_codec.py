"""Text to ids and back: nothing is lost, nothing typed is special, every piece has its word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError, UsageError
from regard.text import BEGIN, END, PAD, UNKNOWN, Codec
from tests.text.samples import KINDS, LOSSLESS, learned

HARD = (
    " leading", "trailing ", "two  spaces   three", "   ", " ", "\t", "a\tb\t", "line\nbreak\r\n\r",
    "\u2028\u2029\u0085\u00a0\u3000", "\x00", "a\x00b", "e\u0301 é ñ n\u0303", "\ufffd\ufeff",
    "👨‍👩‍👧‍👦🏳️‍🌈👍🏽", "🏴\U000e0067\U000e0062\U000e007f", "\U0010ffff\ue000\uffff",
    "ﷺ السَّلَامُ عَلَيْكُمْ", "می‌خواهم", "שָׁלוֹם", "\u202eabc\u202c", "日本語テキスト", "ไทยภาษา", "한국어",
    "<s>", "</s>", "<pad>", "<unk>", "<0x41>", "<0xFF>", "▁", "▁▁the Ġthe",
)  # fmt: skip
text = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(
    st.sampled_from(HARD) | st.text("ab <>/s0x4'.1", max_size=9), max_size=6
).map("".join)
word = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" "), min_size=1)


@pytest.mark.parametrize("kind", LOSSLESS)
@pytest.mark.parametrize("written", HARD)
def test_hard_strings_return(codecs, kind, written):
    ids = codecs[kind].encode(written)
    assert UNKNOWN not in ids
    assert codecs[kind].decode(ids) == written


@pytest.mark.parametrize("kind", LOSSLESS)
@given(written=text)
def test_any_string_returns(codecs, kind, written):
    assert codecs[kind].decode(codecs[kind].encode(written)) == written


@pytest.mark.parametrize("kind", ["char", "word"])
def test_known_text_returns_exactly_also_without_bytes(codecs, lines, kind):
    assert [codecs[kind].decode(codecs[kind].encode(line)) for line in lines] == list(lines)


def test_what_is_unknown_leaves_a_mark(codecs):
    char, words = codecs["char"], codecs["word"]
    assert char.encode("aЖЖ") == [*char.encode("a"), UNKNOWN, UNKNOWN]
    assert char.decode(char.encode("dЖg")) == "d\ufffdg"
    assert words.decode(words.encode("the zebra jump")) == "the \ufffd jump"
    assert words.explain("the zebra").words == ("the", "zebra")
    assert words.explain("the zebra").pieces == ("▁the", "<unk>")


@pytest.mark.parametrize("kind", KINDS)
@given(written=text)
def test_typed_specials_are_text(codecs, kind, written):
    assert not {PAD, BEGIN, END} & set(codecs[kind].encode(written))


@pytest.mark.parametrize("kind", LOSSLESS)
def test_a_corpus_full_of_specials_makes_them_no_more_special(kind):
    lines = ["<s> </s> <unk> <pad> <0x41> <0x41>"] * 50
    codec = Codec.train(lines, learned(kind).settings)
    for name in lines[0].split():
        ids = codec.encode(name)
        assert min(ids) > UNKNOWN
        assert codec.decode(ids) == name


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word"])
@given(words=st.lists(word, min_size=1, max_size=5))
def test_a_sentence_is_its_words_one_after_another(codecs, kind, words):
    one_by_one = codecs[kind].encode_batch(words)
    assert codecs[kind].encode(" ".join(words)) == [number for ids in one_by_one for number in ids]


@pytest.mark.parametrize("kind", KINDS)
@given(written=text)
def test_every_piece_has_its_word(codecs, kind, written):
    found = codecs[kind].explain(written)
    assert list(found.ids) == codecs[kind].encode(written)
    assert len(found.pieces) == len(found.word_ids) == len(found.ids)
    steps = [b - a for a, b in zip((-1, *found.word_ids), found.word_ids, strict=False)]
    assert set(steps) <= {0, 1}
    assert set(found.word_ids) == set(range(len(found.words)))
    assert all(found.pieces)
    assert all(found.words)


def test_explain_shows_what_a_person_reads(codecs, lines):
    bpe = learned("bpe", 600)
    found = bpe.explain("The dog überspringt 日本語, Ж!")
    assert found.words == ("The", "dog", "überspringt", "日本", "語", ",", "Ж", "!")
    by_word = [""] * len(found.words)
    for piece, number in zip(found.pieces, found.word_ids, strict=True):
        by_word[number] += piece
    assert by_word == ["▁The", "▁dog", "▁überspringt", "▁日本", "語", ",", "▁<0xD0><0x96>", "!"]
    assert bpe.explain("   the").words == ("▁▁", "the")
    for line in lines:
        joined = "".join(bpe.explain(line).pieces)
        assert joined == "▁" + line.replace(" ", "▁")
    assert codecs["byte"].explain("aé b").pieces == ("a", "<0xC3>", "<0xA9>", "▁", "b")
    assert codecs["byte"].explain("aé b").word_ids == (0, 0, 0, 1, 1)


def test_lowercase_reads_lower_and_shows_the_original():
    codec = learned("bpe", lowercase=True)
    assert codec.encode("THE DOG") == codec.encode("the dog")
    assert codec.decode(codec.encode("Die STRAßE")) == "die straße"
    assert codec.explain("The DOG").words == ("The", "DOG")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_nothing(codecs, kind):
    codec = codecs[kind]
    assert codec.encode("") == []
    assert codec.decode([]) == ""
    assert codec.decode([PAD, BEGIN, END, PAD]) == ""
    assert codec.encode_batch([]) == []
    assert codec.explain("").words == ()


@pytest.mark.parametrize("kind", KINDS)
@given(texts=st.lists(text, max_size=5))
def test_a_batch_is_its_texts(codecs, kind, texts):
    assert codecs[kind].encode_batch(texts) == [codecs[kind].encode(written) for written in texts]


@given(ids=st.lists(st.integers(0, 259)))
def test_any_ids_decode(codecs, ids):
    decoded = codecs["byte"].decode(ids)
    decoded.encode("utf-8")
    specials = {PAD: b"", BEGIN: b"", END: b"", UNKNOWN: "\ufffd".encode()}
    joined = b"".join(specials.get(number, bytes([max(0, number - 4)])) for number in ids)
    assert decoded == joined.decode("utf-8", "replace")


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_character_is_refused(codecs, kind):
    with pytest.raises(DataError) as fault:
        codecs[kind].encode_batch(["fine", "bad \ud83d here"])
    assert fault.value.what == "character 5 is half a character (U+D83D)"
    assert fault.value.where == "text 2"
    with pytest.raises(DataError, match="half a character"):
        codecs[kind].explain("\udfff")
    with pytest.raises(DataError, match="half a character"):
        codecs[kind].encode("\udfff")


@pytest.mark.parametrize("number", [-1, 10**6])
def test_ids_out_of_range_are_refused(codecs, number):
    for use in (codecs["bpe"].piece, lambda id: codecs["bpe"].decode([id])):
        with pytest.raises(UsageError) as fault:
            use(number)
        assert fault.value.what == f"there is no piece {number}"
        assert fault.value.remedy == f"ids go from 0 to {codecs['bpe'].size - 1}"


def test_specials_have_names(codecs):
    for codec in codecs.values():
        names = [codec.piece(number) for number in (PAD, BEGIN, END, UNKNOWN)]
        assert names == ["<pad>", "<s>", "</s>", "<unk>"]
        assert all(codec.piece(number) for number in range(codec.size))
    assert repr(codecs["byte"]) == "Codec(byte, 260 pieces)"
