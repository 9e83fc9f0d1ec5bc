"""Packed rows are separate rows: attention, models and losses see no difference."""

from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from regard.accelerate.attend import PackedKernel, PackedRows
from regard.accelerate.vocabulary_loss import ChunkedLoss
from regard.attention import (
    NORMALISERS,
    Attention,
    Causal,
    Packed,
    Packing,
    Room,
    Segments,
    Window,
    make_normaliser,
    make_score,
)
from regard.attention.packed import TILE, tiled
from regard.data.batches import BatchSettings
from regard.data.packing import PackedPlan
from regard.models import ModelSettings, build, heads_by_site
from regard.models.readers import summed_loss, summed_loss_of
from regard.seams import using
from regard.tasks import Translate
from regard.tasks.batch import joined
from regard.text import Codec, TextSettings
from tests.accelerate.spied import spied

LENGTHS = st.lists(st.integers(1, 11), min_size=1, max_size=7)


def sides(queries: list[int], tail: int) -> tuple[Segments, Segments, list[int]]:
    keys = [1 + 3 * number % 7 for number in queries]
    ends = sum(queries) + tail, sum(keys) + 2 * tail
    made = [
        Segments.of(torch.tensor(one), end) for one, end in zip((queries, keys), ends, strict=True)
    ]
    return made[0], made[1], keys


@pytest.mark.parametrize("score", ["dot", "scaled-dot", "general", "additive", "cosine"])
@settings(deadline=None, max_examples=25)
@given(LENGTHS, st.integers(0, 3))
def test_each_sequence_keeps_to_itself(score, queries, tail):
    asked, told, keys = sides(queries, tail)
    torch.manual_seed(3)
    attention = Attention(
        make_score(score, query_width=5, key_width=5, num_heads=2, neurons=7),
        make_normaliser("softmax"),
    ).double()
    query = torch.randn(1, 2, asked.positions.shape[1], 5, dtype=torch.float64)
    key, value = torch.randn(2, 1, 2, told.positions.shape[1], 5, dtype=torch.float64)
    found = attention(query, attention.remember(key, value, Packed(asked, told)))
    at = of = 0
    for places, others in zip(queries, keys, strict=True):
        memory = attention.remember(key[:, :, of : of + others], value[:, :, of : of + others])
        assert_close(
            found[:, :, at : at + places], attention(query[:, :, at : at + places], memory)
        )
        at, of = at + places, of + others
    assert not found[:, :, at:].any()


@pytest.mark.parametrize(
    "normaliser", [name for name in NORMALISERS if name not in ("gumbel", "proportional")]
)
@settings(deadline=None, max_examples=25)
@given(LENGTHS)
def test_the_mask_written_out_says_the_same(normaliser, queries):
    asked, _, _ = sides(queries, 2)
    mask = Packed(asked, asked) & Causal() & Window(3, 0)
    torch.manual_seed(5)
    attention = Attention(
        make_score("dot", query_width=3, key_width=3), make_normaliser(normaliser)
    ).double()
    query, key, value = torch.randn(3, 1, 1, asked.positions.shape[1], 3, dtype=torch.float64)
    memory = attention.remember(key, value, mask)
    assert_close(attention(query, memory), attention.align(query, memory).context)


def sizes(**changes: object) -> ModelSettings:
    part = {
        "kind": "transformer",
        "width": 12,
        "layers": 2,
        "heads": 3,
        "feedforward": 17,
        "dropout": 0.0,
    }
    return ModelSettings.model_validate({"encoder": part | changes, "reader": part | changes})


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary", "alibi", "none"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_packed_batch_has_the_loss_and_gradient_of_its_rows(position, norm):
    words = Codec.train(["a b c d e f g h"] * 3, TextSettings(kind="word"))
    task = Translate(words, words)
    generator = np.random.default_rng(7)
    rows = [
        {
            side: generator.integers(4, words.size, generator.integers(1, 12)).astype(np.int32)
            for side in ("source", "target")
        }
        for _ in range(6)
    ]
    torch.manual_seed(2)
    model = build(sizes(position=position, norm=norm), task.sizes)
    for number, heads in enumerate(
        heads_by_site(model).values()
    ):  # gated, and pruned here and there
        heads.gate[0] = 0.5 - number % 3
        if number % 2:
            heads.keep([0])
    model.double()
    losses, gradients = [], []
    for batch in (task.collate(rows, 13, 11), task.pack(joined(rows), (71, 73), Room(9, 5), 13)):
        model.zero_grad()
        loss = task.loss(model, batch, 0.1)
        loss.backward()
        losses.append(loss.detach())
        gradients.append(
            [
                parameter.grad.clone()
                for parameter in model.parameters()
                if parameter.grad is not None
            ]
        )
        assert batch.count == sum(len(row["target"]) for row in rows)
    assert_close(*losses)
    assert_close(*gradients, rtol=1e-5, atol=1e-6)  # rotary waves are rounded where they are read


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=200),
    st.integers(0, 5),
)
def test_every_row_that_fits_is_in_one_batch_and_every_batch_fits(lengths, epoch):
    source, target = np.array(lengths, np.int32).T
    made = BatchSettings(tokens=96, max_length=37, packed=True, window=61)
    if ((source > 37) | (target > 37)).all():
        return
    plan = PackedPlan(source, target, made, seed=3)
    (shape,) = plan.shapes
    batches = list(plan.epoch(epoch))
    seen = np.concatenate([batch.rows for batch in batches])
    assert sorted(seen.tolist()) == np.flatnonzero((source <= 37) & (target <= 37)).tolist()
    assert plan.skipped == len(lengths) - len(seen)
    for batch in batches:
        assert source[batch.rows].sum() <= shape.source
        assert target[batch.rows].sum() <= shape.target
        assert 0 < len(batch.rows) <= shape.rows == batch.packed
        sides = [source[batch.rows], target[batch.rows]]
        assert len(tiled(sides, [shape.source, shape.target])[0]) <= batch.tiles
    assert len(plan.epoch(epoch)) == len(batches)


def test_no_room_is_laid_out_for_rows_that_do_not_exist():
    lengths = np.full(7, 3, np.int32)
    made = BatchSettings(tokens=96, max_length=37, packed=True, sentences=2**40)
    (shape,) = PackedPlan(lengths, lengths, made, seed=3).shapes
    assert shape.rows == 7


@pytest.mark.parametrize("names", [("tokens",), ("tokens", "window"), ("tokens", "max_length")])
def test_settings_larger_than_the_corpus_cost_no_more_than_the_corpus(names):
    lengths = np.full((2, 70), 3, np.int32)
    lengths[1, :9] = 40
    made = BatchSettings(packed=True, **dict.fromkeys(names, 2**40))
    plan = PackedPlan(*lengths, made, seed=3)
    (shape,) = plan.shapes
    assert (shape.source, shape.target) == (4 * TILE, 9 * TILE)
    (batch,) = plan.epoch(0)
    assert sorted(batch.rows.tolist()) == list(range(70))
    assert batch.tiles < 30
    assert batch.packed == 2 * TILE


@pytest.mark.parametrize("way", ["together", "within", "apart"])
def test_a_kernel_goes_by_tiles_only_where_both_sides_have_the_same(way):
    asked, told, keys = sides([3, 2, 5], 1)
    if way == "within":
        told = asked
    elif way == "together":
        packing = Packing.of((np.array([3, 2, 5]), np.array(keys)), (11, sum(keys)))
        asked, told = packing.source, packing.target
    seen, kernel = [], PackedKernel(devices=("cpu",), widths=(3,), installed=True)
    attention = Attention(make_score("dot", query_width=3, key_width=3), make_normaliser("softmax"))
    query, key = (torch.randn(1, 1, side.positions.shape[1], 3) for side in (asked, told))
    with using(attend=spied([kernel, PackedRows()], seen, idle=True)):
        attention(query, attention.remember(key, key, Packed(asked, told)))
    assert seen == ["PackedRows" if way == "apart" else "PackedKernel"]


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 150), st.integers(0, 150)), max_size=40),
    st.tuples(st.integers(0, 200), st.integers(0, 200)),
)
def test_every_place_is_in_one_tile_and_no_sequence_in_two_groups(lengths, empty):
    sides = np.array(lengths, np.int32).reshape(-1, 2).T
    sizes = (sides.sum(1) + empty).tolist()
    found = tiled(list(sides), sizes)
    assert (found[0][:, 2] == found[1][:, 2]).all()
    is_long = np.max([tiles[:, 1] - tiles[:, 0] for tiles in found], axis=0) > TILE
    for side, size, tiles in zip(sides, sizes, found, strict=True):
        starts = np.concatenate([[0], side.cumsum()])
        edges = tiles[:, :2]
        assert np.isin(edges[edges <= starts[-1]], starts).all()
        inside = (starts > edges[:, :1]) & (starts < edges[:, 1:])
        assert not inside[is_long].any(), "a group of several tiles is one sequence"
        tiles = [
            range(first + TILE * part, min(end, first + TILE * (part + 1)))
            for first, end, part in tiles.tolist()
        ]
        assert sorted(chain.from_iterable(tiles)) == list(range(size))


def test_text_of_any_length_leaves_few_places_empty():
    generator = np.random.default_rng(0)
    source = np.clip(generator.lognormal(3, 0.6, 60_000).astype(int), 1, 200)
    target = np.clip((source * generator.normal(1.15, 0.15, len(source))).astype(int), 1, 200)
    plan = PackedPlan(source, target, BatchSettings(tokens=32_768, packed=True), 0)
    assert plan.waste < 0.05


@pytest.mark.parametrize("bias", [False, True])
@settings(deadline=None, max_examples=25)
@given(st.integers(1, 23), st.sampled_from([0.0, 0.1]))
def test_a_loss_by_chunks_is_the_loss(bias, rows, smoothing):
    torch.manual_seed(rows)
    output = torch.nn.Linear(5, 67, bias=bias).double()
    states = torch.randn(rows, 5, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, 67, (rows,))
    targets[::3] = -100
    expected = summed_loss(output(states), targets, smoothing)
    wanted = torch.autograd.grad(3 * expected, [states, *output.parameters()])
    with using(loss=[ChunkedLoss(whole=0, chunk=128 * 64)]):  # a few rows take several
        found = summed_loss_of(states, output, targets, smoothing)
        assert_close(found, expected)
        assert_close(torch.autograd.grad(3 * found, [states, *output.parameters()]), wanted)
        with torch.no_grad():
            assert_close(summed_loss_of(states, output, targets, smoothing), expected)
