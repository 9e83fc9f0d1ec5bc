"""Every worked example through the server: the lecture's numbers, and whatever a reader types."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.studio.refusal import Refusal
from regard.studio.routes_lesson import check_inputs
from regard.worked import EXAMPLES


def test_all_lessons_are_listed(client):
    found = client.get("/api/lessons").json()
    assert [lesson["name"] for lesson in found] == list(EXAMPLES)
    for lesson in found:
        assert lesson["inputs"] == json.loads(json.dumps(EXAMPLES[lesson["name"]].inputs))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_lectures_own_numbers(name, client):
    right = json.loads(json.dumps(EXAMPLES[name].work().as_dict()))
    assert client.post(f"/api/lessons/{name}", json={}).json() == right
    own = {"inputs": EXAMPLES[name].inputs}
    assert client.post(f"/api/lessons/{name}", json=own).json() == right


def test_a_readers_own_numbers(client):
    right = EXAMPLES["flying-arrows"].work(x=1.0).as_dict()
    found = client.post("/api/lessons/flying-arrows", json={"inputs": {"x": 1}}).json()
    assert found == json.loads(json.dumps(right))


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("score-variance", {"samples": 10**9}),
        ("position-table", {"width": 10**9}),
        ("position-table", {"words": ["a"] * 100}),
        ("parameter-count", {"width": 1 << 40}),
        ("rnn-step", {"x": [1e300, 0]}),
        ("rnn-step", {"x": "one"}),
        ("rnn-step", {"x": [[1.0], 2.0]}),
        ("rnn-step", {"y": [1.0]}),
        ("rnn-step", {"x": [1.0, 2.0, 3.0]}),
        ("six-word-loss", {"vocabulary": ["x" * 81]}),
        ("fading-gradient", {"distances": [True]}),
        ("tree-in-brackets", {"tree": "(S " * 1000}),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(name, inputs, client):
    answer = client.post(f"/api/lessons/{name}", json={"inputs": inputs})
    assert answer.status_code == 422
    assert answer.json()["what"]


def test_no_such_lesson(client):
    answer = client.post("/api/lessons/six-step", json={})
    assert (answer.status_code, answer.json()["remedy"]) == (404, "did you mean 'six-steps'?")


def like(value):
    """Values of the same kind as this one, and now and then of another."""
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int):
        return st.integers(-3, 40)
    if isinstance(value, float):
        return st.floats(-10, 10) | st.sampled_from([0.0, 1e-30, 1e9]) | st.integers(-3, 3)
    if isinstance(value, str):
        return st.text(max_size=5)
    if isinstance(value, list):
        return st.lists(like(value[0]), max_size=4)
    return st.dictionaries(st.text(max_size=4), like(next(iter(value.values()))), max_size=3)


@settings(
    max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(data=st.data())
@pytest.mark.parametrize("name", EXAMPLES)
def test_no_input_is_a_fault_of_ours(name, client, data):
    usual = EXAMPLES[name].inputs
    some = data.draw(st.lists(st.sampled_from(sorted(usual)), unique=True, max_size=3))
    inputs = {one: data.draw(like(usual[one])) for one in some}
    answer = client.post(f"/api/lessons/{name}", json={"inputs": inputs})
    assert answer.status_code in (200, 422), (inputs, answer.text)


def test_too_many_values():
    usual = {"table": [[1.0] * 128] * 64}
    with pytest.raises(Refusal, match="8,192 values"):
        check_inputs({"table": [[1.0] * 128] * 64}, usual)
