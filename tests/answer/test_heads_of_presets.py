"""What `regard heads` says of every preset: true numbers of every attention, or that there is none."""

import math
from unittest.mock import Mock, patch

import pytest

from regard.answer.predictor import Predictor
from regard.answer.studies import fit_to_judge, head_steps, own_sentences, whose
from regard.answer.tracing import looker
from regard.errors import UsageError
from regard.presets import names
from regard.run.folder import Run
from regard.tasks.axis import Tokens
from regard.traces.head_roles import allowed, is_special
from regard.traces.head_survey import finished
from tests.house.test_presets import shrunk

WITHOUT = {"hill2016", "sutskever2014", "tagger"}  # no attention at all
ONLY_BETWEEN_TOKENS = ("duplicate", "induction", "rare")


@pytest.fixture
def made(tmp_path):
    def make(name):
        with patch.dict("regard.data.toys.toy._COUNTS", {"train": 40, "valid": 12}):
            run = Run.create(tmp_path / name, shrunk(name))
        run.save_model(run.build_model().state_dict())
        return Predictor.load(tmp_path / name, "cpu")

    return make


@pytest.mark.parametrize("name", names())
def test_every_attention_of_every_preset_is_measured(name, made, monkeypatch):
    """One that cannot copy met numbers beyond its vocabulary (rush2015); pictures were refused."""
    monkeypatch.setattr("regard.traces.head_survey.PROBES", 2)
    model = made(name)
    sentences = fit_to_judge(own_sentences(model), most=3)
    if name in WITHOUT:
        with pytest.raises(UsageError, match="no attention heads"):
            finished(head_steps(model, sentences))
        return
    look = looker(model)
    traces = [look(one.text, one.target) for one in sentences]
    sites = {site.path: site for site in traces[0].sites}
    heads = finished(head_steps(model, sentences))
    assert {(one.path, one.head) for one in heads} >= {
        (path, head) for path, site in sites.items() for head in range(site.heads)
    }
    for head in heads:
        own = [(trace, site) for trace in traces for site in trace.sites if site.path == head.path]
        entropies = [
            -sum(weight * math.log(weight) for weight in row.tolist() if weight > 0)
            for trace, site in own
            for row, piece, may in zip(
                site.weights[head.head],
                trace.axes[site.queries].pieces,
                allowed(site)[head.head],
                strict=True,
            )
            if not is_special(piece) and may.sum() > 1
        ]
        assert len(entropies) == head.counts.get("entropy", 0)
        if entropies:
            assert head.measures["entropy"] == pytest.approx(
                sum(entropies) / len(entropies), abs=1e-5
            )
        if not all(isinstance(trace.axes[site.keys], Tokens) for trace, site in own):
            assert all(head.measures[one] is None for one in ONLY_BETWEEN_TOKENS)
        assert bool(head.random)
        assert bool(head.shuffled) == (not model.run.task.accepts)


@pytest.mark.parametrize("toy", [True, False])
def test_whose_examples_a_model_of_the_box_is_judged_by(made, toy):
    """One example was said to be what the model was tested on, where its data did not come with it."""
    model = made("xu2015-soft")
    assert whose(model) == "run"
    first, _ = model.run.probes()[0]
    model.card = Mock(directions=(), question=lambda _: first)
    (model.run.folder / "data" / "probes.jsonl").unlink()  # a model of the box has no such file
    if not toy:
        model.run.settings = Mock(data=Mock(toy=None))
    assert whose(model) == ("run" if toy else "example")
    assert toy or len(own_sentences(model)) == 1
