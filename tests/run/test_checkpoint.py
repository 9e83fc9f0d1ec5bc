"""What is saved comes back; the newest good one is taken; damage is named and nothing is deleted."""

import json
import os
import random
import shutil

import pytest
import torch

from regard.errors import DiskError, ModelFileError, UsageError
from regard.run import files
from regard.run.checkpoint import MANIFEST, Checkpoints


def save(
    checkpoints: Checkpoints, step: int, keep: int = 9, protect=(), value: float | None = None
):
    number = float(step) if value is None else value
    tensors = {"model": {"weight": torch.full((13,), number)}, "random": {"cpu": torch.zeros(0)}}
    return checkpoints.save(step, tensors, {"step": step}, keep, protect)


def weight(checkpoints: Checkpoints) -> float:
    found = checkpoints.latest()
    assert found is not None
    return float(found.tensors["model"]["weight"][0])


@pytest.fixture
def checkpoints(tmp_path):
    return Checkpoints(tmp_path / "checkpoints")


def test_no_checkpoint_is_no_error(checkpoints):
    assert checkpoints.latest() is None
    assert checkpoints.steps() == []
    assert checkpoints.sweep() == []


def test_everything_comes_back(checkpoints):
    tied = torch.randn(5, 3)
    tensors = {
        "model": {"embed": tied, "output": tied, "half": torch.randn(7).bfloat16()},
        "optimizer": {"moment": torch.tensor([float("inf"), float("nan")])},
        "random": {"cpu": torch.get_rng_state()},
        "nothing": {},
    }
    state = {
        "step": 17,
        "data": {"seed": 2**127, "epoch": 3, "index": 0},
        "loss": [0.1, -0.0, 1e-308, None],
        "name": "ünï \u2028 🙂",
        "done": False,
    }
    checkpoints.save(17, tensors, state)
    found = checkpoints.latest()
    assert found is not None
    assert (found.step, found.warnings) == (17, ())
    assert found.state == state
    assert list(found.state) == list(state)
    assert found.tensors.keys() == tensors.keys()
    for group, named in tensors.items():
        for name, tensor in named.items():
            torch.testing.assert_close(
                found.tensors[group][name], tensor, rtol=0, atol=0, equal_nan=True
            )
    assert found.tensors["model"]["embed"] is found.tensors["model"]["output"]
    torch.set_rng_state(found.tensors["random"]["cpu"])


def test_the_folder_is_as_documented(checkpoints):
    save(checkpoints, 1_000)
    folder = checkpoints.folder / "step-000001000"
    assert sorted(path.name for path in folder.iterdir()) == [
        MANIFEST,
        "model.safetensors",
        "random.safetensors",
        "state.json",
    ]
    manifest = json.loads((folder / MANIFEST).read_text())
    assert (manifest["format"], manifest["step"]) == (1, 1_000)
    assert sorted(manifest["files"]) == ["model.safetensors", "random.safetensors", "state.json"]
    for name, entry in manifest["files"].items():
        assert entry["sha256"] == files.sha256_of(folder / name)
        assert entry["size"] == (folder / name).stat().st_size


def test_newest_is_by_number_never_by_time(checkpoints):
    steps = [9, 10, 999_999_999, 1_000_000_000, 100]
    for step in steps:
        save(checkpoints, step)
    for age, folder in enumerate(sorted(checkpoints.folder.iterdir())):
        os.utime(folder, (10**9 - age, 10**9 - age))
    assert checkpoints.steps() == sorted(steps)
    found = checkpoints.latest()
    assert found is not None
    assert found.step == 1_000_000_000
    assert float(checkpoints.load(10).tensors["model"]["weight"][0]) == 10


def test_pruning_keeps_the_newest_and_the_protected(checkpoints):
    for step in range(1, 8):
        save(checkpoints, step, keep=3, protect=(2,))
    assert checkpoints.steps() == [2, 5, 6, 7]
    save(checkpoints, 8, keep=1)
    assert checkpoints.steps() == [8]


def test_a_step_saved_again_replaces_the_first_without_a_gap(checkpoints):
    save(checkpoints, 5, value=1.0)
    save(checkpoints, 5, value=2.0)
    assert weight(checkpoints) == 2.0
    assert {path.name for path in checkpoints.folder.iterdir()} == {
        "step-000000005",
        "step-000000005-2",
    }
    save(checkpoints, 5, value=3.0, keep=1)
    assert weight(checkpoints) == 3.0
    save(checkpoints, 6, keep=1)
    assert checkpoints.steps() == [6]


def damage(path, source: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if source.random() < 0.5:
        content[source.randrange(len(content))] ^= 1 << source.randrange(8)
    else:
        del content[source.randrange(len(content)) :]
    path.write_bytes(content)


def test_a_damaged_newest_is_named_and_the_one_before_is_used(checkpoints):
    save(checkpoints, 1)
    save(checkpoints, 2)
    good = checkpoints.folder / "step-000000002"
    copy = checkpoints.folder.parent / "copy"
    shutil.copytree(good, copy)
    source = random.Random(5)
    for _ in range(150):
        shutil.rmtree(good)
        shutil.copytree(copy, good)
        damage(good / source.choice(sorted(path.name for path in copy.iterdir())), source)
        before = sorted(path.name for path in checkpoints.folder.rglob("*"))
        found = checkpoints.latest()
        assert found is not None
        assert found.step == 1
        [warning] = found.warnings
        assert warning.startswith("checkpoint step-000000002 was skipped: ")
        assert sorted(path.name for path in checkpoints.folder.rglob("*")) == before


@pytest.mark.slow
def test_no_flipped_bit_of_a_manifest_goes_unnoticed(checkpoints):
    save(checkpoints, 1)
    save(checkpoints, 2)
    path = checkpoints.folder / "step-000000002" / MANIFEST
    content = path.read_bytes()
    for position in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[position] ^= 1 << bit
            path.write_bytes(flipped)
            found = checkpoints.latest()
            assert found is not None
            assert found.step == 1


@pytest.mark.parametrize("name", [MANIFEST, "model.safetensors", "state.json"])
def test_a_missing_file_is_named(checkpoints, name):
    save(checkpoints, 1)
    save(checkpoints, 2)
    (checkpoints.folder / "step-000000002" / name).unlink()
    found = checkpoints.latest()
    assert found is not None
    assert found.step == 1
    assert name in found.warnings[0]


def test_when_all_are_damaged_nothing_is_deleted(checkpoints):
    for step in (1, 2):
        save(checkpoints, step)
        (checkpoints.folder / f"step-{step:09d}" / "state.json").write_text('{"step": 7}')
    with pytest.raises(ModelFileError) as caught:
        checkpoints.latest()
    assert caught.value.exit_code == 4
    assert caught.value.what == (
        "no checkpoint can be used; "
        "checkpoint step-000000002 was skipped: state.json is not what was written: its SHA-256 differs; "
        "checkpoint step-000000001 was skipped: state.json is not what was written: its SHA-256 differs"
    )
    assert checkpoints.steps() == [1, 2]


def test_damaged_ones_do_not_count_among_those_kept(checkpoints):
    for step in (1, 2, 3):
        save(checkpoints, step)
    (checkpoints.folder / "step-000000003" / "model.safetensors").write_bytes(b"cut")
    path = checkpoints.folder / "step-000000002" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert weight(checkpoints) == 1
    save(checkpoints, 4, keep=2)
    assert checkpoints.steps() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": True},
        {"step": 3},
        {"step": "2"},
        {"more": 1},
        {"files": []},
        {"files": {}},
        {"files": {"state.json": {"size": 1}}},
        {"files": {"state.json": {"size": 11, "sha256": "0" * 64}, "../x.safetensors": {}}},
        {"files": {"state.json": {"size": 11, "sha256": "0" * 64, "more": 1}}},
    ],
)
def test_a_manifest_of_another_form_is_not_believed(checkpoints, change):
    save(checkpoints, 1)
    save(checkpoints, 2)
    path = checkpoints.folder / "step-000000002" / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    found = checkpoints.latest()
    assert found is not None
    assert found.step == 1
    if change == {"format": 2}:
        assert found.warnings == (
            "checkpoint step-000000002 was skipped: it is in format 2; this regard reads up to format 1",
        )


def test_other_names_in_the_folder_are_left_alone(checkpoints):
    save(checkpoints, 1)
    for name in ("step-", "step-x", "step-5.old", "step-٥", "best", "step-1-2-3"):
        (checkpoints.folder / name).mkdir()
    (checkpoints.folder / "step-000000007").write_text("a file, not a folder")
    assert checkpoints.steps() == [1]
    save(checkpoints, 2, keep=1)
    assert checkpoints.steps() == [2]
    assert (checkpoints.folder / "best").exists()


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"loss": float("nan")}, "cannot be saved as JSON"),
        ({"loss": torch.zeros(1)}, "cannot be saved as JSON"),
        ({"name": "\ud800"}, "cannot be saved as JSON"),
        ({"number": 10**50}, "cannot be saved as JSON"),
        ({"pair": (1, 2)}, "would come back different"),
        ({"table": {1: 2}}, "would come back different"),
    ],
)
def test_a_state_that_json_would_change_is_refused_before_the_disk_is_touched(
    checkpoints, state, reason
):
    with pytest.raises(UsageError, match=reason):
        checkpoints.save(1, {}, state)
    assert not checkpoints.folder.exists()


@pytest.mark.parametrize("group", ["", "../x", "Model", "a.b", "a/b", "x" * 65])
def test_group_names_are_plain(checkpoints, group):
    with pytest.raises(UsageError, match="cannot name a group of tensors"):
        checkpoints.save(1, {group: {}}, {})


def test_impossible_numbers_are_refused(checkpoints):
    with pytest.raises(UsageError, match="cannot keep 0 checkpoints at step 1"):
        checkpoints.save(1, {}, {}, keep=0)
    with pytest.raises(UsageError, match="there is no checkpoint of step 3"):
        checkpoints.load(3)


def test_what_cannot_be_removed_is_told_and_removed_later(checkpoints, monkeypatch):
    save(checkpoints, 1)

    def refuse(operation: str, path, length: int) -> int:
        if operation == "unlink":
            raise OSError(16, "Device or resource busy")
        return length

    with monkeypatch.context() as patch:
        patch.setattr(files, "fault_hook", refuse)
        [warning] = save(checkpoints, 2, keep=1)
    assert warning.startswith("checkpoint step-000000001 could not be removed: ")
    assert checkpoints.steps() == [2]
    assert len(checkpoints.sweep()) == 1
    assert [path.name for path in checkpoints.folder.iterdir()] == ["step-000000002"]


def test_a_folder_that_cannot_be_listed_is_a_disk_error(checkpoints, monkeypatch):
    save(checkpoints, 1)

    def refuse(_path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("pathlib.Path.iterdir", refuse)
    with pytest.raises(DiskError, match="cannot list checkpoints: Input/output error"):
        checkpoints.latest()
