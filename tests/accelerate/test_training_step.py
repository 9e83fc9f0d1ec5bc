"""A recorded step is the step: the same numbers to the last bit, whatever happens in between.

There is no CUDA graph on a CPU, so a tape stands in for it, and is as strict: it knows the operations and the
memory they worked on, and nothing that the host decided or read meanwhile can change when it is played.
"""

from dataclasses import replace
from itertools import islice
from typing import final

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from regard.accelerate import attend
from regard.accelerate.attend.packed_rows import part_of
from regard.accelerate.cuda_graph.training_step import RecordedStep, Recorder, WaitingError
from regard.attention import shield
from regard.attention.formula import AttendForm
from regard.errors import MemoryLimitError
from regard.run.folder import Run
from regard.run.settings import RunSettings, TrainSettings
from regard.seams import using
from regard.tasks.objective import Objective
from regard.training import loop, optimise, progress, update
from regard.training.feed import Feed, Position
from regard.training.guard import Guard
from regard.training.progress import Learned
from regard.training.step import Learner, StepForm, Stepper
from regard.training.world import World
from tests.training.kit import Ears, changed, numbers_of, tiny, trained

FORM = RecordedStep(recorder=lambda device, learned: Tape(learned))
ALONE = World(0, 1, torch.device("cpu"))
TURNED = torch.ops.aten.transpose_  # torch's recurrent kernels turn their answer where it lies
HOST = (torch.ops.aten._local_scalar_dense, torch.ops.aten.nonzero, torch.ops.aten.equal)


class Calls(TorchDispatchMode):
    """Writes down every operation; reading a number of the device is refused."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func.overloadpacket not in HOST, f"{func} waits for the device"
        found = func(*args, **(kwargs or {}))
        if func.overloadpacket is not TURNED:
            self.calls.append((func, args, kwargs or {}, tree_map(as_it_is, found)))
        return found


def as_it_is(one):
    """The same memory, in the order it has now."""
    return one.detach() if isinstance(one, torch.Tensor) else one


class Tape(Recorder):
    """Plays operations again on the memory they were recorded on."""

    def __init__(self, learned: Learned):
        self.learned, self.recorded, self.played = learned, 0, 0

    def rehearse(self, work, *, last):
        return work()

    def has_room(self):
        return True

    def record(self, work):
        self.recorded += 1
        changing = [p.data for p in self.learned.model.parameters()]
        changing += tree_leaves([list(s.values()) for s in self.learned.optimiser.state.values()])
        before = [tensor.clone() for tensor in changing]
        with Calls() as tape:
            found = work()
        for tensor, old in zip(changing, before, strict=True):
            tensor.copy_(old)  # recording does not do the work

        @torch.no_grad()
        def play():
            self.played += 1
            for func, args, kwargs, result in tape.calls:
                again = func(*args, **kwargs)
                for old, new in zip(tree_leaves(result), tree_leaves(again), strict=True):
                    if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                        old.copy_(new)
            return found

        return play


class OneProduct(AttendForm):
    """Packed attention as one masked product: unlike rows side by side it asks no number of the host."""

    shields = True

    def takes(self, attention, query, memory, mask):
        return part_of(mask) is not None

    def attend(self, attention, query, memory, mask):
        allowed = mask.to_bool(query.shape[2], memory.key.shape[2])
        scale = attention.score.scale(query.shape[-1])
        scores = (query @ memory.key.transpose(-1, -2) * scale).masked_fill(~allowed, -1e30)
        return ((scores.softmax(-1) * allowed) @ memory.value).to(query.dtype)


@pytest.fixture(autouse=True)
def on_a_device(monkeypatch):
    """What a GPU has and a CPU has not: an attention kernel, and an optimiser that is one operation."""
    make = progress.make_optimiser

    def fused(model, settings):
        groups = make(model, settings).param_groups
        kept = [{key: group[key] for key in ("params", "weight_decay")} for group in groups]
        return torch.optim.AdamW(
            kept, lr=settings.rate, betas=settings.betas, eps=settings.epsilon, fused=True
        )

    monkeypatch.setattr(progress, "make_optimiser", fused)
    with using(attend=[OneProduct(), *attend.FORMS]):
        yield


@final
class Always(StepForm):
    """Every training that is to be recorded is, on a tape of its own; also one on a CPU, uncompiled."""

    def __init__(self):
        self.tapes: list[Tape] = []

    def takes(self, settings, world, learned):
        self.tapes.append(Tape(learned))
        return settings.record

    def prepare(self, stepper, learned, tell):
        form = RecordedStep(recorder=lambda device, learned: self.tapes[-1])
        return form.prepare(stepper, learned, tell)


@pytest.fixture
def tapes():
    """From now on steps are recorded; the tapes that were."""
    always = Always()
    with using(step=[always]):
        yield always.tapes


def packed(folder, **choices):
    settings = tiny(folder, "transformer", tokens=64, steps=14, decay=0.1, average="ema", **choices)
    return settings.model_copy(update={"batch": settings.batch.model_copy(update={"packed": True})})


def spoil(monkeypatch, at: int) -> None:
    """Weights that are not finite for the time of one step."""
    kept, number, weights = [], 0, None
    set_rate, later = optimise.set_rate, update.later

    def before(optimiser, rate):
        nonlocal number, weights
        number, weights = number + 1, optimiser.param_groups[0]["params"][0].data
        if number == at:
            kept.append(weights.clone())
            weights.fill_(torch.inf)
        set_rate(optimiser, rate)

    def after(numbers):
        if kept:
            assert weights.isinf().all()  # the step was not taken
            weights.copy_(kept.pop())
        return later(numbers)

    monkeypatch.setattr(loop, "set_rate", before)
    monkeypatch.setattr(update, "later", after)


def test_a_recorded_training_is_the_plain_one_to_the_last_bit(tmp_path, tapes, monkeypatch):
    """Moving average, clipping, evaluations and checkpoints in between, and a step that is not finite."""
    settings, notes = packed(tmp_path, clip=0.05, evaluate_every=7), []
    for name in ("plain", "recorded"):
        ears = Ears()
        with monkeypatch.context() as patch:
            spoil(patch, at=9)
            trained(tmp_path / name, changed(settings, record=name == "recorded"), listener=ears)
        notes.append([note for note in ears.of("noted") if "skipped" in note])
    assert [tape.recorded for tape in tapes] == [0, 1]
    assert tapes[1].played == 14 - FORM.rehearsals
    assert len(notes[0]) == 1
    assert notes[0] == notes[1]
    assert numbers_of(tmp_path / "plain") == numbers_of(tmp_path / "recorded")


def recurrent(folder, *, feeding: bool, **choices):
    """With `feeding`, each word's readout is part of the next one's input."""
    settings = tiny(folder, "rnn", tokens=64, evaluate_every=100, evaluate_examples=0, **choices)
    reader = settings.model.reader.model_copy(update={"input_feeding": feeding})
    return settings.model_copy(
        update={"model": settings.model.model_copy(update={"reader": reader})}
    )


@pytest.mark.parametrize("feeding", [False, True])
def test_padded_batches_are_recorded_where_a_decoder_is_recurrent(tmp_path, tapes, feeding):
    settings = recurrent(tmp_path, feeding=feeding, steps=50)
    for name in ("plain", "recorded"):
        trained(tmp_path / name, changed(settings, record=name == "recorded"))
    assert tapes[1].recorded > 1  # as many as there are shapes that come more than a few times
    assert tapes[1].played > 10
    assert numbers_of(tmp_path / "plain") == numbers_of(tmp_path / "recorded")


def pictured(**choices):
    """A Transformer that reads pictures through a convolution, each drawn anew at every step."""
    front = {"kind": "convolution", "channels": [3], "warp": 0.1, "elastic": 0.02}
    model = {
        "encoder": {"kind": "front", "width": 8, "front": front},
        "reader": {"kind": "transformer", "width": 8, "layers": 1, "heads": 2, "feedforward": 8},
    }
    usual = {"workers": 0, "evaluate_every": 100, "evaluate_examples": 0, "rate": 1e-2}
    return RunSettings.model_validate(
        {
            "task": "caption",
            "data": {"toy": "digits", "examples": 30},
            "text": {"kind": "word"},
            "model": model,
            "batch": {"tokens": 700, "max_length": 200, "buckets": 2},
            "train": {**usual, **choices},
        }
    )


def test_padded_batches_are_recorded_where_pictures_are_convolved(tmp_path, tapes, monkeypatch):
    monkeypatch.setattr(shield, "can_look", lambda _states: False)  # as in training on a GPU
    settings = pictured(steps=24)
    for name in ("plain", "recorded"):
        trained(tmp_path / name, changed(settings, record=name == "recorded"))
    assert tapes[1].recorded > 1
    assert tapes[1].played > 3
    assert numbers_of(tmp_path / "plain") == numbers_of(tmp_path / "recorded")


def test_other_padded_batches_are_taken_in_the_usual_way(tmp_path, tapes):
    trained(tmp_path / "run", tiny(tmp_path, "transformer", tokens=64, evaluate_examples=0))
    assert tapes[0].recorded == 0


def test_padded_shapes_are_recorded_when_they_come_often_and_there_is_room(tmp_path):
    recordings, turns, _ = made(recurrent(tmp_path, feeding=False), tmp_path / "run")
    turn = next(turns)
    assert [recordings.take(1, turn) is None for _ in range(FORM.often + 1)] == [
        True
    ] * FORM.often + [False]
    recordings.stepper.limit = turn.pieces[0].tokens - 1
    assert recordings.take(1, turn) is None  # memory has run out before: it is cut
    recordings, turns, _ = made(recurrent(tmp_path, feeding=False), tmp_path / "other")
    recordings.recorder.has_room = lambda: False
    assert [recordings.take(1, turn) for _ in range(FORM.often + 2)] == [None] * (FORM.often + 2)


def test_a_recorded_training_goes_on_where_it_was(tmp_path, tapes):
    settings = packed(tmp_path, evaluate_every=50, evaluate_examples=0)
    trained(tmp_path / "straight", changed(settings, record=False))
    trained(tmp_path / "cut", changed(settings, steps=8))
    trained(tmp_path / "cut", settings)
    assert [tape.played for tape in tapes] == [0, 8 - FORM.rehearsals, 6 - FORM.rehearsals]
    assert numbers_of(tmp_path / "cut")["tensors"] == numbers_of(tmp_path / "straight")["tensors"]


def test_weights_that_are_rewound_are_where_the_recording_reads_them(tmp_path, tapes, monkeypatch):
    settings = packed(tmp_path, on_spike="rewind", evaluate_every=50, evaluate_examples=0)
    for name in ("plain", "recorded"):
        spikes = iter([False] * 8 + [True] + [False] * 20)
        monkeypatch.setattr(Guard, "spike", lambda _self, _loss, spikes=spikes: next(spikes))
        trained(tmp_path / name, changed(settings, record=name == "recorded"))
    assert tapes[-1].played == 14 - FORM.rehearsals
    assert numbers_of(tmp_path / "plain") == numbers_of(tmp_path / "recorded")


@pytest.fixture
def scene(tmp_path):
    """A packed model, its recordings, and turns without end."""
    return made(packed(tmp_path), tmp_path / "run")


def made(settings, folder):
    run = Run.create(folder, settings)
    model, told = run.build_model(), []
    learned = Learned(model, settings.train)
    feed = Feed(run.task, run.store("train"), settings.batch, 1, ALONE)
    learner = Learner(run.task, model, Objective(0.1))
    stepper = Stepper(learner, settings.train, 1, ALONE, feed.make)
    recordings = FORM.prepare(stepper, learned, told.append)
    return recordings, feed.turns(Position(), 1, 0), told


def test_dropout_differs_from_step_to_step(scene):
    """The same batch again, with nothing learned in between: the seed alone is another."""
    recordings, turns, _ = scene
    turn = next(turns)
    optimise.set_rate(recordings.learned.optimiser, 0.0)
    losses = [recordings.take(step, turn)()[0] for step in (1, 2, 3, 4, 5, 4)]
    assert recordings.recorder.played == 3
    assert len(set(losses)) == 5
    assert losses[3] == losses[5]


def test_every_step_is_seen_by_who_keeps_copies_of_the_weights(scene):
    recordings, turns, _ = scene
    weight = next(recordings.learned.model.parameters())
    seen = []
    for step, turn in enumerate(islice(turns, 8)):
        recordings.take(step, turn)
        seen.append(weight._version)
    assert len(set(seen)) == 8


def test_shapes_beyond_the_first_few_are_taken_in_the_usual_way(scene):
    recordings, turns, _ = scene
    turn = next(turns)
    feed = recordings.stepper.make
    for number in range(FORM.most + 2):
        piece = replace(turn.pieces[0], packed=turn.pieces[0].packed + number)
        other = replace(turn, pieces=(piece,), batches=(feed(piece),))
        assert (recordings.take(1, other) is None) == (number >= FORM.most)


def test_what_waits_for_the_device_is_not_recorded(scene):
    recordings, turns, told = scene

    def rehearse(_work, *, last):
        raise WaitingError

    recordings.recorder.rehearse = rehearse
    assert recordings.take(1, next(turns)) is None
    assert recordings.take(2, next(turns)) is None
    assert told == ["steps are not recorded: a part of the model waits for the device"]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), "there is no memory for a recording"),
        (RuntimeError("operation not permitted"), "the device would not record one"),
    ],
)
def test_a_recording_that_cannot_be_made_is_done_without(scene, fault, why):
    recordings, turns, told = scene

    def record(_work):
        raise fault

    recordings.recorder.record = record
    taken = [recordings.take(step, next(turns)) for step in range(FORM.rehearsals + 2)]
    assert [one is None for one in taken] == [False] * FORM.rehearsals + [True] * 2
    assert told == [f"steps are not recorded: {why}"]


def test_a_packed_step_that_finds_no_memory_is_an_error_as_ever(scene):
    recordings, turns, _ = scene
    recordings.recorder.rehearse = lambda _work, last: full()

    def full():
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(MemoryLimitError, match="a packed batch of 64 tokens does not fit"):
        recordings.take(1, next(turns))


def test_what_went_wrong_otherwise_is_told_with_a_way_out(scene):
    recordings, turns, _ = scene

    def odd(_work, *, last):
        raise RuntimeError("odd")

    recordings.recorder.rehearse = odd
    with pytest.raises(RuntimeError, match="odd") as caught:
        recordings.take(1, next(turns))
    assert caught.value.__notes__ == ["train.record = false takes steps without recording them"]


@pytest.mark.parametrize(
    "other", [{"record": False}, {"compile": False}, {"accumulate": 2}, {"size": 2}, {}]
)
def test_only_compiled_batches_of_one_process_on_a_gpu_are_recorded(scene, other):
    learned = scene[0].learned
    choices = {"compile": True} | {key: value for key, value in other.items() if key != "size"}
    device = torch.device("cuda", 0)
    world = World(0, other.get("size", 1), device)
    assert RecordedStep().takes(TrainSettings(**choices), world, learned) == (not other)
    assert not RecordedStep().takes(TrainSettings(compile=True), ALONE, learned)


def test_recurrent_batches_need_not_be_compiled(tmp_path):
    learned = made(recurrent(tmp_path, feeding=True), tmp_path / "run")[0].learned
    world = World(0, 1, torch.device("cuda", 0))
    assert RecordedStep().takes(TrainSettings(), world, learned)
    assert not RecordedStep().takes(TrainSettings(record=False), world, learned)


def test_compiled_steps_are_those_of_recordings_alone(tmp_path, monkeypatch):
    """Elsewhere, as when the model is judged, calling them would cost more than they save."""
    called = []

    def compiled(function, dynamic):
        return lambda *given: called.append(dynamic) or function(*given)

    monkeypatch.setattr(torch, "compile", compiled)
    settings = recurrent(tmp_path, feeding=True, compile=True)
    recordings, turns, _ = made(settings, tmp_path / "run")
    turn = next(turns)
    for _ in range(FORM.often):
        recordings.take(1, turn)
        recordings.stepper.gradients(1, turn.pieces, turn.batches, stop=False)
    assert called == []
    recordings.take(1, turn)
    assert called == [True] * turn.batches[0].inputs.shape[1]
    recordings.stepper.gradients(1, turn.pieces, turn.batches, stop=False)
    assert len(called) == turn.batches[0].inputs.shape[1]
