"""`regard train`: from data to a run folder, and on from there."""

import json
import signal

import pytest
import torch

from regard.run.folder import Run
from regard.training import Outcome
from tests.cli.tiny import TINY


def test_a_run_holds_all_that_a_model_is(trained):
    names = {path.name for path in trained.iterdir()}
    assert names >= {
        "config.toml",
        "tokenizer.json",
        "model.safetensors",
        "metrics.jsonl",
        "README.md",
    }
    assert Run.open(trained).settings.train.steps == 2


def test_the_folder_alone_goes_on(run, tell):
    assert tell("train", run, "--set", "train.steps=3")[0] == 0
    assert [e["step"] for e in Run.open(run).recorded("metrics") if e["kind"] == "valid"] == [2, 3]


def test_the_next_commands_are_said(run, tell):
    _, out, err = tell("train", run)
    assert out == ""
    assert f"  regard look {run}\n" in err
    assert f"  regard translate {run} < new.txt\n" in err


def test_nobody_is_sent_to_look_where_there_is_no_attention(tmp_path, tell):
    folder = tmp_path / "run"
    _, _, err = tell("train", "--toy", "copy", "-p", "sutskever2014", "-o", folder, *TINY)
    assert "What to type next:" in err
    assert "regard look" not in err


def test_of_many_processes_the_first_speaks(run, tell, monkeypatch):
    monkeypatch.setattr("regard.training.train", lambda *_: Outcome(2, "2 steps done", 2, 1.0))
    assert "What to type next:" in tell("train", run)[2]
    monkeypatch.setenv("RANK", "1")
    assert tell("train", run)[2] == ""


def test_another_run_starts_from_this_one(run, tmp_path, tell):
    code, *_ = tell(
        *("train", "--toy", "copy", "--start-from", run, "--out", tmp_path / "next"),
        *("--set", "train.steps=1", "--set", "data.examples=64"),
    )
    begun = Run.open(tmp_path / "next")
    assert code == 0
    assert begun.settings.start == str(run.resolve())
    assert begun.task.to_dict() == Run.open(run).task.to_dict()
    assert f"| started from | {run.name} |" in (begun.folder / "README.md").read_text()


def test_a_finished_run_is_left_as_it_is(run, tell):
    before = (run / "model.safetensors").read_bytes()
    assert tell("train", run)[0] == 0
    assert (run / "model.safetensors").read_bytes() == before


def test_other_settings_are_refused(run, tell_json):
    code, answer = tell_json("train", run, "--set", "model.reader.width=16")
    assert code == 8
    assert "model.reader.width: 8 -> 16" in answer["what"]


def test_events_are_one_json_object_a_line(tmp_path, tell):
    folder = tmp_path / "run"
    code, out, err = tell(
        "train", "--toy", "copy", "-p", "luong2015-dot", "-o", folder, *TINY, "--json"
    )
    assert (code, err) == (0, "")
    events = [json.loads(line) for line in out.splitlines()]
    assert {event["kind"] for event in events} >= {
        "preparing",
        "began",
        "train",
        "valid",
        "finished",
    }


def test_one_cannot_learn_from_a_toy_and_files(tmp_path, tell_json):
    file = tmp_path / "lines.txt"
    file.write_text("one\n")
    code, answer = tell_json("train", file, "--toy", "copy")
    assert (code, answer["where"]) == (2, "--toy copy")


def test_nothing_to_learn_from(tell_json):
    code, answer = tell_json("train")
    assert (code, answer["what"]) == (2, "there is nothing to learn from")


def test_a_slip_costs_nothing_and_can_be_put_right(tmp_path, tell, tell_json):
    lines = "".join(f"word {n}\tother {n}\n" for n in range(50))
    file, folder = tmp_path / "train.tsv", tmp_path / "run"
    file.write_text(lines)
    begun = ("train", file, "-o", folder, *TINY, "--set=model.encoder.heads=4")
    code, answer = tell_json(*begun, "--set=model.encoder.width=6")
    assert (code, answer["what"]) == (2, "width 6 does not divide into 4 heads")
    assert not (folder / "config.toml").exists(), "told before anything was begun"
    assert tell(*begun, "--set=batch.max_length=1")[0] == 3
    assert tell(*begun, "--set=train.steps=1")[0] == 0


def test_a_corpus_of_one_needs_a_validation_file(tmp_path, tell):
    file, folder = tmp_path / "train.tsv", tmp_path / "run"
    file.write_text("one word\tein Wort\n")
    code, _, err = tell("train", file, "-o", folder, *TINY)
    assert code == 3
    assert "error: 0 valid examples are left" in err
    assert "a tiny corpus needs validation files: --valid FILE" in err
    assert not (folder / "config.toml").exists()


def test_files_are_looked_at_before_they_are_learned_from(tmp_path, tell):  # T24
    lines = [f"word {n}\tother {n}" for n in range(100)]
    lines += ["word 7\tother 7", "\tnothing", "word \x1b\t" + "far too long " * 30]
    (tmp_path / "train.tsv").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "valid.tsv").write_text("word 5\tother 5\nword 200\tother 200\n")
    folder = tmp_path / "run"
    arguments = ["train", tmp_path, "-o", folder, "-p", "luong2015-dot", *TINY]
    code, out, err = tell(*arguments)
    told = err.splitlines()
    assert (code, out) == (0, "")
    assert "train: 102 pairs: train.tsv, TSV, column 1 (source) and column 2 (target)" in told
    assert told.index("  word 0  ->  other 0") < told.index("learning the vocabulary")
    for warning in (
        "1 pair left out (an empty side): ",
        "1 pair repeated word for word: ",
        "1 pair far longer or shorter than the other side: ",
        "1 of 2 valid pairs are also in training: ",
    ):
        assert f"warning: {warning}" in err
    assert "left out: " not in err, "told once"
    assert "looking at the data" not in tell(*arguments)[2], "looked at once"


def test_programs_hear_of_the_data_too(tmp_path, tell):
    (tmp_path / "train.tsv").write_text("".join(f"word {n}\tother {n}\n" for n in range(200)))
    file, folder = tmp_path / "train.tsv", tmp_path / "run"
    _, out, _ = tell("train", file, "-o", folder, "-p", "luong2015-dot", *TINY, "--json")
    (event,) = [e for e in map(json.loads, out.splitlines()) if e["kind"] == "data"]
    assert event["rows"][0] == {"source": "word 0", "target": "other 0"}
    assert event["warnings"] == []


def test_a_card_names_the_files_and_not_where_they_lay(tmp_path, tell):
    file, folder = tmp_path / "odd|name.tsv", tmp_path / "run"
    file.write_text("".join(f"word {n}\tother {n}\n" for n in range(200)))
    assert tell("train", file, "-p", "luong2015-dot", "-o", folder, *TINY)[0] == 0
    card = (folder / "README.md").read_text()
    assert "| learned from | odd\\|name.tsv |" in card
    assert str(tmp_path) not in card


@pytest.mark.parametrize(("word", "code"), [("stop", 3), ("skip", 0)])
def test_a_line_that_is_not_utf8_stops_or_is_skipped(word, code, tmp_path, tell):
    good = b"".join(b"word %d\tother %d\n" % (n, n) for n in range(200))
    file, folder = tmp_path / "pairs.tsv", tmp_path / "run"
    file.write_bytes(good + b"\xff\tbad\n")
    found = tell("train", file, "-p", "luong2015-dot", "-o", folder, "--on-bad-utf8", word, *TINY)
    assert found[0] == code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_clean_stop_tells_its_signal(number, tmp_path, monkeypatch, tell):
    outcome = Outcome(1, "asked to stop", 0, 1.0, signal=number)
    monkeypatch.setattr("regard.training.train", lambda *_: outcome)
    assert tell("train", "--toy", "copy", "-o", tmp_path)[0] == 128 + number


def test_a_folder_that_cannot_be_made(tmp_path, tell):
    file = tmp_path / "file"
    file.write_text("in the way")
    assert tell("train", "-p", "demo", "-o", file / "run", *TINY)[0] == 5


def test_fast_is_for_a_gpu(tmp_path, tell, monkeypatch):
    folder = tmp_path / "run"
    given = ("train", "--toy", "copy", "-o", folder, "--device", "cpu")
    code, out, err = tell(*given, "--fast")
    assert (code, out) == (2, "")
    assert "this is for a GPU, and the work would be a CPU's\n  where: --fast\n" in err
    assert not folder.exists()

    asked = []
    monkeypatch.setattr("regard.run.device.choose_device", lambda _: torch.device("cuda"))
    monkeypatch.setattr(
        "regard.training.train",
        lambda _folder, settings, *_: asked.append(settings) or Outcome(2, "2 steps done", 2, 1.0),
    )
    assert "For such a model --fast makes more of this GPU" in tell(*given)[2]
    assert "--fast" not in tell(*given, "--fast")[2]
    assert [settings.batch.packed for settings in asked] == [False, True]
