"""The run folder: prepared once, read again, and records that never repeat."""

import json
from pathlib import Path

import pytest
import torch

from regard.data.store import Store
from regard.errors import DataError, ModelFileError
from regard.run import files
from regard.run.folder import PROBES, Run
from regard.run.load import read_task
from tests.training.kit import tiny


@pytest.fixture
def made(tmp_path):
    settings = tiny(tmp_path)
    return Run.create(tmp_path / "run", settings), settings


def test_a_run_is_prepared_and_can_be_opened(made):
    run, settings = made
    again = Run.open(run.folder)
    assert again.settings == settings
    assert again.task.to_dict() == run.task.to_dict()
    assert len(again.store("train")) == 48
    assert len(again.store("valid")) == 10
    assert again.made_from() == run.made_from()
    assert len(again.probes()) == 10


def test_preparing_again_touches_nothing(made):
    run, settings = made
    before = {
        path: path.stat().st_mtime_ns
        for path in run.folder.rglob("*")
        if path.is_file() and path.name != "config.toml"
    }
    heard = []
    Run.create(run.folder, settings, lambda what, _: heard.append(what))
    assert heard == []
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_progress_is_told(tmp_path):
    heard = {}
    Run.create(tmp_path / "run", tiny(tmp_path), heard.__setitem__)
    assert heard == {
        "learning the vocabulary": 96,
        "reading train data": 48,
        "reading valid data": 10,
    }


def test_what_killed_processes_left_is_removed(made):
    run, settings = made
    for place in (run.folder, run.folder / "data", run.folder / "checkpoints"):
        place.mkdir(exist_ok=True)
        (place / ".tmp-999999999-x").mkdir()
    Run.create(run.folder, settings)
    assert not list(run.folder.rglob(".tmp-*"))


def test_lines_of_no_use_are_noted_with_their_first_place(tmp_path):  # T13
    settings = tiny(tmp_path)
    with Path(settings.data.train[0]).open("a") as file:
        file.write("a b\t\n\t\n")
    run = Run.create(tmp_path / "run", settings)
    place = f"{settings.data.train[0]}:49"
    assert run.notes == [f"train data: 2 of 50 examples were left out: 2 empty (first at {place})"]
    assert len(run.store("train")) == 48


def test_a_set_with_nothing_in_it_is_refused_each_time(tmp_path):  # T15
    settings = tiny(tmp_path)
    Path(settings.data.valid[0]).write_text("a b\t\n\tb\n")
    for _ in range(2):  # the empty store of the first attempt must not help the second
        with pytest.raises(DataError) as caught:
            Run.create(tmp_path / "run", settings)
        assert caught.value.what == "0 of 2 pairs left: 2 empty"
        assert caught.value.where == settings.data.valid[0]


def test_nothing_to_learn_from_is_refused(tmp_path):  # T15
    settings = tiny(tmp_path)
    Path(settings.data.train[0]).write_text("a b\t\n\tb\n")
    with pytest.raises(DataError) as caught:
        Run.create(tmp_path / "run", settings)
    assert caught.value.exit_code == 3


def test_the_untrained_model_is_a_function_of_the_seed(made):
    run, settings = made
    one, same = run.build_model(), run.build_model()
    other = Run(run.folder, settings.model_copy(update={"seed": 2}), run.task).build_model()
    pairs = zip(one.parameters(), same.parameters(), strict=True)
    assert all(torch.equal(mine, theirs) for mine, theirs in pairs)
    assert not torch.equal(next(one.parameters()), next(other.parameters()))


def test_a_saved_model_is_the_model(made):
    run, _ = made
    model = run.build_model()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.5)
    run.save_model(model.state_dict())
    loaded = run.load_model()
    assert not loaded.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor)


def test_a_run_without_a_model_says_how_to_get_one(made):
    run, _ = made
    with pytest.raises(ModelFileError) as caught:
        run.load_model()
    assert caught.value.what == "this run has no trained model yet"
    assert caught.value.remedy == f"train it: regard train {run.folder}"


def test_a_folder_that_is_no_run_is_said(tmp_path):
    with pytest.raises(ModelFileError, match=r"this is not a run folder: there is no config\.toml"):
        Run.open(tmp_path)


def test_records_come_back_and_a_torn_line_is_left_out(made):
    run, _ = made
    run.record("metrics", {"kind": "train", "step": 1, "loss": 0.1})
    run.record("metrics", {"kind": "train", "step": 2, "loss": 1e-9})
    with (run.folder / "metrics.jsonl").open("ab") as file:
        file.write(b'{"kind": "tr')
    assert [entry["step"] for entry in run.recorded("metrics")] == [1, 2]
    assert run.recorded("metrics")[1]["loss"] == 1e-9
    run.record("metrics", {"kind": "train", "step": 3, "loss": 0.3})
    assert [entry["step"] for entry in run.recorded("metrics")] == [1, 2, 3]


def test_records_of_what_will_be_done_again_are_forgotten(made):
    run, _ = made
    for step in (1, 2, 3, 4):
        run.record("metrics", {"kind": "train", "step": step})
    for step in (2, 4):
        run.record("metrics", {"kind": "valid", "step": step})
        run.record("samples", {"step": step, "answer": "é"})
    run.record("metrics", {"kind": "spike", "step": 4})
    run.forget_after(4, evaluated=2)  # the evaluation of step 4 was not saved with its checkpoint
    entries = [(entry["kind"], entry["step"]) for entry in run.recorded("metrics")]
    kept = [("train", step) for step in (1, 2, 3, 4)]
    assert entries == [*kept, ("valid", 2), ("spike", 4)]
    assert run.recorded("samples") == [{"step": 2, "answer": "é"}]
    run.forget_after(0, evaluated=-1)
    assert run.recorded("metrics") == run.recorded("samples") == []


def test_probes_begin_with_the_toys_own_and_are_not_too_many(tmp_path):
    settings = tiny(tmp_path)
    data = settings.data.model_copy(
        update={"toy": "reverse", "train": (), "valid": (), "examples": 9}
    )
    run = Run.create(tmp_path / "run", settings.model_copy(update={"data": data}))
    probes = run.probes()
    assert probes[0] == ("r e g a r d", "d r a g e r")
    assert len(probes) == PROBES + 1
    assert all(question[::-1] == answer for question, answer in probes)


def test_what_a_run_is_made_from_follows_the_files(made, tmp_path):
    run, _ = made
    before = run.made_from()
    path = run.folder / "tokenizer.json"
    files.write_atomic(path, path.read_bytes() + b"\n")
    after = run.made_from()
    assert after["tokenizer"] != before["tokenizer"]
    assert (after["train"], after["valid"]) == (before["train"], before["valid"])


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ([], "this is no tokenizer of ours"),
        ({"format": "other"}, "this is no tokenizer of ours"),
        (
            {"format": "regard-task", "task": "tag", "parts": {}},
            "the tokenizer belongs to task 'tag', not 'translate'",
        ),
        (
            {"format": "regard-task", "task": "translate", "parts": {"shared": 1}},
            "each part of a tokenizer is a document",
        ),
        (
            {"format": "regard-task", "task": "translate", "parts": {}},
            "the tokenizer lacks its part 'source'",
        ),
    ],
)
def test_a_tokenizer_of_another_kind_is_refused(tmp_path, document, what):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError) as caught:
        read_task(path, "translate")
    assert caught.value.what == what


def test_every_task_prepares_its_columns(tmp_path):
    for kind in ("pointer", "tagger", "language"):
        settings = tiny(tmp_path / kind, kind)
        run = Run.create(tmp_path / kind / "run", settings)
        row = run.store("train").row(0)
        assert row["source"].shape[1:] == ((1,) if kind == "pointer" else ())
        assert len(row["target"]) > 0


def test_rows_of_the_store_are_the_rows_of_the_task(made):
    run, settings = made
    store = Store.open(run.folder / "data" / "train")
    lines = Path(settings.data.train[0]).read_text().split("\n")
    source = run.task.source.decode(store.row(5)["source"].tolist())
    assert source == lines[5].split("\t")[0]
