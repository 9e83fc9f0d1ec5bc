"""A packed run: the same model to within half a scale, in a folder that is trusted no more than any other."""

import contextlib
import json
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from regard.errors import ModelFileError, RegardError, UsageError
from regard.models import build
from regard.models.compress import SCALE, narrowed, to_rows, widened
from regard.run import header, weights
from regard.run.folder import Run
from regard.run.pack import pack
from tests.run import kinds

KINDS = ("transformer", "rnn", "learned", "tag", "classify", "hull", "language")


@pytest.fixture
def packed(folder, tmp_path):
    """A packed Transformer that a test may harm."""
    return pack(folder("transformer"), tmp_path / "packed").folder


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory):
    """A packed Transformer that is mended after each harm."""
    return pack(folder("transformer"), tmp_path_factory.mktemp("fuzz") / "packed").folder


def rewrite(folder, edit):
    tensors = weights.read(folder / "model.safetensors")
    edit(tensors)
    weights.write(folder / "model.safetensors", tensors)


def refused(folder):
    with pytest.raises(ModelFileError) as fault:
        regard.load(folder, "cpu")
    return fault.value


@given(
    rows=st.integers(1, 7),
    columns=st.integers(1, 13),
    seed=st.integers(0, 99),
    size=st.sampled_from([1e-30, 1e-3, 1.0, 1e5]),
)
def test_a_row_is_never_further_off_than_half_its_scale(rows, columns, seed, size):
    matrix = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)) * size
    whole, scale = to_rows(matrix)
    assert int(whole.abs().max()) == 127, "the largest of a row uses the whole range"
    off = (whole.double() * scale.double().unsqueeze(1) - matrix.double()).abs()
    assert bool((off <= scale.double().unsqueeze(1) * (0.5 + 1e-6)).all())


def test_a_row_of_zeros_stays_zero_and_no_scale_is_zero():
    whole, scale = to_rows(torch.tensor([[0.0, 0.0], [1.0, -2.0]]))
    assert whole.tolist() == [[0, 0], [64, -127]]
    assert bool((scale > 0).all())
    assert to_rows(torch.zeros(3, 0))[1].shape == (3,)


def test_narrowing_twice_changes_nothing_more():
    state = {"matrix": torch.randn(5, 7), "vector": torch.randn(3)}
    once = narrowed(state, "int8")
    again = narrowed(widened(once), "int8")
    assert once.keys() == again.keys() == {"matrix", "matrix:scale", "vector"}
    assert torch.equal(once["matrix"], again["matrix"])


@pytest.mark.parametrize(
    ("shape", "rows"), [((5, 3, 2, 3), (5,)), ((2, 5, 7), (2, 5)), ((5, 7), (5,))]
)
def test_kernels_and_matrices_side_by_side_have_rows_too(shape, rows):
    """Each row is twice as loud as the one before, so that one scale for several would show."""
    loud = 2.0 ** torch.arange(math.prod(rows)).view(*rows, *[1] * (len(shape) - len(rows)))
    tensor = torch.randn(shape, generator=torch.Generator().manual_seed(7)) * loud
    kept = narrowed({"weight": tensor}, "int8")
    assert kept["weight"].dtype == torch.int8
    assert kept["weight"].shape == shape
    assert kept["weight:scale"].shape == rows
    off = (widened(kept)["weight"] - tensor).abs()
    assert bool((off <= 0.501 * kept["weight:scale"].view_as(loud)).all())


def test_what_was_tied_stays_tied():
    table = torch.randn(5, 7)
    found = widened(narrowed({"table": table, "output": table}, "int8"))
    assert found["table"] is found["output"]


def test_half_precision_keeps_what_it_cannot_hold():
    state = {"small": torch.tensor([1.5]), "large": torch.tensor([1e9])}
    assert narrowed(state, "float16")["small"].dtype == torch.float16
    assert widened(narrowed(state, "float16"))["large"].tolist() == [1e9]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", ["int8", "float16", "float32"])
def test_a_packed_run_is_the_run_to_within_rounding(folder, tmp_path, kind, kept):
    run = folder(kind)
    result = pack(run, tmp_path / "packed", kept)
    before = Run.open(run).load_model().state_dict()
    after = Run.open(result.folder).load_model().state_dict()
    for name, tensor in before.items():
        if kept == "float32" or (kept == "int8" and tensor.dim() < 2):
            assert torch.equal(after[name], tensor), name
        elif kept == "int8":
            first = 2 if tensor.dim() == 3 else 1
            step = tensor.abs().amax(tuple(range(first, tensor.dim())), keepdim=True) / 127
            assert bool(((after[name] - tensor).abs() <= 0.501 * step).all()), name
        else:
            assert torch.allclose(after[name], tensor, rtol=2**-11, atol=1e-7), name
    assert {path.name for path in result.folder.iterdir()} <= {
        "config.toml",
        "tokenizer.json",
        "model.safetensors",
        "README.md",
    }
    assert len(kinds.load(result.folder).predict(kinds.questions(kind, 1))) == 1


def test_bytes_are_the_same_whenever_it_is_packed(folder, tmp_path):
    first = pack(folder("transformer"), tmp_path / "first")
    second = pack(folder("transformer"), tmp_path / "second")
    same = [(x / "model.safetensors").read_bytes() for x in (first.folder, second.folder)]
    assert same[0] == same[1]
    assert first.after == len(same[0]) < first.before


def test_the_file_is_what_the_page_says(packed):
    """docs/packed-weights.md: a matrix is `name` in I8 and `name:scale` in F32; vectors are F32."""
    head = weights.read_header(packed / "model.safetensors")
    kinds_of = {entry.name: (entry.dtype, len(entry.shape)) for entry in head.entries}
    assert head.metadata["weights"] == "int8"
    for name, (dtype, axes) in kinds_of.items():
        assert dtype == ("I8" if axes >= 2 and not name.endswith(SCALE) else "F32")
        assert (name + SCALE in kinds_of) == (dtype == "I8")


def test_a_packed_run_can_be_packed_again_and_archived(packed, tmp_path):
    from regard.run import archive

    assert pack(packed, tmp_path / "half", "float16").folder.is_dir()
    archive.pack(packed, tmp_path / "packed.zip")
    assert regard.load(tmp_path / "packed.zip", "cpu").translate("a b") == regard.load(
        packed, "cpu"
    ).translate("a b")
    assert pack(tmp_path / "packed.zip", tmp_path / "again").folder.is_dir()


def test_a_folder_that_is_there_is_left_alone(folder, tmp_path):
    with pytest.raises(UsageError, match="is there already"):
        pack(folder("transformer"), tmp_path)


class TestFaults:
    """Packed weights that lie are refused in words."""

    def test_too_few_scales(self, packed):
        name = "encoder.blocks.0.attention.key.weight"

        def edit(tensors):
            tensors[name + SCALE] = tensors[name + SCALE][1:].clone()

        rewrite(packed, edit)
        assert refused(packed).what == (
            f"'{name}' has 12 rows and needs as many scales in float32, not float32 [11]"
        )

    def test_no_scales(self, packed):
        name = "encoder.blocks.0.attention.key.weight"
        rewrite(packed, lambda tensors: tensors.pop(name + SCALE))
        assert f"'{name}' is int8 [12, 12] instead of float32 [12, 12]" in refused(packed).what

    def test_scales_of_nothing(self, packed):
        rewrite(packed, lambda tensors: tensors.update({"other:scale": torch.ones(2)}))
        assert "not of this model: 'other:scale'" in refused(packed).what

    def test_scales_that_are_not_finite(self, packed):
        name = "encoder.blocks.0.attention.key.weight:scale"
        rewrite(packed, lambda tensors: tensors[name].fill_(math.inf))
        assert "not finite" in refused(packed).what

    @settings(max_examples=20)
    @given(data=st.data())
    def test_any_entry_changed_gives_a_clean_refusal_or_a_model(self, whole, data):
        path = whole / "model.safetensors"
        raw = path.read_bytes()
        length = int.from_bytes(raw[:8], "little")
        table = json.loads(raw[8 : 8 + length])
        name = data.draw(st.sampled_from(sorted(table)))
        if name == "__metadata__":
            table[name]["weights"] = data.draw(st.text(max_size=5))
        else:
            part = data.draw(st.sampled_from(["dtype", "shape", "name"]))
            if part == "dtype":
                table[name]["dtype"] = data.draw(st.sampled_from(sorted(header.ITEM_BYTES)))
            elif part == "shape":
                table[name]["shape"] = data.draw(st.lists(st.integers(0, 150), max_size=3))
            else:
                table[data.draw(st.text(max_size=9)) + SCALE] = table.pop(name)
        text = json.dumps(table).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + length :])
        try:
            with contextlib.suppress(RegardError):
                Run.open(whole).load_model()
        finally:
            path.write_bytes(raw)


def test_first_values_that_nobody_draws_change_no_model(folder):
    """Loading builds with zeros in place of chance: every tensor comes from the file, or from no chance."""
    for kind in KINDS:
        run = Run.open(folder(kind))
        loaded, built = run.load_model(), build(run.settings.model, run.task.sizes)
        built.load_state_dict(loaded.state_dict())
        for (name, mine), (_, other) in zip(
            [*loaded.named_parameters(), *loaded.named_buffers()],
            [*built.named_parameters(), *built.named_buffers()],
            strict=True,
        ):
            assert torch.equal(mine, other), name
