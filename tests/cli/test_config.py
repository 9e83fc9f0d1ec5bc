"""Presets, and settings fully spelled out."""

import pytest

from regard.presets import about, names
from regard.run.resolve import resolve


def test_all_presets_are_listed_with_what_they_are(tell, tell_json, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")  # where a table is narrow, long lines are folded
    code, out, _ = tell("config")
    assert code == 0
    for line, name in zip(out.splitlines(), names(), strict=True):
        assert line.rstrip().split(maxsplit=1) == [name, about(name)]
    assert tell_json("config") == (0, {name: about(name) for name in names()})


@pytest.mark.parametrize("name", names())
def test_what_is_shown_is_what_a_preset_means(name, tell, tell_json, tmp_path):
    code, out, _ = tell("config", name)
    assert code == 0
    saved = tmp_path / "saved.toml"
    saved.write_text(out, "utf-8")
    settings = resolve(config=saved)  # a toy decides how its own text is cut
    assert tell_json("config", name) == (0, settings.model_dump(mode="json"))
    assert tell("config", "--config", saved) == (0, out, "")


def test_changes_are_shown(tell_json):
    changes = ("--set", "train.steps=7", "-s", "model.reader.score=cosine")
    _, settings = tell_json("config", "bahdanau2015", "--toy", "dates", *changes)
    assert settings["data"]["toy"] == "dates"
    assert settings["text"]["kind"] == "char"
    assert settings["train"]["steps"] == 7
    assert settings["model"]["reader"]["score"] == "cosine"


def test_a_wrong_setting_is_named_with_the_nearest_right_one(tell_json):
    code, answer = tell_json("config", "bahdanau2015", "-s", "model.encoder.widht=3")
    assert code == 2
    assert answer["what"] == "model.encoder.widht: no such setting; did you mean 'width'?"


def test_an_unknown_preset_is_compared_with_the_known_ones(tell_json):
    code, answer = tell_json("config", "bahdanau2016")
    assert (code, answer["remedy"]) == (2, "did you mean 'bahdanau2015'?")
