"""Training throughput: real target tokens a second, beside `nn.Transformer` and the matrix product's rate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle

from torch import Tensor, nn

from regard.measure.clock import Timing, timed
from regard.measure.peer import TorchTransformer
from regard.measure.scene import Scene
from regard.measure.table import Cell, Ratio, Seconds, Share, Table
from regard.models import Model
from regard.run.settings import TrainSettings
from regard.tasks import Batch
from regard.training.optimise import make_optimiser

BATCHES = 3
PEER = "nn.Transformer"
LAUNCHED = (
    " Every kernel here is launched from Python, which is most of the time; `regard train --fast` "
    "records whole steps instead, which bench/train.py measures."
)


def training(scene: Scene, rate: float) -> Iterator[Table]:
    """A step is forward, backward and AdamW; all take the same batches in turns."""
    batches = scene.batches(BATCHES)
    models: dict[str, nn.Module] = {
        PEER: TorchTransformer(scene),
        "regard, Transformer": scene.model("transformer"),
        "regard, RNN with attention": scene.model("rnn"),
    }
    steps = {
        name: _step(scene, model, _loss_of(scene, model), batches) for name, model in models.items()
    }
    found = timed(steps, scene.device, rounds=scene.rounds, seconds=2 * scene.seconds)
    real = sum(batch.count for batch in batches) / len(batches)
    rows = [
        training_row(name, found[name], found[PEER], real, operations(model, real), rate)
        for name, model in models.items()
    ]
    padding = 1 - sum(batch.count for batch in batches) / sum(b.targets.numel() for b in batches)
    yield Table(
        f"Training: {scene.layers} + {scene.layers} layers of width {scene.width}, vocabulary "
        f"{scene.symbols:,}, batches of {scene.tokens:,} places, {scene.device.type}",
        rows,
        f"Ragged rows, {padding:.0%} of the target places padding, which does not count as tokens. "
        "The floor counts the products of weights with real tokens (6 operations a weight and token), not "
        "those of attention with itself." + (LAUNCHED if scene.device.type == "cuda" else ""),
    )


def training_row(
    name: str, own: Timing, peer: Timing, real: float, work: float, rate: float
) -> dict[str, Cell]:
    """One model's figures."""
    return {
        "model": name,
        "step": Seconds(own.median),
        "tokens/s": round(real / own.median),
        f"x {PEER}": Ratio(peer.median / own.median),
        "of the floor": Share(work / own.median / rate),
    }


def operations(model: nn.Module, tokens: float) -> float:
    """Of one step on so many real tokens a side: 2 a weight forward, 4 backward.

    A tied embedding is a product once, where it gives the logits. The side of the source is about as long as
    that of the target, so that all matrices see as many tokens.
    """
    matrices = sum(weight.numel() for weight in model.parameters() if weight.dim() > 1)
    return 6.0 * matrices * tokens


def _loss_of(scene: Scene, model: nn.Module) -> Callable[[Batch], Tensor]:
    if isinstance(model, TorchTransformer):
        return model.loss
    assert isinstance(model, Model)
    return lambda batch: scene.task.loss(model, batch, 0.1)


def _step(
    scene: Scene, model: nn.Module, loss: Callable[[Batch], Tensor], batches: Sequence[Batch]
) -> Callable[[], None]:
    optimiser, turns = make_optimiser(model.train(), TrainSettings()), cycle(batches)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        batch = next(turns)
        with scene.precision():
            found = loss(batch)
        (found / batch.count).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return step
