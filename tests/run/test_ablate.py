"""One trick away: which models are made, what is taken from each, and what cannot be taken apart."""

import pytest

from regard.errors import UsageError
from regard.run.ablate import TRICKS, ablations, by_seeds
from regard.run.resolve import resolve


def settled(preset, changes):
    return resolve(name=preset, toy="copy", changes=changes)


def tagging(preset, changes):
    return resolve(name=preset, toy="brackets", changes=changes)


def test_each_model_lacks_one_trick_on_both_sides_and_nothing_else():
    base, *others = ablations(["vaswani2017-tiny"], [], settled)
    assert base.name == "base"
    assert base.settings == settled("vaswani2017-tiny", [])
    assert [one.name for one in others] == [f"without-{trick}" for trick in TRICKS]
    for one, values in zip(others, TRICKS.values(), strict=True):
        model, whole = one.settings.model, base.settings.model
        for side in ("encoder", "reader"):
            ours, theirs = getattr(model, side), getattr(whole, side)
            expected = {key: value for key, value in values.items() if hasattr(theirs, key)}
            if side == "reader" and "mixing" in values:
                expected = {}  # a decoder keeps its attention
            assert ours == theirs.model_copy(update=expected)
        assert one.settings.model_copy(update={"model": whole}) == base.settings


def test_what_a_model_does_not_have_is_not_taken_away():
    changes = [
        "model.encoder.position=none",
        "model.encoder.score=dot",
        "model.encoder.feedforward=0",
    ]
    found = ablations(["one-trick"], [], lambda name, more: tagging(name, [*changes, *more]))
    assert [one.name for one in found] == [
        *("base", "without-residual", "without-norm", "without-attention"),
    ]


def test_positions_inside_heads_go_with_them_so_attention_stays():
    changes = ["model.encoder.position=rotary"]
    found = ablations(["one-trick"], [], lambda name, more: tagging(name, [*changes, *more]))
    assert "without-attention" not in {one.name for one in found}


def test_one_transformer_can_be_taken_apart_and_nothing_else():
    with pytest.raises(UsageError, match="no Transformer blocks"):
        ablations(["bahdanau2015"], [], settled)
    with pytest.raises(UsageError, match="from one model"):
        ablations(["vaswani2017-tiny", "vaswani2017-small"], [], settled)
    with pytest.raises(UsageError, match="from one model"):
        ablations(["vaswani2017-tiny"], ["seed=1,2"], settled)


def test_seeds_follow_each_other_from_the_models_own():
    found = ablations(["one-trick"], [], lambda name, more: tagging(name, ["seed=5", *more]))
    (model, runs), *_ = by_seeds(found, 3)
    assert model.name == "base"
    assert [run.name for run in runs] == ["base-seed-5", "base-seed-6", "base-seed-7"]
    assert [run.settings.seed for run in runs] == [5, 6, 7]
    assert runs[0].settings == model.settings
