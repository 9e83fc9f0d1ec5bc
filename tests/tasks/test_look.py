"""Where a model looked: axes name every row and column, and the replay shows what stepping had (D15)."""

import numpy as np
import pytest
import torch

from regard.attention import watch
from regard.decode import DecodeSettings
from regard.errors import UsageError
from regard.models import ModelSettings, RnnEncoderSettings, RnnReaderSettings, build
from regard.tasks import Language, Point, look
from regard.tasks.look import average
from regard.text import END, TextSettings
from tests.tasks.kit import EXAMPLES, MODELS, model_of, task_of

BEAM = DecodeSettings(beam=3, max_length=9)
# What a model may look at, by where: (queries, keys) of each site, heads of each.
SITES = {
    "rnn": {("target", "source"): 1},
    "rnn-before": {("target", "source"): 1},
    "rnn-fed": {("source", "source"): 2, ("target", "source"): 1},
    "transformer": {("source", "source"): 2, ("said", "said"): 2, ("target", "source"): 2},
    "tag": {("source", "source"): 2},
    "classify": {("source", "source"): 2, ("one", "source"): 1},
    "point": {("items", "items"): 2, ("target", "source"): 1},
    "point-rnn": {("target", "source"): 1},
    "language": {("said", "said"): 2},
}


def seen_of(kind: str, text: str, answer=None):
    return look(task_of(MODELS[kind][0]), model_of(kind), text, BEAM, answer)


def questions(kind: str) -> list[str]:
    name = MODELS[kind][0]
    return [task_of(name).question(example) for example in EXAMPLES[name]]


@pytest.mark.parametrize("kind", MODELS)
def test_every_site_is_as_large_as_its_axes(kind):
    for text in [*questions(kind), *([""] if kind != "language" else [])]:
        sight = seen_of(kind, text)
        assert {(site.queries, site.keys) for site in sight.sites} == set(SITES[kind])
        for site in sight.sites:
            heads = SITES[kind][site.queries, site.keys]
            sides = len(sight.axes[site.queries]), len(sight.axes[site.keys])
            assert site.weights.shape == (heads, *sides)


@pytest.mark.parametrize("kind", MODELS)
def test_weights_sum_to_one_a_query(kind):
    for text in questions(kind):
        for site in seen_of(kind, text).sites:
            assert np.allclose(site.weights.sum(-1), 1, atol=1e-5)


def stepped(kind: str, text: str, ids: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The weights that a decoder has when it says these symbols one after the other."""
    task, model = task_of(MODELS[kind][0]), model_of(kind)
    if isinstance(task, Language):
        source, lengths = torch.zeros(1, 0, dtype=torch.long), None
    else:
        row = {"source": np.empty(0), "target": np.zeros(1, np.int32)}
        if isinstance(task, Point):
            items = [[float(n) for n in item.split(",")] for item in text.split()]
            row["source"] = np.array(items, np.float32)
        else:
            row["source"] = np.array([*task.source.encode(text), END], np.int32)
        source, lengths = task.collate([row], len(row["source"]), 1).source, None
    with torch.inference_mode():
        encoded = model.encode(source, lengths)
        with watch(model) as seen:
            state = model.decoder.start(encoded, len(ids) + 1)
            for token in (model.decoder.begin, *ids):
                _, state = model.decoder.step(state, torch.tensor([token]))
        return {path: seen.weights(path)[0].numpy() for path in seen}


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind not in ("tag", "classify")])
def test_the_replay_shows_the_weights_that_stepping_had(kind):
    for text in questions(kind):
        sight = seen_of(kind, text)
        weights = stepped(kind, text, sight.prediction.ids)
        facing = [site for site in sight.sites if not site.path.startswith("encoder")]
        assert facing
        for site in facing:
            assert np.allclose(site.weights, weights[site.path], atol=1e-6)


def test_axes_name_what_was_read_found_and_said():
    sight = seen_of("transformer", "the red cat")
    task = task_of("translate")
    assert sight.axes["source"] == ("▁the", "▁red", "▁cat", task.source.piece(END))
    assert sight.axes["target"] == (*sight.prediction.symbols, task.target.piece(END))
    assert sight.axes["said"][1:] == sight.axes["target"][:-1]


def test_a_pointer_names_the_stop_sign_first():
    text = "0.5,0.1 0.2,0.75 0.9,0.3"
    (answer,) = task_of("point").predict(model_of("point"), [text], DecodeSettings(beam=1))
    sight = seen_of("point", text, answer)
    assert sight.axes["source"] == ("stop", "0.5,0.1", "0.2,0.75", "0.9,0.3")
    assert sight.axes["items"] == sight.axes["source"][1:]
    assert sight.axes["target"] == (*sight.prediction.symbols, "stop")
    assert answer.finish == "end"


def test_symbols_are_shown_as_they_were_found_not_as_their_text_would_be_cut():
    """`a` then `b` may be the pieces of a text whose own pieces would be `ab`."""
    task = task_of("language", TextSettings(kind="bpe", vocabulary=300))
    torch.manual_seed(0)
    model = build(MODELS["language"][1], task.sizes).eval()
    (answer,) = task.predict(model, ["mia"], DecodeSettings(beam=1, max_length=12))
    sight = look(task, model, "mia", BEAM, answer)
    assert sight.axes["target"] == (*answer.symbols, task.codec.piece(END))


def test_the_site_that_faces_the_answer_is_shown_first_choice():
    sight = seen_of("transformer", "the red cat")
    assert (sight.site().queries, sight.site().keys) == ("target", "source")
    first = sight.sites[0]
    assert sight.site(first.path) is first
    assert average(first).shape == first.weights.shape[1:]
    assert np.array_equal(average(first, [1]), first.weights[1])


def test_a_wrong_path_and_a_model_without_attention_are_said():
    with pytest.raises(UsageError, match="no site 'nowhere'"):
        seen_of("rnn", "cat").site("nowhere")
    task = task_of("translate")
    reader = RnnReaderSettings(width=8, score="none")
    model = build(ModelSettings(encoder=RnnEncoderSettings(width=8), reader=reader), task.sizes)
    with pytest.raises(UsageError, match="this model has no attention to look at"):
        look(task, model, "cat", BEAM).site()
