"""`regard data`: what is understood, shown and warned about, before anything is trained."""

import pytest

from regard.data.toys import TOYS
from regard.tasks.names import task_for


@pytest.fixture
def pairs(tmp_path):
    """Two files that go together; three pairs repeat, one side of one is empty."""
    source, target = tmp_path / "train.en", tmp_path / "train.de"
    lines = [f"word {number % 97}" for number in range(100)]
    source.write_text("\n".join([*lines, "alone"]) + "\n")
    target.write_text("\n".join([*(f"Wort {line[5:]}" for line in lines), ""]) + "\n")
    return source, target


def test_files_are_described_shown_and_warned_about(pairs, tell, tell_json):
    code, out, _ = tell("data", *pairs)
    assert code == 0
    assert "100 pairs: train.en (source) beside train.de (target)" in out
    assert "word 0" in out
    assert "task: translate" in out
    code, answer = tell_json("data", *pairs)
    assert (code, answer["task"], answer["preset"]) == (0, "translate", "vaswani2017-tiny")
    assert answer["report"]["sources"][0]["dropped"] == {"empty": 1}
    assert [row["source"] for row in answer["report"]["rows"]] == ["word 0", "word 1", "word 2"]
    assert any("3 pairs repeated" in warning for warning in answer["report"]["warnings"])
    assert "tokens" not in answer


def test_held_out_files_are_compared_with_training(pairs, tmp_path, tell_json):
    test = tmp_path / "test.en", tmp_path / "test.de"
    test[0].write_text("word 5\nnew\n")
    test[1].write_text("Wort 5\nneu\n")
    flags = [part for path in test for part in ("--test", path)]
    _, answer = tell_json("data", *pairs, *flags)
    assert any("1 of 2 test pairs are also in training" in w for w in answer["report"]["warnings"])


def test_tokens_are_cut_measured_and_planned(pairs, tell, tell_json):
    arguments = ("data", *pairs, "--set", "text.kind=word", "--set", "train.steps=50")
    _, answer = tell_json(*arguments)
    tokens = answer["tokens"]
    # Some of the hundred are held out; the rest is two words and the end symbol.
    assert 80 < tokens["examples"] <= 100
    assert tokens["cut"][0] == {
        "source": ["▁word", "▁0", "</s>"],
        "target": ["▁Wort", "▁0", "</s>"],
    }
    assert tokens["lengths"] == {
        side: dict.fromkeys(("50", "90", "99", "100"), 3) for side in ("source", "target")
    }
    assert (tokens["waste"], tokens["skipped"], tokens["shapes"]) == (0.0, 0, 1)
    assert (tokens["batches"], tokens["steps_an_epoch"], tokens["epochs"]) == (1, 1, 50.0)
    code, out, _ = tell(*arguments)
    assert code == 0
    assert "batches: 1 an epoch in 1 shape, 0.0% padding" in out
    assert "an epoch: 1 step; all of training: 50.0 epochs" in out


@pytest.mark.parametrize(
    ("first", "second", "code", "what"),
    [
        (b"one\ntwo\n", b"eins\n", 3, "train.en has 2 lines, but train.de has 1"),
        (b"one\n\xff\n", b"eins\nzwei\n", 3, "byte 0xFF is not UTF-8"),
        (b"\n", b"eins\n", 3, "0 of 1 pairs left: 1 empty"),
        ("one\n".encode("utf-16"), b"eins\n", 3, "the file is UTF-16, not UTF-8"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(first, second, code, what, tmp_path, tell_json):
    paths = tmp_path / "train.en", tmp_path / "train.de"
    for path, content in zip(paths, (first, second), strict=True):
        path.write_bytes(content)
    found, answer = tell_json("data", *paths)
    assert (found, answer["what"]) == (code, what)


def test_a_line_that_is_not_utf8_can_be_skipped(tmp_path, tell_json):
    file = tmp_path / "pairs.tsv"
    file.write_bytes(b"one\teins\n\xff\tzwei\nthree\tdrei\n")
    assert tell_json("data", file)[0] == 3
    code, answer = tell_json("data", file, "--on-bad-utf8", "skip")
    assert (code, answer["report"]["sources"][0]["dropped"]) == (0, {"not UTF-8": 1})


def test_a_missing_file_is_named_with_its_neighbour(pairs, tell_json):
    code, answer = tell_json("data", pairs[0].with_name("trian.en"), pairs[1])
    assert (code, answer["remedy"]) == (2, f"did you mean {pairs[0]}?")


def test_no_file_at_all(tell_json):
    code, answer = tell_json("data")
    assert (code, answer["what"]) == (2, "no file was named")


def test_toys_are_listed_with_their_stories(tell, tell_json):
    code, answer = tell_json("data", "--toys")
    assert (code, list(answer)) == (0, list(TOYS))
    assert all(answer[name]["story"] == toy.story for name, toy in TOYS.items())
    _, out, _ = tell("data", "--toys")
    assert all(name in out for name in TOYS)


@pytest.mark.parametrize("name", TOYS)
def test_a_toy_is_shown(name, tell):
    code, out, _ = tell("data", "--toy", name)
    assert code == 0
    assert TOYS[name].title in out
    assert f"task: {task_for(TOYS[name].kind)}" in out


@pytest.mark.parametrize("name", ["sort", "parts", "feelings", "stories"])
def test_every_task_is_measured(name, tell_json):
    code, answer = tell_json("data", "--toy", name, "--set", "data.examples=50")
    assert code == 0
    side = "target" if name == "stories" else "source"
    assert answer["tokens"]["lengths"][side]["100"] > 1
    assert answer["tokens"]["examples"] == 50


def test_an_unknown_toy(tell_json):
    assert tell_json("data", "--toy", "reverze")[1]["remedy"] == "did you mean 'reverse'?"


def test_a_toy_and_files(pairs, tell_json):
    assert tell_json("data", *pairs, "--toy", "copy")[0] == 2
