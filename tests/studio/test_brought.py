"""Folders of Hugging Face's that no run can hold: the studio looks into them, and says what it cannot do."""

import json
import shutil

import numpy as np
import pytest
from starlette.testclient import TestClient

from regard.interop.bring import Brought
from regard.studio.app import create_app
from tests.interop import kit
from tests.interop.test_bring import word_pieces
from tests.studio.conftest import BASE

TEXTS = ["the dogs playing a cat", "a cat the dog the cat", "the the dog playing"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("brought")
    for name in ("electra", "t5", "llama", "vit"):
        kit.made(name)[0].save_pretrained(place / name)
        word_pieces().save_pretrained(place / name)
    return place


@pytest.fixture(scope="module")
def asking(make, folders):
    studio = make([folders / name for name in ("electra", "t5", "llama")], symbols=30)
    with TestClient(create_app(studio), base_url=BASE) as client:
        yield client


@pytest.mark.parametrize("name", ["electra", "t5", "llama"])
def test_a_text_is_looked_into_as_the_library_does(asking, folders, name):
    told = asking.post("/api/trace", json={"run": name, "text": "the dogs", "max_length": 3})
    assert told.status_code == 200, told.text
    found, expected = told.json(), Brought.open(folders / name).trace("the dogs", most=3)
    assert found["answer"]["text"] == expected.answer.text
    assert [site["path"] for site in found["sites"]] == [site.path for site in expected.sites]
    raw = asking.get(f"/api/trace/{found['id']}/weights/1/2").content
    np.testing.assert_array_equal(
        np.frombuffer(raw, "<f4"), expected.sites[1].weights[2].astype("<f4").ravel()
    )
    lines = asking.post("/api/answer", json={"run": name, "text": "the dogs"}).text.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["parts", "answered", "finished"]


def test_they_are_listed_and_have_no_settings(asking):
    runs = {one["name"]: one for one in asking.get("/api/about").json()["runs"]}
    assert {name: one["task"] for name, one in runs.items()} == {
        "electra": "language",
        "t5": "translate",
        "llama": "language",
    }
    assert "cannot be trained" in runs["t5"]["summary"]
    assert all(one["ready"] and one["parameters"] > 0 for one in runs.values())
    assert asking.get("/api/runs/t5/settings").json() == {}
    assert asking.get("/api/runs/t5/metrics").json()["metrics"] == []


def test_heads_and_senses_are_studied(asking):
    lines = asking.post("/api/heads", json={"run": "electra", "sentences": TEXTS}).text.splitlines()
    last = json.loads(lines[-1])
    assert last["kind"] == "found"
    assert len(last["heads"]) == 6
    told = {"run": "electra", "word": "cat", "sentences": TEXTS[:2]}
    last = json.loads(asking.post("/api/senses", json=told).text.splitlines()[-1])
    assert last["kind"] == "found"
    assert len(last["layers"]) == 3


@pytest.mark.parametrize("more", [{"prefix": [3]}, {"sample": True}, {"to": "fr"}])
def test_what_cannot_be_asked_is_said(asking, more):
    told = asking.post("/api/trace", json={"run": "t5", "text": "the dogs", **more})
    assert told.status_code == 422
    assert "leave" in told.json()["remedy"]


def test_a_long_text_is_refused_by_its_symbols(asking):
    told = asking.post("/api/trace", json={"run": "electra", "text": "dog " * 60})
    assert told.status_code == 422
    assert "the limit is 30" in told.json()["what"]


@pytest.fixture
def tell(capsys):
    from regard.cli.main import status

    def run(*words):
        code = status([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, " ".join(said.err.split())

    return run


def test_the_command_opens_what_it_cannot_import(folders, tell, monkeypatch):
    shown = []
    monkeypatch.setattr(
        "regard.studio.server.serve", lambda studio, _: shown.extend(studio.shelf.names) or 0
    )
    code, _, err = tell("studio", folders / "electra", "--no-open")
    assert code == 0
    assert "opened to be looked into" in err
    assert "electra" in shown


def test_pictures_and_broken_folders_are_refused_in_words(folders, tmp_path, tell):
    code, _, err = tell("studio", folders / "vit")
    assert code == 2
    assert "reads pixel values, and no text" in err
    assert "pixel_values=..." in err
    code, _, err = tell("look", folders / "vit", "two dogs")
    assert code == 2
    assert "reads pixel values" in err
    shutil.copytree(folders / "electra", tmp_path / "other")
    (tmp_path / "other" / "config.json").write_text('{"model_type": "nobody-knows"}')
    code, _, err = tell("studio", tmp_path / "other")
    assert code == 4
    assert "transformers cannot open this folder" in err
