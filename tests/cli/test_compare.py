"""`regard compare`: variants named, trained, judged and put into one table."""

import json

from tests.cli.tiny import TINY

VARY = (
    "compare",
    "--toy",
    "copy",
    "-p",
    "bahdanau2015",
    "--vary",
    "model.reader.score=dot,additive",
)


def test_a_table_is_shown_written_and_found_again(tmp_path, monkeypatch, tell, tell_json):
    monkeypatch.setattr("regard.training.compare_runs.MOST_ASKED", 20)
    monkeypatch.setenv("COLUMNS", "160")  # where a table is narrow, long names are folded
    folder = tmp_path / "scores"
    code, out, _ = tell(*VARY, "-o", folder, *TINY)
    assert code == 0
    for word in (
        "score-dot",
        "score-additive",
        "parameters",
        "BLEU",
        "★",
        "20 test examples of copy",
    ):
        assert word in out
    written = json.loads((folder / "table.json").read_text())
    assert [row["name"] for row in written["rows"]] == ["score-dot", "score-additive"]
    assert written["best"] in ("score-dot", "score-additive", None)
    assert (folder / "table.md").read_text().startswith("|  | variant | parameters |")

    def refuse(*_):
        raise AssertionError("a finished variant is trained again")

    monkeypatch.setattr("regard.training.compare_runs.train", refuse)
    assert tell_json(*VARY, "-o", folder, *TINY) == (0, written)


def test_a_wrong_value_is_found_before_anything_is_trained(tmp_path, tell_json):
    folder = tmp_path / "scores"
    code, answer = tell_json(*VARY[:-1], "model.reader.score=dot,addative", "-o", folder, *TINY)
    assert code == 2
    assert "addative" in answer["what"]
    assert answer["where"] == "--vary model.reader.score=addative"
    assert not folder.exists()


def test_one_model_is_no_comparison(tell_json):
    code, answer = tell_json("compare", "--toy", "copy", "-p", "bahdanau2015")
    assert (code, answer["what"]) == (2, "one model alone cannot be compared")
    assert answer["remedy"].endswith("vary a setting: --vary model.reader.score=dot,additive")


def test_a_slip_in_a_setting_of_all_is_told_as_such(tell_json):
    for change in ("train.stpes=1", "seed.of=1"):
        code, answer = tell_json(*VARY, "--set", change)
        assert (code, answer["where"]) == (2, f"--set {change}")


def test_presets_that_learn_different_things(tmp_path, tell_json):
    presets = ("-p", "bahdanau2015", "-p", "vinyals2015-sort")
    code, answer = tell_json("compare", *presets, "-o", tmp_path, *TINY)
    assert code == 2
    assert "do not learn the same" in answer["what"]


def test_a_run_is_not_a_place_for_others(trained, tell_json):
    code, answer = tell_json(*VARY, "-o", trained, *TINY)
    assert (code, answer["what"]) == (2, "this folder is a run")
