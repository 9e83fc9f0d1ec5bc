"""One step: the gradient is that of one big batch, however it was cut up (T19), and by whatever (T10)."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from regard.data.batches import BatchRows
from regard.errors import MemoryLimitError
from regard.models import SOURCE, Padded
from regard.run.folder import Run
from regard.run.settings import TrainSettings
from regard.tasks.objective import Objective
from regard.training.feed import Feed
from regard.training.step import Learner, Stepper, _mixed, perplexity
from regard.training.world import World
from tests.training.kit import tiny

ALONE = World(0, 1, torch.device("cpu"))


@pytest.fixture(scope="module", params=["rnn", "transformer", "pointer", "tagger", "language"])
def feed(request, quick_path_factory):
    """A corpus of each kind, in one piece of all its rows."""
    folder = quick_path_factory()
    settings = tiny(folder, request.param)
    run = Run.create(folder / "run", settings)
    return run, Feed(run.task, run.store("train"), settings.batch, 1, ALONE)


def model_for(run: Run) -> nn.Module:
    """Without dropout, in double precision: only what was cut may differ."""
    model = run.build_model().double()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def doubled(make):
    """Frames in double precision, too."""

    def batch(piece):
        made = make(piece)
        if made.source.is_floating_point():
            frames = {SOURCE: Padded(made.source.double(), made.lengths)}
            return replace(made, sources=frames)
        return made

    return batch


def stepper(run: Run, feed: Feed, model: nn.Module, smoothing: float = 0.1) -> Stepper:
    learner = Learner(run.task, model, Objective(smoothing))
    return Stepper(learner, TrainSettings(), 5, ALONE, doubled(feed.make))


def gradient(run: Run, feed: Feed, pieces: list[BatchRows]) -> tuple[float, torch.Tensor]:
    model = model_for(run)
    one = stepper(run, feed, model)
    summed = one.gradients(1, pieces, [one.make(piece) for piece in pieces], stop=False)
    found = torch.cat([p.grad.flatten() for p in model.parameters()])
    return summed.mean, found


def whole(feed: Feed) -> BatchRows:
    """Every row in one batch of the largest shape."""
    shapes = feed.plan.shapes
    longest = max(s.source for s in shapes), max(s.target for s in shapes)
    return BatchRows(np.arange(len(feed.store)), *longest)


@pytest.mark.parametrize("parts", [2, 4, 48])
def test_accumulation_gives_the_gradient_of_one_big_batch(feed, parts):  # T19
    run, feed = feed
    big = whole(feed)
    loss, expected = gradient(run, feed, [big])
    cut = [
        BatchRows(rows, big.source_length, big.target_length)
        for rows in np.array_split(big.rows, parts)
    ]
    again, found = gradient(run, feed, cut)
    assert again == pytest.approx(loss, rel=1e-12)
    assert (found - expected).norm() <= 1e-9 * expected.norm()


def test_rows_of_unequal_length_weigh_by_their_targets(feed):
    """The mean of means would weigh a short batch as much as a long one."""
    run, feed = feed
    planned = list(feed.plan.epoch(0))
    loss, expected = gradient(run, feed, [whole(feed)])
    again, found = gradient(run, feed, planned)
    assert again == pytest.approx(loss, rel=1e-9)
    assert (found - expected).norm() <= 1e-6 * expected.norm()
    means = [gradient(run, feed, [piece])[1] for piece in planned]
    naive = torch.stack(means).mean(0)
    assert (naive - expected).norm() > 1e-3 * expected.norm()


class Small(nn.Module):
    """A learner in a machine that holds at most so many source or target places at once."""

    def __init__(self, learner: Learner, room: int, fault: Exception) -> None:
        super().__init__()
        self.learner, self.room, self.fault = learner, room, fault
        self.held: list[int] = []

    def forward(self, batch):
        longer = max(batch.source.shape[1], batch.targets.shape[-1])
        self.held.append(len(batch) * longer)
        if self.held[-1] > self.room:
            raise self.fault
        return self.learner(batch)


FAULTS = [
    torch.OutOfMemoryError("CUDA out of memory"),
    MemoryError(),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
]


@pytest.fixture(scope="module")
def pairs(quick_path_factory):
    folder = quick_path_factory()
    settings = tiny(folder)
    run = Run.create(folder / "run", settings)
    return run, Feed(run.task, run.store("train"), settings.batch, 1, ALONE)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_batch_that_does_not_fit_is_cut_and_weighs_the_same(pairs, fault):  # T10
    run, feed = pairs
    pieces = list(feed.plan.epoch(0))[:3]
    loss, expected = gradient(run, feed, pieces)
    model = model_for(run)
    one = stepper(run, feed, model)
    one.learner = Small(one.learner, room=25, fault=fault)
    summed = one.gradients(1, pieces, [one.make(piece) for piece in pieces], stop=False)
    found = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert summed.mean == pytest.approx(loss, rel=1e-6)
    assert (found - expected).norm() <= 1e-6 * expected.norm()
    assert one.limit is not None
    assert one.limit <= 25
    one.learner.held.clear()
    one.gradients(2, pieces, [one.make(piece) for piece in pieces], stop=False)
    assert max(one.learner.held) <= 25  # what was learned about the machine is remembered


def test_one_row_that_does_not_fit_is_named(pairs):  # T10
    run, feed = pairs
    one = stepper(run, feed, model_for(run))
    one.learner = Small(one.learner, room=0, fault=MemoryError())
    piece = next(iter(feed.plan.epoch(0)))
    with pytest.raises(MemoryLimitError) as caught:
        one.gradients(1, [piece], [one.make(piece)], stop=False)
    length = max(piece.source_length, piece.target_length)
    assert caught.value.exit_code == 6
    assert caught.value.what == f"one example of {length} tokens does not fit into memory"
    assert caught.value.where == f"row {piece.rows[0]} of the training data"


def test_among_others_running_out_of_memory_is_said_at_once(pairs):
    run, feed = pairs
    one = stepper(run, feed, model_for(run))
    one.world = World(1, 2, torch.device("cpu"))
    one.learner = Small(one.learner, room=0, fault=MemoryError())
    piece = next(iter(feed.plan.epoch(0)))
    with pytest.raises(MemoryLimitError, match=rf"a batch of {piece.tokens} tokens") as caught:
        one.gradients(1, [piece], [one.make(piece)], stop=False)
    assert caught.value.where == "process 1 of 2"


def test_other_faults_are_not_taken_for_a_lack_of_memory(pairs):
    run, feed = pairs
    one = stepper(run, feed, model_for(run))
    one.learner = Small(one.learner, room=0, fault=RuntimeError("shapes do not match"))
    piece = next(iter(feed.plan.epoch(0)))
    with pytest.raises(RuntimeError, match="shapes do not match"):
        one.gradients(1, [piece], [one.make(piece)], stop=False)


def test_dropout_is_a_function_of_the_step_and_of_the_batch(pairs):
    run, feed = pairs
    pieces = list(feed.plan.epoch(0))[:2]
    model = run.build_model()
    one = Stepper(Learner(run.task, model, Objective(0.0)), TrainSettings(), 5, ALONE, feed.make)
    ready = [feed.make(piece) for piece in pieces]
    first, again, later = (one.gradients(n, pieces, ready, stop=False) for n in (1, 1, 2))
    assert first.loss == again.loss != later.loss


def test_bfloat16_is_close_and_leaves_the_weights_alone(pairs):
    run, feed = pairs
    model = run.build_model().eval()
    piece = next(iter(feed.plan.epoch(0)))
    losses = []
    for precision in ("float32", "bfloat16"):
        settings = TrainSettings(precision=precision)
        one = Stepper(Learner(run.task, model, Objective(0.0)), settings, 5, ALONE, feed.make)
        losses.append(one.gradients(1, [piece], [feed.make(piece)], stop=False).mean)
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=1e-2)
    assert all(p.dtype == p.grad.dtype == torch.float32 for p in model.parameters())


def test_seeds_of_neighbours_are_far_apart():
    seeds = {_mixed(1, step, place) for step in range(100) for place in range(10)}
    assert len(seeds) == 1000
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert len({seed >> 43 for seed in seeds}) > 990


def test_perplexity_is_the_exponential_and_never_overflows():
    assert perplexity(0.0) == 1.0
    assert perplexity(1.0) == pytest.approx(2.718281828459045)
    assert perplexity(1e6) == perplexity(700.0) < float("inf")
