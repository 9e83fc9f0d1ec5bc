"""What goes into a store comes out of it; what is not whole is refused, and never left behind."""

import json
import mmap
import os
import signal
import subprocess
import sys
import tracemalloc
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data import columns
from regard.data.store import Frames, Ids, Pixels, Ragged, Store, write
from regard.errors import DataError, DiskError, UsageError


def ids(*rows):
    return [{"source": np.array(row, np.int64)} for row in rows]


def small(folder: Path) -> Store:
    """Two columns, seven rows, one of them empty."""
    draws = np.random.default_rng(3)
    rows = [
        {
            "items": draws.normal(size=(length, 3)).astype(np.float32),
            "target": draws.integers(0, 500, length),
        }
        for length in (2, 5, 0, 1, 11, 3, 1)
    ]
    return write(folder, rows, {"items": Frames(3), "target": Ids()})


def leavings(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.tuples(st.lists(st.integers(-(2**31), 2**31 - 1)), st.integers(0, 6)), max_size=20),
    st.data(),
)
def test_rows_come_back_as_they_were(tmp_path_factory, made, data):
    folder = tmp_path_factory.mktemp("stores") / "train"
    frames = [np.random.default_rng(n).normal(size=(n, 5)).astype(np.float32) for _, n in made]
    rows = [
        {"tokens": np.array(tokens, np.int64), "items": items}
        for (tokens, _), items in zip(made, frames, strict=True)
    ]
    store = write(folder, iter(rows), {"tokens": Ids(), "items": Frames(5)})
    assert len(store) == len(rows)
    assert store.names == ("tokens", "items")
    assert store.lengths("tokens").tolist() == [len(tokens) for tokens, _ in made]
    at = data.draw(st.lists(st.sampled_from(range(len(rows))), max_size=9) if rows else st.just([]))
    found = store.rows(np.array(at, np.int64))
    assert [row.tolist() for row in found["tokens"]] == [made[index][0] for index in at]
    for index, items in zip(at, found["items"], strict=True):
        np.testing.assert_array_equal(items, frames[index])
        alone = store.row(index)
        assert alone["tokens"].dtype == np.int32
        assert alone["tokens"].tolist() == made[index][0]
        np.testing.assert_array_equal(alone["items"], items)
    longest = max((len(made[index][0]) for index in at), default=0)
    padded = store.padded("tokens", at, longest + 2, fill=-7)
    assert padded.dtype == np.int64
    assert padded.tolist() == [made[i][0] + [-7] * (longest + 2 - len(made[i][0])) for i in at]
    wide = store.padded("items", at, 6)
    assert wide.shape == (len(at), 6, 5)
    for index, items in zip(at, wide, strict=True):
        np.testing.assert_array_equal(items[: len(frames[index])], frames[index])
        assert not items[len(frames[index]) :].any()


@pytest.mark.parametrize(
    ("rows", "size"),
    [([[0, 65_535], [3]], 6), ([[0, 65_536], [3]], 12), ([[5], [-1]], 8), ([[2], [], [9, 1]], 6)],
)
def test_ids_take_two_bytes_when_two_are_enough(tmp_path, rows, size):
    store = write(tmp_path / "train", ids(*rows), {"source": Ids()})
    assert (tmp_path / "train" / "source.values.bin").stat().st_size == size
    assert [store.row(n)["source"].tolist() for n in range(len(rows))] == rows


def test_a_wide_id_late_in_the_corpus_widens_what_was_written(tmp_path, monkeypatch):
    rows = [list(range(n % 13)) for n in range(200)] + [[70_000], [5]]
    at_once = write(tmp_path / "once", ids(*rows), {"source": Ids()})
    monkeypatch.setattr(columns, "WAITING", 17)
    monkeypatch.setattr(columns, "COPY", 64)
    piecewise = write(tmp_path / "pieces", ids(*rows), {"source": Ids()})
    assert [row.tolist() for row in piecewise.rows(range(202))["source"]] == rows
    assert piecewise.fingerprint == at_once.fingerprint
    assert leavings(tmp_path / "once") == leavings(tmp_path / "pieces")
    piecewise.verify(whole=True)


def test_the_fingerprint_is_of_the_contents(tmp_path):
    first = small(tmp_path / "first")
    assert first.fingerprint == small(tmp_path / "second").fingerprint
    assert first.fingerprint == Store.open(tmp_path / "first").fingerprint
    kinds = {"source": Ids()}
    prints = {
        write(tmp_path / str(number), ids(*rows), kinds).fingerprint
        for number, rows in enumerate([[[1, 2], [3]], [[1], [2, 3]], [[1, 2], [4]], [[1, 2, 3]]])
    }
    assert len(prints) == 4


def test_building_takes_constant_memory(tmp_path):
    rows = ({"source": np.arange(500, dtype=np.int32)} for _ in range(4_000))
    tracemalloc.start()
    store = write(tmp_path / "train", rows, {"source": Ids()})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "train" / "source.values.bin").stat().st_size == 4_000_000
    assert peak < 3_000_000
    assert store.lengths("source").sum() == 2_000_000


def test_reading_is_mapped_not_loaded(tmp_path):
    found = small(tmp_path / "train").lengths("target")
    while not isinstance(found, mmap.mmap):
        found = found.base
    assert len(found) == 7 * 4


def test_a_row_array_may_be_used_again_by_its_owner(tmp_path):
    def rows():
        scratch = np.zeros(3, np.int32)
        for number in range(5):
            scratch[:] = number
            yield {"source": scratch}

    store = write(tmp_path / "train", rows(), {"source": Ids()})
    assert store.padded("source", range(5), 3).tolist() == [[number] * 3 for number in range(5)]


def test_progress_is_told_and_may_end_the_build(tmp_path):
    heard = []
    write(tmp_path / "first", ids(*[[1]] * 3000), {"source": Ids()}, heard.append)
    assert heard == [1024, 2048, 3000]

    def stop(rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "second", ids(*[[1]] * 3000), {"source": Ids()}, stop)
    assert leavings(tmp_path) == ["first"]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (
            {"source": [1.5]},
            "column 'source' has integers in a row, not float64 of shape (1,)",
        ),
        (
            {"source": [[1]]},
            "column 'source' has integers in a row, not int64 of shape (1, 1)",
        ),
        ({"source": 1}, "column 'source' has integers in a row, not int64 of shape ()"),
        ({"source": [2**31]}, "column 'source' has the id 2147483648"),
        ({"source": [1, -(2**40)]}, "column 'source' has the id -1099511627776"),
        ({"target": [1]}, "the columns are source, not target"),
        ({"source": [1], "more": [1]}, "the columns are source, not source, more"),
    ],
)
def test_a_wrong_row_is_named_and_nothing_stays(tmp_path, row, what):
    rows = [*ids([1], [2]), {name: np.array(value) for name, value in row.items()}]
    with pytest.raises(DataError) as caught:
        write(tmp_path / "train", rows, {"source": Ids()})
    assert caught.value.what == what
    assert "row" in caught.value.where
    assert leavings(tmp_path) == []


def test_frames_of_another_width(tmp_path):
    rows = [{"items": np.zeros((2, 3))}, {"items": np.zeros((2, 4))}]
    with pytest.raises(DataError, match=r"frames of 3 numbers, not float64 of shape \(2, 4\)"):
        write(tmp_path / "train", rows, {"items": Frames(3)})


def test_an_existing_folder_is_not_overwritten(tmp_path):
    (tmp_path / "train").mkdir()
    with pytest.raises(UsageError, match="is there already"):
        write(tmp_path / "train", ids([1]), {"source": Ids()})


KILLED = """
import os, signal, sys, numpy as np
from pathlib import Path
from regard.data import columns
from regard.data.store import Ids, write
columns.WAITING = 10
def rows():
    for number in range(1000):
        if number == 500:
            os.kill(os.getpid(), signal.SIGKILL)
        yield {"source": np.arange(number % 7)}
write(Path(sys.argv[1]), rows(), {"source": Ids()})
"""

FULL = """
import resource, sys, numpy as np
from pathlib import Path
from regard.data.store import Ids, write
from regard.errors import DiskError
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    write(Path(sys.argv[1]), ({"source": np.arange(50)} for _ in range(9000)), {"source": Ids()})
except DiskError as fault:
    print(fault.what)
"""


def test_a_killed_build_leaves_nothing_that_looks_finished(tmp_path):
    """T1: only a folder that a sweep knows by its name."""
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "train"], check=False)
    assert done.returncode == -signal.SIGKILL
    [left] = leavings(tmp_path)
    assert left.startswith(".tmp-")
    assert left.endswith("-train")
    with pytest.raises(DataError, match="there is no prepared data"):
        Store.open(tmp_path / "train")
    assert len(write(tmp_path / "train", ids([1]), {"source": Ids()})) == 1


def test_a_disk_that_takes_no_more(tmp_path):
    """T3: the build says so, and its half goes away."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path / "train"], check=True, capture_output=True, text=True
    )
    assert done.stdout == "cannot write the prepared data: File too large\n"
    assert leavings(tmp_path) == []


def test_a_fault_at_any_call_leaves_all_or_nothing(tmp_path, monkeypatch):
    """Fault at call 1, 2, 3, ... until the build gets through."""
    calls = {(Path, "open"), (Path, "mkdir"), (Path, "rename"), (os, "fsync"), (os, "open")}
    for point in count(1):
        left = point

        def failing(real):
            def call(*args, **options):
                nonlocal left
                left -= 1
                if left == 0:
                    raise OSError(28, "No space left on device")
                return real(*args, **options)

            return call

        with monkeypatch.context() as patch:
            for owner, name in calls:
                patch.setattr(owner, name, failing(getattr(owner, name)))
            try:
                small(tmp_path / "train")
            except DiskError:
                assert left <= 0
            else:
                assert left > 0
                break
        if (tmp_path / "train").exists():  # the fault came after the rename
            Store.open(tmp_path / "train").verify(whole=True)
            (tmp_path / "train").rename(tmp_path.parent / f"{tmp_path.name}-{point}")
        assert leavings(tmp_path) == []
    assert point > 20


def change(folder: Path, edit) -> None:
    header = json.loads((folder / "header.json").read_text())
    edit(header)
    (folder / "header.json").write_text(json.dumps(header))


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        (lambda h: h.update(version=2), "this data has format 2; this regard reads 1"),
        (lambda h: h.update(version="1"), "this data has format 1; this regard reads 1"),
        (lambda h: h.update(format="zip"), "this is not prepared data: format: "),
        (lambda h: h.pop("rows"), "this is not prepared data: rows: missing"),
        (lambda h: h.update(rows=-1), "this is not prepared data: rows: "),
        (lambda h: h.update(rows=7.0), "this is not prepared data: rows: "),
        (lambda h: h.update(rows=2**50), "this is not prepared data: rows: "),
        (lambda h: h.update(rows=8), "items.offsets.bin has 64 bytes, not 72"),
        (lambda h: h.update(columns=[]), "this is not prepared data: columns: "),
        (lambda h: h.update(pickle="x"), "this is not prepared data: pickle: no such setting"),
        (lambda h: h["columns"].append(h["columns"][0]), "a column is named twice"),
        (lambda h: h["columns"][0].update(name="../items"), "this is not prepared data: columns"),
        (lambda h: h["columns"][0].update(width=10**12), "this is not prepared data: columns"),
        (lambda h: h["columns"][0].update(stored="object"), "this is not prepared data: columns"),
        (lambda h: h["columns"][0].update(steps=24), "items.values.bin has 276 bytes, not 288"),
        (lambda h: h["columns"][0]["files"].pop("lengths"), "this is not prepared data: columns"),
    ],
)
def test_a_header_is_believed_only_when_all_fits(tmp_path, edit, what):
    small(tmp_path / "train")
    change(tmp_path / "train", edit)
    with pytest.raises(DataError) as caught:
        Store.open(tmp_path / "train")
    assert what in caught.value.what
    assert caught.value.remedy == "delete this folder: it is built again from your files"


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b"\xff", b'{"rows": 1, "rows": 1}', b"[" * 60_000, b" " * 70_000]
)
def test_a_header_that_is_no_header(tmp_path, text):
    small(tmp_path / "train")
    (tmp_path / "train" / "header.json").write_bytes(text)
    with pytest.raises(DataError, match="this is not prepared data"):
        Store.open(tmp_path / "train")


@pytest.mark.parametrize("part", ["values", "offsets", "lengths"])
def test_missing_and_cut_files(tmp_path, part):
    small(tmp_path / "train")
    path = tmp_path / "train" / f"target.{part}.bin"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(DataError, match=f"target.{part}.bin has {len(whole) - 1} bytes, not"):
        Store.open(tmp_path / "train")
    path.unlink()
    with pytest.raises(DataError, match=f"target.{part}.bin"):
        Store.open(tmp_path / "train")


@pytest.mark.parametrize("offsets", [[0, -1], [0, 10**9], [5, 2], [-(2**63), 1]])
def test_offsets_that_lead_outside(tmp_path, offsets):
    small(tmp_path / "train")
    path = tmp_path / "train" / "target.offsets.bin"
    damaged = np.fromfile(path, "<i8")
    damaged[1:3] = offsets
    damaged.tofile(path)
    store = Store.open(tmp_path / "train")
    with pytest.raises(DataError, match=r"target.values.bin is not what was written"):
        store.rows([0, 1, 2])


def test_rows_that_are_not_there(tmp_path):
    store = small(tmp_path / "train")
    for index in (-1, 7):
        with pytest.raises(IndexError, match=r"outside range\(7\)"):
            store.row(index)
    with pytest.raises(ValueError, match="a row of 11 steps does not fit into 10"):
        store.padded("target", [3, 4], 10)


def test_files_that_change_are_noticed(tmp_path):
    """T16: sizes and sampled blocks at each epoch; a touched file as a whole."""
    rows = ids(*[list(range(1000))] * 100)
    write(tmp_path / "train", rows, {"source": Ids()})
    path = tmp_path / "train" / "source.values.bin"
    store, before, original = Store.open(path.parent), path.stat().st_mtime_ns, path.read_bytes()
    store.verify()

    def put(data: bytes, time: int) -> None:
        path.write_bytes(data)
        os.utime(path, ns=(time, time))

    def flipped(at: int) -> bytes:
        return original[:at] + bytes([original[at] ^ 1]) + original[at + 1 :]

    for at in (0, len(original) - 1):
        put(flipped(at), before)
        with pytest.raises(DataError, match=r"source.values.bin is not what was written"):
            store.verify()
    put(flipped(5000), before)  # between two sampled blocks, its time set back
    store.verify()
    with pytest.raises(DataError):
        store.verify(whole=True)
    put(flipped(5000), before + 10**9)
    with pytest.raises(DataError):
        store.verify()
    put(original, before + 10**9)
    store.verify()
    put(original[:-2], before)
    with pytest.raises(DataError):
        store.verify()
    path.unlink()
    with pytest.raises(DataError):
        store.verify()


def test_many_rows_at_once_give_the_same_files(tmp_path):
    rows = [{"a": np.arange(n, dtype=np.int32), "b": np.full(n % 3, 7)} for n in (4, 0, 70_000, 1)]
    one = write(tmp_path / "one", rows, {"a": Ids(), "b": Ids()})
    blocks = [
        {name: Ragged.of([row[name] for row in part]) for name in "ab"}
        for part in (rows[:2], rows[2:])
    ]
    heard = []
    many = write(tmp_path / "many", blocks, {"a": Ids(), "b": Ids()}, heard.append)
    assert many.fingerprint == one.fingerprint
    assert heard == [4]
    many.verify(whole=True)


def test_blocks_that_do_not_fit_together_are_refused(tmp_path):
    two, one = (Ragged(np.arange(n), np.ones(n, np.int64)) for n in (2, 1))
    with pytest.raises(DataError, match="the columns have not as many rows"):
        write(tmp_path / "x", [{"a": two, "b": one}], {"a": Ids(), "b": Ids()})
    wrong = Ragged(np.arange(5), np.array([2, 2]))
    with pytest.raises(DataError, match="column 'a' has 5 values, not the 4 of its rows"):
        write(tmp_path / "y", [{"a": wrong}], {"a": Ids()})


def test_pixels_are_bytes_and_the_same_picture_is_stored_once(tmp_path):
    random = np.random.default_rng(5)
    first, second = (random.integers(0, 256, (n, 6), dtype=np.uint8) for n in (7, 11))
    rows = [first, second, first, first[:3], second]
    kinds = {"source": Pixels(6), "target": Ids()}
    ids = [np.array([n], np.int32) for n in range(5)]
    both = [{"source": one, "target": two} for one, two in zip(rows, ids, strict=True)]
    for name, rows_of in (
        ("one", both),
        ("all", [{n: Ragged.of([row[n] for row in both]) for n in kinds}]),
    ):
        kept = write(tmp_path / name, rows_of, kinds)
        assert (tmp_path / name / "source.values.bin").stat().st_size == (7 + 11 + 3) * 6
        assert kept.lengths("source").tolist() == [7, 11, 7, 3, 11]
        for number, row in enumerate(rows):
            found = kept.row(number)["source"]
            assert found.dtype == np.uint8
            assert np.array_equal(found, row)
        kept.verify(whole=True)
    with pytest.raises(DataError, match="8 bits"):
        write(tmp_path / "no", [{"source": first.astype(np.float32), "target": ids[0]}], kinds)
