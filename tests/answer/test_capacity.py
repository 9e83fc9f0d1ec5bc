"""How much a model can read and write, by its settings; and where a text is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.answer.capacity import Room, cut
from regard.data.batches import key_bucket
from regard.decode import DecodeSettings
from regard.models import ModelSettings

RNN = {"kind": "rnn"}
LOCATION = {"kind": "rnn", "score": "location", "max_length": 64}
PLAIN = {"kind": "transformer"}
LEARNED = {"kind": "transformer", "position": "learned", "max_length": 48}
LEARNED_AT_HEADS = {**LEARNED, "position_at": "heads"}


@pytest.mark.parametrize(
    ("encoder", "reader", "read", "written"),
    [
        (RNN, RNN, None, None),
        (RNN, LOCATION, 64, None),
        (PLAIN, PLAIN, None, None),
        (LEARNED, PLAIN, 48, None),
        (LEARNED_AT_HEADS, PLAIN, 48, None),
        (PLAIN, LEARNED, None, 48),
        (LEARNED, LOCATION, 48, None),
        (PLAIN, {**PLAIN, "score": "location", "max_length": 24}, 24, 24),
        (None, LEARNED, None, 48),
        (None, LOCATION, None, None),  # nothing to look at
        (RNN, {"kind": "tag"}, None, None),
        (RNN, {"kind": "classify", "score": "location", "max_length": 32}, 32, None),
        (RNN, {"kind": "point", "score": "location", "max_length": 32}, 32, None),
        (PLAIN, {"kind": "point"}, None, None),
    ],
)
def test_room_by_settings(encoder, reader, read, written):
    settings = ModelSettings.model_validate({"encoder": encoder, "reader": reader})
    assert Room.of(settings) == Room(read, written)


@given(room=st.integers(1, 3000))
def test_what_may_be_read_fits_when_it_is_padded(room):
    learned = {**LEARNED, "max_length": room}
    read = Room.of(ModelSettings.model_validate({"encoder": learned, "reader": PLAIN})).read
    assert read == 0 or key_bucket(read) <= room
    assert key_bucket(read + 1) > room


def test_a_prompt_leaves_room_for_one_word():
    assert Room(None, 13).prompt() == 12
    assert Room(13, None).prompt() is None


@pytest.mark.parametrize(
    ("kind", "begun", "most", "least"),
    [("learned", 0, 7, 5), ("learned", 3, 4, 4), ("learned", 99, 1, 1), ("rnn", 3, 9, 5)],
)
def test_an_answer_ends_where_positions_do(predictor, kind, begun, most, least):
    model = predictor(kind)
    settings = DecodeSettings(max_length=9, min_length=5)
    bounded = model.room.bounded(settings, model.run.task, "a b c", begun)
    assert (bounded.max_length, bounded.min_length) == (most, least)


def test_a_text_that_is_gone_on_with_takes_positions_of_its_own(predictor):
    model = predictor("language-learned")  # 13 positions
    assert model.room.bounded(DecodeSettings(), model.run.task, "leo had a").max_length == 10


@given(text=st.text(), most=st.integers(0, 20))
def test_a_cut_text_is_the_longest_beginning_that_fits(text, most):
    def fits(part):
        return len(part.split()) <= most

    shorter = cut(text, fits)
    assert text.startswith(shorter)
    assert fits(shorter)
    assert len(shorter.split()) == min(most, len(text.split()))


@given(text=st.text(alphabet="abc", max_size=30), most=st.integers(0, 40))
def test_one_long_word_is_cut_by_characters(text, most):
    assert cut(text, lambda part: len(part) <= most) == text[:most]


@pytest.mark.parametrize(
    ("kind", "text", "length"),
    [
        ("rnn", "a b c", 4),  # and the end
        ("rnn", "", 1),
        ("classify", "good film", 3),  # and the beginning
        ("tag", "it sleeps .", 3),
        ("point", "0.5 0.25", 2),
        ("hull", "0.5,0.25 1,1 2,2", 3),
        ("language", "leo had a", 3),
    ],
)
def test_symbols_are_counted_as_the_model_reads_them(predictor, kind, text, length):
    assert predictor(kind).run.task.count(text) == length
