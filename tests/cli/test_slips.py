"""Slips of the keyboard are refused in words, and before torch is loaded."""

import json
import re
import subprocess
import sys

import pytest
from typer.main import get_command

from regard.cli.main import app
from regard.config import to_toml
from regard.run.resolve import resolve

# What is typed, and the words of the error. Exit code 2 each, and none of it needs torch.
SLIPS = [
    ("translate nosuchrun Hello --to fr", "there is no such run or model"),
    ("translate translatr --to fr", "did you mean translator?"),
    ("translate runs/mine --to fr", "there is no such run or model"),
    ("translate -m nosuchrun Hello", "there is no such run or model"),
    ("translate Hello --json true --to fr", "--json takes no value"),
    ("translate Hello --look false --to fr", "--look takes no value"),
    ("translate Hello --to fr --temperature 2", "--temperature is for answers drawn at random"),
    ("translate Hello --to klingon", "does not translate into 'klingon'"),
    ("translate Hello", "into which language?"),
    ("translate 'Hola, ¿qué tal estás hoy?' --to en", "this looks like Spanish"),
    ("translate 'Bonjour le monde' --to fr", "this looks like French already"),
    ("translate Hello --nosuch", "no such option: --nosuch"),
    ("translate Hello --device gpuu", "no device 'gpuu'"),
    ("translate -i nosuch.txt --to fr", "there is no such file"),
    ("translate Hello --to fr --beam 2 --n-best 3", "a beam of 2 cannot give 3"),
    ("translate tagger Hello", "trained to tag, not to translate"),
    ("tag translator Hello", "regard translate translator"),
    ("classify nosuch/run Hello", "there is no such run or model"),
    ("point tagger '0.3 0.1'", "trained to tag, not to point"),
    ("continue nosuch 'Once upon'", "there is no such run or model"),
    ("predict", "which model?"),
    ("look nosuch/run Hello", "there is no such run or model"),
    ("look Hello --to klingon", "does not translate into 'klingon'"),
    ("data nosuch.en nosuch.de", "there is no such file"),
    ("heads translator --sort entropie", "did you mean 'entropy'?"),
    ("heads translator --kind crosss", "did you mean 'cross'?"),
    ("models pack translator small.zip", "a folder is made here, not an archive"),
    ("heads translator --sort content", "add --position"),
    ("heads translator --role previouss", "did you mean 'previous'?"),
    ("heads translator --to klingon", "does not translate into 'klingon'"),
    ("heads sorter --to fr", "does not translate into 'fr'"),
    ("senses translator bank --to klingon", "does not translate into 'klingon'"),
    ("senses translator --to fr", "--to changes nothing"),
    ("senses translator --layer 2", "--layer changes nothing"),
    ("data a.en a.de --valid a.en nosuch.de", "there is no such file"),
    ("data --valid a.en a.de", "no training file was named"),
    ("data a.en a.de --task nosuch", "there is no task 'nosuch'"),
    ("data --toy nosuch", "there is no toy 'nosuch'"),
    ("train nosuch.en nosuch.de", "there is no such file"),
    ("train a.en a.de --valid nosuch", "there is no such file"),
    ("train a.en a.de --preset nosuch", "no preset 'nosuch'"),
    ("train a.en a.de --config nosuch.toml", "there is no such settings file"),
    ("train a.en a.de --start-from nosuch", "there is no such run or model"),
    ("train a.en a.de --set steps=5", "train.steps"),
    ("train a.en a.de --epochs 3", "--set train.epochs=3"),
    ("train", "there is nothing to learn from"),
    ("config nosuch", "no preset 'nosuch'"),
    ("compare nosuch.en nosuch.de", "there is no such file"),
    ("evaluate nosuch", "there is no such run or model"),
    ("evaluate translator nosuch.en nosuch.de", "there is no such file"),
    ("evaluate translator a.en a.de --to klingon", "does not translate into 'klingon'"),
    ("evaluate --hypotheses nosuch.txt a.de", "there is no such file"),
    ("evaluate --hypotheses a.en nosuch.de", "there is no such file"),
    ("doctor nosuch", "there is no such run or model"),
    ("studio nosuch", "there is no such run or model"),
    ("models show nosuch", "nosuch"),
    ("models pack nosuch other", "there is no such run or model"),
    ("trian a.en a.de", "Did you mean 'train'?"),
]
# Options that would be ignored: each was, in silence.
IGNORED = """
predict tagger 'I saw' --beam 5
predict tagger 'I saw' --max-length 1
predict tagger 'I saw' --sample
predict tagger 'I saw' --n-best 3
predict tagger 'I saw' --split
predict sorter '0.3 0.1' --whole
predict sentiment good --beam 5
predict sentiment good --sample
translate 'The cat sleeps.' --to fr --sample --beam 3
evaluate tagger a.conllu --beam 3
evaluate sentiment a.tsv --beam 3
evaluate --hypotheses a.en a.de --beam 3
evaluate --hypotheses a.en a.de --truncate
evaluate --hypotheses a.en a.de --to fr
evaluate --hypotheses a.en a.de --weights int8
evaluate --hypotheses a.en a.de --device cpu
evaluate --hypotheses a.en a.de --against translator
evaluate translator a.en a.de --hypotheses a.de --beam 3
look 'The cat' --to fr --head 0 --all-heads
look 'The cat' --to fr --arcs --turned
look 'The cat' --to fr --arcs --numbers
look 'The cat' --to fr --arcs --all-heads
look 'The cat' --to fr --all-heads --svg m.svg
look 'The cat' --to fr --numbers --svg m.svg --html m.html
look 'The cat' --to fr --numbers --json
look 'The cat' --to fr --head 1 --npz m.npz
look 'The cat' --to fr --site reader --json
look 'The cat' --to fr --turned --html m.html
look translator --positions --numbers
look tagger 'The cat' --beam 5
data a.en a.de --toys
data --toy reverse --valid a.en
data --toy reverse --on-bad-utf8 skip
train --toy reverse --test a.en
train --toy reverse --from en --to fr
compare --toy reverse --preset bahdanau2015 --vary train.steps=1 --valid a.en
config --set train.steps=3
config --toy reverse
heads translator --gold a.en
""".strip().splitlines()
SLIPS += [(line, "changes nothing") for line in IGNORED]
SLIPS += [
    ("translate Hello --to fr --from fr", "said to be in 'fr' already"),
    ("evaluate translator a.en a.de --tokenize nosuch", "no BLEU tokenizer 'nosuch'"),
    ("evaluate nosuch --hypotheses a.en a.de", "there is no such file"),
    ("align nosuch a.en a.de", "there is no such run or model"),
    ("align translator a.en nosuch.de", "there is no such file"),
    ("align translator a.en a.conllu", "into which language?"),
    ("align translator a.en a.de --to klingon", "does not translate into 'klingon'"),
    ("export nosuch --to onnx --out other", "there is no such run or model"),
    ("heads nosuch", "there is no such run or model"),
    ("heads translator --data nosuch.en", "there is no such file"),
    ("senses nosuch bank", "there is no such run or model"),
    ("senses translator bank --corpus nosuch", "there is no such file"),
    ("prune nosuch", "there is no such run or model"),
    ("prune translator --data nosuch.en", "there is no such file"),
    ("prune translator --by nosuch", "no way 'nosuch'"),
    ("extrapolate nosuch", "there is no such run or model"),
    ("models import nosuch other", "there is no such folder"),
    ("train a_run --preset bahdanau2015", "is a run already"),
    ("train a_run --valid a.en", "is a run already"),
    ("train a_run --task tag", "is a run already"),
    ("train a_run --start-from translator", "is a run already"),
    ("train a_run --out other", "is a run already"),
    ("demo --again --out .", "not the run's alone"),
]
# Where nothing can be written: `regard heads --svg nosuch/x.svg` said so after half a minute of work.
UNWRITABLE = [
    *(f"look Hello --to fr {option} nosuch/x" for option in ("--svg", "--png", "--html", "--npz")),
    *(f"heads translator {option} nosuch/x" for option in ("--svg", "--csv")),
    *(f"{name} a.en --to fr --output nosuch/x" for name in ("translate", "predict")),
    "senses translator bank --svg nosuch/x",
    "evaluate translator --by length --svg nosuch/x",
    "extrapolate sorter --svg nosuch/x",
    "prune translator --svg nosuch/x",
    "prune translator --keep 3 --out a.en/x/y",
    "export translator --to onnx --out a.en/x",
    "heads translator --headvis a.en/x",
    "look Hello --to fr --svg a_run",
]
PROGRAM = """
import contextlib, io, json, shlex, sys
from regard.cli.main import status

for line in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = status(shlex.split(line))
    print(json.dumps([line, code, said.getvalue(), "torch" in sys.modules]))
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        sys.exit(f"torch was loaded by: {line}")
"""


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """What every slip was answered with, in one process that never saw torch."""
    folder = tmp_path_factory.mktemp("slips")
    (folder / "a.en").write_text("one\ntwo\nthree\nfour\n")
    (folder / "a.de").write_text("eins\nzwei\ndrei\nvier\n")
    (folder / "a.tsv").write_text("a good film\tpositive\n")
    (folder / "a.conllu").write_text("1\tThe\t_\tDET\t_\t_\t_\t_\t_\t_\n\n")
    (folder / "a_run").mkdir()
    for place in (folder, folder / "a_run"):  # a folder of somebody's work, and one of its own
        settings = to_toml(resolve(name="bahdanau2015", toy="reverse"))
        (place / "config.toml").write_text(settings)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([*(line for line, _ in SLIPS), *UNWRITABLE])],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {line: rest for line, *rest in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize(("line", "words"), SLIPS)
def test_a_slip_is_refused_before_torch_is_loaded(answered, line, words):
    code, said, is_loaded = answered[line]
    assert (code, is_loaded) == (2, False)
    assert words in said


@pytest.mark.parametrize("line", UNWRITABLE)
def test_what_cannot_be_written_is_said_before_torch_is_loaded(answered, line):
    code, said, is_loaded = answered[line]
    assert (code, is_loaded) == (5, False)
    assert "cannot write" in said


@pytest.mark.parametrize("line", [*(line for line, _ in SLIPS), *UNWRITABLE])
def test_every_refusal_says_what_to_do(answered, line):
    _, said, _ = answered[line]
    remedy = json.loads(said)["remedy"] if "--json" in line else said.partition("try:")[2]
    assert remedy.strip(), said


def test_help_prints_no_type_beside_a_flag(tell):
    """`--json <bool>` invited `--json true`."""
    for name in get_command(app).commands:
        code, out, _ = tell(name, "--help")
        assert code == 0
        assert not re.search(r"<bool>|BOOLEAN|<str>|<int>", out), name


def test_several_files_behind_one_option(tmp_path, tell_json):
    """`--valid v.en v.de` made v.de a training file, and the task a language model."""
    paths = {}
    for name, count in (("a", 30), ("v", 5), ("t", 3)):
        for side in ("en", "de"):
            paths[name, side] = tmp_path / f"{name}.{side}"
            paths[name, side].write_text("".join(f"{name} {n} {side}\n" for n in range(count)))
    files = {name: [paths[name, "en"], paths[name, "de"]] for name in "avt"}
    wanted = ("data", *files["a"], "--valid", *files["v"], "--test", *files["t"])
    code, answer = tell_json(*wanted)
    assert (code, answer["task"]) == (0, "translate")
    sources = answer["report"]["sources"]
    assert [one["kept"] for one in sources] == [30, 5, 3]
    twice = ("--valid", files["v"][0], "--valid", files["v"][1])
    again = tell_json(
        "data", *twice, *("--test", *files["t"]), *("--task", "translate"), *files["a"]
    )
    assert again[1]["report"]["sources"] == sources


def test_a_flag_may_be_followed_by_a_text_that_is_no_truth_value(trained, tell):
    code, out, _ = tell("translate", trained, "--scores", "a b")
    assert (code, out.count("\n")) == (0, 1)
    code, out, _ = tell("translate", trained, "--scores", "--", "true")
    assert (code, out.count("\n")) == (0, 1)
