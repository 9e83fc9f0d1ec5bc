"""Steps as CUDA graphs: the numbers of steps that are launched one operation at a time."""

from itertools import islice

import numpy as np
import pytest
import torch

from regard.accelerate.attend import PackedKernel
from regard.accelerate.cuda_graph.training_step import Graphs, RecordedStep, Recordings
from regard.data import store
from regard.data.batches import BatchSettings
from regard.models import ModelSettings, Sizes, build
from regard.run.settings import TrainSettings
from regard.tasks import Translate
from regard.tasks.objective import Objective
from regard.text import Codec, TextSettings
from regard.training import train
from regard.training.feed import Feed, Position
from regard.training.optimise import set_rate
from regard.training.progress import Learned
from regard.training.step import Learner, Stepper, shorten_messages
from regard.training.update import apply
from regard.training.world import World
from tests.training.kit import Ears, changed, tiny

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA"),
]

DEVICE = torch.device("cuda", 0)
SYMBOLS = 16_000  # enough for the loss to be worked out by chunks
STEPS = 30


class Scene:
    """A small packed model with dropout, compiled once; training begins anew as often as asked."""

    batch = BatchSettings(tokens=2048, max_length=64, packed=True)

    def __init__(self, folder):
        words = Codec.train(["a"], TextSettings(kind="word"))
        task = Translate(words, words)
        torch.manual_seed(0)
        settings = ModelSettings.model_validate(self.parts())
        self.model = build(settings, Sizes(SYMBOLS, SYMBOLS, begin=1, end=2, shared=True))
        self.model.to(DEVICE).train()
        self.first = {name: one.clone() for name, one in self.model.state_dict().items()}
        draw = np.random.default_rng(0)
        rows = (
            {side: draw.integers(4, SYMBOLS, draw.integers(5, 60)) for side in ("source", "target")}
            for _ in range(1500)
        )
        kept = store.write(folder, rows, {"source": store.Ids(), "target": store.Ids()})
        self.world = World(0, 1, DEVICE)
        self.feed = Feed(task, kept, self.batch, 1, self.world)
        self.learner = self.compiled(Learner(task, self.model, Objective(0.1)))
        self.told: list[str] = []

    def parts(self):
        """Of the model."""
        part = {
            "kind": "transformer",
            "layers": 1,
            "width": 64,
            "heads": 4,
            "feedforward": 128,
            "dropout": 0.1,
        }
        return {"encoder": part, "reader": part}

    @staticmethod
    def compiled(learner):
        shorten_messages()
        return torch.compile(learner, dynamic=False)

    def begin(self, **choices) -> Recordings:
        """The first weights, and no moments."""
        settings = TrainSettings(**{"precision": "bfloat16", "compile": True} | choices)
        self.model.load_state_dict(self.first)
        learned = Learned(self.model, settings)
        stepper = Stepper(self.learner, settings, 1, self.world, self.feed.make)
        self.steps = RecordedStep().prepare(stepper, learned, self.told.append)
        if not RecordedStep().takes(settings, self.world, learned):
            self.steps.recorder = None
        return self.steps

    def losses(self, steps: Recordings, rate: float, turns, numbers=None) -> list[float]:
        """The mean loss of each step."""
        found = []
        for number, turn in zip(numbers or range(1, 10_000), turns, strict=False):
            set_rate(steps.learned.optimiser, rate)
            read = steps.take(number, turn)
            if read is None:
                summed = steps.stepper.gradients(number, turn.pieces, turn.batches, stop=False)
                read = apply(steps.learned, summed, steps.clip)
            found.append(read()[0] / turn.batches[0].count)
        return found

    def turns(self, count: int):
        """Made by threads, which go on while a step is recorded."""
        turns = self.feed.turns(Position(), 1, 2)
        yield from islice(turns, count)
        turns.close()


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return Scene(tmp_path_factory.mktemp("rows") / "rows")


def test_recorded_steps_learn_what_launched_ones_do(scene):
    weights, losses = [], []
    for recorded in (False, True):
        steps = scene.begin(record=recorded)
        losses.append(torch.tensor(scene.losses(steps, 1e-3, scene.turns(STEPS))))
        weights.append(torch.cat([p.detach().flatten() for p in scene.model.parameters()]))
    moved = weights[0] - torch.cat(
        [scene.first[name].flatten() for name, _ in scene.model.named_parameters()]
    )
    assert scene.told == [], scene.steps.fault
    assert losses[0][-1] < losses[0][0]
    assert (losses[0] - losses[1]).abs().max() < 5e-3  # of about 10; sums are in any order
    assert (weights[0] - weights[1]).norm() < 0.2 * moved.norm()


def test_dropout_is_that_of_the_step(scene):
    """One batch, nothing learned: a loss is a function of the seed, which changes between replays."""
    turns = list(scene.turns(1)) * STEPS
    launched, played = (
        scene.losses(scene.begin(record=recorded), 0.0, turns) for recorded in (False, True)
    )
    assert scene.told == [], scene.steps.fault
    assert played == pytest.approx(launched, rel=1e-5)
    assert len({round(loss, 5) for loss in played}) > STEPS // 2


def test_what_happens_between_steps_is_seen_by_the_recording(scene):
    """Weights that were put back, a table that grew, numbers that are not finite, another rate."""
    steps, turns = scene.begin(), list(scene.turns(1)) * STEPS
    first = scene.losses(
        steps, 0.0, turns[: RecordedStep.rehearsals], [7] * RecordedStep.rehearsals
    )
    weight = next(scene.model.parameters())
    before, version = weight.detach().clone(), weight._version
    scene.losses(steps, 1e-2, turns[:5])
    assert weight._version > version
    assert not torch.equal(weight, before)
    scene.model.load_state_dict(scene.first)
    assert scene.losses(steps, 0.0, turns[:1], [7]) == pytest.approx(first[:1], rel=1e-5)
    for part in (scene.model.encoder, scene.model.reader):
        part.embedding.position.table(2000)
    garbage = [torch.full((512, 64), torch.nan, device=DEVICE) for _ in range(64)]
    assert scene.losses(steps, 0.0, turns[:1], [7]) == pytest.approx(first[:1], rel=1e-5)
    del garbage
    gain = scene.model.reader.embedding.table.weight
    with torch.no_grad():
        gain.fill_(torch.inf)
    others = [p.detach().clone() for p in scene.model.parameters()]
    assert not np.isfinite(scene.losses(steps, 1e-2, turns[:1])[0])
    for parameter, other in zip(scene.model.parameters(), others, strict=True):
        assert torch.equal(parameter, other)
    scene.model.load_state_dict(scene.first)
    assert scene.losses(steps, 0.0, turns[:1], [7]) == pytest.approx(first[:1], rel=1e-5)
    assert scene.told == [], scene.steps.fault


@pytest.mark.parametrize(("width", "heads"), [(32, 2), (8, 2)])
def test_the_loop_records_what_it_can_and_tells_what_it_cannot(tmp_path, width, heads):
    """Heads of width 4 have no kernel: their sequences are laid side by side, which asks the host."""
    torch._dynamo.reset()
    settings = tiny(tmp_path, "transformer", steps=9, compile=True, evaluate_every=6)
    parts = {
        name: getattr(settings.model, name).model_copy(update={"width": width, "heads": heads})
        for name in ("encoder", "reader")
    }
    settings = settings.model_copy(
        update={
            "batch": settings.batch.model_copy(update={"packed": True}),
            "model": settings.model.model_copy(update=parts),
        }
    )
    ears = Ears()
    outcome = train(tmp_path / "run", settings, device="cuda", listener=ears)
    assert outcome.step == 9
    assert all(np.isfinite(report.loss) for report in ears.of("evaluated"))
    told = [note for note in ears.of("noted") if "not recorded" in note]
    waits = "steps are not recorded: a part of the model waits for the device"
    assert told == ([] if width // heads in PackedKernel.widths else [waits])


class Recurrent(Scene):
    """Two layers of LSTM on each side, rows of all lengths padded to one of two shapes."""

    def __init__(self, folder, feeding):
        self.feeding = feeding
        super().__init__(folder)

    def parts(self):
        sides = {"cell": "lstm", "layers": 2, "width": 64, "dropout": 0.1}
        return {
            "encoder": {"kind": "rnn", **sides},
            "reader": {"kind": "rnn", **sides, "input_feeding": self.feeding},
        }

    batch = BatchSettings(tokens=1024, max_length=64, buckets=2)

    @staticmethod
    def compiled(learner):
        return learner


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("feeding", [False, True])
def test_recurrent_steps_are_recorded_without_a_compiler(tmp_path, feeding, precision):
    scene = Recurrent(tmp_path / "rows", feeding)
    weights, losses = [torch.cat([one.flatten() for one in scene.first.values()])], []
    for recorded in (False, True):
        steps = scene.begin(record=recorded, compile=False, precision=precision)
        losses.append(torch.tensor(scene.losses(steps, 1e-3, scene.turns(STEPS))))
        weights.append(torch.cat([one.flatten() for one in scene.model.state_dict().values()]))
    assert scene.told == [], scene.steps.fault
    assert any(stage.play is not None for stage in scene.steps._stages.values())
    assert (losses[0] - losses[1]).abs().max() < 5e-3  # of about 10; sums are in any order
    assert (weights[2] - weights[1]).norm() < 0.2 * (weights[1] - weights[0]).norm()


def test_the_loop_records_a_decoder_that_feeds_back_with_compiled_steps(tmp_path, monkeypatch):
    """Without dropout, for the compiler draws other numbers: what is learned is what plain steps learn."""
    settings = tiny(tmp_path, "rnn", steps=60, compile=True, evaluate_every=60)
    parts = {
        "encoder": settings.model.encoder.model_copy(update={"dropout": 0.0}),
        "reader": settings.model.reader.model_copy(update={"dropout": 0.0, "input_feeding": True}),
    }
    settings = settings.model_copy(update={"model": settings.model.model_copy(update=parts)})
    made, losses = [], []
    play = Graphs.record
    monkeypatch.setattr(Graphs, "record", lambda *given: made.append(1) or play(*given))
    for recorded in (False, True):
        torch._dynamo.reset()
        ears = Ears()
        own = changed(settings, record=recorded)
        train(tmp_path / f"run-{recorded}", own, device="cuda", listener=ears)
        assert not [note for note in ears.of("noted") if "not recorded" in note]
        losses += [report.loss for report in ears.of("evaluated")][-1:]
        assert bool(made) == recorded
    assert losses[0] == pytest.approx(losses[1], rel=2e-2)
