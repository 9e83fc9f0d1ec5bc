"""Words that no vocabulary knows: numbered by where they stand, copied, and written as they were typed."""

import numpy as np
import pytest
import torch

from regard.data.example import Pair
from regard.decode import DecodeSettings
from regard.models import ModelSettings, RnnReaderSettings, TransformerReaderSettings
from regard.tasks import Summarise
from regard.tasks.search import find
from regard.text import END, UNKNOWN, TextSettings
from regard.traces.trace import look_inside
from tests.tasks.kit import BLOCKS, RNN, moved

KNOWN = [Pair("the cat of the king sat on ( a mat ) , he said .", "cat sat on mat")]
TASK = Summarise.learn(lambda: iter(KNOWN), TextSettings(kind="word"))
SIZE = TASK.target.size
TEXT = "Otto of Zell-am-See sat on Otto , the king ."
READERS = {
    "rnn": RnnReaderSettings(width=8, copies=True, score="coverage"),
    "transformer": TransformerReaderSettings(
        width=8, layers=2, heads=2, feedforward=12, copies=True
    ),
}
GREEDY = DecodeSettings(beam=1, max_length=6)


def model_of(name, seed=0):
    encoder = RNN if name == "rnn" else BLOCKS
    return moved(ModelSettings(encoder=encoder, reader=READERS[name]), TASK, seed)


def only_copies(model):
    with torch.no_grad():
        model.reader.gate.weight.zero_()
        model.reader.gate.bias.fill_(-40.0)
    return model


def test_an_unknown_word_has_the_number_of_its_first_place():
    (row,) = TASK.rows([Pair(TEXT, "Otto sat on See , Nobody said")])
    ids, words = TASK.target.typed_batch([TEXT])[0]
    assert "".join(words).strip() == TEXT
    places = {}
    for place, word in enumerate(words):
        places.setdefault(word, place)
    expected = [SIZE + places[w] if n == UNKNOWN else n for n, w in zip(ids, words, strict=True)]
    assert row["source"].tolist() == [*expected, END]
    assert row["source"][0] == SIZE
    assert (row["source"] == SIZE).sum() == 2  # both times it is Otto
    said = row["target"].tolist()
    see = words.index("See")  # written there without a space, found all the same
    assert said[0] == SIZE
    assert SIZE + see in said
    assert UNKNOWN in said  # Nobody
    assert said[-1] == END


def test_the_first_word_of_a_text_is_the_same_word_as_within_it():
    (row,) = TASK.rows([Pair("Otto sat , Otto said", "Otto")])
    assert row["source"][0] == row["source"][3] == row["target"][0] == SIZE


def test_answers_are_written_as_the_text_was_typed():
    _ids, words = TASK.target.typed_batch([TEXT])[0]
    write = TASK.writer(TEXT)
    text, names = write(TASK.encode(TEXT)[:-1].tolist())
    assert text == TEXT
    assert names[0] == "▁Otto"
    cat, sat = TASK.target.encode("cat sat")
    zell = SIZE + words.index(" Zell")
    assert write([cat, zell, sat])[0] == "cat Zell sat"
    assert write([zell, cat])[0] == "Zell cat"
    assert write([])[0] == ""


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("beam", [1, 3])
def test_what_is_copied_survives_the_search(name, beam):
    """A gate that only copies says nothing but words of the text, to the letter, in any company."""
    model = only_copies(model_of(name))
    texts = [TEXT, "Umlaut-Ärger of Ωmega sat", "the king", "Quux Quux Quux 1234567 ."]
    settings = DecodeSettings(beam=beam, max_length=5, top_beams=beam)
    answers = TASK.predict(model, texts, settings)
    for text, answer in zip(texts, answers, strict=True):
        pieces = {word.strip() for word in TASK.target.typed_batch([text])[0][1]}
        for said in [answer.text, *(other for other, _ in answer.alternatives)]:
            assert "\ufffd" not in said
            assert {w.strip() for w in TASK.target.typed_batch([said])[0][1]} <= pieces
        (alone,) = TASK.predict(model, [text], settings)
        assert (alone.text, alone.ids) == (answer.text, answer.ids)
        assert find(TASK, model, text, settings).answer.text == answer.text


@pytest.mark.parametrize("name", READERS)
def test_a_look_names_copied_words_and_shows_the_gate(name):
    model = only_copies(model_of(name))
    seen = look_inside(TASK, model, TEXT, GREEDY)
    assert " ".join(seen.axes["target"].words).startswith(seen.answer.text.split()[0])
    assert "<unk>" not in seen.axes["source"].pieces
    assert [step.symbol for step in seen.steps][: len(seen.answer.ids)] == list(seen.answer.symbols)
    (gate,) = [one for one in seen.ribbons if one.name == "p_gen"]
    assert len(gate.values) == len(seen.axes["target"])
    assert max(gate.values) < 1e-6
    if name == "rnn":
        (coverage,) = [one for one in seen.ribbons if one.name == "coverage"]
        assert sum(coverage.values) == pytest.approx(len(gate.values), rel=1e-4)
    told = TASK.told(TEXT, "cat sat on Zell")
    again = look_inside(TASK, model, TEXT, GREEDY, [int(told.ids[0])])
    assert again.steps[0].given


def test_who_cannot_copy_learns_to_say_the_unknown_word():
    model = moved(ModelSettings(encoder=RNN, reader=RnnReaderSettings(width=8)), TASK)
    rows = TASK.rows([Pair(TEXT, "Otto sat on See"), *KNOWN])
    length = max(len(row["source"]) for row in rows)
    batch = TASK.collate(rows, length, 6)
    loss = TASK.loss(model, batch)
    unknown = np.where(batch.targets.numpy() >= SIZE, UNKNOWN, batch.targets.numpy())
    own = model.reader.loss(TASK.logits(model, batch), torch.from_numpy(unknown))
    torch.testing.assert_close(loss, own)
    assert TASK.predict(model, [TEXT], GREEDY)[0].text is not None


def test_unknown_words_are_counted():
    answers = ["Otto of Zell sat", "the king"]
    questions = ["Otto of Zell sat .", "the king ."]
    (right,) = TASK.beside(questions, ["Otto of \ufffd sat", "the king"], answers)
    assert (right.name, right.value) == ("unknown words right", 50.0)
    assert TASK.beside(["the king"], ["x"], ["the king"]) == []


def test_saved_and_loaded_it_is_the_same():
    again = Summarise.from_dict(TASK.to_dict())
    assert np.array_equal(again.encode(TEXT), TASK.encode(TEXT))
    assert again.sizes == TASK.sizes
