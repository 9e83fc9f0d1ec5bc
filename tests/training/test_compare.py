"""A comparison trains what it must, asks all the same, and knows what it found before."""

import json
import math
import signal

import pytest

from regard.data.example import Pair
from regard.errors import DivergedError, UsageError
from regard.run.resolve import Variant
from regard.signals import Stopped
from regard.training import Outcome
from regard.training import compare_runs as compare_module
from regard.training.compare_runs import Exam, Row, Table, _seconds, best_of, compare
from tests.training.kit import changed, tiny, write_corpus


@pytest.fixture
def pair(tmp_path):
    settings = tiny(tmp_path, "rnn", steps=2, evaluate_every=2, checkpoint_every=2)
    other = settings.model_copy(update={"seed": 2})
    return [Variant("one", settings), Variant("two", other)]


@pytest.fixture
def trained(monkeypatch):
    """The folders that were really trained, in order."""
    folders, train = [], compare_module.train

    def spy(folder, *rest):
        folders.append(folder.name)
        return train(folder, *rest)

    monkeypatch.setattr(compare_module, "train", spy)
    return folders


def test_all_are_trained_asked_written_down_and_not_done_again(pair, trained, tmp_path):
    table = compare(tmp_path / "out", pair, "cpu")
    assert trained == ["one", "two"]
    assert [row.name for row in table.rows] == ["one", "two"]
    assert table.count == 10
    assert table.test == "held-out examples"
    assert set(table.chances) == {"one", "two"} - {table.best}
    one, two = (row.metrics[0]["value"] for row in table.rows)
    assert one != two or set(table.chances.values()) == {1.0}
    assert all(row.best_step == 2 and math.isfinite(row.loss) for row in table.rows)
    written = json.loads((tmp_path / "out" / "table.json").read_text())
    assert written == json.loads(json.dumps(table.as_dict()))
    assert (tmp_path / "out" / "table.md").read_text() == table.markdown()
    assert compare(tmp_path / "out", pair, "cpu") == table
    assert trained == ["one", "two"]


def test_a_stopped_comparison_goes_on(pair, trained, tmp_path, monkeypatch):
    train = compare_module.train

    def stop_at_two(folder, *rest):
        if folder.name == "two":
            return Outcome(1, "asked to stop", 0, 1.0, signal=signal.SIGTERM)
        return train(folder, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(compare_module, "train", stop_at_two)
        with pytest.raises(Stopped):
            compare(tmp_path / "out", pair, "cpu")
    assert not (tmp_path / "out" / "table.json").exists()
    table = compare(tmp_path / "out", pair, "cpu")
    assert trained == ["one", "two"]
    assert len(table.rows) == 2


def test_only_what_changed_or_was_torn_is_done_again(pair, trained, tmp_path):
    first = compare(tmp_path / "out", pair, "cpu")
    (tmp_path / "out" / "one" / "comparison.json").write_text('{"mark": ')
    again = compare(tmp_path / "out", pair, "cpu")
    assert trained == ["one", "two", "one"]
    assert [row.metrics for row in again.rows] == [row.metrics for row in first.rows]
    longer = [pair[0], Variant("two", changed(pair[1].settings, steps=4))]
    compare(tmp_path / "out", longer, "cpu")
    assert trained == ["one", "two", "one", "two"]


def test_one_that_fails_leaves_the_others_their_turn(pair, tmp_path, monkeypatch):
    train = compare_module.train

    def diverge(folder, *rest):
        if folder.name == "one":
            raise DivergedError("the numbers ran away", "step 3", "lower train.rate")
        return train(folder, *rest)

    monkeypatch.setattr(compare_module, "train", diverge)
    table = compare(tmp_path / "out", pair, "cpu")
    assert table.best == "two"
    assert table.rows[0].fault == "the numbers ran away"
    assert "one: the numbers ran away" in table.markdown()
    assert table.as_dict()["rows"][0]["loss"] is None


def test_when_all_fail_the_first_fault_is_told(pair, tmp_path, monkeypatch):
    def diverge(folder, *_):
        raise DivergedError(f"{folder.name} ran away", "step 3", "lower train.rate")

    monkeypatch.setattr(compare_module, "train", diverge)
    with pytest.raises(DivergedError, match="one ran away"):
        compare(tmp_path / "out", pair, "cpu")


def test_only_what_learns_the_same_is_compared(pair, tmp_path):
    other = pair[1].settings.model_copy(update={"data": write_corpus(tmp_path / "b", "translate")})
    with pytest.raises(UsageError) as caught:
        compare(tmp_path / "out", [pair[0], Variant("two", other)], "cpu")
    assert caught.value.what.startswith("one and two do not learn the same: train ")


@pytest.mark.parametrize("kind", ["tagger", "language", "pointer"])
def test_every_task_can_be_compared(kind, tmp_path):
    settings = tiny(tmp_path, kind, steps=1)
    other = settings.model_copy(update={"seed": 2})
    table = compare(tmp_path / "out", [Variant("one", settings), Variant("two", other)], "cpu")
    # Only what answers can be told apart by is tested for luck.
    assert len(table.chances) == (0 if kind == "language" else 1)
    assert (
        table.rows[0].metrics[0]["name"]
        == {
            "tagger": "token accuracy",
            "language": "perplexity",
            "pointer": "exact match",
        }[kind]
    )


def test_an_exam_is_the_test_file_if_there_is_one(pair, tmp_path):
    (tmp_path / "test.tsv").write_text("a b\tb a\n\t\nc\tc\n")
    data = pair[0].settings.data.model_copy(update={"test": (str(tmp_path / "test.tsv"),)})
    exam = Exam.of(pair[0].settings.model_copy(update={"data": data}))
    assert exam.name == "test examples of test.tsv"
    assert exam.examples == (Pair("a b", "b a"), Pair("", ""), Pair("c", "c"))


def test_a_toy_has_a_test_of_its_own(pair):
    data = pair[0].settings.data.model_copy(update={"toy": "copy", "train": (), "valid": ()})
    exam = Exam.of(pair[0].settings.model_copy(update={"data": data}))
    assert exam.name == "test examples of copy"
    assert len(exam.examples) == 500


def test_time_is_summed_over_those_who_went_on():
    entries = [{"kind": "train", "seconds": s} for s in (1.0, 4.0, 2.0, 3.0, 0.5)]
    assert _seconds([*entries, {"kind": "valid"}]) == 4.0 + 3.0 + 0.5


def metric(value, higher=True):
    return {"name": "m", "value": value, "signature": "s|t", "higher_is_better": higher}


def test_the_best_has_the_best_first_metric_then_the_lowest_loss():
    rows = [
        Row("a", loss=1.0, metrics=(metric(50.0),)),
        Row("b", loss=2.0, metrics=(metric(60.0),)),
        Row("c", loss=1.5, metrics=(metric(60.0),)),
        Row("d", fault="gone"),
        Row("e", loss=0.1, metrics=(metric(None),)),
    ]
    assert best_of(rows) == "c"
    lower = [
        Row("a", loss=1.0, metrics=(metric(5.0, False),)),
        Row("b", metrics=(metric(9.0, False),)),
    ]
    assert best_of(lower) == "a"


def test_every_row_of_a_table_has_as_many_cells():
    rows = (
        Row("a|b", 1_234, 10, 0.5, (metric(50.0),), 61.0),
        Row("c", 5, 20, 0.25, (metric(None),), 5.0),
        Row("d", fault="gone"),
    )
    for chances in ({}, {"c": 0.04}):
        table = Table("test examples", 7, "a|b", rows, chances)
        assert len({len(row) for row in table.cells()}) == 1
        assert table.cells()[1][:4] == ("★", "a|b", "1,234", "10")
        assert ("0.040" in table.cells()[2]) == bool(chances)
        markdown = table.markdown()
        assert "| ★ | a\\|b | 1,234 | 10 | 0.5000 | 50.00 |" in markdown
        assert "- 7 test examples; ★ is the best." in markdown
        assert "- d: gone" in markdown


@pytest.mark.parametrize(
    ("values", "stars"),
    [
        ([0.0, 0.0, 0.0], []),
        ([0.0, 0.004, 0.001], []),
        ([7.0, 7.0, 5.0], ["a", "b"]),
        ([1.0, 2.0, 2.004], ["b", "c"]),
        ([1.0, 2.0, 3.0], ["c"]),
        ([None, 0.0, None], ["b"]),
    ],
)
def test_there_is_no_star_without_a_difference_to_see(values, stars):
    rows = [
        Row(n, loss=1.0, metrics=(metric(value),)) for n, value in zip("abc", values, strict=True)
    ]
    table = Table("test examples", 7, best_of(rows), (*rows, Row("d", fault="gone")), {})
    assert [line[1] for line in table.cells() if line[0] == "★"] == stars
    assert (table.as_dict()["best"] is None) == (not stars)
    ahead = "★ is the best" if stars else "no model is ahead of the others"
    assert f"- 7 test examples; {ahead}." in table.markdown()


def test_nothing_is_no_comparison(tmp_path):
    with pytest.raises(UsageError, match="there is nothing to compare"):
        compare(tmp_path / "none", [])
