"""A model file that is lost or damaged: nobody is answered by it, and training makes it again."""

import shutil

import pytest
import torch

from regard.answer.predictor import Predictor
from regard.cli.main import status
from regard.errors import ModelFileError
from regard.run.folder import Run
from regard.training import judge
from tests.training.kit import Ears, model_of, numbers_of, tiny, trained


def lose(path):
    path.unlink()


def cut(path):
    path.write_bytes(path.read_bytes()[:-3])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-50] ^= 1  # the lowest bits of a number: as good a number as any
    path.write_bytes(bytes(content))


def empty(path):
    path.write_bytes(b"")


@pytest.fixture(scope="module")
def finished(quick_path_factory):
    """Runs that ended, one a kind of averaging, to be copied and hurt."""
    made = {}

    def get(average):
        if average not in made:
            folder = quick_path_factory()
            settings = tiny(folder, evaluate_every=3, checkpoint_every=3, average=average)
            trained(folder / "run", settings)
            made[average] = settings, folder / "run", numbers_of(folder / "run")
        return made[average]

    return get


@pytest.mark.parametrize("hurt", [lose, cut, flip, empty])
def test_a_lost_model_is_made_again_from_the_checkpoint_of_its_step(finished, tmp_path, hurt):
    settings, before, numbers = finished("none")
    run = shutil.copytree(before, tmp_path / "run")
    hurt(run / "model.safetensors")
    with pytest.raises(ModelFileError) as refused:
        Predictor.load(run, "cpu")
    if hurt is lose:
        assert "regard train" in refused.value.remedy
    ears = Ears()
    outcome = trained(run, settings, listener=ears)
    assert numbers_of(run) == numbers
    (note,) = [one for one in ears.of("noted") if "made again" in one]
    assert f"the checkpoint of step {outcome.best_step}" in note
    assert Predictor.load(run, "cpu").translate("a b c") is not None


@pytest.mark.parametrize("average", ["ema", "last"])
def test_an_average_is_made_again(finished, tmp_path, average):
    settings, before, numbers = finished(average)
    run = shutil.copytree(before, tmp_path / "run")
    lose(run / "model.safetensors")
    trained(run, settings)
    assert numbers_of(run) == numbers


@pytest.fixture
def early(tmp_path, monkeypatch):
    """A run whose best step was the first that was judged."""
    losses = iter([1.0, 4.0, 3.0, 3.0, 3.0])
    settings = tiny(tmp_path, steps=15, evaluate_every=3, checkpoint_every=3, keep=2)
    with monkeypatch.context() as patched:
        patched.setattr(judge, "held_out_loss", lambda *_: next(losses))
        trained(tmp_path / "run", settings)
    return settings, tmp_path / "run"


def test_the_checkpoint_of_the_best_step_is_kept(early):
    settings, run = early
    assert Run.open(run).checkpoints.steps() == [3, 12, 15]
    before = (run / "model.safetensors").read_bytes()
    lose(run / "model.safetensors")
    assert trained(run, settings).best_step == 3
    assert (run / "model.safetensors").read_bytes() == before


def test_without_that_checkpoint_the_best_of_the_others_is_taken(early):
    settings, run = early
    shutil.rmtree(run / "checkpoints" / "step-000000003")
    lose(run / "model.safetensors")
    ears = Ears()
    outcome = trained(run, settings, listener=ears)
    (note,) = [one for one in ears.of("noted") if "made again" in one]
    assert outcome.best_step in (12, 15)
    assert note.endswith(f"made again from the checkpoint of step {outcome.best_step}")
    kept = Run.open(run).checkpoints.load(outcome.best_step).tensors["model"]
    assert all(torch.equal(kept[name], value) for name, value in model_of(run).items())


def test_damaged_checkpoints_cannot_take_its_place(finished, tmp_path):
    settings, before, _ = finished("none")
    run = shutil.copytree(before, tmp_path / "run")
    lose(run / "model.safetensors")
    newest = Run.open(run).checkpoints.latest().folder
    for path in run.glob("checkpoints/*/model.safetensors"):
        if path.parent.name != newest.name:
            flip(path)
    ears = Ears()
    trained(run, settings, listener=ears)
    (note,) = [one for one in ears.of("noted") if "made again" in one]
    assert note.endswith(f"step {int(newest.name.partition('-')[2])}")


FILES = {
    "metrics.jsonl": b'{"kind": "train"}\n',
    "samples.jsonl": b"[1]\n",
    "data/probes.jsonl": b'{"question": 3}\n',
    "data/fingerprint": b"\xff\xfe",
    "data/train/header.json": b"{}",
    "tokenizer.json": b"[]",
    "config.toml": b"a = 1\n",
    "README.md": b"\xff",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_no_damaged_file_of_a_run_is_called_a_fault_of_regard(finished, tmp_path, capsys, name):
    _, before, _ = finished("none")
    for content in (None, FILES[name], b"\x00\xff" * 40, b"{" * 5000 + b"\n"):
        commands = (["train"], ["look"], ["evaluate"])
        # The doctor does sums for a minute, so he is asked once a file.
        for command in (*commands, *([["doctor"]] if content == FILES[name] else [])):
            run = shutil.copytree(before, tmp_path / "run")
            if content is None:
                (run / name).unlink()
            else:
                (run / name).write_bytes(content)
            code = status([command[0], str(run), *command[1:]])
            told = capsys.readouterr()
            assert "fault of regard" not in told.out + told.err, (name, content, command)
            assert code in (0, 1, 2, 3, 4, 8), (name, content, command)
            assert code != 1 or command == ["doctor"]  # which finds something to tell
            shutil.rmtree(run)


def test_damaged_questions_are_written_again(finished, tmp_path):
    settings, before, numbers = finished("none")
    run = shutil.copytree(before, tmp_path / "run")
    (run / "data" / "probes.jsonl").write_bytes(b'{"question": 3}\n')
    with pytest.raises(ModelFileError) as refused:
        Run.open(run).probes()
    assert refused.value.what == "line 1 of probes.jsonl is damaged"
    ears = Ears()
    trained(run, settings, listener=ears)
    assert "line 1 of probes.jsonl is damaged; the questions were written again" in ears.of("noted")
    assert numbers_of(run) == numbers
