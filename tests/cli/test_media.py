"""Every command on models of sounds, of pictures, and of a sentence with its picture, to a pack."""

import json
import shutil
from pathlib import Path
from random import Random

import pytest

from regard.data import png, wav
from regard.data.toys.drawings import painted, said, scene
from regard.data.toys.spelling import spoken

SHORT = [
    f"--set={change}"
    for change in (
        *("train.steps=2", "train.evaluate_every=2", "train.checkpoint_every=2"),
        *("train.evaluate_examples=2", "train.workers=0", "decode.max_length=5", "decode.beam=2"),
    )
]
SMALL = ["--set=model.encoder.width=8", "--set=model.reader.width=8"]
GRID = ["--set=model.encoder.front.channels=[3,3,4]", "--set=model.reader.feedforward=8"]
BOTH = """
task = "multisource"
text = { kind = "word" }
[model]
source_dropout = 0.2
encoder = { kind = "rnn", width = 8 }
reader = { kind = "rnn", width = 8, combine = "hierarchical" }
[model.encoders.picture]
kind = "front"
width = 8
front = { kind = "convolution", channels = [3, 3, 3] }
"""


class Case:
    """A folder with a table, its run, how it was trained, a question, and what its card says of asking it."""

    def __init__(self, kind: str, home: Path) -> None:
        self.data, self.run, self.kind = home / "my dätä", home / "run", kind
        self.data.mkdir()
        rows = []
        for number in range(6):
            things = scene(Random(number))
            picture, sound = f"bild {number} ü.png", f"take {number} ü.wav"
            (self.data / picture).write_bytes(png.encode(painted(things)))
            (self.data / sound).write_bytes(wav.encode(spoken("bano mi", number)[0]))
            first = f"{said(*things)}\t" if kind == "both" else ""
            name = sound if kind == "sounds" else picture
            rows.append(f"{first}{name}\tno {number}\n")
        head = "en\tpicture\tde\n" if kind == "both" else "file\ttext\n"
        self.table = self.data / "all.tsv"
        self.table.write_text(head + "".join(rows), encoding="utf-8")
        self.file = str(self.data / ("take 3 ü.wav" if kind == "sounds" else "bild 3 ü.png"))
        both = {"en": "a red circle", "picture": {"image": self.file}}
        self.question = json.dumps(both, ensure_ascii=False) if kind == "both" else self.file
        (home / "both.toml").write_text(BOTH)
        columns = ["--from", "en", "--from", "picture", "--to", "de"]
        self.how = {
            "sounds": [self.data, "-p", "chan2016", *SMALL],
            "pictures": [self.data, "-p", "captioner", *SMALL, *GRID],
            "both": [self.table, *columns, "--config", home / "both.toml"],
        }[kind]
        self.asked = {
            "sounds": "regard look run FILE",
            "pictures": "regard look run FILE",
            "both": """regard look run '{"en": "...", "picture": {"image": "FILE"}}'""",
        }[kind]
        self.encoders = {
            "sounds": "| model | rnn encoder, rnn reader |",
            "pictures": "| model | convolution encoder, transformer reader |",
            "both": "| model | rnn encoder of en, convolution encoder of picture, rnn reader |",
        }[kind]


@pytest.fixture(scope="module", params=["sounds", "pictures", "both"])
def case(request, tmp_path_factory):
    from regard.cli.main import status

    own = Case(request.param, tmp_path_factory.mktemp(request.param))
    words = ["train", *own.how, "--valid", own.how[0], "-o", own.run, *SHORT]
    assert status([str(word) for word in words]) == 0
    return own


def test_the_files_are_previewed(case, tell):
    shown = [word for word in case.how if "=" not in str(word) and "-p" not in str(word)][:7]
    code, out, _ = tell("data", *shown[: 7 if case.kind == "both" else 1])
    assert code == 0
    assert "6 " in out
    assert {"sounds": "s  ", "pictures": "48 x 48 pixels", "both": "bild 0 ü.png"}[case.kind] in out
    if case.kind == "both":  # its pictures are previewed, each behind its name, before the target
        lines = [line.strip() for line in out.splitlines()]
        place = lines.index("picture: bild 0 ü.png")
        assert lines[place + 1 : place + 3] == ["48 x 48 pixels, in colour", "no 0"]


def test_sounds_among_several_sources_are_previewed_with_their_loudness(tell, tmp_path):
    (tmp_path / "a.wav").write_bytes(wav.encode(spoken("bano mi", 3)[0]))
    (tmp_path / "all.tsv").write_text("en\tvoice\tde\n" + "a word\ta.wav\tein Wort\n" * 3)
    columns = ["--from", "en", "--from", "voice", "--to", "de"]
    code, out, _ = tell("data", tmp_path / "all.tsv", *columns)
    assert code == 0
    assert "voice: a.wav  0.8" in out
    assert any(mark in out for mark in "▃▄▅▆▇")
    sizes = [f"--set=model.{part}.width=8" for part in ("encoder", "reader")]
    words = [*columns, "--valid", tmp_path / "all.tsv", "-o", tmp_path / "run", *SHORT, *sizes]
    code, _, err = tell("train", tmp_path / "all.tsv", *words)
    assert (code, "transformer encoder of en, rnn encoder of voice" in err) == (0, True), err
    card = (tmp_path / "run" / "README.md").read_text()
    assert """regard look run '{"en": "...", "voice": {"sound": "FILE"}}'""" in card


def test_answers_are_the_same_by_argument_by_line_and_as_json(case, tell, tell_json, tmp_path):
    (tmp_path / "asked.txt").write_text(f"{case.question}\n{case.question}\n", encoding="utf-8")
    code, answer = tell_json("predict", case.run, case.question)
    assert code == 0
    code, out, err = tell("predict", case.run, "--input", tmp_path / "asked.txt")
    assert code == 0, err
    assert out.split("\n") == [answer["text"].replace("\n", " "), answer["text"], ""]
    assert answer["input"] == case.question
    code, _, err = tell("predict", case.run, case.question.replace("3 ü", "9 ü"))
    assert (code, "there is no such" in err, "did you mean" in err) == (2, True, True)


def test_a_pack_of_bytes_answers_is_looked_at_and_is_compared_with_its_run(case, tell, tmp_path):
    pack = tmp_path / "pack"
    code, _, err = tell("models", "pack", case.run, pack, "--weights", "int8")
    assert code == 0, err
    sizes = [(run / "model.safetensors").stat().st_size for run in (pack, case.run)]
    assert sizes[0] < sizes[1]
    assert tell("predict", pack, case.question)[0] == 0
    code, _, err = tell("look", pack, case.question, "--svg", tmp_path / "a.svg")
    assert (code, "<svg" in (tmp_path / "a.svg").read_text()) == (0, True), err
    code, out, err = tell("evaluate", case.run, case.table, "--against", pack)
    assert code == 0, err
    assert "paired" in out
    assert (pack / "README.md").read_text() == (case.run / "README.md").read_text()


def test_the_card_says_how_it_is_asked_and_what_reads(case):
    card = (case.run / "README.md").read_text()
    assert case.asked in card
    assert case.encoders in card


def test_variants_are_compared(case, tell_json, tmp_path, monkeypatch):
    setting = "combine=flat,serial" if case.kind == "both" else "dropout=0,0.1"
    words = [*case.how, "--vary", f"model.reader.{setting}", "-o", tmp_path / "c", *SHORT]
    code, table = tell_json("compare", *words)
    assert code == 0, table
    assert len(table["rows"]) == 2
    metrics = {"sounds": "WER", "pictures": "BLEU", "both": "BLEU"}[case.kind]
    assert metrics in json.dumps(table["rows"][0])


def test_what_it_cannot_do_is_refused_by_name(case, tell, tmp_path):
    code, _, err = tell("export", case.run, "--to", "huggingface", "--out", tmp_path / "hf")
    assert (code, "cannot hold this model" in err) == (2, True), err
    assert not (tmp_path / "hf").exists()


def test_a_run_that_lost_its_last_steps_goes_on_to_the_same_bits(case, tell, tmp_path):
    """As a kill leaves it: the checkpoint of step 2 is there, and what came after is not."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    four = [*SHORT, "--set=train.steps=4"]
    assert tell("train", *case.how, "--valid", case.how[0], "-o", whole, *four)[0] == 0
    shutil.copytree(whole, cut)
    shutil.rmtree(cut / "checkpoints" / "step-000000004")
    (cut / "model.safetensors").unlink()
    code, _, err = tell("train", cut)
    assert (code, "resumed at step 2" in err) == (0, True), err
    first, second = ((run / "model.safetensors").read_bytes() for run in (whole, cut))
    assert first == second
    assert first != (case.run / "model.safetensors").read_bytes()


def _lines(out: str) -> list[str]:
    """An untrained model may say any character that `splitlines` splits at."""
    return out.split("\n")[:-1]


def test_a_folder_is_answered_file_by_file_behind_their_names(case, tell, tmp_path):
    if case.kind == "both":
        assert tell("predict", case.run, case.data)[0] == 2
        return
    files = sorted(path for path in case.data.iterdir() if path.suffix == Path(case.file).suffix)
    code, out, err = tell("predict", case.run, *files)
    assert code == 0, err
    named = [f"{path}\t{text}" for path, text in zip(files, _lines(out), strict=True)]
    code, out, err = tell("predict", case.run, case.data)
    assert (code, _lines(out)) == (0, named), err
    table = tmp_path / "answers.tsv"
    parts = ["--shard", "2/3", "--output", table]
    assert tell("predict", case.run, case.data, *parts)[0] == 0
    assert _lines(table.read_text(encoding="utf-8")) == named[1::3]
    assert tell("predict", case.run, case.data, *parts, "--resume")[1] == ""


def test_of_a_folder_scores_and_alternatives_have_the_name_before_each(case, tell, tell_json):
    if case.kind == "both":
        return
    _, out, _ = tell("predict", case.run, case.data, "--scores", "--n-best", "2")
    cells = [line.split("\t") for line in _lines(out)]
    assert len(cells) == 12
    assert {len(row) for row in cells} <= {2, 3}  # an alternative that does not exist is blank
    assert [row[0] for row in cells[::2]] == [row[0] for row in cells[1::2]]
    code, out, _ = tell("predict", case.run, case.data, "--json")
    assert (code, [json.loads(line)["input"] for line in _lines(out)]) == (
        0,
        [row[0] for row in cells[::2]],
    )


def test_a_folder_without_such_files_is_refused_and_one_bad_file_is_named(case, tell, tmp_path):
    if case.kind == "both":
        return
    code, _, err = tell("predict", case.run, tmp_path)
    noun = case.kind.removesuffix("s")
    assert (code, f"there is no {noun} in this folder" in err) == (3, True), err
    for name in (Path(case.file).name, f"broken{Path(case.file).suffix}"):
        (tmp_path / name).write_bytes(Path(case.file).read_bytes())
    (tmp_path / name).write_bytes(Path(case.file).read_bytes()[:99])
    code, _, err = tell("predict", case.run, tmp_path)
    assert (code, name in err, "--keep-going" in err) == (3, True, True), err
    code, out, err = tell("predict", case.run, tmp_path, "--keep-going")
    assert (code, len(_lines(out)), name in err) == (0, 2, True), err
    (tmp_path / name).write_text("no sound and no picture at all")
    code, out, err = tell("predict", case.run, tmp_path, "--keep-going")
    assert (code, len(_lines(out)), name in err) == (0, 2, True), err


def test_a_line_whose_file_is_missing_or_whose_question_is_broken_is_named(case, tell, tmp_path):
    gone = case.question.replace("3 ü", "9 ü")
    for wrong in (gone, '{"en": "a", "picture"') if case.kind == "both" else (gone,):
        (tmp_path / "asked.txt").write_text(f"{case.question}\n{wrong}\n", encoding="utf-8")
        code, _, err = tell("predict", case.run, "--input", tmp_path / "asked.txt")
        assert (code, "asked.txt:2" in err, "--keep-going" in err) == (2, True, True), err
        code, out, err = tell(
            "predict", case.run, "--input", tmp_path / "asked.txt", "--keep-going"
        )
        assert (code, len(_lines(out)), _lines(out)[1]) == (0, 2, ""), err


def test_a_map_beside_an_answer_is_that_of_look(case, tell):
    """It listed the cells of a picture as columns of a table, and showed one source of several."""
    code, out, err = tell("predict", case.run, case.question, "--look")
    assert (code, "row 1, column 1" in out) == (0, False), err
    looked = tell("look", case.run, case.question)[1]
    _, drawn = out.split("\n\n", 1)
    assert looked.rstrip("\n").endswith(drawn.rstrip("\n"))
    assert drawn.count("x 6 cells") == (case.kind != "sounds")


def test_heads_of_several_sources_say_which_one_they_look_at(case, tell, tell_json, tmp_path):
    code, out, err = tell("heads", case.run)
    assert code == 0, err
    assert all((f"cross 0 of {name}" in out) == (case.kind == "both") for name in ("en", "picture"))


def test_a_curve_by_length_says_what_is_counted(case, tell):
    data = case.table if case.kind == "both" else case.data
    code, out, err = tell("evaluate", case.run, data, "--by", "length")
    assert code == 0, err
    counted = {"sounds": "frames of the sound", "pictures": "columns of the picture"}
    assert counted.get(case.kind, "length of the longest source") in out


def test_models_without_heads_to_remove_say_so(case, tell, tmp_path):
    code, _, err = tell("prune", case.run, "--keep", "1", "--out", tmp_path / "small")
    if case.kind == "pictures":
        assert code == 0, err
        assert tell("predict", tmp_path / "small", case.question)[0] == 0
    else:
        assert (code, "no heads to remove" in err) == (2, True), err


def test_only_one_source_is_unrolled(case, tell):
    code, _, err = tell("look", case.run, case.question, "--unrolled")
    if case.kind == "both":
        assert (code, "the sources en, picture are read side by side" in err) == (2, True), err
