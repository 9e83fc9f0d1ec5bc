"""Strict JSON: what two readers could understand differently, or what only hurts, is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ModelFileError
from regard.strict_json import loads

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)


@given(plain)
def test_reads_what_the_standard_library_writes(value):
    assert loads(json.dumps(value)) == value
    assert loads(json.dumps(value, ensure_ascii=False).encode()) == value


REFUSED = {
    '{"a": 1, "b": 2, "a": 1}': "the key 'a' appears twice",
    '[{"b": {"c": 1, "c": 2}}]': "the key 'c' appears twice",
    "[NaN]": "NaN is not a finite number",
    "[-Infinity]": "-Infinity is not a finite number",
    "[1e400]": "1e400 is not a finite number",
    "[" + "7" * 5000 + "]": "a whole number has 5,000 digits",
    '"\\ud800"': "this JSON has half a character (a lone surrogate)",
    '{"\\udc00": 1}': "this JSON has half a character (a lone surrogate)",
    '"\ud800"': "this JSON has half a character (a lone surrogate)",
    b'"\xff"': "this JSON is not UTF-8 at byte 1",
    "[" * 33 + "]" * 33: "this JSON is nested deeper than 32 levels",
    "[" * 100_000: "this JSON is nested deeper than 32 levels",
    '{"a":' * 50_000: "this JSON is nested deeper than 32 levels",
    "": "this is not JSON: Expecting value",
    "[1,]": "this is not JSON: ",
    "{'a': 1}": "this is not JSON: ",
    "[1] 2": "this is not JSON: Extra data",
    "\ufeff[]": "this is not JSON: ",
    "[01]": "this is not JSON: ",
    '"\n"': "this is not JSON: Invalid control character at",
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.items(), ids=range(len(REFUSED)))
def test_refuses(text, reason):
    with pytest.raises(ModelFileError) as fault:
        loads(text, where="some.json")
    assert fault.value.what.startswith(reason)
    assert fault.value.where.startswith("some.json")
    assert fault.value.remedy


def test_says_where():
    with pytest.raises(ModelFileError) as fault:
        loads('{"a": 1,\n "b": oops}', where="config.json")
    assert fault.value.where == "config.json, line 2, column 7"


def test_depth_and_size_are_limits_not_approximations():
    assert loads("[" * 32 + "]" * 32) is not None
    assert loads('{"a": [{"b": 1}]}', max_depth=3) == {"a": [{"b": 1}]}
    with pytest.raises(ModelFileError, match="nested deeper than 2 levels"):
        loads('{"a": [{"b": 1}]}', max_depth=2)
    assert loads('"é"', max_bytes=4) == "é"
    assert loads('"é"'.encode(), max_bytes=4) == "é"
    for text in ('"é"', '"é"'.encode()):
        with pytest.raises(ModelFileError, match="this JSON has 4 bytes, more than the 3 allowed"):
            loads(text, max_bytes=3)


def test_a_128_bit_counter_is_no_attack():
    assert loads(str(2**128)) == 2**128


@given(st.binary(max_size=60))
def test_any_bytes_give_a_value_or_one_kind_of_error(data):
    try:
        loads(data)
    except ModelFileError:
        return
    json.loads(data)
