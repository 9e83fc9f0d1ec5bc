"""One answer from the inside: every number in it is the model's own."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch

from regard.answer.tracing import trace
from regard.attention import watch
from regard.decode import DecodeSettings
from regard.errors import DataError, UsageError
from regard.models import ClassifySettings, ModelSettings, TransformerSettings
from regard.models.build import build
from regard.run.folder import Run
from regard.text import BEGIN, END, PAD
from regard.traces.head_names import KINDS as SITE_KINDS
from regard.traces.trace import Trace, look_inside
from tests.answer.test_look import stepped
from tests.run import kinds as runs
from tests.tasks.kit import MODELS, task_of
from tests.traces.kit import BEAM, KINDS, REMEMBERING, model_of, question, traced

WRITERS = [kind for kind in MODELS if kind not in ("tag", "classify", "fill")]


@pytest.mark.parametrize("kind", KINDS)
def test_contributions_sum_to_scores(kind):
    for site in traced(kind).sites:
        heads, queries, keys = site.weights.shape
        for head, query in np.ndindex(heads, queries):
            summed = site.contributions_of(head, query).sum(-1)
            if site.bias is not None:
                summed = summed + site.bias[head, query]
            seen = np.isfinite(site.scores[head, query])
            # An LSTMN has nothing to look back at when it reads its first word.
            assert seen.any() or not keys or (query == 0 and kind in REMEMBERING)
            np.testing.assert_allclose(summed[seen], site.scores[head, query][seen], atol=2e-5)
        one = site.contributions(heads - 1, queries - 1, keys - 1)
        assert one.shape == (site.width,)
        assert np.array_equal(one, site.contributions_of(heads - 1, queries - 1)[keys - 1])


def test_a_distance_bias_is_told_apart():
    alibi, plain = traced("transformer-alibi"), traced("transformer-rotary")
    biased = [site for site in alibi.sites if site.bias is not None]
    assert {site.kind for site in biased} == {"encoder-self", "decoder-self"}
    for site in biased:
        assert (np.diagonal(site.bias, axis1=1, axis2=2) == 0).all()
        assert (site.bias[:, 0, 1] < 0).all()
    assert all(site.bias is None for site in plain.sites)


@pytest.mark.parametrize("kind", KINDS)
def test_every_site_fits_its_axes_and_says_what_it_is(kind):
    seen = traced(kind)
    assert seen.sites
    for site in seen.sites:
        sides = len(seen.axes[site.queries]), len(seen.axes[site.keys])
        assert site.weights.shape == site.scores.shape == (site.heads, *sides)
        assert site.query.shape == (site.heads, sides[0], site.width)
        assert site.key.shape == (site.heads, sides[1], site.width)
        assert site.value.shape[:2] == (site.heads, sides[1])
        assert site.kind in SITE_KINDS
        assert all(array.dtype == np.float32 for array in site.arrays().values())
        if site.normaliser == "softmax":
            shares = site.weights.sum(-1)
            if kind in REMEMBERING and site.queries == site.keys:
                assert not shares[:, 0].any()  # nothing was read before the first word
                shares = shares[:, 1:]
            if "[" in site.path:  # what the sentinel had is not on this axis, but in its ribbon
                (gate,) = (one.values for one in seen.ribbons if one.name == "gate")
                shares = shares + np.array(gate)
            np.testing.assert_allclose(shares, 1, atol=1e-5)
            assert (site.weights[~np.isfinite(site.scores)] == 0).all()


def test_places_in_the_model_have_names():
    found = {(s.path, s.kind, s.layer) for s in traced("transformer").sites}
    assert ("encoder.blocks.1.attention.attention", "encoder-self", 1) in found
    assert ("reader.blocks.0.attention.attention", "decoder-self", 0) in found
    assert ("reader.blocks.1.cross.attention", "cross", 1) in found
    assert [s.kind for s in traced("rnn").sites] == ["cross"]
    assert traced("point").sites[-1].kind == "pointer"
    assert traced("classify").sites[-1].kind == "pool"


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_weights_are_those_that_stepping_had(kind, number):
    """D15: what is shown for the beam's choice is what the model did when it said it."""
    seen = traced(kind, number)
    weights = stepped(kind, seen.question, seen.answer.ids)
    facing = [site for site in seen.sites if not site.path.startswith("encoder")]
    assert facing
    for site in facing:
        rows, columns = site.weights.shape[1:]
        np.testing.assert_allclose(site.weights, weights[site.path][:, :rows, :columns], atol=1e-5)


@pytest.mark.parametrize("kind", ["rnn-before", "transformer"])
def test_the_weights_are_those_of_a_teacher_forced_pass(kind):
    seen, task, model = traced(kind, 2), task_of("translate"), model_of(kind)
    source = torch.tensor([[*task.source.encode(seen.question), END]])
    inputs = torch.tensor([[model.decoder.begin, *seen.answer.ids]])
    with torch.inference_mode(), watch(model) as calls:
        model(source, None, inputs)
        weights = {path: calls.weights(path)[0].numpy() for path in calls}
    for site in seen.sites:
        rows, columns = site.weights.shape[1:]
        np.testing.assert_allclose(site.weights, weights[site.path][:, :rows, :columns], atol=1e-5)


@pytest.mark.parametrize("kind", MODELS)
def test_the_answer_is_what_prediction_gives(kind):
    task = task_of(MODELS[kind][0])
    seen = look_inside(task, model_of(kind), question(kind), BEAM)
    (answer,) = task.predict(model_of(kind), [question(kind)], BEAM)
    assert (seen.answer.text, seen.answer.ids) == (answer.text, answer.ids)
    assert seen.answer.score == pytest.approx(answer.score, abs=1e-6)


@pytest.mark.parametrize("kind", MODELS)
def test_steps_are_as_likely_as_the_search_found(kind):
    seen = traced(kind)
    found = [step for step in seen.steps if not step.given]
    said = [step.log_probability for step in found]
    np.testing.assert_allclose(said, seen.answer.log_probabilities, atol=1e-4)
    for step in seen.steps:
        ranked = [other.log_probability for other in step.alternatives]
        assert ranked == sorted(ranked, reverse=True)
        assert 0 < len(ranked) <= 10
        assert sum(map(np.exp, ranked)) <= 1 + 1e-9
    named = [step.symbol for step in seen.steps]
    side = "target" if "target" in seen.axes else "label"
    assert tuple(named) == seen.axes[side].pieces


def test_what_never_ended_has_no_end():
    seen = traced("transformer", 0, DecodeSettings(beam=1, max_length=3, min_length=3))
    assert seen.answer.finish == "length"
    assert len(seen.steps) == len(seen.axes["target"]) == len(seen.axes["inputs"]) == 3
    assert seen.axes["target"].pieces == seen.answer.symbols


@pytest.mark.parametrize("kind", WRITERS)
def test_the_winner_is_marked_in_the_tree(kind):
    seen = traced(kind, 1)
    marked = [node for step in seen.tree for node in step if node.winner]
    assert [node.symbol for node in marked] == [step.symbol for step in seen.steps]
    likely = sum(step.log_probability for step in seen.steps)
    assert marked[-1].total == pytest.approx(likely, abs=1e-4)
    assert all(node.fate != "dropped" for node in marked)
    for before, after in pairwise(marked):
        assert after.parent == before.slot


def test_given_symbols_are_kept_and_the_rest_is_found():
    task, model = task_of("translate"), model_of("transformer")
    free = traced("transformer")
    other = next(one for one in free.steps[0].alternatives[1:] if one.id > 3)
    for symbol in (other.id, other.symbol):
        seen = look_inside(task, model, free.question, BEAM, [symbol])
        assert seen.steps[0].symbol == other.symbol
        assert seen.steps[0].given
        assert not seen.steps[1].given
        assert seen.steps[0].log_probability == pytest.approx(other.log_probability, abs=1e-5)


@pytest.mark.parametrize("kind", WRITERS)
def test_a_forced_answer_has_the_free_answers_totals(kind):
    """Forcing what the search would have said changes no log-probability and no sum, wherever it stops."""
    task, model = task_of(MODELS[kind][0]), model_of(kind)
    # A tree must close within the limit, and given symbols do not count: with room enough that says nothing.
    settings = BEAM if kind != "parse" else DecodeSettings(beam=3, max_length=99)
    free = look_inside(task, model, question(kind), settings)
    prompt = sum(step.given for step in free.steps)
    wins = [node for step in free.tree for node in step if node.winner]
    for forced in range(1, len(free.steps) - prompt):
        ids = [step.id for step in free.steps[prompt : prompt + forced]]
        if {PAD, BEGIN} & set(ids):  # which an untrained model may say, and nobody may give
            break
        seen = look_inside(task, model, question(kind), settings, ids)
        marked = [node for step in seen.tree for node in step if node.winner]
        for number, (one, other) in enumerate(zip(marked, wins, strict=False)):
            assert one.id == other.id or number >= prompt + forced
            if one.id != other.id:
                break
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)
            assert one.total == pytest.approx(other.total, abs=1e-4)
        for node, step in zip(marked, seen.steps, strict=False):
            assert node.log_probability == pytest.approx(step.log_probability, abs=1e-4)


def test_a_given_end_ends():
    seen = look_inside(
        task_of("translate"), model_of("transformer"), "a dog", BEAM, ["▁chat", "</s>"]
    )
    assert seen.answer.text == "chat"
    assert [step.symbol for step in seen.steps] == ["▁chat", "</s>"]
    assert all(step.given for step in seen.steps)


def test_places_can_be_given_to_a_pointer():
    seen = look_inside(task_of("point"), model_of("point"), question("point"), BEAM, [3, "0"])
    assert seen.answer.symbols[:2] == ("2", "0")


@pytest.mark.parametrize(
    ("kind", "prefix", "what"),
    [
        ("transformer", [10**6], "no symbol 1000000"),
        ("transformer", [1], "no symbol 1"),
        ("transformer", ["zebra"], "no symbol 'zebra'"),
        ("transformer", [" "], "an empty symbol"),
        ("transformer", ["</s>", "▁chat"], "nothing can follow the end"),
        ("point", ["4"], "no symbol '4'"),
        ("point", ["1", 2], "no place is pointed at twice"),
        ("tag", ["NOUN"], "the tag task says nothing step by step"),
    ],
)
def test_what_cannot_be_given_is_said(kind, prefix, what):
    with pytest.raises(UsageError, match=what):
        look_inside(task_of(KINDS[kind][0]), model_of(kind), question(kind), BEAM, prefix)


def test_chance_can_be_looked_at():
    drawn = DecodeSettings(sample=True, max_length=4)
    seen = traced("transformer", 0, drawn)
    assert seen.tree is None
    assert len(seen.steps) >= 1


@pytest.mark.parametrize(("kind", "what"), [("caption", "picture"), ("transcribe", "sound")])
def test_no_file_is_refused_in_words(kind, what):
    with pytest.raises(DataError, match=f"no {what} is named"):
        look_inside(task_of(kind), model_of(kind), "", BEAM)


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind not in ("caption", "transcribe")])
def test_nothing_is_looked_at_without_complaint(kind):
    seen = look_inside(task_of(MODELS[kind][0]), model_of(kind), "", BEAM)
    json.loads(seen.to_json())
    for site in seen.sites:
        assert site.weights.shape[1:] == (len(seen.axes[site.queries]), len(seen.axes[site.keys]))


def test_json_has_every_weight_and_no_number_that_is_none():
    seen = traced("transformer")
    plain = json.loads(seen.to_json(), parse_constant=pytest.fail)
    assert plain["task"] == "translate"
    for own, site in zip(plain["sites"], seen.sites, strict=True):
        assert np.array_equal(np.array(own["weights"], np.float32), site.weights)
        hidden = np.array(
            [[[cell is None for cell in row] for row in head] for head in own["scores"]]
        )
        assert np.array_equal(hidden, ~np.isfinite(site.scores))


def test_sites_by_number_path_and_choice():
    seen = traced("transformer")
    assert seen.site(0) is seen.sites[0]
    assert seen.site(seen.sites[2].path) is seen.sites[2]
    assert seen.site().kind == "cross"
    for wrong in (6, -1, "nowhere"):
        with pytest.raises(UsageError, match="no site"):
            seen.site(wrong)


def test_a_run_by_folder_run_and_predictor(tmp_path):
    folder = runs.make(tmp_path / "copying", "rnn")
    text = runs.questions("rnn", 1)[0]
    predictor = runs.load(folder)
    (answer,) = predictor.predict([text])
    for run in (folder, str(folder), Run.open(folder), predictor):
        seen = trace(run, text)
        assert seen.model == "copying"
        assert seen.answer.text == answer.text
    assert trace(predictor, text, beam=1).answer.text == predictor.predict([text], beam=1)[0].text


def test_where_positions_end_so_does_the_answer(tmp_path):
    predictor = runs.load(runs.make(tmp_path / "short", "learned"))
    seen = trace(predictor, runs.questions("learned", 1)[0], DecodeSettings(beam=2, min_length=7))
    assert len(seen.steps) <= 7


def test_a_step_that_fills_a_mask_stands_at_the_mask(tmp_path):
    task, model = task_of("fill"), model_of("fill")
    text = "mia had a <mask> . she hid it under the <mask> stone bridge near the river ."
    seen = look_inside(task, model, text, BEAM)
    hidden = [n for n, piece in enumerate(seen.axes["source"].pieces) if piece.endswith("<mask>")]
    assert len(hidden) == 2
    assert [step.place for step in seen.steps] == hidden
    seen.save(tmp_path / "seen.npz")
    assert [step.place for step in Trace.load(tmp_path / "seen.npz").steps] == hidden


@pytest.mark.parametrize(("pooling", "place"), [("first", 0), ("mean", None), ("attention", None)])
def test_a_label_stands_where_it_is_read_from_one_state(pooling, place):
    task = task_of("classify")
    blocks = TransformerSettings(width=8, layers=1, heads=2, feedforward=12, max_length=32)
    settings = ModelSettings(encoder=blocks, reader=ClassifySettings(pooling=pooling))
    seen = look_inside(task, build(settings, task.sizes), question("classify"), BEAM)
    assert [step.place for step in seen.steps] == [place]
