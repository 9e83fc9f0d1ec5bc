"""`regard compare --ablate` and `regard extrapolate`: one table, one curve, and where positions end."""

import json

import pytest

from regard.cli.extrapolate import read_lengths
from regard.errors import UsageError
from tests.cli import tiny

TINY = [change for change in tiny.TINY if "reader" not in change]

SMALL = (
    "-s",
    "model.encoder.width=8",
    "-s",
    "model.encoder.heads=2",
    "-s",
    "model.encoder.layers=1",
)


def test_an_ablation_is_one_table_with_seeds_and_intervals(tmp_path, monkeypatch, tell, tell_json):
    monkeypatch.setattr("regard.training.compare_runs.MOST_ASKED", 10)
    monkeypatch.setenv("COLUMNS", "160")
    folder = tmp_path / "ablation"
    line = (
        "compare",
        "-p",
        "one-trick",
        "--toy",
        "before",
        "--ablate",
        "--seeds",
        "2",
        "-o",
        folder,
    )
    line += (*TINY, *SMALL)
    code, out, _ = tell(*line)
    assert code == 0
    names = ["base", *(f"without-{one}" for one in ("residual", "norm", "scale", "feedforward"))]
    names += ["without-positions", "without-attention"]
    assert all(name in out for name in names)
    assert "±" in out
    written = json.loads((folder / "seeds.json").read_text())
    assert [row["name"] for row in written["rows"]] == names
    assert all(row["loss"]["seeds"] == 2 for row in written["rows"])
    runs = json.loads((folder / "table.json").read_text())["rows"]
    mean = sum(row["loss"] for row in runs[:2]) / 2
    assert written["rows"][0]["loss"]["mean"] == pytest.approx(mean)
    assert (folder / "seeds.md").read_text().startswith("|  | variant | parameters |")
    assert tell_json(*line) == (0, written)


def test_lengths_are_listed_or_spread_between_two():
    assert read_lengths("40,20,80") == [20, 40, 80]
    assert read_lengths("20-200") == [20, 40, 60, 80, 100, 120, 140, 160, 180, 200]
    for wrong in ("", "x", "0", "20-", "3,-1", "1-99999999"):
        with pytest.raises(UsageError, match="names no lengths"):
            read_lengths(wrong)


def test_a_curve_ends_where_learned_positions_do(tmp_path, tell, tell_json):
    runs = []
    for position in ("learned", "sinusoidal"):
        run = tmp_path / position
        more = ("-s", f"model.encoder.position={position}", "-s", "model.encoder.max_length=24")
        assert (
            tell("train", "-p", "one-trick", "--toy", "before", "-o", run, *TINY, *SMALL, *more)[0]
            == 0
        )
        runs.append(run)
    line = ("extrapolate", *runs, "--lengths", "8,16,32", "--examples", "4")
    code, found = tell_json(*line, "--svg", tmp_path / "far.svg")
    assert code == 0
    learned, waves = found["curves"]["learned"], found["curves"]["sinusoidal"]
    assert [point["length"] for point in waves] == [8, 16, 32]
    assert all(point["metric"]["name"] == "token accuracy" for point in waves)
    assert all(point["metric"]["signature"].startswith("sentences:4|") for point in waves)
    assert [point["metric"] is None for point in learned] == [False, False, True]
    assert (
        learned[2]["fault"]
        == "it has positions of its own for 24 symbols, and was asked to read more"
    )
    assert "by length" in (tmp_path / "far.svg").read_text()
    code, out, _ = tell(*line)
    assert code == 0
    assert "learned from length 32 on: it has positions of its own" in " ".join(out.split())


def test_only_a_toy_of_letters_has_lengths(tmp_path, tell, tell_json):
    run = tmp_path / "brackets"
    assert tell("train", "-p", "one-trick", "-o", run, *TINY, *SMALL)[0] == 0
    code, answer = tell_json("extrapolate", run)
    assert code == 2
    assert "whose lengths can be chosen" in answer["what"]
