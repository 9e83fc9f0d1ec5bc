"""`regard evaluate`: numbers with their signatures, on a run's own test, on files, against another run."""

import json
import shutil

import pytest

from regard.answer.test_set import Exam, judge
from regard.data.example import Labelled
from regard.data.source import understand
from tests.run import kinds

TWICE = ("said twice", "never said")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    place, made = tmp_path_factory.mktemp("kinds"), {}

    def get(kind, seed=1):
        name = f"{kind}-{seed}"
        if name not in made:
            made[name] = kinds.make(place / name, kind, seed)
        return made[name]

    return get


@pytest.fixture
def pair(tmp_path):
    """Parallel files of a reversing world, with an empty line."""
    sources = [*kinds.questions("rnn", 5), ""]
    (tmp_path / "test.en").write_text("".join(f"{line}\n" for line in sources))
    (tmp_path / "test.de").write_text("".join(f"{line[::-1]}\n" for line in sources))
    return tmp_path / "test.en", tmp_path / "test.de"


class TestOwnTest:
    @pytest.mark.parametrize(
        ("kind", "names"),
        [
            ("rnn", ["BLEU", "chrF2", "exact match", "repetition", "coverage", *TWICE]),
            ("tag", ["token accuracy", "exact match"]),
            ("classify", ["accuracy", "macro F1"]),
            ("point", ["exact match", "WER"]),
            ("language", ["perplexity", "exact match"]),
        ],
    )
    def test_every_task_has_its_numbers(self, folder, tell_json, kind, names):
        code, found = tell_json("evaluate", folder(kind), "--examples", 6)
        assert code == 0
        assert found["examples"] == 6
        assert found["test"] == f"test examples of {kinds.KINDS[kind][0]}"
        assert [metric["name"] for metric in found["metrics"]] == names
        assert all(metric["signature"] for metric in found["metrics"])

    def test_they_are_the_numbers_of_the_library(self, folder, tell_json):
        model = kinds.load(folder("rnn"))
        exam = Exam.of(model.run.settings, 6)
        expected = judge(
            model.run.task,
            model.translate(exam.questions(model.run.task), beam=3),
            exam.answers(model.run.task),
        )
        _, found = tell_json("evaluate", folder("rnn"), "--examples", 6, "--beam", 3)
        assert found["metrics"] == [metric.as_dict() for metric in expected]

    def test_a_person_reads_a_table(self, folder, tell):
        code, out, _ = tell("evaluate", folder("classify"), "--examples", 6)
        assert code == 0
        assert "6 test examples of feelings" in out
        assert "95% interval" in out
        assert "accuracy: n:6|ci:wilson" in out

    def test_files_that_are_gone(self, folder, tmp_path, tell):
        run = shutil.copytree(folder("rnn"), tmp_path / "moved")
        config = run / "config.toml"
        text = config.read_text().replace('toy = "reverse"\n', "")
        config.write_text(text.replace("train = []", 'train = ["gone/a.en", "gone/a.de"]'))
        code, _, err = tell("evaluate", run)
        assert code == 2
        assert "this run's own test set cannot be read: there is no such file" in err
        assert f"regard evaluate {run} test.en test.de" in err


class TestFiles:
    def test_two_files(self, folder, pair, tell_json):
        code, found = tell_json("evaluate", folder("rnn"), *pair)
        assert code == 0
        assert found["test"] == "test examples of test.en, test.de"
        assert found["examples"] == 6

    def test_bleu_as_asked(self, folder, pair, tell_json):
        _, found = tell_json("evaluate", folder("rnn"), *pair, "--lowercase", "--tokenize", "none")
        assert "case:lc" in found["metrics"][0]["signature"]
        assert "tok:none" in found["metrics"][0]["signature"]

    def test_a_tokenizer_nobody_has(self, folder, pair, tell):
        code, _, err = tell("evaluate", folder("rnn"), *pair, "--tokenize", "13b")
        assert code == 2
        assert "did you mean '13a'?" in err

    def test_a_tagged_file(self, folder, tmp_path, tell_json):
        path = tmp_path / "test.conll"
        path.write_text("it PRON\nsleeps VERB\n\nMr. NOUN\nSmith NOUN\nsleeps VERB\n")
        code, found = tell_json("evaluate", folder("tag"), path)
        assert code == 0
        assert found["examples"] == 2
        assert "tokens:5" in found["metrics"][0]["signature"]

    def test_a_labelled_file(self, folder, tmp_path, tell_json):
        path = tmp_path / "test.tsv"
        path.write_text("positive\tgood film\nnegative\tbad film\n" * 3)
        code, found = tell_json("evaluate", folder("classify"), path)
        assert code == 0
        assert found["metrics"][0]["value"] in (0.0, 50.0, 100.0)

    def test_files_of_another_kind(self, folder, tmp_path, tell):
        path = tmp_path / "test.conll"
        path.write_text("it PRON\nsleeps VERB\n\n" * 3)
        assert tell("evaluate", folder("classify"), path)[0] in (2, 3)

    def test_an_archive_is_a_run(self, folder, pair, tmp_path, tell_json):
        from regard.run.archive import pack

        pack(folder("rnn"), tmp_path / "run.zip")
        assert tell_json("evaluate", tmp_path / "run.zip", *pair)[0] == 0


class TestAgainst:
    def test_another_run(self, folder, tell_json):
        code, found = tell_json(
            "evaluate", folder("tag"), "--against", folder("tag", 2), "--examples", 9
        )
        assert code == 0
        (verdict,) = found["comparisons"]
        one, other = (
            tell_json("evaluate", folder("tag", seed), "--examples", 9)[1]["metrics"][0]
            for seed in (1, 2)
        )
        assert (verdict["system_a"], verdict["system_b"]) == (one, other)
        assert verdict["difference"] == pytest.approx(other["value"] - one["value"])
        assert 0 < verdict["p_value"] <= 1

    def test_translations_are_compared_twice(self, folder, tell):
        code, out, _ = tell(
            "evaluate", folder("rnn"), "--against", folder("transformer"), "--examples", 5
        )
        assert code == 0
        assert out.count("paired randomisation") == 2

    def test_itself_is_no_better(self, folder, tell_json):
        run = folder("classify")
        _, found = tell_json("evaluate", run, "--against", run, "--examples", 5)
        assert found["comparisons"][0]["p_value"] == 1.0

    def test_another_task_cannot_be_compared(self, folder, tell):
        code, _, err = tell("evaluate", folder("rnn"), "--against", folder("tag"), "--examples", 2)
        assert code == 2
        assert "one run was trained to translate, the other to tag" in err


class TestHypotheses:
    def test_lines_against_lines_need_no_model(self, tmp_path, tell_json):
        (tmp_path / "out.de").write_text("ein Hund\nzwei Katzen\n\n")
        (tmp_path / "ref.de").write_text("ein Hund\nzwei Hunde\n\n")
        code, found = tell_json(
            "evaluate", "--hypotheses", tmp_path / "out.de", tmp_path / "ref.de"
        )
        assert code == 0
        assert found["test"] == "lines of ref.de"
        assert [metric["name"] for metric in found["metrics"]] == ["BLEU", "chrF2", "exact match"]
        assert found["metrics"][2]["value"] == pytest.approx(200 / 3)

    def test_several_references(self, tmp_path, tell_json):
        for name, text in (("out", "a b c d e\n"), ("one", "a b c d x\n"), ("two", "a b c d e\n")):
            (tmp_path / name).write_text(text)
        paths = [tmp_path / name for name in ("one", "two")]
        _, found = tell_json("evaluate", "--hypotheses", tmp_path / "out", *paths)
        assert found["metrics"][0]["value"] == pytest.approx(100)
        assert "nrefs:2" in found["metrics"][0]["signature"]

    def test_of_a_run_they_are_judged_as_its_task_is(self, folder, tmp_path, tell, tell_json):
        (tmp_path / "test.tsv").write_text("positive\tgood film\nnegative\tbad film\n" * 3)
        (tmp_path / "out").write_text("positive\nnegative\n" * 3)
        code, found = tell_json(
            "evaluate", folder("classify"), tmp_path / "test.tsv", "--hypotheses", tmp_path / "out"
        )
        assert code == 0
        assert found["metrics"][0]["name"] == "accuracy"
        assert found["metrics"][0]["value"] == 100.0

    def test_predict_then_evaluate_is_evaluate(self, folder, pair, tmp_path, tell, tell_json):
        out = tmp_path / "out.de"
        assert tell("translate", folder("rnn"), "--input", pair[0], "--output", out)[0] == 0
        _, ready = tell_json("evaluate", folder("rnn"), *pair, "--hypotheses", out)
        _, asked = tell_json("evaluate", folder("rnn"), *pair)
        assert ready["metrics"] == asked["metrics"]

    def test_lines_that_do_not_pair_up(self, tmp_path, tell):
        (tmp_path / "out").write_text("a\nb\n")
        (tmp_path / "ref").write_text("a\n")
        code, _, err = tell("evaluate", "--hypotheses", tmp_path / "out", tmp_path / "ref")
        assert code == 3
        assert "2 hypotheses, 1 references" in err

    def test_line_separators_are_text(self, tmp_path, tell_json):
        """The same 6 lines, however many a careless reader would count."""
        text = "a\u2028b\nc\x85d\ne\rf\ng\x1ch\n\x0c\nlast\n"
        for name in ("out", "ref"):
            (tmp_path / name).write_bytes(text.encode())
        _, found = tell_json("evaluate", "--hypotheses", tmp_path / "out", tmp_path / "ref")
        assert found["examples"] == 6
        assert found["metrics"][2]["value"] == 100.0


def test_json_has_no_nan(folder, tell):
    _, out, _ = tell("evaluate", folder("point"), "--examples", 3, "--json")
    json.loads(out, parse_constant=pytest.fail)


class TestLabels:
    """A test with labels of another list, or in another column, gave 0 without a word."""

    def test_a_test_of_which_no_label_is_known_is_refused(self, folder, tmp_path, tell):
        (tmp_path / "test.tsv").write_text("a film\tnosuch\nanother film\tnorthis\n")
        code, out, err = tell("evaluate", folder("classify"), tmp_path / "test.tsv")
        assert (code, out) == (3, "")
        assert "no label of this test is known to the model: it has nosuch, northis" in err

    def test_labels_that_are_unknown_are_counted(self, folder, tmp_path, tell):
        known = kinds.load(folder("classify")).run.task.labels.names[0]
        (tmp_path / "test.tsv").write_text(f"a film\t{known}\nanother film\tnosuch\n")
        code, out, err = tell("evaluate", folder("classify"), tmp_path / "test.tsv")
        assert code == 0
        assert "accuracy" in out
        assert "note: 1 of 2 labels are unknown to the model, and count as wrong: nosuch" in err

    def test_a_few_lines_have_their_labels_behind_the_texts(self, tmp_path):
        (tmp_path / "test.tsv").write_text("a good film\tpositive\na bad film\tnegative\n")
        found = understand([tmp_path / "test.tsv"], Labelled).examples()
        assert [example.label for example in found] == ["positive", "negative"]
        (tmp_path / "test.tsv").write_text("positive\ta good film\nnegative\ta bad film\n")
        found = understand([tmp_path / "test.tsv"], Labelled).examples()
        assert [example.label for example in found] == ["positive", "negative"]


def test_the_first_examples_of_ready_made_lines(tmp_path, tell_json):
    """`--examples` was ignored with `--hypotheses`."""
    (tmp_path / "out").write_text("a b c d\nwrong\n")
    (tmp_path / "ref").write_text("a b c d\nright\n")
    options = ("--hypotheses", tmp_path / "out", tmp_path / "ref", "--examples", 1)
    _, found = tell_json("evaluate", *options)
    assert found["examples"] == 1
    assert found["metrics"][0]["value"] == pytest.approx(100)


def test_lines_for_the_test_of_a_model_in_the_box(pair, tell_json):
    """`regard evaluate translator ... --hypotheses` looked for a file of that name."""
    code, found = tell_json("evaluate", "translator", *pair, "--hypotheses", pair[1])
    assert (code, found["metrics"][0]["name"]) == (0, "BLEU")
