"""Folders nobody has to trust: refused in words, before memory is taken and before a number is read."""

import shutil

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.answer.predictor import Predictor
from regard.errors import MemoryLimitError, MissingFileError, ModelFileError, RegardError
from regard.models import ModelSettings, Sizes, build, count_parameters
from regard.run import archive, device, find, load, weights
from regard.run.folder import Run
from tests.run import kinds


@pytest.fixture
def run(folder, tmp_path):
    """A copy that a test may harm."""
    return shutil.copytree(folder("rnn"), tmp_path / "rnn")


@pytest.fixture
def no_reading(monkeypatch):
    """Refusals come before any number is read."""

    def read(*_arguments, **_choices):
        raise AssertionError("numbers were read")

    monkeypatch.setattr(weights, "read", read)


def change(run, old, new):
    config = run / "config.toml"
    text = config.read_text("utf-8")
    assert old in text
    config.write_text(text.replace(old, new, 1), "utf-8")


def rewrite(run, edit):
    tensors = weights.read(run / "model.safetensors")
    edit(tensors)
    weights.write(run / "model.safetensors", tensors)


def refused(run, kind=ModelFileError):
    with pytest.raises(kind) as fault:
        Predictor.load(run, "cpu")
    return fault.value


class TestWeights:
    """F4: missing, extra, of another shape; not finite."""

    def test_tensors_are_compared_by_name_and_shape_first(self, run, monkeypatch):
        def edit(tensors):
            tensors["extra"] = torch.zeros(2)
            del tensors["reader.readout.bias"]
            tensors["reader.readout.weight"] = torch.zeros(3, 5)

        rewrite(run, edit)
        monkeypatch.setattr(weights, "read", None)
        fault = refused(run)
        assert fault.what == (
            "the weights do not fit the model; missing: 'reader.readout.bias'; "
            "not of this model: 'extra'; different: 'reader.readout.weight' is float32 [3, 5] "
            "instead of float32 [12, 24]"
        )

    def test_numbers_that_are_not_finite(self, run):
        rewrite(run, lambda tensors: tensors["reader.readout.bias"].fill_(torch.nan))
        assert "not finite" in refused(run).what

    def test_no_weights_yet(self, run):
        (run / "model.safetensors").unlink()
        assert refused(run).what == "this run has no trained model yet"

    def test_loading_draws_nothing_from_chance(self, run):
        torch.manual_seed(5)
        expected = torch.rand(3)
        torch.manual_seed(5)
        Predictor.load(run, "cpu")
        assert torch.equal(torch.rand(3), expected)

    def test_weights_swapped_after_the_check_are_checked_again(self, run, monkeypatch):
        found = weights.read(run / "model.safetensors")
        found["reader.readout.bias"] = torch.zeros(1)
        monkeypatch.setattr(weights, "read", lambda _path, **_: found)
        assert "'reader.readout.bias' is float32 [1]" in refused(run).what


@pytest.mark.usefixtures("no_reading")
class TestSizes:
    """F5: settings that claim a model larger than their weights, or than memory."""

    @pytest.mark.parametrize(
        ("old", "new", "path"),
        [
            ("width = 12", f"width = {10**12}", "model.encoder.width"),
            ("layers = 1", f"layers = {10**9}", "model.encoder.layers"),
            ("width = 12", f"width = {10**18}", "model.encoder.width"),
        ],
    )
    def test_absurd_numbers(self, run, old, new, path):
        change(run, old, new)
        assert refused(run).what.startswith(f"{path} is 1")

    def test_numbers_that_no_machine_holds(self, run):
        change(run, "width = 12", f"width = {10**60}")
        assert refused(run).what == "an integer needs more than 64 bits"

    def test_absurd_positions(self, folder, tmp_path):
        run = shutil.copytree(folder("learned"), tmp_path / "learned")
        change(run, "max_length = 19", f"max_length = {10**18}")
        assert refused(run).what.startswith("no model can be built from these settings")

    def test_heads_that_do_not_divide(self, folder, tmp_path):
        run = shutil.copytree(folder("transformer"), tmp_path / "transformer")
        change(run, "heads = 3", "heads = 5")
        assert "12 does not divide into 5 heads" in refused(run).what

    def test_a_model_is_compared_with_the_memory_there_is(self, run, monkeypatch):
        monkeypatch.setattr(load, "free_memory", lambda _device: 1000)
        fault = refused(run, MemoryLimitError)
        size = sum(
            entry.end - entry.begin
            for entry in weights.read_header(run / "model.safetensors").entries
        )
        assert fault.what == (
            f"this model needs {2 * size:,} bytes of memory; 1,000 are free on cpu"
        )

    def test_where_memory_is_unknown_it_is_tried(self, run, monkeypatch):
        monkeypatch.setattr(load, "free_memory", lambda _device: None)
        with pytest.raises(AssertionError, match="numbers were read"):
            Predictor.load(run, "cpu")


@pytest.mark.usefixtures("no_reading")
class TestSettings:
    """F6 and its kin: a config is data."""

    @pytest.mark.parametrize(
        "line",
        [
            '_target_ = "os.system"',
            'model_class = "evil.Model"',
            'base = "https://example.org/model"',
            '[model.encoder.__class__]\nname = "Model"',
        ],
    )
    def test_a_class_a_module_a_place_is_no_setting(self, run, line):
        config = run / "config.toml"
        config.write_text(f"{line}\n{config.read_text('utf-8')}", "utf-8")
        fault = refused(run)
        assert "no such setting" in fault.what or "this is not TOML" in fault.what
        assert fault.exit_code == 4

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\xff\xfe",
            b"a = " + b"[" * 100_000,
            b"a = " + b"9" * 5_000,
            b"a = " + b'"' + b"x" * (1 << 20) + b'"',
            b"task = 'fly'",
        ],
        ids=["empty", "not-utf8", "deep", "digits", "long", "no-such-task"],
    )
    def test_what_is_no_config(self, run, content):
        (run / "config.toml").write_bytes(content)
        assert len(str(refused(run))) < 3_000

    @given(content=st.binary(max_size=200))
    def test_any_bytes_are_a_clean_error(self, folder, content):
        path = folder("rnn").parent / "config.toml"
        path.write_bytes(content)
        with pytest.raises(ModelFileError):
            find.read_settings(path)

    def test_a_folder_in_place_of_a_file(self, run):
        (run / "tokenizer.json").unlink()
        (run / "tokenizer.json").mkdir()
        assert refused(run).what == "tokenizer.json is a folder; a tokenizer is needed"

    def test_no_tokenizer(self, run):
        (run / "tokenizer.json").unlink()
        assert refused(run).what == "there is no tokenizer tokenizer.json"

    def test_another_tasks_tokenizer(self, run, folder):
        shutil.copy(folder("tag") / "tokenizer.json", run / "tokenizer.json")
        assert refused(run).what == "the tokenizer belongs to task 'tag', not 'translate'"


class TestPlaces:
    """What can be named in place of a run folder."""

    def test_nothing_there(self, tmp_path):
        with pytest.raises(MissingFileError, match="there is no such run or model"):
            Predictor.load(tmp_path / "absent")

    def test_a_folder_of_something_else(self, tmp_path):
        assert "no config.toml" in refused(tmp_path).what

    def test_a_pickle_says_why_not(self, tmp_path):
        path = tmp_path / "model.pt"
        path.write_bytes(b"\x80\x04\x95" + b"\0" * 100)
        fault = refused(path)
        assert fault.what.startswith("this is a Python pickle")
        assert "convert the file where you trust" in fault.remedy

    def test_a_packed_pickle_too(self, tmp_path):
        path = tmp_path / "model.bin"
        path.write_bytes(b"PK\x03\x04" + b"\0" * 26 + b"archive/data.pkl" + b"\0" * 100)
        assert refused(path).what.startswith("this is a Python pickle")

    def test_weights_alone(self, folder):
        fault = refused(folder("rnn") / "model.safetensors")
        assert fault.what == "weights alone are not a run"

    def test_an_archive_answers_as_its_folder_does(self, folder, tmp_path):
        archive.pack(folder("rnn"), tmp_path / "shared.zip")
        packed = kinds.load(tmp_path / "shared.zip")
        texts = list(kinds.questions("rnn", 3))
        assert packed.predict(texts) == kinds.load(folder("rnn")).predict(texts)
        assert not list(tmp_path.glob("*/"))

    def test_an_archive_with_a_path_in_it(self, tmp_path):
        path = tmp_path / "evil.zip"
        path.write_bytes(b"PK\x03\x04" + b"\0" * 22 + b"\x04\0\0\0" + b"../x")
        assert isinstance(refused(path), RegardError)


class TestMemory:
    def test_this_machine_tells(self):
        free = device.free_memory(torch.device("cpu"))
        assert free is None or 0 < free < 1 << 50

    def test_a_container_may_have_less(self, tmp_path, monkeypatch):
        (tmp_path / "memory.max").write_text("5000\n")
        (tmp_path / "memory.current").write_text("2000\n")
        monkeypatch.setattr(device, "_GROUP", tmp_path)
        assert device.free_memory(torch.device("cpu")) == 3000
        (tmp_path / "memory.max").write_text("max\n")
        monkeypatch.setattr(device, "_SYSTEM", tmp_path / "absent")
        assert device.free_memory(torch.device("cpu")) is None

    def test_the_lesser_of_both_counts(self, tmp_path, monkeypatch):
        (tmp_path / "memory.max").write_text("5000000")
        (tmp_path / "memory.current").write_text("0")
        (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    7 kB\n")
        monkeypatch.setattr(device, "_GROUP", tmp_path)
        monkeypatch.setattr(device, "_SYSTEM", tmp_path / "meminfo")
        assert device.free_memory(torch.device("cpu")) == 7 * 1024


def test_a_run_remembers_its_settings(folder):
    run = Run.open(folder("rnn"))
    assert run.settings.model.encoder.width == 12
    assert run.task.name == "translate"


@pytest.mark.parametrize("promised", [False, True])
def test_an_outline_has_all_shapes_and_memory_only_if_promised(tmp_path, promised):
    side = {"kind": "transformer", "width": 128, "layers": 1, "heads": 2, "feedforward": 1024}
    settings = ModelSettings.model_validate({"encoder": side, "reader": side})
    sizes = Sizes(source=1009, target=1009, shared=True)
    whole = build(settings, sizes)
    path = tmp_path / "model.safetensors"
    weights.write(path, whole.state_dict())
    outlined, state = load.outline(path, settings, sizes, promised=promised)
    shapes = {name: tensor.shape for name, tensor in whole.state_dict().items()}
    assert {name: tensor.shape for name, tensor in outlined.state_dict().items()} == shapes
    assert {name: tensor.shape for name, tensor in state.items()} == shapes
    memory = {p.untyped_storage().data_ptr(): p.untyped_storage() for p in outlined.parameters()}
    taken, full = sum(map(len, memory.values())), 4 * count_parameters(whole)
    assert taken == full if promised else taken < full / 2
