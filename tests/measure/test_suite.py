"""No test times anything: the clock is told what to say, and the tables are checked against it."""

import json

import pytest
import torch

from regard.measure import attention_speed, instruments, length_cost, model_speed, suite
from regard.measure.figures import Ratio, Share, Table
from regard.measure.instruments import Timing
from regard.measure.scene import Scene, TorchTransformer

CPU = torch.device("cpu")


def took(**seconds: float) -> dict[str, Timing]:
    return {name: Timing(value, value, value, 3) for name, value in seconds.items()}


def test_ways_of_attention_are_compared_with_torch_and_the_floor():
    found = {
        attention_speed.TORCH: Timing(2.0, 2.0, 2.0, 3),
        "scaled dot": Timing(1.0, 1.0, 1.0, 3),
    }
    found["linear"] = Timing(4.0, 4.0, 4.0, 3)
    work = 4 * attention_speed.HEADS * attention_speed.WIDTH * 100**2
    torch_row, ours, linear = attention_speed.way_rows(100, found, rate=float(work))
    assert (torch_row["x torch"], ours["x torch"], linear["x torch"]) == (1.0, 2.0, 0.5)
    assert (torch_row["of the floor"], ours["of the floor"]) == (Share(0.5), Share(1.0))
    assert linear["of the floor"] is None, "it does other products"


def test_a_training_row():
    own, peer = Timing(2.0, 2.0, 2.0, 3), Timing(3.0, 3.0, 3.0, 3)
    row = model_speed.training_row("ours", own, peer, real=500.0, work=80.0, rate=100.0)
    assert row["tokens/s"] == 250
    assert row["x nn.Transformer"] == Ratio(1.5)
    assert row["of the floor"] == Share(0.4)


def test_operations_are_six_a_weight_and_token():
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.LayerNorm(5))
    assert model_speed.operations(model, 7.0) == 6 * 15 * 7


def test_decoding_rows():
    ours, other = model_speed.decoding_rows(2, 4, 10, took(regard=5.0, other=20.0))
    assert (ours["a step"], ours["symbols/s"], ours["x"]) == (0.5, 4, None)
    assert (other["a step"], other["symbols/s"], other["x"]) == (2.0, 1, 4.0)


def test_a_row_of_looking():
    row = attention_speed.looking_row(32, took(unwatched=2.0, watched=3.0))
    assert row == {"length": 32, "unwatched": 2.0, "watched": 1.5}


class Small:
    """Sizes that a test can pay for."""

    width, heads, layers, inner, symbols, tokens = 64, 1, 1, 32, 50, 256


@pytest.fixture
def small(monkeypatch):
    for name in ("width", "heads", "layers", "inner", "symbols", "tokens"):
        monkeypatch.setattr(Scene, name, getattr(Small, name))

    # Every work is done once, and each is said to have taken a second.
    def once(works, *_, **__):
        for work in works.values():
            work()
        return {name: Timing(1.0, 1.0, 1.0, 1) for name in works}

    for module in (attention_speed, model_speed, length_cost, instruments):
        monkeypatch.setattr(module, "timed", once)


@pytest.mark.slow
def test_hugging_face_is_a_peer_where_it_is_installed(small):
    (table,) = model_speed.decoding(Scene(CPU, quick=True))
    assert model_speed.HUGGING_FACE in {row["program"] for row in table.rows}


def test_all_of_it_once(small, monkeypatch):
    monkeypatch.setattr(model_speed.importlib.util, "find_spec", lambda _name: None)
    told, working = [], []
    report = suite.measure_all(
        "cpu", quick=True, tell=told.append, working=lambda *now: working.append(now)
    )
    assert tuple(told) == report.tables
    assert working == [(name, number) for number, name in enumerate(suite.PARTS)]
    assert [table.title.split()[0].rstrip(":") for table in told] == [
        "The", "Attention", "Multi-head", "Training", "Decoding", "Looking", "Time", "Memory",
    ]  # fmt: skip
    assert all(table.rows for table in told)
    assert json.loads(json.dumps(report.as_dict(), allow_nan=False))["tables"]


def test_the_peer_is_the_same_model(small):
    """Same sizes, so as many weights but for the biases and gains each has of its own."""
    scene = Scene(CPU)
    ours, theirs = scene.model("transformer"), TorchTransformer(scene)
    count = [
        sum(weight.numel() for weight in model.parameters() if weight.dim() > 1)
        for model in (ours, theirs)
    ]
    assert count[0] == count[1]


def test_the_peer_says_one_symbol_a_step(small):
    said = TorchTransformer(Scene(CPU)).eval().greedy(torch.ones(3, 5, dtype=torch.long), 4)
    assert said.shape == (3, 4)


def test_batches_hold_as_many_tokens_as_they_say(small):
    for batch in Scene(CPU).batches(2):
        assert batch.count == int((batch.targets != -100).sum()) > 0
        assert batch.targets.numel() <= Small.tokens


def test_a_part_that_fails_leaves_the_others_alone(small, monkeypatch):
    def fails(*_):
        raise RuntimeError("no kernel for this\nat line 7")
        yield

    def made(*_):
        yield Table("made", [{"a": 1}])

    monkeypatch.setattr(suite, "training", fails)
    for name in ("attention", "decoding", "looking", "length_cost"):
        monkeypatch.setattr(suite, name, made)
    titles = [table.title for table in suite.measure_all("cpu").tables]
    assert titles == ["The floor", "made", "training: not measured", "made", "made", "made"]
