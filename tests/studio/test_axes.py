"""Every kind of axis reaches the page whole: what the schema promises is what is sent."""

import json

import pytest
from pydantic import TypeAdapter

from regard.studio.schema import TraceAbout
from regard.tasks.axis import Grid, Items, Times, Tokens

AXES = {
    "tokens": Tokens(("▁cat", "s"), (0, 0), ("cats",)),
    "grid": Grid(2, 3, "data:image/png;base64,AAAA", (1.0, 0.75)),
    "times": Times(
        (0.0, 0.04), (0.5, 0.25, 0.125), "data:image/png;base64,AAAA", "data:audio/wav;base64,AA=="
    ),
    "items": Items(("0.3", "0.1"), ((0.3,), (0.1,))),
}
SENT = TypeAdapter(TraceAbout.model_fields["axes"].annotation)


@pytest.mark.parametrize("kind", AXES)
def test_an_axis_is_sent_with_all_that_it_has(kind):
    axis = AXES[kind]
    sent = json.loads(json.dumps({"source": axis.describe()}))
    (read,) = SENT.validate_python(sent).values()
    assert read.kind == kind == sent["source"]["kind"]
    assert read.model_dump() == sent["source"]  # nothing is lost, and nothing is unknown
    assert tuple(read.pieces) == axis.pieces
    assert len(read.word_ids) == len(axis)


def test_a_kind_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="literal_error"):
        SENT.validate_python({"source": AXES["tokens"].describe() | {"kind": "smells"}})
