"""Without a run, the box answers; a run, a slip and a text are told apart before anything is loaded."""

import io
import json
import sys

import pytest

import regard
from regard.cli.main import status
from regard.cli.target import meant, refuse_files
from regard.errors import RegardError
from regard.run.find import no_such_run

TEXT = "the black cat ate the mouse ."

NAME_ONE = (
    "name a folder that `regard train` made, or a model in the box: `regard models` lists them"
)


@pytest.fixture
def tell(capsys):
    def call(*arguments):
        capsys.readouterr()
        code = status([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


class TestAnswers:
    def test_a_text_is_translated_by_the_box(self, boxed, tell):
        code, out, err = tell("translate", TEXT, "--to", "fr")
        assert (code, err) == (0, "")
        assert out == regard.load().translate(TEXT, to="fr") + "\n"

    def test_the_target_matters(self, boxed):
        model = regard.load("translator")
        read = [model.passages.parts(TEXT, language)[0].read for language in ("fr", "de")]
        assert read == [f">>fr<< {TEXT}", f">>de<< {TEXT}"]

    def test_each_command_takes_the_model_of_its_task(self, boxed, tell):
        assert tell("tag", "it sleeps .")[1] == tell("tag", "tagger", "it sleeps .")[1] != ""
        assert tell("classify", "so good")[1] == tell("classify", "-m", "sentiment", "so good")[1]

    def test_lines_in_lines_out(self, boxed, tell, tmp_path):
        lines = ["  the cat. the mouse! ", "", " \t ", "😀 42", "the %s cat", "see a@b.org"]
        source = tmp_path / "lines.txt"
        source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        code, out, _ = tell("translate", "--to", "fr", "--input", source)
        answers = out.split("\n")
        assert (code, len(answers)) == (0, len(lines) + 1)
        assert answers[1:4] == lines[1:4]
        assert answers[0].startswith("  ")
        assert answers[0].endswith(" ")
        assert answers[4].count("%s") == answers[5].count("a@b.org") == 1

    def test_standard_input(self, boxed, tell, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the cat\nthe mouse\n")))
        code, out, _ = tell("translate", "--to", "de")
        assert (code, out.count("\n")) == (0, 2)

    def test_a_language_other_than_english_goes_to_english(self, boxed, tell):
        french = "le chat noir a mangé la souris ."
        assert tell("translate", french)[1] == tell("translate", french, "--to", "en")[1]
        assert tell("translate", french)[1] == tell("translate", french, "--from", "fr")[1]

    def test_look_draws_below_the_answer(self, boxed, tell):
        code, out, _ = tell("translate", TEXT, "--to", "fr", "--look")
        assert code == 0
        assert {"black", "mouse", ">>fr<<"} <= set(out.replace("│", " ").split())

    def test_look_takes_the_box(self, boxed, tell):
        code, out, _ = tell("look", TEXT, "--to", "fr")
        assert code == 0
        assert out.startswith(TEXT)
        assert tell("look")[0] == tell("look", "translator")[0] == 0
        assert tell("look", "tagger", "it sleeps .")[0] == 0

    def test_json_has_the_whole_text(self, boxed, tell):
        found = json.loads(tell("translate", "the cat. 😀 the mouse.", "--to", "fr", "--json")[1])
        assert found["input"] == "the cat. 😀 the mouse."
        assert found["text"].count("😀") == 1

    def test_alternatives_are_whole_texts(self, boxed, tell):
        out = tell("translate", "the cat. 😀 the mouse.", "--to", "fr", "--n-best", "2")[1]
        assert [line.count("😀") for line in out.splitlines()] == [1, 1]

    def test_evaluate_knows_the_language_by_the_file(self, boxed, tell, tmp_path):
        for side, line in {"en": TEXT, "fr": "le chat noir a mangé la souris ."}.items():
            (tmp_path / f"small.{side}").write_text(f"{line}\n", "utf-8")
        asked = ["evaluate", "translator", "small.en", "small.fr", "--json"]
        found = json.loads(tell(*asked)[1])
        assert found == json.loads(tell(*asked, "--to", "fr")[1])
        assert found["metrics"][0]["name"] == "BLEU"
        assert tell(*asked, "--to", "it")[0] == 2


class TestMeant:
    def test_a_run_a_name_and_a_text(self, boxed, tmp_path):
        run = tmp_path / "mine"
        run.mkdir()
        assert meant(["mine", "a", "b"], None, "translate")[1] == ["a", "b"]
        assert str(meant(["tagger", "a"], None, "tag")[0]) == "tagger"
        assert meant(["some text", "b"], None, "translate")[1] == ["some text", "b"]
        assert meant(["mine", "a"], "translator", "translate")[1] == ["mine", "a"]
        assert meant(["and/or"], None, "translate")[1] == ["and/or"]
        assert meant(["x" * 10_000], None, "translate")[1] == ["x" * 10_000]
        assert meant([], None, "translate")[1] == []

    def test_near_misses(self, boxed, tmp_path):
        (tmp_path / "runs" / "first").mkdir(parents=True)
        (tmp_path / "runs" / "first" / "config.toml").touch()
        (tmp_path / "notes.txt").write_text("hello\n", "utf-8")
        for word, what, remedy in [
            ("runs/frist", "there is no such run or model", "did you mean runs/first?"),
            ("./first", "there is no such run or model", "did you mean runs/first?"),
            ("runs/other", "there is no such run or model", NAME_ONE),
            ("./nothing", "there is no such run or model", NAME_ONE),
            ("mine.zip", "there is no such run or model", NAME_ONE),
            (
                "notes.txt",
                "notes.txt is a file of text, not a model",
                "answer its lines: --input notes.txt",
            ),
        ]:
            with pytest.raises(RegardError) as caught:
                meant([word], None, "translate")
            assert (caught.value.what, caught.value.remedy) == (what, remedy)
        with pytest.raises(RegardError, match="is a file of text, not a model"):
            meant(["a text"], "notes.txt", "translate")
        refuse_files(["a text", "", "runs", "no.such"], "")
        with pytest.raises(RegardError, match="its name would be answered"):
            refuse_files(["a text", "notes.txt"], "see {}")

    def test_a_name_nearly_of_the_box(self, boxed):
        assert "did you mean translator?" in str(no_such_run("translatr"))

    def test_an_empty_box_asks_for_a_run(self, boxed, monkeypatch, tmp_path):
        monkeypatch.setattr(regard.box, "PLACE", tmp_path)
        with pytest.raises(RegardError, match="there is no such run"):
            meant(["something"], None, "translate")
        for words in ([], ["some text"]):
            with pytest.raises(RegardError, match="the box has no model for the task 'translate'"):
                meant(words, None, "translate")
        for words in ([], ["some text"]):
            with pytest.raises(RegardError, match="which model"):
                meant(words, None, "")


class TestRefusals:
    def test_english_needs_a_target(self, boxed, tell):
        code, _, err = tell("translate", TEXT)
        assert code == 2
        assert err == (
            "error: into which language?\n"
            "  where: --to\n"
            "  try:   say --to fr; this model knows fr (French), de (German)\n"
        )
        assert tell("translate", TEXT, "--from", "en")[0] == 2

    def test_unknown_languages(self, boxed, tell):
        code, _, err = tell("translate", TEXT, "--to", "it")
        assert code == 2
        assert "this model does not translate into 'it'" in err
        assert "it knows en (English), fr (French), de (German)" in err

    def test_a_map_is_for_the_eye(self, boxed, tell):
        assert tell("translate", TEXT, "--to", "fr", "--look", "--json")[0] == 2

    def test_no_such_model_in_the_box(self, boxed, tell):
        assert tell("models", "show", "translatr")[2].count("did you mean 'translator'?") == 1


class TestModels:
    def test_listed(self, boxed, tell):
        out = tell("models")[1]
        assert all(name in out for name in ("translator", "tagger", "sentiment", "CC0-1.0"))
        found = json.loads(tell("models", "--json")[1])["models"]
        assert [one["name"] for one in found] == ["translator", "sentiment", "tagger"]
        assert all(one["bytes"] > 1000 for one in found)

    def test_shown(self, boxed, tell):
        assert "translator" in tell("models", "show", "translator")[1]
        assert json.loads(tell("models", "show", "tagger", "--json")[1])["task"] == "tag"

    def test_an_empty_box(self, boxed, tell, monkeypatch, tmp_path):
        monkeypatch.setattr(regard.box, "PLACE", tmp_path)
        code, out, err = tell("models")
        assert (code, out) == (0, "")
        assert "The box is empty." in err

    def test_packed(self, boxed, tell):
        code, _, err = tell("models", "pack", "translator", "small", "--weights", "float16")
        assert code == 0
        assert "bytes of weights" in err
        assert tell("translate", "small", TEXT, "--to", "fr")[0] == 0
        assert tell("models", "pack", "translator", "other", "--weights", "int7")[0] == 2
