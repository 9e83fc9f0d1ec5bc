"""The answer in a look is the answer that was given: printed, returned, sent, and drawn are one text."""

import json
from functools import cache

import pytest
import torch
from starlette.testclient import TestClient

from regard import box
from regard.answer.predictor import Predictor
from regard.answer.tracing import traces
from regard.cli.main import status
from regard.studio.app import create_app
from regard.studio.settings import StudioSettings
from regard.studio.state import File, Studio
from tests.box.test_shipped import HERE

WAYS = (("en", "de"), ("en", "fr"), ("de", "en"), ("fr", "en"))  # 50 sentences each
on_a_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA"),
]
DEVICES = ("cpu", pytest.param("cuda", marks=on_a_gpu))
RIVER = "The old man sat by the river and watched the boats go by."
PAGE = {"index.html": File(b"<!doctype html>", "text/html; charset=utf-8", False)}


@pytest.fixture
def tell(monkeypatch, capsys):
    """The command line on a terminal that is wide enough; a model is loaded once and not for each text."""
    monkeypatch.setenv("COLUMNS", "500")
    load = cache(Predictor.load.__func__)
    monkeypatch.setattr(
        Predictor, "load", classmethod(lambda *given, **named: load(*given, **named))
    )

    def call(*arguments):
        capsys.readouterr()
        assert status(["translate", *arguments]) == 0
        return capsys.readouterr().out

    return call


def drawn(out: str) -> tuple[str, str]:
    """The answer that was printed, and the one whose words stand beside the maps; both without spaces."""
    printed, _, maps = out.partition("\n\n")
    words = []
    for block in maps.rstrip().split("\n\n"):
        lines = block.split(
            "\n"
        )  # names of columns, of which the last ends at the cells; rows; a scale
        names = max(n for n, line in enumerate(lines) if "│" in line or ">>" in line)
        words += [line.split()[0] for line in lines[names + 1 : -1]]
    return bare(printed), bare("".join(words).replace("</s>", ""))


def bare(text: str) -> str:
    return "".join(text.split())


def compare(tell, predictor, text, to, *options):
    """Library, replay and command line; the text of the answer."""
    (answer,) = predictor.predict([text], to=to, split=True)
    seen = list(traces(predictor, text, to=to, answer=answer))
    assert bare("".join(one.answer.text for one in seen)) == bare(answer.text)
    for one, part in zip(seen, answer.parts, strict=True):
        assert [step.symbol for step in one.steps][: len(part.symbols)] == list(part.symbols)
        words = [word for word in one.axes["target"].words if word != "</s>"]
        assert bare("".join(words)) == bare(one.answer.text)
    printed, mapped = drawn(tell(text, "--to", to, "--look", *options))
    assert printed == mapped == bare(answer.text)
    return answer.text


def in_the_studio(client, text, to):
    """What the page shows of a text, and what it draws."""
    asked = client.post("/api/answer", json={"run": "translator", "text": text, "to": to})
    *between, last = [json.loads(line) for line in asked.text.splitlines()]
    for one in between:
        if one["kind"] == "answered":
            words = [word for word in one["trace"]["axes"]["target"]["words"] if word != "</s>"]
            assert bare("".join(words)) == bare(one["trace"]["answer"]["text"])
    return last["text"]


@pytest.fixture
def client(tmp_path):
    def ask(*folders, device="cpu"):
        studio = Studio(list(folders), StudioSettings(), tmp_path / "demo", PAGE, device)
        return TestClient(create_app(studio), base_url="http://127.0.0.1:8321")

    return ask


def test_of_a_model_that_knows_nothing(boxed, tell, client):
    """Of which the answers are odd: pieces of words, bytes, marks."""
    predictor = Predictor.load(box.folder("translator"), "cpu")
    with client(box.folder("translator")) as page:
        for text in ("the black cat . the mouse !", "the mouse .", "le chat"):
            answer = compare(tell, predictor, text, "de")
            assert in_the_studio(page, text, "de") == answer


@pytest.mark.slow
@pytest.mark.skipif("translator" not in box.names(), reason="no translator is in the box yet")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weights", ["stored", "float32"])
@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_of_200_sentences(tell, client, way, weights, device):
    spoken, to = way
    texts = (HERE / f"small.{spoken}").read_text("utf-8").splitlines()
    texts += [RIVER] if spoken == "en" else []
    predictor = Predictor.load(box.folder("translator"), device, weights=weights)
    with client(box.folder("translator"), device=device) as page:
        for text in texts:
            answer = compare(tell, predictor, text, to, "--weights", weights, "--device", device)
            if weights == "stored":
                assert in_the_studio(page, text, to) == answer


@pytest.mark.skipif("tagger" not in box.names(), reason="no tagger is in the box")
def test_a_text_of_many_sentences_is_tagged_as_its_sentences_are():
    """A line of 2,000 words took seven seconds, and its first sentences had other tags than alone."""
    model = Predictor.load("tagger", "cpu", looking=True)
    sentence = "The old man sold his house to a young doctor ."
    (alone,) = model.predict(sentence)
    fits, long = " ".join([sentence] * 20), " ".join([sentence] * 60)
    (whole,) = model.run.task.predict(model.model, [fits], model.decode)
    assert model.predict(fits)[0].symbols == whole.symbols  # of what fits nothing is cut
    (cut,) = model.predict(long)
    assert cut.words == tuple(sentence.split()) * 60
    assert cut.symbols == alone.symbols * 60
    assert model.look(long).answer.symbols == cut.symbols
