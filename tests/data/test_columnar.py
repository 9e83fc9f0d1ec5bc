"""Parquet, Arrow and the folders of Hugging Face's `datasets`: columns by name, classes by theirs."""

import gzip
import json
import os
import random
import sys
import warnings
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from regard.data.example import Labelled, Line, Pair, Tagged
from regard.data.source import splits, understand
from regard.errors import DataError
from tests.data.kit import read, written

PAIRS = {"src": ["A dog.", "Two cats.", None], "tgt": ["Ein Hund.", "Zwei Katzen.", "Drei."]}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def saved(name: str, columns: dict, features: dict | None = None) -> Path:
    """A file of these columns, with what `datasets` says about them."""
    table = pyarrow.table(columns)
    if features is not None:
        said = json.dumps({"info": {"features": features}})
        table = table.replace_schema_metadata({"huggingface": said})
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
        return path
    with (
        pyarrow.OSFile(name, "wb") as sink,
        (
            pyarrow.ipc.new_file(sink, table.schema)
            if "file" in name
            else pyarrow.ipc.new_stream(sink, table.schema)
        ) as writer,
    ):
        writer.write_table(table, max_chunksize=2)
    return path


@pytest.mark.parametrize(
    ("name", "style"),
    [("a.parquet", "Parquet"), ("a.arrow", "Arrow stream"), ("file.arrow", "Arrow file")],
)
def test_pairs(name, style):
    description, examples, tally = read(saved(name, PAIRS))
    assert description == f"2 pairs: {name}, {style}, columns 'src' and 'tgt'"
    assert examples == [Pair("A dog.", "Ein Hund."), Pair("Two cats.", "Zwei Katzen.")]
    assert tally.dropped == {"missing field": 1}
    assert tally.first["missing field"] == f"{name}:3"


def test_translations_inside_a_struct():
    path = saved("wmt.parquet", {"translation": [{"de": "Ja", "en": "Yes"}], "id": [7]})
    description, examples, _ = read(path)
    assert description == (
        "1 pair: wmt.parquet, Parquet, columns 'translation.de' and 'translation.en'"
    )
    assert examples == [Pair("Ja", "Yes")]


LABELS = {"text": {"_type": "Value"}, "label": {"_type": "ClassLabel", "names": ["neg", "pos"]}}


def test_classes_have_their_names_back():
    path = saved("a.parquet", {"text": ["bad", "good", "?"], "label": [0, 1, -1]}, LABELS)
    description, examples, tally = read(path)
    assert description == (
        "2 labelled texts: a.parquet, Parquet, columns 'text' and 'label' (2 class names)"
    )
    assert examples == [Labelled("bad", "neg"), Labelled("good", "pos")]
    assert tally.dropped == {"missing field": 1}


@pytest.mark.parametrize(
    "feature",
    [
        {"_type": "Sequence", "feature": {"_type": "ClassLabel", "names": ["O", "B-PER"]}},
        {"_type": "List", "feature": {"_type": "ClassLabel", "names": ["O", "B-PER"]}},
        [{"_type": "ClassLabel", "names": ["O", "B-PER"]}],
    ],
)
def test_tags_have_their_names_back(feature):
    columns = {"tokens": [["Ada", "sleeps"]], "ner_tags": [[1, 0]]}
    _, examples, _ = read(saved("a.parquet", columns, {"ner_tags": feature}))
    assert examples == [Tagged(("Ada", "sleeps"), ("B-PER", "O"))]


def test_numbers_without_names_stay_numbers():
    _, examples, _ = read(saved("a.parquet", {"text": ["a b"], "label": [3]}))
    assert examples == [Labelled("a b", "3")]


def test_one_text_column_is_for_language_models():
    _, examples, _ = read(saved("a.parquet", {"text": ["one\ntwo", "x" * 70_000, "a\0b"]}))
    assert examples == [Line("one two")]


def dataset(folder: str, count: int, shards: int = 1) -> None:
    """A folder as `Dataset.save_to_disk` leaves it."""
    for shard in range(shards):
        texts = [f"text {shard} {number}" for number in range(count)]
        name = f"{folder}/data-{shard:05}-of-{shards:05}.arrow"
        saved(name, {"text": texts, "label": [number % 2 for number in range(count)]})
    written(f"{folder}/state.json", "{}")
    written(f"{folder}/dataset_info.json", json.dumps({"features": LABELS}))
    saved(f"{folder}/cache-1a2b.arrow", {"text": ["stale"], "label": [0]})


def test_a_saved_dataset_with_shards_and_a_cache():
    dataset("reviews", 2, shards=3)
    description, examples, _ = read(Path("reviews"))
    assert description.startswith("6 labelled texts: data-00000-of-00003.arrow, Arrow stream")
    assert examples[0] == Labelled("text 0 0", "neg")
    assert examples[-1] == Labelled("text 2 1", "pos")


def test_a_saved_dictionary_of_datasets():
    for name, count in (("train", 5), ("validation", 3), ("test", 2)):
        dataset(f"reviews/{name}", count)
    written("reviews/dataset_dict.json", '{"splits": ["train", "validation", "test"]}')
    found = splits([Path("reviews")])
    assert [s and s.count() for s in (found.train, found.valid, found.test)] == [5, 3, 2]


def test_a_clone_from_the_hub():
    for name in (
        "train-00000-of-00003", "train-00001-of-00003", "train-00002-of-00003",
        "validation-00000-of-00001",
    ):  # fmt: skip
        saved(f"clone/data/{name}.parquet", PAIRS)
    written("clone/README.md", "A card.")
    found = splits([Path("clone")])
    assert found.train.count() == 6
    assert found.valid is not None
    assert found.valid.count() == 2
    assert found.test is None


def test_unknown_columns_are_named():
    with pytest.raises(DataError) as caught:
        understand([saved("a.parquet", {"x": [1], "y": [2]})])
    assert str(caught.value) == (
        "no two columns are known: x, y\na.parquet\n"
        "name them src and tgt, text and label, or tokens and tags"
    )
    with pytest.raises(DataError, match="the file has no rows"):
        understand([saved("b.parquet", {"src": [], "tgt": []})])


def test_damage_is_named():
    path = saved("a.parquet", PAIRS)
    written("cut.parquet", path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"the Parquet data is damaged: .*\n?.*cut.parquet"):
        understand([Path("cut.parquet")])
    whole = saved("b.arrow", {"src": ["a"] * 999, "tgt": ["b"] * 999}).read_bytes()
    path = written("cut.arrow", whole[: len(whole) // 2])
    with pytest.raises(DataError, match="the Arrow stream data is damaged"):
        understand([path])


def test_compressed_again():
    path = written("a.parquet.gz", gzip.compress(saved("a.parquet", PAIRS).read_bytes()))
    with pytest.raises(DataError) as caught:
        understand([path])
    assert str(caught.value) == (
        "the file is compressed with gzip, though Parquet compresses by itself\n"
        "a.parquet.gz\n"
        "unpack it first: it is read in pieces from anywhere in it"
    )


def test_without_pyarrow_the_extra_is_named(monkeypatch):
    path = saved("a.parquet", PAIRS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError) as caught:
        understand([path])
    assert str(caught.value) == (
        "this is a Parquet file, which needs pyarrow to be read\n"
        "a.parquet\n"
        "pip install 'regard[data]', or write it as JSON lines"
    )


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "file.arrow"])
def test_no_damaged_file_ends_the_process(name):
    """Offsets that point outside were followed, and a cut map was read past its end."""
    path = saved(name, {"src": ["a b", "c", "ü" * 20] * 9, "tgt": ["d", "e f", "g"] * 9})
    whole, dice = path.read_bytes(), random.Random(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        for _ in range(300):
            content = bytearray(whole)
            for _ in range(dice.randint(1, 3)):
                place = dice.randrange(len(content))
                content[place] = dice.choice((content[place] ^ 1 << dice.randrange(8), 0, 127, 255))
            path.write_bytes(content[: dice.choice((None, dice.randrange(len(content))))])
            try:
                read(path)
            except DataError:
                pass
            except BaseException:
                os._exit(2)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
