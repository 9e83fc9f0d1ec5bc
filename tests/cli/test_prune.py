"""`regard prune`: a smaller run that says what the larger one says with those heads closed, and trains on."""

import pytest

import regard
from regard.data.example import Pair
from regard.errors import RegardError
from regard.run.folder import Run
from regard.traces.importance import (
    batches,
    closed,
    counted,
    least_needed,
    loss_of,
    orders,
    places,
    write_pruned,
)
from tests.run import kinds

PAIRS = [Pair("a b c", "c b a"), Pair("d e f a", "a f e d")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prune")
    (folder / "data.tsv").write_text("".join(f"{p.source}\t{p.target}\n" for p in PAIRS))
    return folder, kinds.make(folder / "run", "transformer")


def test_a_pruned_run_has_the_loss_of_the_model_with_those_heads_closed(made):
    folder, run = made[0], Run.open(made[1])
    model = run.load_model()
    remove = [place for place in places(model) if place[1] == 0 or "blocks.1" in place[0]][:-3]
    some = batches(run.task, PAIRS)
    with closed(model, remove):
        wanted = loss_of(run.task, model, some)
    write_pruned(run, model, remove, folder / "pruned")
    again = Run.open(folder / "pruned")
    smaller = again.load_model()
    assert loss_of(again.task, smaller, some) == pytest.approx(wanted, rel=1e-5)
    assert sum(p.numel() for p in smaller.parameters()) < sum(p.numel() for p in model.parameters())
    assert isinstance(regard.load(folder / "pruned").translate("a b"), str)
    left = counted(model, remove)
    assert sum(now for now, _ in left.values()) == len(places(model)) - len(remove)
    with pytest.raises(RegardError, match="there already"):
        write_pruned(run, model, remove, folder / "pruned")


def test_until_the_loss_has_grown_enough(made):
    run = Run.open(made[1])
    model = run.load_model()
    some = batches(run.task, PAIRS)
    order = orders(dict.fromkeys(places(model), 0.0))["random order"]

    def measure():
        return loss_of(run.task, model, some)

    assert least_needed(model, measure, order, 1e9) == order
    assert least_needed(model, measure, order, -1e9) == []
    kept = least_needed(model, measure, order, 0.05)
    with closed(model, kept):
        assert measure() <= loss_of(run.task, run.load_model(), some) + 0.05 + 1e-6


def test_the_command_writes_a_run_that_trains_on(made, tell, tell_json):
    folder, run = made
    options = ["prune", run, "--data", folder / "data.tsv"]
    code, answer = tell_json(*options, "--keep", 7, "--out", folder / "seven")
    assert code == 0, answer
    assert sum(now for now, _ in answer["left"].values()) == 7
    code, _, err = tell(
        "train", folder / "data.tsv", "--valid", folder / "data.tsv", "--start-from",
        folder / "seven", "--out", folder / "on", "--set", "train.steps=1", "--set",
        "train.evaluate_every=1", "--set", "train.workers=0",
    )  # fmt: skip
    assert code == 0, err
    settings = [Run.open(folder / name).settings.model for name in ("seven", "on")]
    assert settings[0] == settings[1]


def test_a_pruned_run_has_examples_and_its_heads_are_measured(made, tell, tell_json):
    """`heads` wanted a file that pruning had left behind, and nothing said that a closed head stays."""
    folder, run = made
    data = folder / "run" / "data"
    data.mkdir(exist_ok=True)
    (data / "probes.jsonl").write_text('{"question": "a b c d", "answer": "d c b a"}\n')
    options = ["prune", run, "--data", folder / "data.tsv", "--keep", 1]
    code, _, said = tell(*options, "--out", folder / "kept")
    assert code == 0, said
    assert "5 attentions without any: one closed head stays in each" in said
    assert Run.open(folder / "kept").probes() == [("a b c d", "d c b a")]
    code, answer = tell_json("heads", folder / "kept")
    assert code == 0, answer
    assert "1 questions" in answer["title"]
    (data / "probes.jsonl").unlink()
    assert tell(*options, "--out", folder / "bare")[0] == 0
    code, answer = tell_json("heads", folder / "bare", "--most", 2)
    assert code == 0, answer


def test_the_curve_begins_with_the_whole_model(made, tell, tell_json):
    folder, run = made
    options = ["prune", run, "--data", folder / "data.tsv", "--by", "importance"]
    code, answer = tell_json(*options)
    assert code == 0, answer
    firsts = [some[0] for some in answer["curves"].values()]
    assert firsts[0] == firsts[1] == firsts[2]
    assert firsts[0][0] == 18
    assert "heads left" in tell(*options)[1]


def test_what_is_half_said_is_refused(made, tell):
    folder, run = made
    for more in (["--keep", 3], ["--out", folder / "x"], ["--by", "luck"]):
        assert tell("prune", run, *more)[0] == 2, more


def test_a_model_of_several_languages_is_judged_in_the_one_that_is_meant(tmp_path, tell, tell_json):
    """Without a tag in front it was judged by what it says when nobody asks."""
    for name, lines in (
        ("a.en", "The cat sleeps."),
        ("a.fr", "Le chat dort."),
        ("a.x", "Le chat dort."),
    ):
        (tmp_path / name).write_text(f"{lines}\n")
    (tmp_path / "tagged.en").write_text(">>fr<< The cat sleeps.\n")

    def loss(out, source, target, *more):
        command = ["prune", "translator", "--keep", 130, "--out", tmp_path / out, "--data"]
        code, answer = tell_json(*command, tmp_path / source, tmp_path / target, *more)
        assert code == 0, answer
        return answer["loss"][0]

    expected = loss("one", "tagged.en", "a.fr")
    assert loss("two", "a.en", "a.fr") == loss("three", "a.en", "a.x", "--to", "french") == expected
    for more in ([], ["--to", "klingon"]):
        data = ["--data", tmp_path / "a.en", tmp_path / "a.x"]
        code, _, err = tell("prune", "translator", *data, *more)
        assert (code, "into" in err) == (2, True), err
