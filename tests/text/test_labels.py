"""Labels: a closed list in order; a name that is not on it is an error with the nearest that is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError, ModelFileError, UsageError
from regard.text import Labels
from regard.text.labels import MOST_LABELS

name = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1)


@given(st.lists(name, min_size=1))
def test_names_and_ids(names):
    labels = Labels.train(iter(names))
    assert labels.size == len(set(names))
    assert [labels.decode(labels.encode(name)) for name in names] == names
    assert sorted({labels.encode(name) for name in names}) == list(range(labels.size))
    assert Labels.from_json(labels.to_json()) == labels == Labels.train(reversed(names))


def test_an_unknown_name_is_told_the_nearest():
    labels = Labels.train(["NOUN", "VERB", "ADJ"])
    with pytest.raises(DataError) as fault:
        labels.encode("NUON")
    assert fault.value.what == "there is no label 'NUON'"
    assert fault.value.remedy == "did you mean 'NOUN'?"
    with pytest.raises(DataError) as fault:
        labels.encode("x")
    assert fault.value.remedy == "choose one of: ADJ, NOUN, VERB"


def test_a_long_list_is_not_recited():
    with pytest.raises(DataError) as fault:
        Labels.train(f"tag{number}" for number in range(2000)).encode("?")
    assert len(fault.value.remedy) <= 200


@pytest.mark.parametrize("number", [-1, 2])
def test_ids_out_of_range(number):
    with pytest.raises(UsageError) as fault:
        Labels.train(["a", "b"]).decode(number)
    assert fault.value.what == f"there is no label {number}"


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ([], "there are no labels to learn"),
        (["fine", ""], "'' is not a label"),
        (["a\x1b"], "'a\\x1b' is not a label"),
        (["\ud800"], "character 1 is half a character (U+D800)"),
        (
            map(str, range(MOST_LABELS + 1)),
            "there are more than 10,000 different labels, such as '10000'",
        ),
    ],
    ids=("none", "empty", "control", "surrogate", "text, not labels"),
)
def test_what_is_no_label(names, reason):
    with pytest.raises(DataError) as fault:
        Labels.train(names)
    assert fault.value.what == reason


@pytest.mark.parametrize(
    "names", [[], ["b", "a"], ["a", "a"], [""], ["a\n"], [1], "ab", None, {"a": 0}], ids=repr
)
def test_broken_files(names):
    document = {"format": "regard-labels", "version": 1, "names": names}
    with pytest.raises(ModelFileError):
        Labels.from_json(json.dumps(document))
