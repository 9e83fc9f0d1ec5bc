"""Runs by name: only those of the list, loaded once, and served on when their folder breaks (S9, S13)."""

import json
import os
import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from regard import box
from regard.run.folder import Run
from regard.studio.app import create_app
from regard.studio.shelf import Shelf, is_live
from tests.run import kinds
from tests.studio.conftest import BASE


@pytest.fixture
def own(make, runs, tmp_path):
    """A studio over a copy that a test may harm."""
    folder = shutil.copytree(runs["rnn"], tmp_path / "rnn")
    studio = make([folder])
    with TestClient(create_app(studio), base_url=BASE) as client:
        yield folder, studio, client


def ask(client, **more):
    return client.post("/api/trace", json={"run": "rnn", "text": "a b c", **more})


def test_folders_of_one_name_are_numbered():
    found = Shelf([Path("a/run"), Path("b/run"), Path("c/run"), Path("d")], 1).folders
    assert list(found) == ["run", "run-2", "run-3", "d"]


def test_a_model_is_loaded_once(own, monkeypatch):
    _, studio, client = own
    assert ask(client).status_code == 200
    first = studio.shelf.loaded("rnn")
    assert first is not None
    assert ask(client).status_code == 200
    assert studio.shelf.loaded("rnn") is first


def test_a_newer_model_takes_over(own, tmp_path):
    folder, studio, client = own
    before = ask(client).json()["answer"]
    other = kinds.make(tmp_path / "other", "rnn", seed=5)
    shutil.copy(other / "model.safetensors", folder / "new")
    (folder / "new").replace(folder / "model.safetensors")
    assert ask(client).json()["answer"] != before
    assert studio.shelf.troubles() == {}


@pytest.mark.parametrize("harm", ["deleted", "emptied", "swapped", "gone"])
def test_the_old_model_serves_on_when_the_folder_breaks(own, harm):
    folder, _, client = own
    before = ask(client).json()["answer"]
    match harm:
        case "deleted":
            (folder / "model.safetensors").unlink()
        case "emptied":
            (folder / "model.safetensors").write_bytes(b"")
        case "swapped":
            (folder / "model.safetensors").write_bytes(os.urandom(4096))
        case "gone":
            shutil.rmtree(folder)
    answer = ask(client)
    assert answer.status_code == 200
    assert answer.json()["answer"] == before
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert list(ready.json()["troubles"]) == ["rnn"]
    assert [run["name"] for run in client.get("/api/about").json()["runs"]] == ["rnn"]


def test_a_run_without_a_model_says_so(own):
    folder, _, client = own
    (folder / "model.safetensors").unlink()
    answer = ask(client)
    assert answer.status_code == 409
    assert answer.json()["what"] == "this run has no trained model yet"
    assert str(folder) not in answer.json()["where"]


def test_models_in_memory_are_bounded(make, runs):
    studio = make(models=2)
    with TestClient(create_app(studio), base_url=BASE) as client:
        for kind, text in (("rnn", "a"), ("transformer", "a"), ("tag", "a")):
            assert client.post("/api/trace", json={"run": kind, "text": text}).status_code == 200
    kept = [kind for kind in ("rnn", "transformer", "tag") if studio.shelf.loaded(kind)]
    assert kept == ["transformer", "tag"]


def test_traces_are_bounded_the_oldest_goes_first(make, runs):
    studio = make([runs["rnn"]], traces=2)
    with TestClient(create_app(studio), base_url=BASE) as client:
        ids = [ask(client).json()["id"] for _ in range(3)]
        found = [client.get(f"/api/trace/{name}").status_code for name in ids]
    assert found == [404, 200, 200]
    assert len(set(ids)) == 3


def test_about(client):
    about = client.get("/api/about").json()
    found = {run["name"]: run for run in about["runs"]}
    assert set(found) == {"rnn", "transformer", "tag", "classify", "point", "language"}
    assert found["rnn"]["task"] == "translate"
    assert found["rnn"]["parameters"] > 1000
    assert (
        found["rnn"]["summary"] == "rnn encoder, rnn reader, additive attention, trained on reverse"
    )
    assert found["rnn"]["live"] is False
    assert (found["rnn"]["pieces"], found["rnn"]["learned"]) == ("word", "reverse")
    assert about["demo"] == {"state": "absent", "run": "demo", "message": ""}
    assert {toy["name"] for toy in about["toys"]} >= {"reverse", "phrases"}


def test_records_of_a_run(own):
    folder, _, client = own
    sample = {"step": 5, "question": "a", "answer": "b", "axes": {}, "sites": []}
    best = {
        "kind": "valid",
        "step": 5,
        "is_best": True,
        "metrics": [{"name": "BLEU", "value": 12.5}],
    }
    train = {"kind": "train", "step": 3, "loss": float("nan")}
    lines = [json.dumps(train), "torn {", json.dumps(best), '{"kind": "train", "st']
    (folder / "metrics.jsonl").write_text("\n".join(lines))
    (folder / "samples.jsonl").write_text(json.dumps(sample) + "\n")
    found = client.get("/api/runs/rnn/metrics").json()["metrics"]
    assert found == [{**train, "loss": None}, best]
    assert client.get("/api/runs/rnn/metrics?after=3").json()["metrics"] == [best]
    assert client.get("/api/runs/rnn/samples").json()["samples"] == [sample]
    told = {"name": "BLEU", "value": 12.5, "test": "held out", "direction": ""}
    assert client.get("/api/about").json()["runs"][0]["scores"] == [told]
    assert client.get("/api/runs/no/metrics").status_code == 404


def test_settings_of_a_run_without_anybodys_paths(own):
    folder, _, client = own
    config = folder / "config.toml"
    text = config.read_text()
    config.write_text(text.replace("train = []", 'train = ["/secret/place/train.en"]', 1))
    found = client.get("/api/runs/rnn/settings").json()
    assert found["model"]["reader"]["kind"] == "rnn"
    assert "/secret" not in json.dumps(found)
    config.write_text("no = [toml")
    assert client.get("/api/runs/rnn/settings").status_code == 409


def test_whether_a_run_trains_now(own):
    from regard.run.lock import Lock

    folder, _, client = own
    assert not is_live(folder)
    with Lock(folder):
        assert is_live(folder)
        assert client.get("/api/about").json()["runs"][0]["live"]
    assert not is_live(folder)


def test_a_run_that_was_never_evaluated_begins_with_a_question_that_it_kept(own):
    folder, _, client = own
    (about,) = client.get("/api/about").json()["runs"]
    assert about["example"] == Run.open(folder).probes()[0][0]


def test_a_run_begins_with_a_sentence_that_its_evaluations_look_at(own):
    folder, _, client = own
    (folder / "data" / "probes.jsonl").unlink()
    assert client.get("/api/about").json()["runs"][0]["example"] == ""
    sample = {"step": 5, "question": "a b", "answer": "b a", "axes": {}, "sites": []}
    (folder / "samples.jsonl").write_text(json.dumps(sample) + "\n" + "x" * 100)
    (folder / "metrics.jsonl").write_text('{"kind": "train", "step": 1, "loss": 1.0}\n')
    (about,) = client.get("/api/about").json()["runs"]
    assert about["example"] == "a b"
    assert about["place"].endswith("rnn")
    (folder / "samples.jsonl").write_text('{"question": 7}\n')
    (folder / "metrics.jsonl").write_text("\n")
    assert client.get("/api/about").json()["runs"][0]["example"] == ""


def test_scores_of_the_box_are_those_of_the_cards():
    """What `regard models` prints, for every model that comes with the package."""
    shelf = Shelf(map(box.folder, box.names()), 1)
    assert box.names()
    for name in box.names():
        told = [
            (one["test"], one["name"], one["direction"], one["value"])
            for one in shelf.about(name)["scores"]
        ]
        card = box.card(name)
        assert told == [(s.test, s.metric, s.direction, s.value) for s in card.foremost()]
        assert set(told) <= {(s.test, s.metric, s.direction, s.value) for s in card.scores}
        assert all(test != "small" for test, *_ in told), "nobody else knows this test"


def test_runs_made_meanwhile_are_in_the_list(make, tmp_path):
    """A studio that was not given names finds what is trained while it is open; names never change."""
    (tmp_path / "b").mkdir()
    places = [tmp_path / "b" / "run"]
    studio = make(lambda: [path for path in places if path.is_dir()])

    def names(client):
        return [run["name"] for run in client.get("/api/about").json()["runs"]]

    with TestClient(create_app(studio), base_url=BASE) as client:
        assert names(client) == []
        kinds.make(places[0], "rnn")
        assert names(client) == ["run"]
        assert ask(client, run="run").status_code == 200
        places.insert(0, kinds.make(tmp_path / "a" / "run", "rnn"))
        assert names(client) == ["run", "run-2"], "what was there keeps its name and place"
        assert studio.shelf.folder("run") == tmp_path / "b" / "run"
        shutil.rmtree(places[0])
        assert names(client) == ["run"]


def test_a_demo_that_begins_is_a_run_at_once(make, runs, monkeypatch):
    """Before its folder has anything in it, it is listed by its own name, with nothing to ask yet."""
    studio = make([runs["rnn"]])
    with TestClient(create_app(studio), base_url=BASE) as client:
        assert [run["name"] for run in client.get("/api/about").json()["runs"]] == ["rnn"]
        monkeypatch.setattr(type(studio.demo), "state", "running")
        rnn, demo = client.get("/api/about").json()["runs"]
        assert (rnn["ready"], rnn["live"]) == (True, False)
        assert (demo["name"], demo["ready"], demo["live"]) == ("demo", False, True)
        for kind in ("metrics", "samples"):
            answer = client.get(f"/api/runs/demo/{kind}")
            assert (answer.status_code, answer.json()[kind]) == (200, [])
        assert client.get("/api/runs/demo/settings").json() == {}
        assert client.post("/api/demo", json={}).status_code == 202, "asked twice, it learns once"
