"""Calls that nobody would make, by the thousand: no fault of ours, and nothing the document does not say."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import CHECKS, load_all_checks
from starlette.testclient import TestClient

from regard.studio.app import create_app
from tests.studio.conftest import BASE

CALLS = 20_000
HOST = {"host": "127.0.0.1:8321"}

load_all_checks()
# A limit on the cost of a text is no matter of its shape, so what fits the schema may still be refused.
LEFT_OUT = CHECKS.get_by_names(["positive_data_acceptance"])


@pytest.fixture(scope="module")
def operations(make):
    """Each operation of the application's own OpenAPI document, and a trace that exists."""
    studio = make()

    async def stay():
        """Every call of the tool starts the application, and ends it."""

    studio.close = stay
    _bound(studio)
    app = create_app(studio)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=HOST)
    found = [one.ok() for one in schema.get_all_operations()]
    client = TestClient(app, base_url=BASE)
    trace = client.post("/api/trace", json={"run": "transformer", "text": "a b c"}).json()["id"]
    yield trace, found
    studio.queue.stop()


def _bound(studio):
    """A stream without end ends after its first part; a process that would train is not begun."""
    listen = studio.broadcast.listen

    def first(after=-1):
        stream = listen(after)

        async def once():
            yield await anext(stream)
            await stream.aclose()

        return once()

    async def start():
        pass

    studio.broadcast.listen, studio.demo.start = first, start


def fuzz(operations, each):
    trace, found = operations
    calls = 0
    for operation in found:

        @settings(
            max_examples=each,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(), real=st.booleans())
        def call(case, real):
            nonlocal calls
            calls += 1
            if real:
                _make_real(case, trace)
            answer = case.call(headers=HOST, timeout=120)
            case.validate_response(answer, excluded_checks=LEFT_OUT)
            assert answer.status_code < 500, answer.text

        call()
    return calls


def _make_real(case, trace):
    """Point a call at something that exists, so that it gets past the first refusal."""
    if case.path_parameters and "id" in case.path_parameters:
        case.path_parameters["id"] = trace
    if case.path_parameters and "name" in case.path_parameters:
        case.path_parameters["name"] = "rnn" if "runs" in case.path else "soft-table"
    if isinstance(case.body, dict) and "run" in case.body:
        case.body["run"] = "rnn"


def test_every_operation_is_called(operations):
    found = {one.path for one in operations[1]}
    assert len(operations[1]) >= 19
    assert {"/api/events", "/api/demo", "/api/trace"} <= found


def test_a_few_calls_of_every_operation(operations):
    fuzz(operations, 10)


@pytest.mark.slow
def test_thousands_of_calls(operations):
    """Operations without parameters have one call in them; the others make up the number."""
    trace, found = operations
    open_ended = [one for one in found if one.path_parameters or one.body]
    fuzz((trace, found), 50)
    assert fuzz((trace, open_ended), -(-CALLS // len(open_ended))) >= CALLS * 0.9
