"""`regard doctor`: findings in, marks and an exit code out."""

import pytest

from regard.training.trials import Finding


@pytest.fixture
def find(monkeypatch):
    """Let the trials come to these findings; what they do is tested with the trials themselves."""

    def set_up(*findings):
        monkeypatch.setattr("regard.training.health.trials", lambda _device: iter(findings))

    return set_up


def test_all_is_well(find, tell, tell_json):
    find(Finding("bits", "right", "all there"), Finding("dust", "note", "a little", "a cloth"))
    code, out, _ = tell("doctor")
    assert code == 0
    assert "✓ bits: all there" in out
    assert "· dust: a little\n    try: a cloth" in out
    assert out.endswith("all is well\n")
    code, answer = tell_json("doctor")
    assert (code, answer["well"]) == (0, True)
    assert answer["findings"][0] == {
        "name": "bits",
        "state": "right",
        "detail": "all there",
        "remedy": "",
    }
    assert set(answer["machine"]) >= {"processor", "cores", "threads", "memory_free", "disk_free"}


def test_what_is_wrong_is_told_with_a_remedy_and_a_code(find, tell, tell_json):
    find(Finding("bits", "wrong", "some are gone", "look under the table"))
    code, out, _ = tell("doctor")
    assert code == 1
    assert "✗ bits: some are gone\n    try: look under the table" in out
    assert out.endswith("1 of the above must be put right\n")
    assert tell_json("doctor")[1]["well"] is False


def test_a_run_is_looked_into(find, trained, tell_json):
    find()
    _, answer = tell_json("doctor", trained)
    states = {finding["name"]: finding["state"] for finding in answer["findings"]}
    assert states["checkpoints"] == states["model"] == states["settings and tokenizer"] == "right"


def test_a_model_in_the_box_is_looked_into(find, tell_json):
    find()
    code, answer = tell_json("doctor", "sorter")
    states = {finding["name"]: finding["state"] for finding in answer["findings"]}
    assert (code, states["model"], states["settings and tokenizer"]) == (0, "right", "right")


def test_a_folder_that_is_no_run(find, tmp_path, tell_json):
    find()
    code, answer = tell_json("doctor", tmp_path)
    assert code == 1
    assert answer["findings"][0]["detail"].startswith("this is not a run folder")


def test_a_device_that_is_not_there(tell_json):
    assert tell_json("doctor", "--device", "warp")[0] == 2
