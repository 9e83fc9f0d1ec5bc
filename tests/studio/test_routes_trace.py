"""What the page sees is what the library computed: weights, neurons, the tree, and every export."""

import csv
import io
import json

import numpy as np
import pytest
import torch

from regard.answer.predictor import Predictor
from regard.answer.tracing import trace
from regard.attention import watch
from regard.studio import schema
from regard.tasks import Prediction
from regard.tasks.axis import Tokens
from regard.tasks.task import device_of
from regard.text import END
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

TEXT = {
    "rnn": "a b c d e",
    "transformer": "a b c d e",
    "tag": "the small dog",
    "classify": "a good film",
    "point": "0.3 0.1 0.7",
    "language": "the cat",
}


@pytest.fixture(scope="module")
def own(runs):
    """The library's own trace of the same question."""
    known = {}

    def get(kind):
        if kind not in known:
            predictor = Predictor.load(runs[kind], "cpu")
            known[kind] = trace(predictor, TEXT[kind])
        return known[kind]

    return get


def matrix(client, found, site, head, query=""):
    path = f"/api/trace/{found['id']}/weights/{site['index']}/{head}{query}"
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.content


def as_weights(content, shape):
    return np.frombuffer(content, "<f4").reshape(shape)


@pytest.mark.parametrize("kind", TEXT)
def test_what_is_told_is_what_was_traced(kind, asked, own):
    found, traced = asked(kind, TEXT[kind]), own(kind)
    assert found["answer"] == json.loads(json.dumps(traced.answer.as_dict()))
    assert found["question"] == TEXT[kind]
    assert found["has_tree"] == (kind not in ("tag", "classify"))
    assert [step["symbol"] for step in found["steps"]] == [step.symbol for step in traced.steps]
    for axis, tokens in traced.axes.items():
        assert found["axes"][axis]["pieces"] == list(tokens.pieces)
        assert found["axes"][axis]["words"] == list(tokens.words)
    assert [site["path"] for site in found["sites"]] == [site.path for site in traced.sites]


@pytest.mark.parametrize("kind", TEXT)
def test_what_is_told_is_what_the_schema_says(kind, asked, client):
    """Nothing more and nothing less: the page's types are made from it."""
    found = asked(kind, TEXT[kind])
    schema.TraceAbout.model_validate(found, extra="forbid")
    tree = client.get(f"/api/trace/{found['id']}/tree").json()
    schema.TreeAbout.model_validate(tree, extra="forbid")
    for site in found["sites"][:1]:
        neurons = client.get(f"/api/trace/{found['id']}/neurons/{site['index']}/0/0").json()
        schema.Neurons.model_validate(neurons, extra="forbid")
    about = schema.About.model_validate(client.get("/api/about").json(), extra="forbid")
    assert found["task"] in about.tasks


def drawn(weights, scores):
    """A trace of one site with these weights; two pieces make a word."""
    heads, *sizes = weights.shape
    axes = {
        name: Tokens(
            tuple(f"p{place}" for place in range(size)),
            tuple(place // 2 for place in range(size)),
            tuple(f"w{place}" for place in range((size + 1) // 2)),
        )
        for name, size in zip(("target", "source"), sizes, strict=True)
    }
    vectors = [np.zeros((heads, size, 2), np.float32) for size in (sizes[0], sizes[1], sizes[1])]
    place = ("cross.0", "cross", 0, "target", "source", "dot", "softmax", "product", 1.0)
    site = TracedSite(*place, weights, scores, *vectors)
    return Trace("translate", "", "a b", Prediction("c d"), (), axes, (site,))


def check_exact(client, found, traced):
    """Every number that a page can get, by head, mean of some, mean of all, pieces and words."""
    for told, site in zip(found["sites"], traced.sites, strict=True):
        assert told["shape"] == list(site.weights.shape)
        heads = [str(head) for head in range(site.heads)]
        tables = {head: site.weights[int(head)] for head in heads}
        tables["mean"] = site.weights.mean(0, dtype=np.float32)
        tables["+".join(heads[::2])] = site.weights[::2].mean(0, dtype=np.float32)
        for head, right in tables.items():
            table = as_weights(matrix(client, found, told, head), told["shape"][1:])
            assert np.array_equal(table, right)
        words = traced.by_words(site)
        table = as_weights(matrix(client, found, told, 0, "?words=1"), words.shape[1:])
        assert np.array_equal(table, words[0])
        scores = as_weights(matrix(client, found, told, 0, "?what=scores"), told["shape"][1:])
        assert np.array_equal(scores, site.scores[0], equal_nan=True)
        sharp = [head.max(-1).astype(float).mean() if head.size else 0.0 for head in site.weights]
        assert told["sharpness"] == pytest.approx(sharp, abs=1e-9)


def check_table(client, found, traced):
    """A CSV is read back as the same float32, to the last bit, and its rows sum to 1."""
    for number, site in enumerate(traced.sites):
        for head in (*range(site.heads), "mean"):
            answer = client.get(
                f"/api/trace/{found['id']}/export.csv", params={"site": number, "head": str(head)}
            )
            rows = list(csv.reader(io.StringIO(answer.text)))
            table = np.array([row[1:] for row in rows[1:]], np.float32)
            right = site.weights.mean(0, dtype=np.float32) if head == "mean" else site.weights[head]
            assert np.array_equal(table, right)
            sums = table.sum(-1, dtype=np.float64)
            assert np.abs(sums - right.sum(-1, dtype=np.float64)).max() == 0
            if site.normaliser == "softmax":
                assert np.abs(sums - 1).max() < 1e-6 * site.weights.shape[2]


@pytest.mark.parametrize("kind", TEXT)
def test_every_number_of_a_real_trace_is_exact(kind, client, asked, own):
    found, traced = asked(kind, TEXT[kind]), own(kind)
    check_exact(client, found, traced)
    check_table(client, found, traced)


@pytest.mark.parametrize("seed", range(5))
def test_every_number_of_a_random_trace_is_exact(seed, client, studio):
    """Weights of any size, from 1 down to the smallest that a float32 has, and a row of zeros."""
    chance = np.random.default_rng(seed)
    sizes = chance.integers(1, 12, 2)
    scores = chance.normal(0, 10.0 ** chance.integers(0, 3), (3, *sizes)).astype(np.float32)
    weights = np.exp(scores - scores.max(-1, keepdims=True), dtype=np.float64)
    weights = (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
    seen = drawn(weights, scores)
    found = client.get(f"/api/trace/{studio.traces.add(seen)}").json()
    check_exact(client, found, seen)
    check_table(client, found, seen)


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
@pytest.mark.parametrize("beam", [1, 3])
def test_attention_of_the_beams_choice_is_a_teacher_forced_pass(kind, beam, client, asked, runs):
    """D15, from the bytes a browser gets back to a plain forward pass."""
    found = asked(kind, TEXT[kind], beam=beam)
    predictor = Predictor.load(runs[kind], "cpu")
    task, model = predictor.run.task, predictor.model
    (answer,) = predictor.predict(TEXT[kind], beam=beam)
    assert found["answer"]["text"] == answer.text
    source = np.array([*task.source.encode(TEXT[kind]), END], np.int32)
    ids = [*answer.ids, END] if answer.finish == "end" else [*answer.ids]
    row = {"source": source, "target": np.array(ids, np.int32)}
    batch = task.collate([row], len(source), len(ids)).to(device_of(model))
    with torch.inference_mode(), watch(model) as seen:
        task.logits(model, batch)
        forced = {path: seen.weights(path)[0].numpy() for path in seen}
    assert found["sites"]
    for site in found["sites"]:
        right = forced[site["path"]]
        assert list(right.shape) == site["shape"]
        for head in range(site["heads"]):
            told = as_weights(matrix(client, found, site, head), site["shape"][1:])
            assert np.abs(told - right[head]).max() < 1e-5


@pytest.mark.parametrize("kind", ["rnn", "transformer", "classify", "point", "language"])
def test_neurons_sum_to_the_score(kind, client, asked):
    found = asked(kind, TEXT[kind])
    for site in found["sites"]:
        for query in range(min(3, site["shape"][1])):
            path = f"/api/trace/{found['id']}/neurons/{site['index']}/{site['heads'] - 1}/{query}"
            told = client.get(path).json()
            assert told["total"] == site["shape"][2]
            assert len(told["query"]) == len(told["keys"][0]) == site["width"]
            bias = told["bias"] or [0.0] * len(told["scores"])
            for row, more, score in zip(told["contributions"], bias, told["scores"], strict=True):
                if score is not None:
                    assert sum(row) + more == pytest.approx(score, abs=1e-4)


def test_neurons_are_capped_to_the_heaviest(make, runs):
    from starlette.testclient import TestClient

    from regard.studio.app import create_app
    from tests.studio.conftest import BASE

    with TestClient(create_app(make([runs["rnn"]], neuron_keys=2)), base_url=BASE) as client:
        found = client.post("/api/trace", json={"run": "rnn", "text": TEXT["rnn"]}).json()
        told = client.get(f"/api/trace/{found['id']}/neurons/0/0/0").json()
        row = as_weights(
            matrix(client, found, found["sites"][0], 0), found["sites"][0]["shape"][1:]
        )[0]
    assert (told["capped"], told["total"]) == (True, len(row))
    assert told["places"] == sorted(np.argsort(-row, kind="stable")[:2].tolist())


def test_the_tree_marks_the_winner(client, asked):
    found = asked("transformer", TEXT["transformer"])
    steps = client.get(f"/api/trace/{found['id']}/tree").json()["steps"]
    winners = [node["symbol"] for step in steps for node in step if node["winner"]]
    assert winners == [step["symbol"] for step in found["steps"]][: len(winners)]
    assert winners
    assert {node["fate"] for step in steps for node in step} <= {"kept", "ended", "dropped"}
    assert client.get(f"/api/trace/{asked('tag', 'a dog')['id']}/tree").json() == {"steps": []}


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
def test_a_forced_symbol_is_as_likely_in_the_tree_as_in_the_steps(kind, client, asked):
    free = asked(kind, TEXT[kind], beam=3)
    other = next(one for one in free["steps"][0]["alternatives"][1:] if one["id"] > 3)
    found = asked(kind, TEXT[kind], beam=3, prefix=[other["id"]])
    steps = client.get(f"/api/trace/{found['id']}/tree").json()["steps"]
    assert [len(step) == 1 for step in steps[:2]] == [True, False]
    forced = steps[0][0]
    assert (forced["forced"], forced["id"]) == (True, other["id"])
    assert forced["log_probability"] == pytest.approx(other["log_probability"], abs=1e-5)
    assert not any(node["forced"] for step in steps[1:] for node in step)
    total = 0.0
    for number, step in enumerate(steps[: len(found["steps"])]):
        (node,) = (node for node in step if node["winner"])
        said = found["steps"][number]
        assert node["log_probability"] == pytest.approx(said["log_probability"], abs=1e-4)
        total += said["log_probability"]
        assert node["total"] == pytest.approx(total, abs=1e-4)


def test_rollout_is_the_librarys(client, asked, own):
    found, right = asked("transformer", TEXT["transformer"]), own("transformer").rollout()
    for layer, table in enumerate(right):
        content = client.get(f"/api/trace/{found['id']}/rollout/{layer}").content
        assert np.array_equal(as_weights(content, table.shape), table)
    assert client.get(f"/api/trace/{found['id']}/rollout/{len(right)}").status_code == 404
    plain = asked("rnn", TEXT["rnn"])
    assert client.get(f"/api/trace/{plain['id']}/rollout/0").status_code == 422


def test_thumbnails_are_tiles_of_every_head(client, asked, own):
    found, traced = asked("transformer", TEXT["transformer"]), own("transformer")
    tiles = np.frombuffer(client.get(f"/api/trace/{found['id']}/thumbnails").content, np.uint8)
    tiles = tiles.reshape(-1, 32, 32)
    heads = [head for site in traced.sites for head in site.weights]
    assert len(tiles) == len(heads)
    for tile, head in zip(tiles, heads, strict=True):
        assert tile.max() == np.rint(np.sqrt(head.max()) * 255)


def test_a_forced_word_is_said(client, asked):
    found = asked("rnn", TEXT["rnn"])
    other = found["steps"][0]["alternatives"][1]
    for given in (other["id"], other["symbol"]):
        again = asked("rnn", TEXT["rnn"], prefix=[given])
        assert again["steps"][0]["symbol"] == other["symbol"]
        assert again["steps"][0]["given"]
        assert not again["steps"][1]["given"]
    for wrong in ([10**6], ["no such symbol"], ["x"] * 33, [2, 2]):
        answer = client.post("/api/trace", json={"run": "rnn", "text": "a", "prefix": wrong})
        assert (answer.status_code, answer.json()["where"]) == (422, "prefix")


@pytest.mark.parametrize("kind", ["point", "tag"])
def test_symbols_of_other_tasks(kind, client, asked):
    if kind == "point":
        assert asked(kind, TEXT[kind], prefix=["2"])["steps"][0]["symbol"] == "2"
    refused = client.post("/api/trace", json={"run": kind, "text": TEXT[kind], "prefix": ["nine"]})
    assert refused.status_code == 422


def test_drawing_is_a_function_of_the_seed(asked):
    first = asked("language", "the", sample=True, seed=3)
    again = asked("language", "the", sample=True, seed=3, top_p=1.0)
    assert first["answer"] == again["answer"]
    assert not first["has_tree"]


@pytest.mark.parametrize("kind", TEXT)
@pytest.mark.parametrize("text", ["", "   "])
def test_nothing_at_all_is_an_answer(kind, text, asked):
    assert asked(kind, text)["answer"]["finish"] in ("end", "length")


@pytest.mark.parametrize("form", ["json", "npz", "html", "svg", "csv"])
@pytest.mark.parametrize("kind", ["rnn", "transformer", "classify"])
def test_exports(form, kind, client, asked, own, tmp_path):
    found = asked(kind, TEXT[kind])
    answer = client.get(f"/api/trace/{found['id']}/export.{form}", params={"site": 0, "head": "0"})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="attention.{form}"'
    site = own(kind).sites[0]
    match form:
        case "json":
            assert np.allclose(answer.json()["sites"][0]["weights"], site.weights)
        case "npz":
            (tmp_path / "a.npz").write_bytes(answer.content)
            assert np.array_equal(Trace.load(tmp_path / "a.npz").sites[0].weights, site.weights)
        case "csv":
            rows = list(csv.reader(io.StringIO(answer.text)))
            table = np.array([row[1:] for row in rows[1:]], float)
            assert np.array_equal(table.astype(np.float32), site.weights[0])
        case _:
            assert f"<{form}" in answer.text


def test_a_cell_is_never_a_formula(client, asked):
    from regard.studio.trace_export import _as_text

    assert _as_text('=HYPERLINK("http://evil.example")').startswith("'=")
    assert [_as_text(cell)[0] for cell in ("+1", "-1", "@a", "\tb")] == ["'"] * 4
    assert _as_text("a=b") == "a=b"


@pytest.mark.parametrize(
    "path",
    [
        "nowhere",
        "{id}/weights/99/0",
        "{id}/weights/0/99",
        "{id}/weights/0/-1",
        "{id}/weights/0/%C2%B2",
        "{id}/neurons/0/0/99",
        "{id}/neurons/0/mean/0",
        "{id}/export.exe",
        "{id}/weights/-1/0",
        "{id}/weights/x/0",
        "{id}/weights/0/0?what=secrets",
        "{id}/export.csv?site=99",
        "{id}/export.svg?site=0&head=99",
    ],
)
def test_what_does_not_exist(path, client, asked):
    found = asked("rnn", TEXT["rnn"])
    answer = client.get(f"/api/trace/{path.format(id=found['id'])}")
    assert answer.status_code in (404, 422)
    assert set(answer.json()) == {"error", "what", "where", "remedy"}
