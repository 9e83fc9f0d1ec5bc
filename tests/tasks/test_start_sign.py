"""The start sign is a choice: a decoder may start from the end sign (L100)."""

import pytest
import torch

from regard.data.toys import toy
from regard.decode import DecodeSettings, search
from regard.errors import UsageError
from regard.models import build
from regard.run.resolve import resolve
from regard.tasks import TASKS
from regard.text import BEGIN, END, Codec

PRESETS = {
    "translate": "bahdanau2015",
    "language": "language",
    "summarise": "see2017",
    "multisource": "libovicky2017",
    "caption": "captioner",
}


def learned(name, start):
    settings = resolve(name=PRESETS[name], changes=[f"text.start={start}"])
    examples = list(toy(settings.data.toy).examples("train", 12))
    return settings, TASKS[name].learn(lambda: iter(examples), settings.text), examples


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize(("start", "sign"), [("begin", BEGIN), ("end", END)])
def test_training_and_search_start_from_the_same_sign(name, start, sign):
    _, task, examples = learned(name, start)
    rows = task.rows(examples[:3])
    longest = max(len(row["target"]) for row in rows)
    widest = max(max(len(value) for value in row.values()) for row in rows)
    batch = task.collate(rows, widest, longest)
    assert task.sizes.begin == sign
    assert (batch.inputs[:, 0] == sign).all()
    assert (batch.inputs[:, 1:] != BEGIN).all()


def test_a_look_names_the_sign_that_was_read():
    for start, piece in (("begin", "<s>"), ("end", "</s>")):
        settings, task, _ = learned("translate", start)
        torch.manual_seed(1)
        small = settings.model.model_copy(
            update={
                "encoder": settings.model.encoder.model_copy(update={"width": 6}),
                "reader": settings.model.reader.model_copy(update={"width": 6}),
            }
        )
        model = build(small, task.sizes).eval()
        (answer,) = task.predict(model, ["a b"], DecodeSettings(beam=1, max_length=3))
        assert task.forced("a b", answer).axes["inputs"].pieces[0] == piece


def test_search_reads_the_end_sign_first_and_still_ends():
    """The first step's logits are those of the end sign, and what is said ends by saying it again."""
    settings, task, _ = learned("translate", "end")
    torch.manual_seed(1)
    model = build(settings.model, task.sizes).eval()
    source = torch.tensor([[5, 6, END]])
    encoded = model.encode(source)
    (found,) = search(model.decoder, encoded, DecodeSettings(beam=1, max_length=4))
    state = model.decoder.start(encoded, 5)
    token, expected = torch.tensor([END]), []
    for _ in range(4):
        logits, state = model.decoder.step(state, token)
        token = logits.argmax(-1)
        if int(token) == END:
            break
        expected.append(int(token))
    assert [n for n in found[0].tokens if n != END] == expected


def test_a_vocabulary_remembers_its_start_sign():
    _, task, _ = learned("translate", "end")
    assert task.target.begin == END
    assert Codec.from_json(task.target.to_json()).begin == END
    assert TASKS["translate"].from_dict(task.to_dict()).sizes.begin == END


def test_trees_start_from_the_begin_sign():
    settings = resolve(name="vinyals2015-parse", changes=["text.start=end"])
    with pytest.raises(UsageError, match="from the begin sign on"):
        TASKS["parse"].learn(lambda: toy("grammar").examples("train", 2), settings.text)
