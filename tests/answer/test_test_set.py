"""What a run is asked in the end, and what its answers are worth."""

import math

import pytest

from regard.answer.test_set import Exam, compare, judge, judge_texts, perplexity
from regard.data.example import Labelled, Line, Pair
from regard.errors import DataError
from regard.evaluate import accuracy, bleu, exact_match, token_accuracy
from regard.run.resolve import resolve
from regard.tasks import IGNORE
from tests.run.kinds import KINDS


def settings(kind="rnn", task="translate", **data):
    return resolve(more={"model": KINDS[kind][1], "task": task, "data": data})


@pytest.fixture
def files(tmp_path):
    """A folder with parallel files, a line of the test empty on both sides."""
    for role, lines in (("train", 200), ("test", 3)):
        for side in ("en", "de"):
            text = "".join(f"{role} {side} {n}\n" for n in range(lines))
            (tmp_path / f"{role}.{side}").write_text(text + ("\n" if role == "test" else ""))
    return tmp_path


def pairs(*names):
    return tuple(Pair(f"test en {n}", f"test de {n}") for n in names)


class TestExam:
    def test_a_toy_has_its_own(self):
        exam = Exam.of(resolve(toy="reverse", more={"model": KINDS["rnn"][1]}), 7)
        assert exam.name == "test examples of reverse"
        assert len(exam.examples) == 7

    def test_test_files_come_first(self, files):
        train = [str(files / "train.en"), str(files / "train.de")]
        test = [str(files / "test.en"), str(files / "test.de")]
        exam = Exam.of(settings(train=train, test=test))
        assert exam.examples == (*pairs(0, 1, 2), Pair("", ""))  # an empty line is a question (T13)
        assert exam.name == "test examples of test.en, test.de"

    def test_then_the_test_part_of_a_folder(self, files):
        exam = Exam.of(settings(train=[str(files)]))
        assert exam.name.startswith("test examples of test.")
        assert len(exam.examples) == 4

    def test_else_what_was_held_out(self, files):
        exam = Exam.of(settings(train=[str(files / "train.en"), str(files / "train.de")]))
        assert exam.name == "held-out examples"
        assert 0 < len(exam.examples) <= 20  # a tenth of a small corpus

    def test_files_are_read_as_the_task_wants_them(self, tmp_path):
        path = tmp_path / "test.tsv"
        path.write_text("good\tlovely film\nbad\tdull film\n" * 5)
        exam = Exam.read([path], settings("classify", "classify"), 2)
        assert all(isinstance(example, Labelled) for example in exam.examples)

    def test_a_test_that_asks_nothing(self, tmp_path):
        (tmp_path / "a.en").write_text("")
        (tmp_path / "a.de").write_text("")
        with pytest.raises(DataError):
            Exam.read([tmp_path / "a.en", tmp_path / "a.de"], settings())


class TestJudge:
    def test_translations_are_judged_as_asked(self, predictor):
        task = predictor("rnn").run.task
        found = judge(task, ["a b a b", "c d"], ["a b c d", "c d"], lowercase=True, tokenize="char")
        assert [metric.name for metric in found] == [
            "BLEU",
            "chrF2",
            "exact match",
            "repetition",
            "coverage",
            "said twice",
            "never said",
        ]
        assert "case:lc" in found[0].signature
        assert "tok:char" in found[0].signature
        assert found[3].value == pytest.approx(100 * 1 / 4)  # one of four bigrams was said before
        assert found[4].value == pytest.approx(
            100 * 4 / 6
        )  # of six words, c and d went unsaid once

    def test_other_tasks_judge_themselves(self, predictor):
        task = predictor("classify").run.task
        answers = ["positive", "negative", "positive"]
        assert judge(task, answers, answers) == task.judge(answers, answers)

    def test_texts_may_have_several_references(self):
        references = [["a b c d e"], ["a b c d f"]]
        found = judge_texts(["a b c d f"], references)
        assert [metric.name for metric in found] == ["BLEU", "chrF2"]
        assert found[0] == bleu(["a b c d f"], references)
        assert found[0].value == pytest.approx(100)


class TestCompare:
    def test_translations_by_bleu_and_chrf(self, predictor):
        right = [f"a b c d {n}" for n in range(30)]
        wrong = ["x y z"] * 30
        found = compare(predictor("rnn").run.task, wrong, right, right)
        assert [one.system_a.name for one in found] == ["BLEU", "chrF2"]
        assert all(one.difference == pytest.approx(100, abs=1) for one in found)
        assert all(one.significant for one in found)

    def test_tags_word_by_word(self, predictor):
        truth, first = ["A B", "B"] * 10, ["A A", "A"] * 10
        (found,) = compare(predictor("tag").run.task, first, truth, truth)
        assert found.system_a == token_accuracy(
            [t.split() for t in first], [t.split() for t in truth]
        )
        assert found.difference == pytest.approx(100 * 2 / 3)
        assert found.significant

    def test_labels_and_positions_one_by_one(self, predictor):
        truth, first = ["x"] * 9, ["x"] * 8 + ["y"]
        (found,) = compare(predictor("classify").run.task, first, truth, truth)
        assert found.system_a == accuracy(first, truth)
        assert not found.significant
        (found,) = compare(predictor("point").run.task, first, truth, truth)
        assert found.system_a == exact_match(first, truth)


def test_perplexity_is_exp_of_the_mean_loss(predictor):
    model = predictor("language")
    task, lines = model.run.task, [Line("leo had a coin"), Line("mia"), Line("")]
    rows = task.rows(lines)
    total = count = 0.0
    for row in rows:
        batch = task.collate([row], 0, len(row["target"]))
        total += float(task.loss(model.model, batch).detach())
        count += int((batch.targets != IGNORE).sum())
    found = perplexity(task, model.model, lines)
    assert count == 5 + 3
    assert found.value == pytest.approx(math.exp(total / count), rel=1e-5)
    assert not found.higher_is_better
