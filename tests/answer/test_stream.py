"""Lines in, lines out: shares that make up the whole, files that can be gone on with, answers on one line."""

import json
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.answer.stream import Form, Shard, Stream, output_file, skip, write_out
from regard.data.lines import TextLine
from regard.errors import DataError, DiskError, UsageError
from regard.tasks import Prediction
from tests.run.kinds import questions


def numbered(texts):
    return [TextLine(number, text) for number, text in enumerate(texts, start=1)]


class TestShard:
    @given(total=st.integers(0, 40), count=st.integers(1, 12))
    def test_shares_part_the_lines(self, total, count):
        lines = numbered(map(str, range(total)))
        shards = [Shard.parse(f"{number}/{count}") for number in range(1, count + 1)]
        shares = [list(shard.of(lines)) for shard in shards]
        assert sorted(line for share in shares for line in share) == lines
        assert [len(share) for share in shares] == [shard.size(total) for shard in shards]
        assert max(map(len, shares)) - min(map(len, shares)) <= 1

    def test_lines_keep_their_numbers(self):
        assert [line.number for line in Shard(2, 3).of(numbered("abcdefgh"))] == [2, 5, 8]

    @pytest.mark.parametrize(
        "text", ["", "1", "0/3", "4/3", "1/0", "a/b", "1/2/3", "-1/3", "1.0/3"]
    )
    def test_no_share(self, text):
        with pytest.raises(UsageError, match="is no share of the lines") as fault:
            Shard.parse(text)
        assert fault.value.remedy == "for three machines: --shard 1/3, --shard 2/3 and --shard 3/3"


ANSWER = Prediction("a\nb\r", -1.25, ("a", "b"), alternatives=(("a\nb\r", -1.25), ("c", -2.0)))
LINE = TextLine(7, "what?")


class TestForm:
    def test_an_answer_is_one_line_whatever_is_in_it(self):
        assert Form().write(LINE, ANSWER) == "a b \n"

    def test_scores_come_first(self):
        assert Form(scores=True).write(LINE, ANSWER) == "-1.2500\ta b \n"

    def test_alternatives_fill_as_many_lines_as_asked(self):
        form = Form(n_best=3)
        assert form.write(LINE, ANSWER) == "a b \nc\n\n"
        assert form.write(LINE, Prediction("x")) == "x\n\n\n"
        assert form.lines_each == 3

    def test_json_is_one_line_and_holds_everything(self):
        form = Form(n_best=2, as_json=True)
        assert form.lines_each == 1
        entry = json.loads(form.write(LINE, ANSWER))
        assert entry["line"] == 7
        assert entry["input"] == "what?"
        assert entry["text"] == "a\nb\r"
        assert entry["alternatives"] == [
            {"text": "a\nb\r", "score": -1.25},
            {"text": "c", "score": -2.0},
        ]

    def test_json_of_tags_names_the_words(self):
        answer = Prediction("DET NOUN", symbols=("DET", "NOUN"), words=("a", "dog"))
        entry = json.loads(Form(as_json=True).write(TextLine(1, "a dog ."), answer))
        assert entry["words"] == ["a", "dog"]

    def test_tags_stand_beside_their_words(self):
        answer = Prediction("DET NOUN", -0.5, symbols=("DET", "NOUN"), words=("a", "dog"))
        assert Form().write(TextLine(1, "a dog"), answer) == "a/DET dog/NOUN\n"
        assert Form(scores=True).write(TextLine(1, "a dog"), answer) == "-0.5000\ta/DET dog/NOUN\n"

    def test_json_has_no_nan(self):
        answer = Prediction("x", float("nan"), ("x",), log_probabilities=(float("-inf"),))
        entry = json.loads(Form(as_json=True).write(LINE, answer))
        assert entry["score"] is None
        assert entry["log_probabilities"] == [None]

    @given(text=st.text(), n_best=st.integers(1, 4), scores=st.booleans(), as_json=st.booleans())
    def test_any_text_fills_exactly_its_lines(self, text, n_best, scores, as_json):
        form = Form(n_best, scores, as_json)
        written = form.write(LINE, Prediction(text, -1.0))
        assert written.count("\n") == form.lines_each
        assert written.endswith("\n")


class TestOutput:
    def test_a_new_file(self, tmp_path):
        with output_file(tmp_path / "out", 1, resume=False) as (file, done):
            assert done == 0
            write_out(file, "ä\n", durable=True)
        assert (tmp_path / "out").read_bytes() == "ä\n".encode()

    def test_an_old_file_is_not_overwritten(self, tmp_path):
        (tmp_path / "out").write_text("precious\n")
        with (
            pytest.raises(UsageError, match="out is there already") as fault,
            output_file(tmp_path / "out", 1, resume=False),
        ):
            pass
        assert fault.value.remedy == "go on with it: --resume; or remove it first"
        assert (tmp_path / "out").read_text() == "precious\n"

    def test_no_folder_for_it(self, tmp_path):
        with pytest.raises(DiskError), output_file(tmp_path / "no" / "out", 1, resume=True):
            pass

    @given(
        lines=st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=5)),
        each=st.integers(1, 3),
        cut=st.integers(0, 60),
    )
    def test_going_on_keeps_whole_answers_and_drops_the_rest(
        self, tmp_path_factory, lines, each, cut
    ):
        whole = "".join(f"{line}\n" for line in lines).encode()
        left = whole[:cut]
        path = tmp_path_factory.mktemp("output") / "out"
        path.write_bytes(left)
        with output_file(path, each, resume=True) as (file, done):
            assert done == left.count(b"\n") // each
            file.write(b"next\n")
        kept = b"".join(line + b"\n" for line in left.split(b"\n")[: done * each])
        assert path.read_bytes() == kept + b"next\n"

    def test_more_answers_than_questions(self):
        with pytest.raises(DataError) as fault:
            skip(iter(numbered("ab")), 3, "in.txt")
        assert fault.value.what == "3 answers are there already, and the input has 2 lines"
        assert list(skip(iter(numbered("abc")), 2, "in.txt")) == [TextLine(3, "c")]


def stream(predictor, note=None, **choices):
    notes = note or (lambda message: None)
    return Stream(predictor, predictor.run.settings.decode, "in.txt", 4, notes, **choices)


class TestStream:
    def test_each_line_has_its_answer(self, predictor):
        model, texts = predictor("rnn"), [*questions("rnn", 9), "", "a"]
        some = list(stream(model).answers(iter(numbered(texts))))
        assert [len(part) for part in some] == [4, 4, 3]
        found = [pair for part in some for pair in part]
        assert [line for line, _ in found] == numbered(texts)
        assert [answer for _, answer in found] == model.predict(texts)

    def test_only_a_chunk_is_read_ahead(self, predictor):
        read = []

        def endless():
            for line in iter(numbered("a" * 100)):
                read.append(line)
                yield line

        next(stream(predictor("tag")).answers(endless()))
        assert len(read) == 4

    def test_a_bad_line_is_named_and_those_before_it_answered(self, predictor):
        lines = [*numbered(["0.5", "0.25 0.5", "x"]), TextLine(4, "1")]
        answers = stream(predictor("point")).answers(iter(lines))
        assert [line.number for part in islice(answers, 2) for line, _ in part] == [1, 2]
        with pytest.raises(DataError) as fault:
            next(answers)
        assert fault.value.where == "in.txt:3"
        assert fault.value.what == "'x' is no list of items"

    def test_going_on_answers_it_with_nothing(self, predictor):
        notes = []
        lines = [
            TextLine(1, "0.5 0.25 0.75"),
            TextLine(2, "", "too long"),
            TextLine(3, "x"),
            TextLine(4, "0.5 0.25 0.75"),
        ]
        some = stream(predictor("point"), notes.append, keep_going=True).answers(iter(lines))
        found = [answer.text for part in some for _, answer in part]
        assert found == [found[0], "", "", found[0]]
        assert found[0]
        assert notes[:2] == [
            "in.txt:2: this line cannot be read: too long; answered with nothing",
            "in.txt:3: 'x' is no list of items; answered with nothing",
        ]

    def test_a_long_line_is_refused_or_cut(self, predictor):
        lines = numbered(["a", " ".join("a" * 30)])
        with pytest.raises(DataError, match="31 symbols") as fault:
            list(stream(predictor("learned")).answers(iter(lines)))
        assert fault.value.where == "in.txt:2"
        (some,) = stream(predictor("learned"), truncate=True).answers(iter(lines))
        assert len(some) == 2

    def test_draws_follow_the_line_and_not_the_chunk(self, predictor):
        model, lines = predictor("language"), numbered(["leo", "mia", "leo", "max", "leo"])
        decode = model.run.settings.decode.model_copy(update={"sample": True, "max_length": 3})
        whole = Stream(model, decode, "in", 5, lambda message: None)
        (expected,) = whole.answers(iter(lines))
        parts = Stream(model, decode, "in", 1, lambda message: None)
        shares = [parts.answers(Shard(number, 2).of(lines)) for number in (1, 2)]
        found = [pair for share in shares for part in share for pair in part]
        assert sorted(found, key=lambda pair: pair[0]) == expected
