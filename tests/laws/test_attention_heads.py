"""What holds for heads of every score, normaliser and kind of position: caching, gating, padding."""

import subprocess
import sys

import pytest
import torch

from regard.attention import (
    Alibi,
    Attention,
    Causal,
    Heads,
    Learned,
    Padding,
    Rotary,
    Sinusoidal,
    Window,
    make_normaliser,
    make_score,
    watch,
)

BATCH, HEADS, LENGTH, WIDTH, HEAD_WIDTH = 2, 3, 5, 7, 4
POSITIONS = ["none", "sinusoidal", "learned", "rotary", "alibi"]


def make_heads(score, normaliser="softmax", position="none"):
    inside = {
        "sinusoidal": lambda: Sinusoidal(HEAD_WIDTH, base=10.0),
        "learned": lambda: Learned(HEAD_WIDTH, LENGTH),
        "rotary": lambda: Rotary(HEAD_WIDTH, base=10.0),
    }
    attention = Attention(
        make_score(
            score,
            query_width=HEAD_WIDTH,
            key_width=HEAD_WIDTH,
            num_heads=HEADS,
            neurons=2,
            max_length=LENGTH,
        ),
        make_normaliser(normaliser),
        bias=Alibi(HEADS) if position == "alibi" else None,
    )
    placed = inside[position]() if position in inside else None
    heads = Heads(WIDTH, HEADS, attention, key_width=HEAD_WIDTH, position=placed)
    return heads.eval().double().requires_grad_(False)


def states():
    return torch.randn(BATCH, LENGTH, WIDTH, dtype=torch.float64)


def step_by_step(heads, source, mask, sizes=(1,) * LENGTH):
    """Append a few states, read with them, and so on to the end."""
    memory = heads.room(source, BATCH, LENGTH, mask)
    outputs = []
    for piece in source.split(sizes, dim=1):
        memory = heads.append(memory, piece)
        outputs.append(heads(piece, memory))
    return torch.cat(outputs, 1)


@pytest.mark.parametrize("position", POSITIONS)
def test_cached_is_uncached(score_name, normaliser_name, position):
    heads, source = make_heads(score_name, normaliser_name, position), states()
    at_once = heads(source, heads.remember(source, Causal()))

    for sizes in ((1,) * LENGTH, (1, 3, 1)):
        cached = step_by_step(heads, source, Causal(), sizes)
        torch.testing.assert_close(cached, at_once, atol=1e-12, rtol=1e-10)


def test_cached_is_uncached_under_every_mask_that_looks_back(score_name, normaliser_name):
    heads, source = make_heads(score_name, normaliser_name, "alibi"), states()
    written = torch.rand(BATCH, HEADS, LENGTH, LENGTH) > 0.4
    for other in (Window(1, 0), Padding(torch.tensor([LENGTH, 2])), written):
        mask = Causal() & other
        at_once = heads(source, heads.remember(source, mask))

        cached = step_by_step(heads, source, mask)

        torch.testing.assert_close(cached, at_once, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("position", POSITIONS)
def test_stepping_has_the_weights_of_the_whole_pass(score_name, position):
    heads, source = make_heads(score_name, "softmax", position), states()
    with watch(heads) as whole:
        heads(source, heads.remember(source, Causal()))
    with watch(heads) as steps:
        step_by_step(heads, source, Causal())

    assert len(whole["attention"]) == 1
    assert len(steps["attention"]) == LENGTH
    torch.testing.assert_close(steps.weights("attention"), whole.weights("attention"))
    torch.testing.assert_close(steps.scores("attention"), whole.scores("attention"))


@pytest.mark.parametrize("position", POSITIONS)
def test_a_closed_gate_is_a_removed_head(score_name, position):
    heads, source = make_heads(score_name, "softmax", position), states()
    memory = heads.remember(source, Causal())
    opened = heads(source, memory)
    for kept in ([0, 2], [1], [2, 1, 0], []):
        heads = make_heads(score_name, "softmax", position)
        heads.gate = torch.tensor([float(head in kept) for head in range(HEADS)])
        gated = heads(source, heads.remember(source, Causal()))

        heads.keep(kept)
        pruned = heads(source, heads.remember(source, Causal()))

        torch.testing.assert_close(pruned, gated, atol=1e-12, rtol=1e-10)
        assert heads.num_heads == len(kept)
    assert not torch.allclose(opened, gated)


@pytest.mark.parametrize("content", [torch.nan, 1e30], ids=["nan", "1e30"])
def test_padding_is_void_to_heads(score_name, normaliser_name, content):
    heads, source = make_heads(score_name, normaliser_name), states()
    lengths = torch.tensor([LENGTH, 2])
    real = torch.arange(LENGTH) < lengths[:, None]
    other = torch.where(real[..., None], source, content)
    mask = Padding(lengths) & Causal()

    clean = heads(source, heads.remember(source, mask))
    dirty = heads(other, heads.remember(other, mask))
    assert torch.equal(clean[real], dirty[real])

    clean = step_by_step(heads, source, mask, (3, 2))
    dirty = step_by_step(heads, other, mask, (3, 2))
    assert torch.equal(clean[real], dirty[real])


def test_without_positions_order_is_invisible(score_name, normaliser_name):
    """Self-attention without positions moves with its input (L51); location has an order of its own."""
    heads, source = make_heads(score_name, normaliser_name), states()
    order = torch.tensor([3, 0, 4, 1, 2])
    still = heads(source, heads.remember(source))[:, order]

    moved = heads(source[:, order], heads.remember(source[:, order]))

    assert torch.allclose(moved, still) == (score_name != "location")


COMPILED = """
import torch
from regard.attention import *

source = torch.randn(2, 5, 12)
masks = Causal(), Padding(torch.tensor([5, 2])) & Window(1, 1)
for name, normaliser, mask in (("scaled-dot", Softmax(), masks[0]), ("additive", Sparsemax(), masks[1])):
    score = make_score(name, query_width=4, key_width=4, num_heads=3)
    heads = Heads(12, 3, Attention(score, normaliser, bias=Alibi(3)), position=Rotary(4))
    attend = lambda source: heads(source, heads.remember(source, mask))
    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(source), attend(source))
print("one graph")
"""


def test_heads_compile_to_one_graph():
    """In a process of its own: no compiler can trace the shape checks that are on in this one."""
    command = [sys.executable, "-W", "error::UserWarning", "-c", COMPILED]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stdout == "one graph\n", ran.stderr
