"""Where a model looked: axes name every row and column, and the replay shows what stepping had (D15)."""

import numpy as np
import pytest
import torch

from regard.attention import watch
from regard.decode import DecodeSettings
from regard.errors import UsageError
from regard.models import ModelSettings, RnnEncoderSettings, RnnReaderSettings, build
from regard.tasks import Language, Point
from regard.tasks.search import Found
from regard.text import END, TextSettings
from regard.traces.trace import look_inside, replayed
from tests.tasks.kit import EXAMPLES, MODELS, model_of, task_of

BEAM = DecodeSettings(beam=3, max_length=9)
# What a model may look at, by where: (queries, keys) of each site, heads of each.
SITES = {
    "rnn": {("target", "source"): 1},
    "rnn-before": {("target", "source"): 1},
    "rnn-fed": {("source", "source"): 2, ("target", "source"): 1},
    "transformer": {("source", "source"): 2, ("inputs", "inputs"): 2, ("target", "source"): 2},
    "tag": {("source", "source"): 2},
    "fill": {("source", "source"): 2},
    "classify": {("source", "source"): 2, ("label", "source"): 1},
    "point": {("source", "source"): 2, ("target", "places"): 1},
    "point-rnn": {("target", "places"): 1},
    "parse": {("target", "source"): 1},
    "caption": {("target", "source"): 1},
    "transcribe": {("target", "source"): 1},
    "summarise": {("target", "source"): 1},
    "language": {("inputs", "inputs"): 2},
}


def seen_of(kind: str, text: str, answer=None):
    task = task_of(MODELS[kind][0])
    if answer is None:
        return look_inside(task, model_of(kind), text, BEAM)
    return replayed(task, model_of(kind), text, Found(answer))


def questions(kind: str) -> list[str]:
    name = MODELS[kind][0]
    return [task_of(name).question(example) for example in EXAMPLES[name]]


@pytest.mark.parametrize("kind", MODELS)
def test_every_site_is_as_large_as_its_axes(kind):
    for text in [
        *questions(kind),
        *([""] if kind not in ("language", "caption", "transcribe") else []),
    ]:
        seen = seen_of(kind, text)
        assert {(site.queries, site.keys) for site in seen.sites} == set(SITES[kind])
        for site in seen.sites:
            heads = SITES[kind][site.queries, site.keys]
            sides = len(seen.axes[site.queries]), len(seen.axes[site.keys])
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
            row["source"] = task.encode(text)
        source, lengths = task.collate([row], len(row["source"]), 1).source, None
    with torch.inference_mode():
        encoded = model.encode(source, lengths)
        with watch(model) as watched:
            state = model.decoder.start(encoded, len(ids) + 1)
            for token in (model.decoder.begin, *ids):
                _, state = model.decoder.step(state, torch.tensor([token]))
        return {path: watched.weights(path)[0].numpy() for path in watched}


@pytest.mark.parametrize(
    "kind", [kind for kind in MODELS if kind not in ("tag", "classify", "fill")]
)
def test_the_replay_shows_the_weights_that_stepping_had(kind):
    for text in questions(kind):
        seen = seen_of(kind, text)
        weights = stepped(kind, text, seen.answer.ids)
        facing = [site for site in seen.sites if not site.path.startswith("encoder")]
        assert facing
        for site in facing:
            rows = site.weights.shape[1]  # an answer that never ended has no step that says the end
            same = weights[site.path][:, :rows, : site.weights.shape[2]]
            assert np.allclose(site.weights, same, atol=1e-6)


def test_axes_name_what_was_read_found_and_said():
    seen = seen_of("transformer", "the red cat")
    task = task_of("translate")
    assert seen.axes["source"].pieces == ("▁the", "▁red", "▁cat", task.source.piece(END))
    ended = (task.target.piece(END),) if seen.answer.finish == "end" else ()
    assert seen.axes["target"].pieces == (*seen.answer.symbols, *ended)
    assert seen.axes["inputs"].pieces[1:] == seen.axes["target"].pieces[:-1]


def test_a_pointer_names_the_stop_sign_first():
    text = "0.5,0.1 0.2,0.75 0.9,0.3"
    (answer,) = task_of("point").predict(model_of("point"), [text], DecodeSettings(beam=1))
    seen = seen_of("point", text, answer)
    assert seen.axes["places"].pieces == ("stop", "0.5,0.1", "0.2,0.75", "0.9,0.3")
    assert seen.axes["source"].pieces == seen.axes["places"].pieces[1:]
    assert seen.axes["source"].points == ((0.5, 0.1), (0.2, 0.75), (0.9, 0.3))
    assert seen.axes["target"].pieces == (*seen.answer.symbols, "stop")
    assert answer.finish == "end"


def test_symbols_are_shown_as_they_were_found_not_as_their_text_would_be_cut():
    """`a` then `b` may be the pieces of a text whose own pieces would be `ab`."""
    task = task_of("language", TextSettings(kind="bpe", vocabulary=300))
    torch.manual_seed(0)
    model = build(MODELS["language"][1], task.sizes).eval()
    (answer,) = task.predict(model, ["mia"], DecodeSettings(beam=1, max_length=12))
    seen = replayed(task, model, "mia", Found(answer))
    ended = (task.target.piece(END),) if answer.finish == "end" else ()
    assert seen.axes["target"].pieces == (*answer.symbols, *ended)


def test_the_site_that_faces_the_answer_is_shown_first_choice():
    seen = seen_of("transformer", "the red cat")
    assert (seen.site().queries, seen.site().keys) == ("target", "source")
    first = seen.sites[0]
    assert seen.site(first.path) is first


def test_a_wrong_path_and_a_model_without_attention_are_said():
    with pytest.raises(UsageError, match="no site 'nowhere'"):
        seen_of("rnn", "cat").site("nowhere")
    task = task_of("translate")
    reader = RnnReaderSettings(width=8, score="none")
    model = build(ModelSettings(encoder=RnnEncoderSettings(width=8), reader=reader), task.sizes)
    with pytest.raises(UsageError, match="this model has no attention to look at"):
        look_inside(task, model, "cat", BEAM).site()


def test_a_grid_moments_and_items_are_axes_too(tmp_path):
    """Every axis has names for its places, is kept in the file, and is drawn with them."""
    from dataclasses import replace

    from regard.show.svg_png import drawing
    from regard.tasks.axis import Grid, Items, Times
    from regard.traces.trace import Trace

    seen = seen_of("rnn", "the red cat")
    site = seen.site()
    keys = site.weights.shape[2]
    for axis in (
        Grid(1, keys),
        Times(tuple(n / 4 for n in range(keys))),
        Items(tuple(f"item {n}" for n in range(keys))),
    ):
        other = replace(seen, axes={**seen.axes, "source": axis})
        other.save(tmp_path / "a.npz")
        assert Trace.load(tmp_path / "a.npz").axes["source"] == axis
        assert len(set(axis.pieces)) == keys
        assert "<svg" in drawing(other)


class TestOneAnswer:
    """What is printed is what is drawn: a look replays the answer that was given, and searches once."""

    @pytest.fixture
    def counted(self, monkeypatch):
        from regard.tasks import search

        calls = []
        original = search.generate
        monkeypatch.setattr(
            search, "generate", lambda *args, **more: calls.append(1) or original(*args, **more)
        )
        return calls

    @pytest.mark.parametrize("kind", ["rnn", "transformer", "learned", "language", "point"])
    def test_a_given_answer_is_replayed_and_nothing_searched_for(self, kind, predictor, counted):
        from regard.answer.tracing import trace
        from tests.run.kinds import questions as asked

        model = predictor(kind)
        for text in asked(kind, 2):
            for decode in ({}, {"beam": 3}, {"sample": True, "seed": 5}):
                settings = model.run.settings.decode.model_copy(update=decode)
                (answer,) = model.predict(text, decode=settings)
                counted.clear()
                seen = trace(model, text, settings, answer=answer)
                assert counted == []
                assert seen.answer == answer
                said = tuple(step.symbol for step in seen.steps)[: len(answer.symbols)]
                assert said == answer.symbols

    @pytest.mark.parametrize("kind", ["rnn", "transformer", "language", "point"])
    def test_looking_gives_the_answer_that_asking_gives_with_one_search(
        self, kind, predictor, counted
    ):
        from tests.run.kinds import questions as asked

        model = predictor(kind)
        for text in asked(kind, 3):
            (answer,) = model.predict(text)
            counted.clear()
            seen = model.look(text)
            assert len(counted) == 1
            assert seen.answer.text == answer.text
            assert seen.answer.score == pytest.approx(answer.score, abs=1e-5)
