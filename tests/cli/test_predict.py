"""`regard predict` and its friendly names: N lines in, N lines out, in shares, after a kill, in any form."""

import io
import json
import math
import os
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.answer.stream import Form
from regard.cli import predict as command
from regard.cli.main import status
from regard.cli.options import Lines
from regard.tasks import point
from tests.run import kinds

TEXTS = [*kinds.questions("rnn", 11), "", "a b c"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    place, made = tmp_path_factory.mktemp("kinds"), {}

    def get(kind):
        if kind not in made:
            made[kind] = kinds.make(place / kind, kind)
        return made[kind]

    return get


class Standard:
    """Standard input, output and error as bytes."""

    def __init__(self, monkeypatch, typed=b"", terminal=False):
        self.typed = io.TextIOWrapper(io.BytesIO(typed))
        self.typed.isatty = lambda: terminal
        self.out, self.err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
        monkeypatch.setattr(sys, "stdin", self.typed)
        monkeypatch.setattr(sys, "stdout", self.out)
        monkeypatch.setattr(sys, "stderr", self.err)

    @property
    def answered(self) -> bytes:
        self.out.flush()
        return self.out.buffer.getvalue()


@pytest.fixture
def piped(monkeypatch):
    """Pipe bytes through a command: its exit code, the bytes that came out, and what was said beside."""

    def call(typed, *arguments, terminal=False):
        with monkeypatch.context() as patched:
            standard = Standard(patched, typed, terminal)
            code = status([str(argument) for argument in arguments])
            return code, standard.answered, standard.err.getvalue()

    return call


def lined(texts):
    return "".join(f"{text}\n" for text in texts).encode()


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "input.txt"
    path.write_bytes(lined(TEXTS))
    return path


class TestLines:
    def test_as_many_lines_out_as_in(self, folder, piped):
        code, out, _ = piped(lined(TEXTS), "translate", folder("rnn"))
        assert code == 0
        assert out == lined(kinds.load(folder("rnn")).translate(TEXTS))

    @settings(
        max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        texts=st.lists(
            st.text(st.characters(codec="utf-8", exclude_characters="\n\0"), max_size=8)
            | st.sampled_from(["", " ", "\u2028", "\x85", "a\u2029b", "\r", "a\rb", "\x1c", "é"]),
            max_size=7,
        ),
        ended=st.booleans(),
    )
    def test_whatever_they_hold(self, folder, piped, texts, ended):
        typed = lined(texts) if ended or not texts else lined(texts)[:-1]
        expected = typed.count(b"\n") + (not typed.endswith(b"\n") and typed != b"")
        if typed.startswith((b"\x1f\x8b", b"\xff", b"\xfe", b"\xef\xbb\xbf")):
            return  # a packed file, or another encoding: said and tested elsewhere
        code, out, err = piped(typed, "tag", folder("tag"))
        assert (code, err) == (0, "")
        assert out.count(b"\n") == expected
        assert out == b"" or out.endswith(b"\n")

    def test_answers_may_hold_line_ends(self, folder, piped, monkeypatch):
        """A model of bytes may well say one."""
        from regard.tasks import Prediction, Translate

        def two_lines(self, model, inputs, decode, **choices):
            return [Prediction("one\ntwo\r\nthree") for _ in inputs]

        monkeypatch.setattr(Translate, "predict", two_lines)
        code, out, _ = piped(b"a\nb\n", "translate", folder("rnn"))
        assert (code, out) == (0, b"one two  three\n" * 2)

    def test_texts_on_the_command_line(self, folder, tell):
        code, out, _ = tell("predict", folder("rnn"), "a b c", "d")
        assert code == 0
        assert out.split("\n")[:-1] == kinds.load(folder("rnn")).translate(["a b c", "d"])

    def test_from_file_to_file(self, folder, source, tmp_path, tell):
        target = tmp_path / "out"
        code, out, _ = tell("translate", folder("rnn"), "--input", source, "--output", target)
        assert (code, out) == (0, "")
        assert target.read_bytes() == lined(kinds.load(folder("rnn")).translate(TEXTS))

    def test_a_person_is_told_what_to_do(self, folder, piped):
        code, out, err = piped(b"a b\nc\n", "translate", folder("rnn"), terminal=True)
        assert code == 0
        assert out.count(b"\n") == 2
        assert err.startswith("Type a text and press Enter; Ctrl-D ends.")

    def test_memory_is_bounded_by_chunks(self, folder, piped, monkeypatch):
        """Ten thousand blank lines need no model, and are never held together."""
        from regard.answer.stream import Stream

        held, whole = [], Stream._together
        monkeypatch.setattr(
            Stream,
            "_together",
            lambda self, lines, advance: held.append(len(lines)) or whole(self, lines, advance),
        )
        code, out, _ = piped(b"\n" * 10_000, "tag", folder("tag"))
        assert (code, out) == (0, b"\n" * 10_000)
        assert max(held) == 256


class TestNames:
    @pytest.mark.parametrize(
        ("name", "kind", "text"),
        [
            ("translate", "rnn", "a b"),
            ("tag", "tag", "it sleeps ."),
            ("classify", "classify", "good"),
            ("point", "point", "0.5 0.25"),
            ("continue", "language", "leo had"),
        ],
    )
    def test_each_task_has_a_name(self, folder, tell, name, kind, text):
        code, out, _ = tell(name, folder(kind), text)
        assert code == 0
        assert out == tell("predict", folder(kind), text)[1]

    def test_the_wrong_name_is_answered_with_the_right_one(self, folder, tell):
        code, out, err = tell("tag", folder("rnn"), "a b")
        assert (code, out) == (2, "")
        assert err == (
            "error: this model was trained to translate, not to tag\n"
            f"  where: {folder('rnn')}\n"
            f"  try:   regard translate {folder('rnn')}\n"
        )


class TestForms:
    def test_alternatives_and_scores(self, folder, piped):
        code, out, _ = piped(
            lined(TEXTS), "translate", folder("rnn"), "--n-best", 3, "--beam", 4, "--scores"
        )
        assert code == 0
        rows = out.decode().split("\n")[:-1]
        assert len(rows) == 3 * len(TEXTS)
        model = kinds.load(folder("rnn"))
        for start, answer in zip(
            range(0, len(rows), 3), model.predict(TEXTS, beam=4, top_beams=3), strict=True
        ):
            expected = [f"{score:.4f}\t{text}" for text, score in answer.alternatives]
            expected = expected or ["0.0000\t"]
            assert rows[start : start + 3] == [*expected, "", ""][:3]

    def test_the_beam_widens_by_itself_but_not_against_ones_word(self, folder, tell):
        assert tell("translate", folder("rnn"), "a b", "--n-best", 7)[1].count("\n") == 7
        code, _, err = tell("translate", folder("rnn"), "a b", "--n-best", 3, "--beam", 2)
        assert code == 2
        assert "a beam of 2 cannot give 3 alternatives" in err

    def test_labels_have_alternatives_too(self, folder, tell):
        code, out, _ = tell("classify", folder("classify"), "good", "--n-best", 2)
        assert code == 0
        assert sorted(out.split()) == ["negative", "positive"]

    def test_who_is_unsure_says_so_and_json_still_has_the_label(self, folder, tell):
        asked = ("classify", folder("classify"), "good")
        plain = json.loads(tell(*asked, "--json")[1])
        probability = math.exp(plain["score"])
        assert tell(*asked)[1] == tell(*asked, "--sure", 0.4)[1] == f"{plain['text']}\n"
        sure = (1 + probability) / 2
        assert tell(*asked, "--sure", sure)[1] == "unsure\n"
        entry = json.loads(tell(*asked, "--sure", sure, "--json")[1])
        assert entry == {**plain, "text": "unsure"}
        assert tell(*asked, "--sure", sure, "--n-best", 2)[1].split()[0] == plain["text"]
        code, _, err = tell(*asked, "--sure", 1)
        assert code == 2
        assert "must be less than 1" in err

    @pytest.mark.parametrize("kind", ["rnn", "tag", "classify", "point", "language"])
    def test_json_is_one_valid_object_a_line(self, folder, piped, kind):
        texts = [*kinds.questions(kind, 3), ""]
        code, out, _ = piped(lined(texts), "predict", folder(kind), "--json")
        assert code == 0
        entries = [json.loads(line, parse_constant=pytest.fail) for line in out.split(b"\n")[:-1]]
        answers = kinds.load(folder(kind)).predict(texts)
        assert [entry["line"] for entry in entries] == [1, 2, 3, 4]
        assert [entry["input"] for entry in entries] == texts
        for entry, answer in zip(entries, answers, strict=True):
            assert (entry["text"], entry["score"]) == (answer.text, answer.score)

    def test_json_of_broken_numbers(self, folder, tell, monkeypatch):
        monkeypatch.setattr(point, "LARGEST", math.inf)  # broken numbers reach the model
        code, out, _ = tell("point", folder("point"), "inf 1 2", "--json")
        entry = json.loads(out, parse_constant=pytest.fail)
        assert (code, entry["score"], entry["finish"]) == (0, None, "numerics")

    def test_chance_is_repeatable(self, folder, tell):
        def drawn(*more):
            return tell("continue", folder("language"), "leo", "mia", "--max-length", 5, *more)[1]

        assert drawn("--sample") == drawn("--sample", "--seed", 1) != drawn("--sample", "--seed", 2)
        assert drawn("--sample", "--temperature", 3) != drawn("--sample")
        assert drawn("--sample", "--top-k", 1) == drawn("--beam", 1)
        assert drawn("--sample", "--top-p", 0.0001) == drawn("--beam", 1)

    @pytest.mark.parametrize("option", ["--temperature", "--top-k", "--top-p", "--seed"])
    def test_what_chance_needs_is_refused_where_nothing_is_drawn(self, folder, tell, option):
        """`--temperature 2` alone was answered by chance, as if `--sample` had been said."""
        code, out, err = tell("continue", folder("language"), "leo", option, 1)
        assert (code, out) == (2, "")
        assert f"{option} is for answers drawn at random" in err
        assert f"add --sample, or leave out {option}" in err


class TestShares:
    def test_shares_make_up_the_whole(self, folder, piped):
        _, whole, _ = piped(lined(TEXTS), "translate", folder("rnn"))
        shares = []
        for number in (1, 2, 3):
            code, out, _ = piped(lined(TEXTS), "translate", folder("rnn"), "--shard", f"{number}/3")
            assert code == 0
            shares.append(out.split(b"\n")[:-1])
        merged = [shares[n % 3][n // 3] for n in range(len(TEXTS))]
        assert b"".join(line + b"\n" for line in merged) == whole

    def test_json_keeps_the_numbers(self, folder, piped):
        _, out, _ = piped(lined(TEXTS), "predict", folder("rnn"), "--shard", "2/4", "--json")
        assert [json.loads(line)["line"] for line in out.split(b"\n")[:-1]] == [2, 6, 10]

    def test_no_share(self, folder, tell):
        assert tell("predict", folder("rnn"), "a", "--shard", "5/3")[0] == 2


class TestResume:
    @pytest.mark.parametrize(
        "form", [(), ("--json",), ("--n-best", 2, "--scores"), ("--shard", "2/2"), ("--sample",)]
    )
    def test_wherever_it_was_cut_the_bytes_are_the_same(self, folder, source, tmp_path, tell, form):
        arguments = ("translate", folder("rnn"), "--input", source, "--strict", *form)
        whole = tmp_path / "whole"
        assert tell(*arguments, "--output", whole)[0] == 0
        content = whole.read_bytes()
        for at in (0, 1, len(content) // 3, len(content) // 2 + 1, len(content) - 1, len(content)):
            target = tmp_path / "cut"
            target.write_bytes(content[:at])
            assert tell(*arguments, "--output", target, "--resume")[0] == 0
            assert target.read_bytes() == content

    def test_a_new_file_can_be_resumed_too(self, folder, source, tmp_path, tell):
        code, _, _ = tell(
            "translate", folder("rnn"), "-i", source, "-o", tmp_path / "new", "--resume"
        )
        assert code == 0
        assert (tmp_path / "new").read_bytes().count(b"\n") == len(TEXTS)

    def test_an_old_file_is_safe(self, folder, source, tmp_path, tell):
        (tmp_path / "old").write_text("precious\n")
        code, _, err = tell("translate", folder("rnn"), "-i", source, "-o", tmp_path / "old")
        assert code == 2
        assert "old is there already" in err
        assert (tmp_path / "old").read_text() == "precious\n"

    def test_more_answers_than_lines(self, folder, source, tmp_path, tell):
        (tmp_path / "old").write_text("x\n" * 99)
        code, _, err = tell(
            "translate", folder("rnn"), "-i", source, "-o", tmp_path / "old", "--resume"
        )
        assert code == 3
        assert "99 answers are there already, and the input has 13 lines" in err

    def test_only_a_file_can_be_resumed(self, folder, tell):
        assert tell("predict", folder("rnn"), "a", "--resume")[0] == 2

    @pytest.mark.slow
    def test_killed_for_real(self, folder, tmp_path):
        source, target, whole = tmp_path / "in", tmp_path / "out", tmp_path / "whole"
        source.write_bytes(lined(TEXTS * 200))
        arguments = [sys.executable, "-m", "regard", "translate", str(folder("rnn"))]
        arguments += ["--strict", "--json", "--input", str(source), "--output"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([*arguments, str(whole)], check=True, env=environment)
        kills = 0
        while True:
            process = subprocess.Popen([*arguments, str(target), "--resume"], env=environment)
            before = target.stat().st_size if target.exists() else 0
            while process.poll() is None:
                time.sleep(0.02)
                if target.exists() and target.stat().st_size > before and kills < 4:
                    process.send_signal(signal.SIGKILL)
                    kills += 1
                    break
            if process.wait() == 0:
                break
        assert kills
        assert target.read_bytes() == whole.read_bytes()


class TestTrouble:
    @pytest.mark.parametrize(
        ("arguments", "code", "words"),
        [
            (("--input", "absent.txt"), 2, "there is no such file"),
            (("a", "--input", __file__), 2, "texts and a file cannot both be answered"),
            (("a", "--precision", "float8"), 2, "'float8' is not one of"),
            (("a", "--device", "abacus"), 2, "no device 'abacus'"),
            (("a", "--beam", "0"), 2, "--beam"),
            (("a", "--sample", "--top-p", "7"), 2, "top_p"),
            (("a", "--sample", "--temperature", "-1"), 2, "temperature"),
        ],
    )
    def test_exit_codes(self, folder, tell, arguments, code, words):
        found, out, err = tell("predict", folder("rnn"), *arguments)
        assert (found, out) == (code, "")
        assert words in err

    def test_a_slip_leaves_no_file_behind(self, folder, tmp_path, tell):
        target = tmp_path / "out"
        for slip in (("--input", tmp_path / "absent"), ("a", "--beam", 2, "--n-best", 3)):
            assert tell("predict", folder("rnn"), *slip, "--output", target)[0] == 2
            assert not target.exists()

    def test_no_run(self, tmp_path, tell):
        assert tell("predict", tmp_path / "absent", "a")[0] == 2

    def test_errors_as_json(self, tmp_path, tell):
        code, out, err = tell("predict", tmp_path / "absent", "a", "--json")
        assert json.loads(out)["exit_code"] == code == 2
        assert err == ""

    def test_a_bad_line_stops_with_its_place_after_what_came_before(self, folder, piped):
        code, out, err = piped(b"0.5\n0.25 1\nx\n1\n", "point", folder("point"))
        assert code == 3
        assert out.count(b"\n") == 2
        assert "standard input:3" in err

    def test_or_is_answered_with_nothing(self, folder, piped):
        typed = b"0.5\nx\n\xff\n" + b"1 " * 40_000 + b"\n0.5\n"
        code, out, err = piped(typed, "point", folder("point"), "--keep-going")
        assert code == 0
        first, *middle, last, end = out.split(b"\n")
        assert (first, middle, last, end) == (first, [b""] * 3, first, b"")
        assert err.count("answered with nothing") == 3

    def test_bytes_that_are_no_text(self, folder, piped):
        code, _, err = piped(b"a\n\xff\n", "translate", folder("rnn"))
        assert code == 3
        assert "standard input:2:1" in err

    def test_a_text_too_long(self, folder, piped):
        long = lined([" ".join("a" * 30)])
        code, out, err = piped(long, "translate", folder("learned"))
        assert (code, out) == (3, b"")
        assert "a text has 31 symbols, and this model reads at most 16" in err
        code, out, err = piped(long, "translate", folder("learned"), "--truncate")
        assert (code, out.count(b"\n")) == (0, 1)
        assert "1 of 1 texts were cut" in err

    def test_bfloat16_answers(self, folder, tell):
        assert tell("translate", folder("rnn"), "a b", "--precision", "bfloat16")[0] == 0


def test_every_name_has_help(tell):
    for name in ("translate", "tag", "classify", "point", "continue", "predict"):
        code, out, _ = tell(name, "--help")
        assert code == 0
        assert f"regard {name} runs/mine" in " ".join(out.split())


def test_who_interrupts_a_file_hears_how_to_go_on(tmp_path, capsys):
    target = tmp_path / "out.txt"
    with (
        pytest.raises(KeyboardInterrupt),
        command._destination(Lines(target=target), Form(1, False, False)),
    ):
        raise KeyboardInterrupt
    assert (
        f"{target} has what was answered so far; --resume continues it" in capsys.readouterr().err
    )


def test_a_text_that_is_the_name_of_a_file_is_refused(folder, tmp_path, piped):
    file = tmp_path / "new.en"
    file.write_text("a b c\n", "utf-8")
    code, out, err = piped(b"", "translate", folder("rnn"), file)
    assert (code, out) == (2, b"")
    assert f"answer its lines: --input {file}" in err
