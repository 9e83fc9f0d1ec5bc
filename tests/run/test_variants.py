"""Combinations of settings: named, validated, and all different."""

import pytest

from regard.errors import UsageError
from regard.run.resolve import Axis, resolve, variants

SCORES = "model.reader.score=dot,additive"


def settled(preset, changes):
    return resolve(name=preset, toy="copy", changes=changes)


def test_every_value_is_a_variant():
    found = variants(["bahdanau2015"], [SCORES], settled)
    assert [variant.name for variant in found] == ["score-dot", "score-additive"]
    assert [variant.settings.model.reader.score for variant in found] == ["dot", "additive"]


def test_several_axes_make_a_grid():
    found = variants(["bahdanau2015"], [SCORES, "train.rate=1e-2,1e-3"], settled)
    assert [variant.name for variant in found] == [
        "score-dot-rate-1e-2",
        "score-dot-rate-1e-3",
        "score-additive-rate-1e-2",
        "score-additive-rate-1e-3",
    ]
    assert [variant.settings.train.rate for variant in found] == [0.01, 0.001] * 2


def test_presets_are_variants_and_multiply():
    presets = ["bahdanau2015", "luong2015-dot"]
    assert [variant.name for variant in variants(presets, [], settled)] == presets
    found = variants(presets, ["seed=1,2"], settled)
    assert [variant.name for variant in found] == [
        "bahdanau2015-seed-1",
        "bahdanau2015-seed-2",
        "luong2015-dot-seed-1",
        "luong2015-dot-seed-2",
    ]


def test_settings_can_move_together():
    vary = ["model.encoder.width,model.reader.width=8,16"]
    found = variants(["bahdanau2015"], vary, settled)
    models = [variant.settings.model for variant in found]
    assert [(model.encoder.width, model.reader.width) for model in models] == [(8, 8), (16, 16)]


def test_two_settings_of_one_name_keep_their_paths():
    vary = ["model.encoder.width=8,16", "model.reader.width=8,16"]
    names = {variant.name for variant in variants(["bahdanau2015"], vary, settled)}
    assert "model.encoder.width-8-model.reader.width-16" in names
    assert len(names) == 4


def test_commas_inside_brackets_belong_to_a_value():
    assert Axis.parse("train.betas=[0.9, 0.98],[0.8, 0.9]").values == ("[0.9, 0.98]", "[0.8, 0.9]")
    found = variants(["bahdanau2015"], ["train.betas=[0.9, 0.98],[0.8, 0.9]"], settled)
    assert [variant.name for variant in found] == ["betas-_0.9_0.98", "betas-_0.8_0.9"]


@pytest.mark.parametrize("text", ["", "score", "=1,2", "a.b=", "a.b=1,,2", "a,=1,2"])
def test_what_cannot_be_varied(text):
    with pytest.raises(UsageError) as caught:
        Axis.parse(text)
    assert caught.value.what == f"'{text}' is nothing to vary"


@pytest.mark.parametrize(
    ("presets", "vary", "what"),
    [
        (["bahdanau2015"], [], "one model alone cannot be compared"),
        (["bahdanau2015"], ["seed=3"], "one model alone cannot be compared"),
        (["bahdanau2015"] * 2, [], "'bahdanau2015' is there 2 times"),
        (["bahdanau2015"], ["seed=3,3"], "'seed-3' is there 2 times"),
        (
            ["bahdanau2015"],
            ["train.rate=0.1,1e-1"],
            "rate-0.1 and rate-1e-1 have the same settings",
        ),
    ],
)
def test_what_cannot_be_compared(presets, vary, what):
    with pytest.raises(UsageError) as caught:
        variants(presets, vary, settled)
    assert caught.value.what == what


def test_a_wrong_value_or_setting_is_found_at_once():
    with pytest.raises(UsageError, match="addative"):
        variants(["bahdanau2015"], ["model.reader.score=dot,addative"], settled)
    with pytest.raises(UsageError, match="did you mean 'score'"):
        variants(["bahdanau2015"], ["model.reader.scroe=dot,additive"], settled)


@pytest.mark.parametrize(
    "slip", ["model.reader.score=addative", "model.reader.scroe=dot", "seed.of=1"]
)
def test_a_slip_is_told_where_it_was_made(slip):
    with pytest.raises(UsageError) as caught:
        variants(["bahdanau2015"], ["train.rate=1e-2,1e-3", slip], settled)
    assert caught.value.where == f'vary="{slip}"'
