"""A trace on disk: what is saved is loaded, and nothing else is."""

import io
import json
import zipfile

import numpy as np
import pytest

from regard.errors import DiskError, ModelFileError, UsageError
from regard.traces import trace_file
from regard.traces.trace import Trace, look_inside
from tests.house.tree import ROOT
from tests.tasks.kit import task_of
from tests.traces.kit import BEAM, KINDS, model_of, traced


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_is_loaded(kind, tmp_path):
    seen, path = traced(kind), tmp_path / "a.npz"
    seen.save(path)
    again = Trace.load(path)
    assert again.describe() == seen.describe()
    assert (again.answer, again.steps, again.tree) == (seen.answer, seen.steps, seen.tree)
    assert again.axes == seen.axes
    for own, other in zip(seen.sites, again.sites, strict=True):
        assert own.arrays().keys() == other.arrays().keys()
        for name, array in own.arrays().items():
            assert np.array_equal(array, other.arrays()[name])
    assert again.to_bytes() == seen.to_bytes() == path.read_bytes()


def test_any_zip_reader_and_numpy_can_read_it(tmp_path):
    seen, path = traced("transformer"), tmp_path / "a.npz"
    seen.save(path)
    with np.load(path, allow_pickle=False) as arrays:
        assert json.loads(arrays["header"].tobytes()) == seen.describe()
        assert np.array_equal(arrays["0.weights"], seen.sites[0].weights)


def test_strange_text_comes_back(tmp_path):
    text = 'le "chat" \u202e </script> \x00\u2028 שלום 👩‍🚀'
    seen = look_inside(task_of("translate"), model_of("rnn"), text, BEAM)
    seen.save(tmp_path / "a.npz")
    assert Trace.load(tmp_path / "a.npz").question == text


def test_nothing_found_is_null_in_json_and_comes_back(tmp_path):
    from dataclasses import replace

    seen = traced("transformer")
    broken = replace(seen, answer=replace(seen.answer, score=float("-inf")))
    assert broken.describe()["answer"]["score"] is None
    broken.save(tmp_path / "a.npz")
    assert Trace.load(tmp_path / "a.npz").answer.score == float("-inf")


def parts(kind="rnn"):
    seen = traced(kind)
    arrays = {
        f"{number}.{name}": array
        for number, site in enumerate(seen.sites)
        for name, array in site.arrays().items()
    }
    return seen.describe(), arrays


def load(content, tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    return Trace.load(path)


def refused(content, tmp_path, match=None):
    with pytest.raises(ModelFileError, match=match):
        load(content, tmp_path)


def changed(value, path, new):
    """A copy of a JSON tree with one place changed."""
    tree = json.loads(json.dumps(value))
    place = tree
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = new
    return tree


@pytest.mark.parametrize(
    ("path", "new", "match"),
    [
        (["format"], "other", "no trace"),
        (["version"], 5, "format version 5, and versions 1 to 4"),
        (["version"], None, "format version None"),
        (["more"], 1, "not known here"),
        (["task"], 7, "wrong at task"),
        (["axes", "source", "kind"], "smell", "wrong at axes"),
        (["question"], 3, "wrong at question"),
        (["steps", 0, "log_probability"], "a", "wrong at steps.0.log_probability"),
        (["steps", 0, "more"], 1, "not known here"),
        (["steps", 0, "place"], 99, "a place that the source does not have"),
        (["axes", "source", "word_ids"], [0], "do not fit its pieces"),
        (["axes", "source", "word_ids"], [0, 1, 2, 99], "do not fit its pieces"),
        (["sites", 0, "queries"], "nowhere", "an axis that is not there"),
        (["sites", 0, "kind"], "magic", "wrong at sites.0.kind"),
        (["sites", 0, "shape"], [1, 10**9, 10**9], "its axes are"),
        (["sites", 0, "heads"], 0, "cannot be"),
        (["sites", 0, "width"], 10**15, "too large"),
        (["sites", 0, "width"], -1, "cannot be"),
        (["sites", 0, "index"], 4, "cannot be"),
        (["sites", 0, "has_bias"], True, "not those of its header"),
        (["sites"], [], "not those of its header"),
        (["tree", 0, 0, "fate"], "eaten", "wrong at tree"),
    ],
)
def test_a_header_that_is_not_ours(path, new, match, tmp_path):
    document, arrays = parts()
    refused(trace_file.packed(changed(document, path, new), arrays), tmp_path, match)


def without_places(old):
    for step in old["steps"]:
        del step["place"]


def without_ribbons(old):
    without_places(old)
    del old["ribbons"]
    for site in old["sites"]:
        del site["features"]


def without_kinds(old):
    del old["answer"]["words"]
    for axis in old["axes"].values():
        del axis["kind"]


@pytest.mark.parametrize(
    ("version", "lacks"),
    [
        (3, [without_places]),  # steps did not say where in the source they stand
        (2, [without_ribbons]),  # nor was there a score that notices more than query and key
        (1, [without_kinds, without_ribbons]),  # axes were tokens, without a kind
    ],
)
def test_an_older_version_is_still_read(version, lacks, tmp_path):
    document, arrays = parts()
    old = json.loads(json.dumps(document))
    old["version"] = version
    for take in lacks:
        take(old)
    path = tmp_path / "old.npz"
    path.write_bytes(trace_file.packed(old, arrays))
    assert Trace.load(path).describe() == document


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda a: a.astype(np.float64), "belongs"),
        (lambda a: a[:, :, :-1], "belongs"),
        (lambda a: np.asfortranarray(np.repeat(a, 2, 1)), "belongs"),
        (lambda a: a * np.nan, "not finite"),
        (lambda a: a + np.inf, "not finite"),
    ],
)
def test_an_array_that_is_not_ours(make, match, tmp_path):
    document, arrays = parts()
    arrays["0.weights"] = make(arrays["0.weights"])
    refused(trace_file.packed(document, arrays), tmp_path, match)


def rezipped(change):
    """The file of a trace, its entries changed."""
    document, arrays = parts()
    with zipfile.ZipFile(io.BytesIO(trace_file.packed(document, arrays))) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in change(entries).items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "change",
    [
        lambda e: {**e, "more.npy": b""},
        lambda e: {**e, "../evil.npy": b"x"},
        lambda e: {k: v for k, v in e.items() if k != "header.npy"},
        lambda e: {k: v for k, v in e.items() if k != "0.key.npy"},
        lambda e: {**e, "0.key.npy": e["0.key.npy"][:-4]},
        lambda e: {**e, "0.key.npy": e["0.key.npy"] + bytes(4)},
        lambda e: {**e, "0.key.npy": b""},
        lambda e: {**e, "0.key.npy": b"not an array at all"},
        lambda e: {**e, "header.npy": e["0.key.npy"]},
        lambda e: {**e, "header.npy": e["header.npy"][:90]},
        lambda e: {**e, "0.key.npy": e["0.key.npy"].replace(b"'<f4'", b"'|O4'")},
        lambda e: {**e, "0.key.npy": e["0.key.npy"].replace(b"\x01\x00", b"\x09\x00", 1)},
    ],
)
def test_entries_that_are_not_ours(change, tmp_path):
    refused(rezipped(change), tmp_path)


def test_two_entries_of_one_name(tmp_path):
    document, arrays = parts()
    buffer = io.BytesIO(trace_file.packed(document, arrays))
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("0.key.npy", b"other")
    refused(buffer.getvalue(), tmp_path, "one name")


@pytest.mark.parametrize("method", [1, 8, 12, 14, 93, 99])
def test_a_way_of_packing_that_is_not_ours(method, tmp_path):
    """bzip2's reader takes a wound for a fault of the disk, and zstd is not everywhere."""
    content = bytearray(traced("rnn").to_bytes())
    place = content.index(b"PK\x01\x02") + 10
    assert content[place] == zipfile.ZIP_DEFLATED
    content[place] = method
    if method == zipfile.ZIP_DEFLATED:
        load(bytes(content), tmp_path)
    else:
        refused(bytes(content), tmp_path, "packed in a way that traces never are")


def test_every_cut_is_noticed(tmp_path):
    content = traced("rnn").to_bytes()
    for end in range(0, len(content), 97):
        refused(content[:end], tmp_path)


def test_every_wound_is_noticed_or_harmless(tmp_path):
    """A flipped byte is refused, or it hit one that means nothing (a date, an attribute)."""
    seen = traced("rnn")
    content = seen.to_bytes()
    for place in range(0, len(content), 53):
        wounded = bytearray(content)
        wounded[place] ^= 0x55
        try:
            again = load(bytes(wounded), tmp_path)
        except ModelFileError:
            continue
        assert again.describe() == seen.describe()
        assert again.to_json() == seen.to_json()


def test_what_is_no_file(tmp_path):
    with pytest.raises(ModelFileError, match=r"there is no trace a\.npz"):
        Trace.load(tmp_path / "a.npz")
    with pytest.raises(ModelFileError, match="is a folder"):
        Trace.load(tmp_path)
    refused(b"", tmp_path, "damaged")
    refused(b"PK\x03\x04 not really", tmp_path, "damaged")


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(trace_file, "MOST_HEADER", 1000)
    refused(traced("rnn").to_bytes(), tmp_path, "the header of this trace has")
    document, arrays = parts()
    large = changed(document, ["sites", 0, "value_width"], 10**12)
    refused(trace_file.packed(large, arrays), tmp_path)


def test_half_a_character_is_not_saved(tmp_path):
    from dataclasses import replace

    with pytest.raises(UsageError, match="half a character"):
        replace(traced("rnn"), question="\ud800").save(tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(DiskError):
        traced("rnn").save(tmp_path / "no" / "a.npz")


def test_every_field_is_documented():
    guide = (ROOT / "docs" / "trace-format.md").read_text("utf-8")
    seen = traced("transformer-alibi").describe()
    fields = {*seen, *seen["answer"], *seen["steps"][0], *seen["sites"][0], *seen["tree"][0][0]}
    fields |= {
        *seen["axes"]["source"],
        *seen["steps"][0]["alternatives"][0],
        *traced("rnn").sites[0].arrays(),
    }
    assert not [name for name in fields if f"`{name}`" not in guide]


def described(head: bytes) -> bytes:
    """A trace whose first array has this header."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        size = len(head).to_bytes(2, "little")
        archive.writestr("header.npy", b"\x93NUMPY\x01\x00" + size + head)
    return buffer.getvalue()


@pytest.mark.parametrize("head", [b"(" * 3000, b"{'descr': '''" + b"a" * 100, b"", b"\xff" * 50])
def test_the_header_of_an_array_is_not_evaluated(head, tmp_path):
    """NumPy's own reader raised tokenize.TokenError."""
    refused(described(head), tmp_path, "is not one that traces have")


def test_a_trace_of_one_word_again_and_again_is_read_after_it_was_saved(tmp_path):
    """It would shrink to less than a thousandth, as only traps do: so it is not compressed."""
    document, arrays = parts()
    content = trace_file.packed(changed(document, ["question"], "na " * 200_000), arrays)
    assert load(content, tmp_path).question == "na " * 200_000


def test_a_header_that_unpacks_to_far_more_than_it_is(tmp_path):
    """61 kB took 1.8 GB."""
    buffer = io.BytesIO()
    text = np.frombuffer(b"[" + b"[]," * 2_000_000 + b"[]]", np.uint8)
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("header.npy", "w") as stream,
    ):
        np.lib.format.write_array(stream, text)
    refused(buffer.getvalue(), tmp_path, "this trace unpacks to far more than it is")
