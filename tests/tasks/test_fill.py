"""Masked words: which are asked for, what is read instead, and what the encoder is good for afterwards."""

import pytest
import torch

from regard import Listener
from regard.cli.main import status
from regard.data.example import Line
from regard.decode import DecodeSettings
from regard.errors import UsageError
from regard.run.folder import Run
from regard.run.resolve import resolve
from regard.tasks import IGNORE, Fill
from regard.tasks.fill import HIDDEN, MASK, SHARE, WRONG
from regard.text import BEGIN, END, PAD, TextSettings
from regard.training import train
from tests.tasks.kit import EXAMPLES, batch_of, model_of, task_of

WORDS = [f"w{number}" for number in range(50)]
MANY = [
    Line(" ".join(WORDS[(7 * row + k * (1 + row // 50)) % 50] for k in range(40)))
    for row in range(400)
]


@pytest.fixture(scope="module")
def many():
    return Fill.learn(lambda: iter(MANY), TextSettings(kind="word"))


def test_a_share_of_every_line_is_asked_for_and_one_at_least():
    asked = (batch_of("fill").targets != IGNORE).sum(1).tolist()
    lengths = [len(line.text.split()) for line in EXAMPLES["fill"]]
    assert asked == [max(1, round(SHARE * length)) for length in lengths]


def test_what_is_asked_for_is_hidden_replaced_or_left_as_often_as_said(many):
    judged = many.collate(many.rows(MANY), 40, 40)
    torch.manual_seed(1)
    for batch in (judged, many.hidden_anew(judged)):
        chosen = batch.targets != IGNORE
        assert int(chosen.sum()) == 400 * 6 == batch.count
        read, wanted = batch.source[chosen], batch.targets[chosen]
        hidden = (read == many.mask).double().mean().item()
        kept = (read == wanted).double().mean().item()
        assert hidden == pytest.approx(HIDDEN, abs=0.03)
        assert kept == pytest.approx(1 - HIDDEN - WRONG, abs=0.03)
        rows = torch.tensor([row["source"].tolist() for row in many.rows(MANY)])
        assert torch.equal(wanted, rows[chosen])
        assert torch.equal(batch.source[~chosen], rows[~chosen])
        often = chosen.double().mean(0)  # no place is preferred
        assert often.min() > 0.08
        assert often.max() < 0.23


def test_learning_asks_for_others_each_time_and_judging_always_for_the_same(many):
    batch = many.collate(many.rows(MANY), 40, 40)
    again = many.collate(many.rows(MANY), 44, 44)  # padded further
    assert torch.equal(batch.targets, again.targets[:, :40])
    assert torch.equal(batch.source, again.source[:, :40])
    torch.manual_seed(1)
    one, other = many.hidden_anew(batch), many.hidden_anew(batch)
    assert not torch.equal(one.targets, other.targets)
    torch.manual_seed(1)
    assert torch.equal(many.hidden_anew(batch).source, one.source)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_that_of_all_logits_at_the_places_that_count(smoothing):
    """Only these become logits; by the book all do, and the others are left out of the sum."""
    task, model, batch = task_of("fill"), model_of("fill").eval(), batch_of("fill", more=7)
    logits = model(batch.source, batch.lengths)
    every = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1),
        batch.targets.flatten(),
        ignore_index=IGNORE,
        reduction="sum",
        label_smoothing=smoothing,
    )
    torch.testing.assert_close(task.loss(model, batch, smoothing), every)


def test_padding_is_never_asked_for():
    task, batch = task_of("fill"), batch_of("fill", more=9)
    for seed in range(20):
        torch.manual_seed(seed)
        hidden = task.hidden_anew(batch)
        assert (hidden.targets != IGNORE).sum(1).tolist() == (batch.targets != IGNORE).sum(
            1
        ).tolist()
        assert hidden.targets[1:, -9:].eq(IGNORE).all()


def test_the_answer_is_the_text_with_a_likely_word_for_each_mask():
    task, model = task_of("fill"), model_of("fill")
    (answer,) = task.predict(model, [f"mia had {MASK} key . {MASK} hid it"], DecodeSettings())
    words = answer.text.split()
    assert len(words) == 8
    assert words[:2] + words[3:5] + words[6:] == ["mia", "had", "key", ".", "hid", "it"]
    ids = torch.tensor(task.encode(f"mia had {MASK} key . {MASK} hid it")).long().unsqueeze(0)
    with torch.no_grad():
        known = model(ids, None).log_softmax(-1)[0]
    known[:, [PAD, BEGIN, END, task.mask]] = -torch.inf
    known = known.log_softmax(-1)
    assert answer.ids == tuple(known[[2, 5]].argmax(-1).tolist())
    assert answer.score == pytest.approx(known[[2, 5]].max(-1).values.sum().item())


def test_a_line_that_hides_a_word_already_is_read_as_it_is():
    task = task_of("fill")
    ids = task.encode(f"mia had {MASK} key . she hid it under the bridge")
    batch = task.collate([{"source": ids, "target": ids}], len(ids), len(ids))
    assert batch.source[0].tolist() == ids.tolist()
    assert batch.count == 0


def test_a_text_that_hides_nothing_is_read_where_nothing_is_asked():
    ids, axis = task_of("fill").only_read("mia had the key")
    assert axis.words == ("mia", "had", "the", "key")
    assert len(ids) == len(axis.pieces)


def test_a_text_that_hides_nothing_is_refused_with_an_example():
    with pytest.raises(UsageError, match="hides no word") as refused:
        task_of("fill").predict(model_of("fill"), ["mia had a key ."], DecodeSettings())
    assert MASK in refused.value.remedy


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """A small encoder that has read a few stories."""
    folder = tmp_path_factory.mktemp("pretrained") / "run"
    changes = ["model.encoder.width=16", "model.encoder.layers=2", "model.encoder.heads=2"]
    changes += ["model.encoder.feedforward=16", "train.steps=3", "train.evaluate_every=3"]
    settings = resolve(name="devlin2019", changes=[*changes, "data.examples=40"])
    train(folder, settings, Listener(), device="cpu")
    return folder


def test_a_tagger_starts_with_the_encoder_and_the_pieces_of_what_read_masked_text(
    pretrained, tmp_path
):
    few = ["train.steps=1", "train.evaluate_every=1", "train.rate=1e-9", "data.examples=40"]
    settings = resolve(start=str(pretrained), task="tag", toy="parts", changes=few)
    assert settings.task == "tag"
    assert settings.model.reader.kind == "tag"
    assert settings.model.encoder == Run.open(pretrained).settings.model.encoder
    train(tmp_path / "run", settings, Listener(), device="cpu")
    run, origin = Run.open(tmp_path / "run"), Run.open(pretrained)
    assert run.task.source.to_json() == origin.task.source.to_json()
    before, after = origin.load_model().state_dict(), run.load_model().state_dict()
    names = [name for name in before if name.startswith("encoder.")]
    assert names
    for name in names:
        torch.testing.assert_close(after[name], before[name], atol=1e-6, rtol=0)


def test_an_encoder_of_another_shape_cannot_be_started_from(pretrained, tmp_path):
    changes = ["model.encoder.layers=3", "data.examples=40"]
    settings = resolve(start=str(pretrained), task="tag", toy="parts", changes=changes)
    with pytest.raises(UsageError, match="another encoder"):
        train(tmp_path / "run", settings, Listener(), device="cpu")


def test_masks_are_filled_in_from_the_command_line(pretrained, capsys):
    assert status(["predict", str(pretrained), f"mia had a {MASK} .", "--device", "cpu"]) == 0
    assert capsys.readouterr().out.startswith("mia had a ")


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    """A small decoder that has continued a few stories."""
    folder = tmp_path_factory.mktemp("language") / "run"
    changes = ["model.reader.width=16", "model.reader.layers=2", "model.reader.heads=2"]
    changes += ["model.reader.feedforward=16", "train.steps=3", "train.evaluate_every=3"]
    changes += ["train.evaluate_examples=0", "train.workers=0"]
    settings = resolve(name="language", changes=[*changes, "data.examples=40"])
    train(folder, settings, Listener(), device="cpu")
    return folder


def test_a_tagger_starts_with_the_blocks_of_a_language_model(language_model, tmp_path):
    """The task follows from the toy; what has read from left to right goes on to read so."""
    few = ["train.steps=1", "train.evaluate_every=1", "train.rate=1e-9", "data.examples=40"]
    few += ["train.evaluate_examples=0", "train.workers=0"]
    settings = resolve(start=str(language_model), toy="parts", changes=few)
    assert settings.task == "tag"
    assert settings.model.encoder.reach == "causal"
    train(tmp_path / "run", settings, Listener(), device="cpu")
    run, origin = Run.open(tmp_path / "run"), Run.open(language_model)
    assert run.task.source.to_json() == origin.task.target.to_json()
    model, before = run.load_model(), origin.load_model()
    after = model.state_dict()
    taken = {name for name in after if name.startswith("encoder.")}
    assert taken == {
        name.replace("reader.", "encoder.", 1)
        for name in before.state_dict()
        if name.startswith(("reader.embedding.", "reader.blocks.", "reader.norm."))
    }
    ids = torch.tensor([[5, 9, 7, 6]])
    states = before.eval().reader.hidden(before.encode(ids[:, :0]), ids)
    torch.testing.assert_close(model.eval().encode(ids).states, states, atol=1e-5, rtol=1e-5)
    both_ways = [*few, "model.encoder.reach=full"]
    settings = resolve(start=str(language_model), toy="parts", changes=both_ways)
    train(tmp_path / "both", settings, Listener(), device="cpu")


def test_a_recurrent_language_model_has_nothing_to_read_with(tmp_path):
    changes = [
        "data.examples=40",
        "train.steps=1",
        "train.evaluate_every=1",
        "model.reader.width=8",
    ]
    train(tmp_path / "run", resolve(name="cheng2016", changes=changes), Listener(), device="cpu")
    with pytest.raises(UsageError, match="no encoder"):
        resolve(start=str(tmp_path / "run"), toy="parts")
