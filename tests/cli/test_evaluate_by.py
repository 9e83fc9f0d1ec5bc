"""`regard evaluate --by`: the same test by length, by distance and by gradient."""

import pytest

from regard.answer.test_set import Exam
from tests.run import kinds


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("by")
    return kinds.make(place / "rnn", "rnn"), kinds.make(place / "other", "rnn", seed=2)


def test_lengths_hold_every_question_once_and_the_task_s_own_numbers(folder, tell_json):
    code, found = tell_json("evaluate", folder[0], "--by", "length", "--examples", 9)
    assert code == 0
    model = kinds.load(folder[0])
    task = model.run.task
    exam = Exam.of(model.run.settings, 9)
    questions, answers = exam.questions(task), exam.answers(task)
    said = [one.text for one in model.predict(questions)]
    (rows,) = found["runs"].values()
    assert sum(row["count"] for row in rows) == 9
    for row in rows:
        mine = [n for n, text in enumerate(questions) if len(text.split()) + 1 == int(row["name"])]
        expected = task.by_size([said[n] for n in mine], [answers[n] for n in mine])
        assert row["count"] == len(mine)
        assert row["values"] == {metric.name: pytest.approx(metric.value) for metric in expected}


def test_distances_of_letters_turned_round_are_odd(folder, tell_json):
    _, found = tell_json("evaluate", folder[0], "--by", "distance", "--examples", 9)
    (rows,) = found["runs"].values()
    assert {row["at"] % 2 for row in rows} == {1}
    assert list(rows[0]["values"]) == ["in its place", "said"]


def test_two_runs_are_in_one_table_and_one_picture(folder, tell, tmp_path):
    one, other = folder
    picture = tmp_path / "curve.svg"
    code, out, err = tell(
        "evaluate", one, "--against", other, "--by", "gradient", "--examples", 20, "--svg", picture
    )
    assert (code, err) == (0, f"wrote {picture}\n"), err
    assert str(one) in out
    assert str(other) in out
    drawn = picture.read_text()
    assert "log10 of the mean gradient" in drawn
    assert drawn.count("states between reading and writing") > 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--by", "lenght"], "did you mean 'length'"),
        (["--svg", "a.svg"], "there is no curve to draw"),
        (["--by", "length", "--lowercase"], "--lowercase changes nothing: a curve by length"),
        (["--by", "gradient", "--beam", "3"], "--beam changes nothing: a curve by gradient"),
    ],
)
def test_nothing_is_ignored_in_silence(folder, tell, words, said):
    code, _, err = tell("evaluate", folder[0], *words)
    assert code == 2
    assert said in err


def test_a_test_without_shared_words_is_refused(folder, tell, tmp_path):
    for name, text in (("a.en", "a b\n"), ("a.de", "x y\n")):
        (tmp_path / name).write_text(text)
    code, _, err = tell(
        "evaluate", folder[0], tmp_path / "a.en", tmp_path / "a.de", "--by", "distance"
    )
    assert code == 2
    assert "no word of this test stands both" in err


@pytest.mark.parametrize("kind", ["tag", "classify", "point", "hull", "language"])
def test_every_task_has_a_curve_by_length(kind, tell_json, tmp_path):
    run = kinds.make(tmp_path / kind, kind)
    code, found = tell_json("evaluate", run, "--by", "length", "--examples", 9)
    assert code == 0
    (rows,) = found["runs"].values()
    task = kinds.load(run).run.task
    assert sum(row["count"] for row in rows) == 9
    assert all(row["values"] for row in rows)
    code, found = tell_json("evaluate", run, "--by", "distance", "--examples", 9)
    assert code == 2, "labels and places of the input are no words of it"
    assert task.kept_words("a", "a") == []
