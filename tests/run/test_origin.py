"""What a run was begun with must still be so when it goes on (T5)."""

import pytest

from regard.config import to_toml
from regard.errors import ResumeError, UsageError
from regard.models import (
    ModelSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    TransformerReaderSettings,
)
from regard.run.origin import FIXED, begin_or_go_on, differences, refuse_other
from regard.run.settings import HARMLESS, DataSettings, RunSettings, TrainSettings
from regard.text import TextSettings

SETTINGS = RunSettings(
    data=DataSettings(toy="reverse"),
    model=ModelSettings(encoder=RnnEncoderSettings(), reader=RnnReaderSettings()),
)


def other(**groups) -> RunSettings:
    """The same with other values in [train]; or with whole groups replaced."""
    train = SETTINGS.train.model_copy(update=groups)
    return SETTINGS.model_copy(update={"train": train})


@pytest.fixture
def begun(tmp_path):
    begin_or_go_on(tmp_path, SETTINGS, "toy reverse")
    (tmp_path / "checkpoints" / "step-000000001").mkdir(parents=True)
    return tmp_path


def test_a_new_run_writes_down_what_it_is(begun):
    assert (begun / "config.toml").read_text() == to_toml(SETTINGS)
    assert (begun / "data" / "fingerprint").read_text() == "toy reverse"


def test_the_same_settings_go_on(begun):
    begin_or_go_on(begun, SETTINGS, "toy reverse")


def test_settings_that_matter_are_listed_old_to_new(begun):
    with pytest.raises(ResumeError) as caught:
        begin_or_go_on(begun, other(rate=0.5, clip=2.0, steps=7), "toy reverse")
    assert caught.value.exit_code == 8
    assert caught.value.what == (
        "this run was begun with other settings: train.clip: 1.0 -> 2.0; train.rate: 0.001 -> 0.5"
    )
    assert "`regard train --allow-change KEY`" in caught.value.remedy
    assert (begun / "config.toml").read_text() == to_toml(SETTINGS)  # nothing happened


def test_of_another_kind_of_model_the_kind_is_told_and_not_all_that_follows(begun):
    reader = TransformerReaderSettings()
    model = SETTINGS.model.model_copy(update={"reader": reader})
    with pytest.raises(ResumeError) as caught:
        begin_or_go_on(begun, other(rate=0.5).model_copy(update={"model": model}), "toy reverse")
    assert caught.value.what == (
        "this run was begun with other settings: model.reader.kind: rnn -> transformer; "
        "train.rate: 0.001 -> 0.5"
    )


def test_before_anything_is_trained_a_slip_may_be_put_right(begun):
    (begun / "checkpoints" / "step-000000001").rmdir()
    begin_or_go_on(begun, other(rate=0.5), "toy reverse")
    assert (begun / "config.toml").read_text() == to_toml(other(rate=0.5))
    cut_otherwise = SETTINGS.model_copy(update={"text": TextSettings(kind="char")})
    with pytest.raises(ResumeError, match=r"text\.kind: bpe -> char"):
        begin_or_go_on(begun, cut_otherwise, "toy reverse")


def test_harmless_settings_may_change_and_are_written_down(begun):
    longer = other(steps=99, patience=3, log_every=7)
    begin_or_go_on(begun, longer, "toy reverse")
    assert (begun / "config.toml").read_text() == to_toml(longer)


@pytest.mark.parametrize("allow", [["train.rate", "train.clip"], ["train"]])
def test_what_a_person_names_may_change(begun, allow):
    changed = other(rate=0.5, clip=2.0)
    begin_or_go_on(begun, changed, "toy reverse", allow)
    assert (begun / "config.toml").read_text() == to_toml(changed)


def test_naming_one_does_not_allow_another(begun):
    with pytest.raises(ResumeError) as caught:
        begin_or_go_on(begun, other(rate=0.5, clip=2.0), "toy reverse", ["train.rate"])
    assert caught.value.what.endswith("with other settings: train.clip: 1.0 -> 2.0")


def test_a_name_that_is_no_setting_is_said(begun):
    with pytest.raises(UsageError) as caught:
        begin_or_go_on(begun, SETTINGS, "toy reverse", ["train.rte"])
    assert caught.value.what == "no setting 'train.rte'"
    assert caught.value.remedy == "did you mean 'train.rate'?"


@pytest.mark.parametrize("key", [*FIXED, "data", "text.vocabulary"])
def test_what_the_vocabulary_was_made_by_cannot_change(begun, key):
    with pytest.raises(UsageError, match="cannot change: the vocabulary and the prepared data"):
        begin_or_go_on(begun, SETTINGS, "toy reverse", [key])


def test_data_that_changed_is_refused(begun):
    with pytest.raises(ResumeError) as caught:
        begin_or_go_on(begun, SETTINGS, "c0ffee0123456789")
    assert caught.value.exit_code == 8
    assert caught.value.what == (
        "the data changed since this run began: toy reverse -> c0ffee012345"
    )


@pytest.mark.parametrize("name", ["model.safetensors", "checkpoints/x"])
def test_a_model_without_settings_is_left_alone(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with pytest.raises(UsageError, match="this folder holds a model but no settings"):
        begin_or_go_on(tmp_path, SETTINGS, "toy reverse")


def test_checkpoints_belong_to_one_vocabulary(tmp_path):
    before = {"tokenizer": "a" * 64, "train": "b" * 64}
    refuse_other(before, dict(before), tmp_path)
    with pytest.raises(ResumeError) as caught:
        refuse_other(before, {"tokenizer": "c" * 64, "train": "b" * 64}, tmp_path)
    assert caught.value.what == (
        f"the checkpoints were made from other files: tokenizer {'a' * 12} -> {'c' * 12}"
    )


def test_harmless_settings_exist():
    tree = SETTINGS.model_dump()
    for path in HARMLESS:
        branch = tree
        for name in path.split("."):
            assert name in branch, path
            branch = branch[name]


def test_groups_that_come_and_go_are_differences():
    without = SETTINGS.model_copy(
        update={"model": ModelSettings(reader=RnnReaderSettings(score="none"))}
    )
    keys = {key for key, _ in differences(SETTINGS, without)}
    assert "model.reader.score" in keys
    assert any(key.startswith("model.encoder") for key in keys)
    assert dict(differences(SETTINGS, SETTINGS)) == {}
    assert dict(differences(SETTINGS, other(steps=1))) == {}


def test_defaults_are_sound():
    assert TrainSettings().keep >= 1
    assert RunSettings.model_validate(SETTINGS.model_dump()) == SETTINGS
