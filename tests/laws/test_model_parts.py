"""A model is its settings and its weights: closing heads, saving, counting, compiling."""

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from regard.attention import Attention, Heads, ScaledDot, Softmax
from regard.models import count_parameters
from tests.models.zoo import DECODERS, MODELS, example_of, fresh, model_of

with_heads = pytest.mark.parametrize(
    "name",
    [name for name in MODELS if any(isinstance(m, Heads) for m in model_of(name).modules())],
)


@with_heads
def test_a_closed_gate_is_a_head_removed(name):
    gated, example = copy.deepcopy(model_of(name)), example_of(name)
    pruned = copy.deepcopy(gated)
    everything = example.logits(gated)
    sites = [part for part in gated.modules() if isinstance(part, Heads)]
    for number, heads in enumerate(sites):
        heads.gate = torch.ones(heads.num_heads)
        heads.gate[number % heads.num_heads] = 0.0
    for number, heads in enumerate(part for part in pruned.modules() if isinstance(part, Heads)):
        heads.keep([head for head in range(heads.num_heads) if head != number % heads.num_heads])

    closed = example.logits(gated)

    assert (closed != everything).any()
    assert_close(example.logits(pruned), closed, atol=1e-5, rtol=1e-5)
    assert count_parameters(pruned) < count_parameters(gated)


@pytest.mark.parametrize("name", MODELS)
def test_loaded_is_saved(name):
    model, example = model_of(name), example_of(name)
    other = fresh(name, seed=1).requires_grad_(False)  # recurrent kernels differ with gradients
    assert (example.logits(other) != example.logits(model)).any()

    other.load_state_dict(model.state_dict())

    assert torch.equal(example.logits(other), example.logits(model))
    shared = {id(p) for p in model.parameters()}, {id(p) for p in other.parameters()}
    assert len(shared[0]) == len(shared[1])


@pytest.mark.parametrize(
    "name", [n for n, s in DECODERS.items() if getattr(s.reader, "tied", False)]
)
def test_tied_weights_are_one_and_count_once(name):
    model = model_of(name)
    apart = copy.deepcopy(model)
    reader, other = (getattr(one.reader, "decoder", one.reader) for one in (model, apart))
    table, output = reader.embedding.table.weight, reader.output.weight
    other.output.weight = torch.nn.Parameter(output.clone())

    assert table is output
    assert count_parameters(apart) == count_parameters(model) + table.numel()


@pytest.mark.parametrize(("bias", "expected"), [(False, 1_048_576), (True, 1_050_624)])
def test_eight_heads_of_64_in_a_width_of_512_learn_as_many_numbers_as_the_lecture_says(
    bias, expected
):
    heads = Heads(512, 8, Attention(ScaledDot(), Softmax()), bias=bias)

    assert count_parameters(heads) == expected


def test_a_transformer_compiles_whole():
    """In a process of its own: the shape checks of a test run are not for the compiler's eyes."""
    code = """
import torch
from tests.models.zoo import example_of, model_of

model, example = model_of("transformer-shared"), example_of("transformer-shared")
compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
torch.testing.assert_close(example.logits(compiled), example.logits(model), atol=1e-5, rtol=1e-5)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
